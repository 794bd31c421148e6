#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job on numbers: run.sh SUPERSTEP JOB.json
# Losses of every step beside the plain model's: the same bits in exact mode, near in device mode; and the same without
# it, stopped half-way and resumed.
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"
job=$given

# The losses of a result, one to a line.
losses() { awk '/^  "losses": \[/ { inside = 1; next } /\]/ { inside = 0 } inside { gsub(/[ ,]/, ""); print }' "$1"; }
# The job with fields of "run" before those it has.
with_run() { sed "s|\"run\": {|\"run\": {$1, |" "$job"; }

found=0
"$superstep" run "$job" --require-identical --json result.json >text || found=$?
keys result.json plan mode losses reference_losses bit_identical max_abs_difference max_relative_difference collectives \
  steps seconds notes
identical=$(sed -n 's/^  "bit_identical": \([a-z]*\).*/\1/p' result.json)
expected=true/0
if grep -q '"mode": "device"' "$job"; then expected=false/1; fi
[[ $identical/$found == "$expected" ]] || complain "bit_identical $identical and exit $found, expected $expected"
steps=$(sed -n 's/.*"steps": \([0-9]*\).*/\1/p' "$job")
(($(losses result.json | wc -l) == steps)) || complain "not one loss for each of $steps steps: $(losses result.json)"
while read -r loss; do grep -qF "${loss:0:5}" text || complain "loss $loss is not in the text"; done < <(losses result.json)
awk '/"max_relative_difference"/ && !/  "steps"/ { gsub(/[^-0-9.e]/, "", $2); if ($2 + 0 > 0.5) exit 1 }' result.json ||
  complain "far from the plain model"

with_run '"checkpoint": "half.safetensors"' | sed "s/\"steps\": $steps/\"steps\": $((steps / 2))/" >half.json
with_run '"resume": "half.safetensors"' | sed "s/\"steps\": $steps/\"steps\": $((steps - steps / 2))/" >rest.json
"$superstep" run half.json --no-reference --quiet --json first.json
keys first.json losses collectives
grep -q '"bit_identical": null' first.json || complain "bit_identical of nothing"
"$superstep" run rest.json --no-reference --quiet --json second.json
[[ $(losses first.json; losses second.json) == "$(losses result.json)" ]] ||
  complain "other losses after a checkpoint: $(losses first.json second.json)"

# OpenBLAS sums in an order of its own: near the plain model in device mode, refused in exact mode.
with_run '"engine": "openblas"' >blas.json
found=0
"$superstep" run blas.json --quiet --json blas-result.json 2>message || found=$?
if [[ $expected == true/0 ]]; then
  [[ $found == 2 && $(<message) == *'run/engine: found "openblas" in exact mode'* ]] ||
    complain "exit $found: $(<message)"
else
  [[ $found == 0 ]] || complain "exit $found: $(<message)"
  [[ $(losses blas-result.json | cut -c1-4) == "$(losses result.json | cut -c1-4)" ]] ||
    complain "losses far from those of our own products: $(losses blas-result.json)"
fi
finish
