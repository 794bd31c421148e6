#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An example job can be estimated, and what is written can be read: job.sh SUPERSTEP JOB.json
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

"$superstep" estimate "$given" --quiet --json result.json -o report.ssr
keys result.json best plan samples_per_second step_time_s global_batch fits memory waterfall
"$superstep" compare report.ssr report.ssr >compared.txt
[[ -s compared.txt ]] || complain "nothing compared"
finish
