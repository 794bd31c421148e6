#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An example job can be estimated, and what is written can be read: job.sh SUPERSTEP JOB.json
set -euo pipefail

superstep=$(readlink -f -- "$1")
job=$(readlink -f -- "$2")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

"$superstep" estimate "$job" --quiet --json result.json -o report.ssr
for key in best plan samples_per_second step_time_s global_batch fits memory waterfall; do
  grep -q "\"$key\"" result.json || {
    echo "result.json has no key $key"
    exit 1
  }
done
"$superstep" compare report.ssr report.ssr >compared.txt
[[ -s compared.txt ]]
