#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job that fewer IPUs serve better: fewer_ipus.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

job='{"model": {"zoo": "bert-base", "layers": 2, "hidden": 128, "heads": 2, "ffn": 512}, "machine": "ipu-pod16",
  "task": "inference", "objective": "latency", "batch": {"global": 1}'
echo "$job}" >job.json
echo "$job, \"limits\": {\"ipus\": {\"min\": 16}}}" >whole.json
run plan job.json --json all.json
expect 0 out 'of 16 IPUs: with all 16 the best plan, t=' ' a step' 'Proved optimal'
run plan whole.json --json whole_result.json
expect 0 out 'on 16 IPUs' 'Proved optimal'
python3 - <<'END' || complain "not the plans, spaces and counts expected"
import json
fewer, whole = json.load(open("all.json")), json.load(open("whole_result.json"))
assert fewer["best"]["step_time_s"] < whole["best"]["step_time_s"]
assert fewer["space"]["ipus"] == [16, 8, 4, 2, 1] and "ipus" not in whole["space"]
assert 1 in fewer["space"]["replicas"] and 1 in fewer["space"]["pipeline_stages"]
points = lambda result: result["search"]["explored"] + result["search"]["pruned"]
assert points(whole) < points(fewer)
plan, job = fewer["best"]["plan"], json.load(open("job.json"))
json.dump({**job, "plan": plan}, open("winner.json", "w"))
json.dump({**job, "plan": {**plan, "replicas": 17}}, open("too_many.json", "w"))
END

# The plan that won is estimated on the partition that its degrees fill.
run estimate winner.json --json winner_result.json
expect 0 out 'partition of'
python3 - <<'END' || complain "the winner's estimate is another one"
import json
winner, all = json.load(open("winner_result.json")), json.load(open("all.json"))
assert winner["best"]["step_time_s"] == all["best"]["step_time_s"]
END
run estimate too_many.json
expect 2 err 'IPUs, but ipu-pod16 has 16' 'legal with replicas = 16'
finish
