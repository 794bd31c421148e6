#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cases below a folder: conformance.sh SUPERSTEP REFERENCES
# Exit 0 and 1, the counts and cases in JSON, and a text that names what failed.
set -euo pipefail

superstep=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r -- "$2/lstm_h10" "$place/right"
cp -r -- "$2/lstm_h10" "$place/wrong"
sed -i 's/"loss0_fp32": 2/"loss0_fp32": 3/' "$place/wrong/reference.json"

failed=0
complain() {
  printf '%s\n' "$*"
  failed=1
}
expect() {  # EXIT TEXT... : of the last run
  local code=$1
  shift
  ((found == code)) || complain "exit $found, expected $code"
  for text in "$@"; do
    grep -qF -- "$text" "$place/out" || complain "not found: $text"
  done
}
run() {
  found=0
  "$superstep" conformance "$@" >"$place/out" 2>"$place/err" || found=$?
}

run "$place/right" --json -
expect 0 '"passed": 1' '"failed": 0' '"skipped": 0' '/right/train.onnx"' '"status": "passed"' '"why": ""'
run "$place" --json "$place/result.json" --threads 2
expect 1 '/wrong/train.onnx' 'loss: is 2.' 'expected 3.'
mv "$place/result.json" "$place/out"
expect 1 '"passed": 1' '"failed": 1' '"status": "failed"' '"why": "loss: is 2.'
run "$place/right" --quiet --progress json
expect 0
[[ ! -s $place/out ]] || complain "--quiet prints $(head -c 200 "$place/out")"
grep -q '"progress":1' "$place/err" || complain "no progress: $(head -c 200 "$place/err")"
exit "$failed"
