#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exports as PyTorch writes them (exports/make.py): exports.sh SUPERSTEP EXPORTS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"
exports=$given

# job NAME TASK MORE_OF_MODEL PLAN BATCH
job() {
  local optimizer=''
  if [[ $2 == training ]]; then optimizer='"optimizer": {"kind": "sgd"},'; fi
  cat >"$1.json" <<END
{"model": {"onnx": "$exports/$1.onnx"$3}, "machine": "ipu-pod4", "task": "$2", $optimizer
 "batch": {"global": $5}, "plan": $4}
END
}

# Open dimensions other than the batch.
run import "$exports/open_sequence.onnx"
expect 2 err 'dimension 1 is open; give "sequence" a value' '--dim sequence=N'
run import "$exports/open_sequence.onnx" --dim sequence=6
expect 0 out 'tokens int64[1, 6]'
run import "$exports/open_sequence.onnx" --dim sequence=6 --dim width=2
expect 2 err 'no open dimension is called "width"; found "batch", "sequence"'
run import "$exports/open_sequence.onnx" --dim sequence
expect 2 err 'found "sequence", expected NAME=N'
job open_sequence inference '' '{}' 8
run plan open_sequence.json
expect 2 err '"dimensions": {"sequence": N} beside "onnx" in a job'
run plan open_sequence.json --dim sequence=6
expect 0 out 'samples/s'
job open_sequence inference ', "dimensions": {"sequence": 5}' '{}' 8
run run open_sequence.json
expect 0 out 'The same bits as the plain model.'
run run open_sequence.json --dim sequence=7
expect 0 out 'The same bits as the plain model.'

# A batch that the exporter wrote down.
job fixed_batch inference '' '{}' 8
run plan fixed_batch.json
expect 0 out 'm=1 ' 'was exported for 1 sample and works with no other number'
run run fixed_batch.json
expect 0 out 'not compared with the plain model, which takes all 8 samples at once'
run run fixed_batch.json --require-identical
expect 1 out 'Not compared with the plain model.'
job fixed_batch inference '' '{"micro_batch": 2}' 8
run plan fixed_batch.json
expect 2 err '#/plan/micro_batch' 'was exported for that many samples and works with no other number; expected 1'

# A loss that divides by the batch, in micro-batches.
job loss_over_batch training '' '{"micro_batch": 2, "replicas": 2, "tensor_parallel": 1, "pipeline_stages": 1}' 8
run run loss_over_batch.json --require-identical
expect 0 out 'The same bits as the plain model.'

# A loss with a term that no sample changes.
job penalty training '' '{"micro_batch": 2, "replicas": 1, "tensor_parallel": 1, "pipeline_stages": 1}' 8
run run penalty.json
expect 2 err 'which no sample changes' 'goes into the optimizer (weight_decay)' 'plan.gradient_accumulation 1'
job penalty training '' '{"replicas": 1, "gradient_accumulation": 1, "pipeline_stages": 1}' 8
run run penalty.json --require-identical
expect 0 out 'The same bits as the plain model.'

# Parameters of one element, and a table that is none.
run import "$exports/one_element.onnx"
expect 0 out 'parameters                 39'
job one_element training ', "frozen": ["places"]' '{"micro_batch": 2}' 8
run run one_element.json --json result.json
expect 0 out 'The same bits as the plain model.'
job one_element training ', "frozen": ["place"]' '{}' 8
run plan one_element.json
expect 2 err 'frozen "place" is the name of no weight; some are "gate", "into.bias"'
finish
