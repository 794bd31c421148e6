#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts here share; they source it. They are given the program and a file or folder: $superstep and $given.
# The current folder is an empty one that goes at the end.
set -euo pipefail

superstep=$(readlink -f -- "$1")
# shellcheck disable=SC2034  # for the script
given=$(readlink -f -- "$2")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

failed=0
complain() {
  printf '%s\n' "$*"
  failed=1
}
run() {  # ARGUMENT...: of the program, to the files out and err
  found=0
  "$superstep" "$@" >out 2>err || found=$?
}
expect() {  # EXIT FILE TEXT...: of the last run
  local code=$1 file=$2 text
  shift 2
  ((found == code)) || complain "exit $found, expected $code: $(head -c 500 err)"
  for text; do
    grep -qF -- "$text" "$file" || complain "not found in $file: $text"
  done
}
keys() {  # FILE KEY...
  local file=$1 key
  shift
  for key; do grep -q "\"$key\"" "$file" || complain "$file has no key $key"; done
}
finish() { exit "$failed"; }
