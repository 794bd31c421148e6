#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Given plans evaluated and checked: bench_eval.sh SUPERSTEP PLANS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

run bench-eval "$given/toy.jsonl" --json result.json -o lines.jsonl
expect 0 out '8 plans with 7 settings for 1 model; 8 fit' 'evaluations' 'a second on one core' '8 plans lowered and timed' 'fullest tile'
keys result.json plans settings fit evaluations_per_second with_settings_per_second checks agrees median
grep -q '"agrees": true' result.json || complain "nothing was checked"
(($(wc -l <lines.jsonl) == 8)) || complain "$(wc -l <lines.jsonl) lines, expected 8"

# A line has what estimate says of its plan.
head -n 3 "$given/toy.jsonl" | tail -n 1 >job.json
"$superstep" estimate job.json --json estimate.json --quiet
seconds=$(sed -n 's/^ *"step_time_s": \([0-9.e-]*\),*$/\1/p' estimate.json | head -n 1)
expect 0 lines.jsonl "\"line\":3,"
sed -n 3p lines.jsonl | grep -qF "\"step_time_s\":$seconds" || complain "line 3 is not $seconds: $(sed -n 3p lines.jsonl)"

# Standard input, a sample, and results that are the same every time but for the rates.
run bench-eval - --sample 2 --repeat 2 -o again.jsonl --json - <"$given/toy.jsonl"
expect 0 out '"plans": 8'
(($(grep -c '"agrees"' out) == 2)) || complain "$(grep -c '"agrees"' out) checks, expected 2"
cmp -s lines.jsonl again.jsonl || complain "results differ from run to run"

# Mistakes name the line.
{ cat "$given/toy.jsonl"; sed '1s/"replicas":[0-9]*/"replicas":"many"/;q' "$given/toy.jsonl"; } >bad.jsonl
run bench-eval bad.jsonl
expect 2 err 'bad.jsonl line 9#/plan/replicas'
run bench-eval nowhere.jsonl
expect 2 err 'nowhere.jsonl: cannot be read'
finish
