#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cases below a folder: conformance.sh SUPERSTEP REFERENCES
# Exit 0 and 1, the counts and cases in JSON, and a text that names what failed.
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

cp -r -- "$given/lstm_h10" right
cp -r -- "$given/lstm_h10" wrong
sed -i 's/"loss0_fp32": 2/"loss0_fp32": 3/' wrong/reference.json

run conformance right --json -
expect 0 out '"passed": 1' '"failed": 0' '"skipped": 0' '/right/train.onnx"' '"status": "passed"' '"why": ""'
run conformance . --json result.json --threads 2
expect 1 out '/wrong/train.onnx' 'loss: is 2.' 'expected 3.'
mv result.json out
expect 1 out '"passed": 1' '"failed": 1' '"status": "failed"' '"why": "loss: is 2.'
run conformance right --quiet --progress json
expect 0 out
[[ ! -s out ]] || complain "--quiet prints $(head -c 200 out)"
grep -q '"progress":1' err || complain "no progress: $(head -c 200 err)"
finish
