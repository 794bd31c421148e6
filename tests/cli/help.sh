#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What --help prints, for the program and each of its commands: help.sh SUPERSTEP EXPECTED.txt [--update]
# Each must exit 0 and say nothing on standard error; the whole must be as in the file.
set -euo pipefail

superstep=$1
expected=$2
commands=(plan estimate run compare serve sweep validate conformance import machines models software explain export bench-eval)

failed=0
help() {
  local error
  printf '$ superstep %s\n' "$*"
  if ! error=$("$superstep" "$@" 2>&1 >&3); then
    echo "superstep $*: does not exit 0" >&2
    failed=1
  fi
  if [[ -n $error ]]; then
    echo "superstep $*: standard error is not empty: $error" >&2
    failed=1
  fi
  printf '\n'
} 3>&1

found=$(mktemp)
trap 'rm -f "$found"' EXIT
{
  help --help
  for command in "${commands[@]}"; do help "$command" --help; done
} >"$found"

if [[ ${3:-} == --update ]]; then
  cp "$found" "$expected"
elif ! diff -u "$expected" "$found"; then
  echo "If the change is meant: tests/cli/help.sh SUPERSTEP $expected --update" >&2
  failed=1
fi
exit "$failed"
