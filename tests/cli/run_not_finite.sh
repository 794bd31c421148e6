#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Training that overflows stops with exit 1 and says where: run_not_finite.sh SUPERSTEP JOB.json
# The job, in fp16 and with a step far too long.
set -euo pipefail

superstep=$(readlink -f -- "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
sed -e 's/"learning_rate": [0-9.e-]*/"learning_rate": 1e6/' -e 's/"fp32"/"fp16"/' "$2" >"$place/job.json"
found=0
"$superstep" run "$place/job.json" --json "$place/result.json" >"$place/text" || found=$?
((found == 1)) || { echo "exit $found, expected 1"; exit 1; }
for key in non_finite step op op_kind tensor value; do
  grep -q "\"$key\"" "$place/result.json" || { echo "no key $key"; exit 1; }
done
tr '\n' ' ' <"$place/text" | grep -q "✕ Step [0-9]* (.*): .* is .*; it began with \".*\" (.*), which made " ||
  { cat "$place/text"; exit 1; }
