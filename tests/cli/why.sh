#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Why a plan under further pins lost, or does not fit: why.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

run plan "$given/toy-free.json" --threads 1 --why '{"pipeline_stages": 4}'
expect 0 out 'Why not {"pipeline_stages":4}' 'loses:' 'lost by cause, ms a step' 'inter-IPU copies' 'pipeline_stages  '
run plan "$given/toy-free.json" --threads 1 --why '{"pipeline_stages": 4}' --json -
expect 0 out '"verdict": "slower"' '"field": "pipeline_stages"' '"probability_best_is_faster": 1.0'
keys out why lost different best_seconds pinned_seconds lost_seconds best_step_time_s pins_not_had step_time_s

# The winner of its own accord: a range, and a field that has no effect on one stage.
run plan "$given/toy-free.json" --threads 1 --why '{"replicas": {"min": 2}}' --json -
expect 0 out '"verdict": "has_pins"'
run plan "$given/toy-free.json" --threads 1 --why '{"pipeline_stages": 1, "schedule": "grouped"}' --json -
expect 0 out '"verdict": "has_pins"'

# Three stages on eight IPUs.
run plan "$given/toy-free.json" --threads 1 --why '{"pipeline_stages": 3}' --json -
expect 0 out '"verdict": "not_legal"' 'found 3, which does not divide the 8 IPUs'

# Of latency a step counts as it is, of however many samples.
cat >quick.json <<'JOB'
{"model": {"zoo": "gpt2-small", "layers": 1, "hidden": 16, "heads": 2, "ffn": 32, "vocabulary": 32,
           "sequence_length": 8, "positions": 8},
 "machine": {"base": "toy", "partition": 2}, "task": "inference", "objective": "latency"}
JOB
run plan quick.json --threads 1 --why '{"micro_batch": {"min": 8}}' --json -
expect 0 out '"verdict": "slower"' '"probability_best_is_faster": 1.0'

# Every replica holds all weights and what was not kept in the first place.
cat >wide.json <<'JOB'
{"model": {"zoo": "gpt2-small", "layers": 4, "hidden": 2048, "heads": 16, "ffn": 8192, "vocabulary": 8000,
           "sequence_length": 128},
 "machine": "ipu-pod4", "optimizer": {"kind": "adam"}, "batch": {"global": 32},
 "plan": {"tensor_parallel": 1, "micro_batch": 1, "phases": 1, "available_memory_proportion": 0.2,
          "recompute": "layer", "replicated_tensor_sharding": {"weights": 1}}}
JOB
run plan wide.json --why '{"pipeline_stages": 1, "location": {"optimizer_state": "in_processor"}}' --json -
expect 0 out '"verdict": "does_not_fit"' '"constraint": "tile memory"' '"bytes_over": ' '"during": "' '"op": "' \
  'KiB per tile to spare, at '
# What no released software can do, and what nobody measured, is told by its name.
run plan "$given/bert-large-pod16-free.json" --why '{"location": {"weights": "remote_ipu"}}' --json why.json
expect 0 out 'No released software takes it.' 'rule ' 'No measured point covers its '
keys why.json rule software fit_probability not_validated
finish
