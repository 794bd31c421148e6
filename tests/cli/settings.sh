#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The settings of published plans, written and compared with what was published: settings.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
here=$(dirname -- "$(readlink -f -- "$0")")
source "$here/checks.sh"
if ! command -v python3 >/dev/null; then
  echo "skipped: there is no python3 to run the written settings"
  exit 77
fi

python3 -c 'import json, sys
for name, entry in json.load(open(sys.argv[1])).items(): print(name, entry["job"], entry["format"])
' "$here/settings.json" >names
while read -r name job format; do
  report=${job//\//_}.ssr
  if [[ ! -f $report ]]; then
    run estimate "$given/$job" -o "$report" --quiet
    expect 0 out
  fi
  run export "$report" --to "$format" -o "$name"
  expect 0 out "Wrote $name: "
  case $format in
    poptorch | popart) python3 -m py_compile "$name" || complain "$name: not Python" ;;
    poprun) sh -n "$name" || complain "$name: not a shell script" ;;
  esac
  python3 "$here/settings.py" "$here/settings.json" "$name" "$name" || failed=1
done <names

# What a target cannot express is refused, and nothing is written.
run export gallery_cfg-gpt3-175b-pod256.json.ssr --to poptorch -o refused.py
expect 1 err 'PopTorch cannot express the plan: tensor_parallel is 64' '(pin "tensor_parallel": 1)' 'phases is 98'
[[ ! -e refused.py ]] || complain "refused, but written"
finish
