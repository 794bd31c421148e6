#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where a pinned plan stands among the plans of another job: rank.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

# job FILE PARTIALS PINS: the toy machine, partials a type or a list of types
job() {
  cat >"$1" <<JOB
{"model": {"zoo": "gpt2-small", "layers": 2, "hidden": 16, "heads": 2, "ffn": 32, "vocabulary": 32,
           "sequence_length": 8, "positions": 8},
 "machine": {"base": "toy", "partition": 2, "override": {"chip": {"executable_memory": "48 KiB"}}},
 "optimizer": {"kind": "sgd_momentum"}, "batch": {"global": 8},
 "plan": {"precision": {"partials": $2}, $3}}
JOB
}
# rank FREE PINNED: how many kinds of plan there are, and are faster
rank() {
  run plan "$1.json" --threads 1 --rank "$2.json" --quiet --json -
  expect 0 out '"exact": true'
  of=$(sed -n '/"rank": {/,/}/s/.*"of": \([0-9]*\).*/\1/p' out)
  faster=$(sed -n '/"rank": {/,/}/s/.*"faster": \([0-9]*\).*/\1/p' out)
}

# Among the plans of a list of types are those of each of them.
for partials in fp16 fp32; do
  job "free-$partials.json" "\"$partials\"" '"micro_batch": [1, 2]'
  job "pinned-$partials.json" "\"$partials\"" '"pipeline_stages": 2, "micro_batch": 1, "phases": 1'
done
job free-both.json '["fp16", "fp32"]' '"micro_batch": [1, 2]'
rank free-fp16 pinned-fp16
all=$of
rank free-fp32 pinned-fp32
all=$((all + of)) slower=$faster
rank free-both pinned-fp32
((of == all && of > 0)) || complain "$of kinds of plan, expected $all"
((faster > slower)) || complain "$faster kinds are faster, expected more than the $slower with fp32 alone"

# What is said and what is taken by default are the same.
sed 's/{"partials": "fp16"}/{}/' free-fp16.json >free-default.json
rank free-default pinned-fp16
((of > 0)) || complain "no kinds of plan"

run plan free-fp16.json --threads 1 --rank pinned-fp32.json
expect 2 err 'pinned-fp32.json#/plan/precision' 'expected {"partials":"fp16"}'
finish
