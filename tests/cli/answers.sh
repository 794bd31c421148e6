#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What answers say about themselves: answers.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

# Sides of a comparison are searched, or taken as pinned.
run compare "$given/toy-pipeline.json" "$given/toy-tensor.json" --json sides.json
expect 0 out 'jobs are searched' '--as-pinned'
keys sides.json sides
grep -q '"searched"' sides.json || complain "sides are not said to be searched"
run compare "$given/toy-pipeline.json" "$given/toy-tensor.json" --as-pinned
expect 0 out 'jobs are as pinned'
run estimate "$given/toy-tensor.json" --json estimate.json --quiet
rate=$(python3 -c 'import json; print(json.load(open("estimate.json"))["best"]["samples_per_second"])')
run compare "$given/toy-pipeline.json" "$given/toy-tensor.json" --as-pinned --json -
grep -qF "${rate:0:6}" out || complain "the estimate says $rate, the comparison something else"

# A bound that is assumed is said to be, where it matters.
run estimate "$given/bert-large-pod16-p4-unsharded.json"
expect 0 out 'available_memory_proportion is not pinned: 0.25 is assumed'

# A number of the machine that changes nothing.
cat >idle.json <<'JOB'
{"model": {"zoo": "gpt2-small", "layers": 1, "hidden": 16, "heads": 2, "ffn": 32, "vocabulary": 32,
           "sequence_length": 8, "positions": 8},
 "machine": {"base": "ipu-pod4", "override": {"streaming": {"ipu_rate": "50 GB/s"}, "links": {"rate": "1 GB/s"}}},
 "task": "inference", "plan": {"pipeline_stages": 2, "replicas": 2, "phases": 1, "location": {"weights": "in_processor"}}}
JOB
run estimate idle.json
expect 0 out '/machine/override/streaming/ipu_rate has no effect on this plan'
if grep -q 'links/rate has no effect' out; then complain "stages send over links"; fi

# Another chunk for a contraction that is cut off the nodes of its sum.
sed 's/"plan": {/"run": {"chunk": 64}, "plan": {/' "$given/toy-tensor.json" >chunk.json
run run chunk.json
expect 0 out 'Not the same bits' 'is cut off the nodes of its sum' '"run": {"chunk": 16} cuts at nodes'
# Every job that is small enough has the plain model's bits as it stands.
for job in "$given"/toy-*.json "$given"/run-*.json "$given/bert-l2-h128-pod4.json"; do
  case $job in *-device.json) continue ;; esac  # device mode rounds between supersteps
  run run "$job"
  expect 0 out 'The same bits as the plain model'
done

# Inference has no gradients and no weight updates.
run estimate "$given/toy-inference.json"
expect 0 out 'inference'
if grep -qiE 'gradient|weight update' out; then complain "inference speaks of training"; fi
finish
