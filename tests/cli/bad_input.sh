#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input is one message and exit 2: bad_input.sh SUPERSTEP CASE.txt
# The first line of a case is the command, "$ superstep ..."; each further line must be found in the message.
# The command runs in a copy of the case's folder. Nothing may be written there or to standard output.
set -euo pipefail

superstep=$(readlink -f -- "$1")
case=$(readlink -f -- "$2")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r -- "$(dirname -- "$case")" "$place/here"
cd "$place/here"

mapfile -t lines <"$case"
read -r -a command <<<"${lines[0]#\$ superstep }"

listing() { find . -printf '%p %s\n' | sort; }
before=$(listing)
found=0
timeout 60 "$superstep" "${command[@]}" >../out 2>../err </dev/null || found=$?

failed=0
complain() {
  printf '%s\n' "$*"
  failed=1
}
((found == 2)) || complain "exit $found, expected 2"
(($(wc -l <../err) == 1)) || complain "$(wc -l <../err) lines of message, expected 1"
[[ ! -s ../out ]] || complain "standard output is not empty: $(head -c 200 ../out)"
for fragment in "${lines[@]:1}"; do
  grep -qF -- "$fragment" ../err || complain "not in the message: $fragment"
done
[[ $(listing) == "$before" ]] || complain "files were written: $(diff <(echo "$before") <(listing) || true)"
if ((failed)); then
  printf '%s\n' "${lines[0]}" "$(head -c 2000 ../err)"
fi
exit "$failed"
