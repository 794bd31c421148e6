#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real reports for the viewer's tests, each with what --json prints: make_reports.sh SUPERSTEP JOBS FOLDER
set -euo pipefail
superstep=$1 jobs=$2 folder=$3
mkdir -p "$folder"

# make NAME COMMAND JOB: NAME.ssr and NAME.json. Code 1: nothing fits, which is a report too.
make() {
  local code=0
  "$superstep" "$2" "$3" -o "$folder/$1.ssr" --json "$folder/$1.json" --threads 1 --quiet || code=$?
  if ((code > 1)); then
    echo "$superstep $2 $3 ended with $code"
    exit 1
  fi
}

make bert estimate "$jobs/bert-large-pod16-p8-sharded.json"
make gpt3 estimate "$jobs/gpt3-175b-pod256-layer-phases.json"
make resnet estimate "$jobs/resnet50-phases.json"
make over estimate "$jobs/bert-large-pod16-p4-unsharded.json"
make infeasible plan "$jobs/bert-large-pod16-p4-unsharded.json"
make searched plan "$jobs/toy-free.json"
"$superstep" compare "$folder/bert.ssr" "$folder/over.ssr" --json "$folder/two.json" --quiet
