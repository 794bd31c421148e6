#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What software accepts, and the plans that are recommended within its rules: software.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

# Value of a JSON file at a Python expression of its whole.
value() { python3 -c "import json, sys; j = json.load(open(sys.argv[1])); print($2)" "$1"; }
is() {  # FILE EXPRESSION EXPECTED
  local found
  found=$(value "$1" "$2")
  [[ $found == "$3" ]] || complain "$2 is $found, expected $3"
}

run software
expect 0 out PopART PopTorch "PopXL's examples" 'the hardware alone'
run software poptorch --json -
expect 0 out '"id": "tied-weights-on-one-ipu"' '"id": "lamb-does-not-clip"' '"silent": true'
run software "$given/gallery/mlperf11-bert-pod16.json" "$given/gallery/mlperf11-rn50-pod16.json" --json jobs.json
expect 0 out 'takes it' known-optimizers
is jobs.json 'j["jobs"][0]["software"]["popart"]' '[]'
is jobs.json '[r["rule"] for r in j["jobs"][1]["software"]["popart"]]' "['known-optimizers']"
run software nonsense
expect 2 err nonsense

# The main job: software runs the plan, it fits as surely as is asked for, and nothing in it is unmeasured. A bolder one is
# told beside it, with its chances.
run plan "$given/bert-large-pod16.json" --json best.json
expect 0 out 'Runs on PopART' 'It fits with a probability of ' 'Fastest by the model' 'would decide' 'beyond the best'
is best.json '"popart" in j["best"]["software"] and "poptorch" in j["best"]["software"]' True
is best.json 'j["best"]["fit_probability"] >= 0.95' True
is best.json 'j["best"]["evidence"]' '[]'
is best.json 'j["search"]["optimal"]' True
space=$("$superstep" plan --space "$given/bert-large-pod16.json" --quiet --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["space_points"])')
is best.json 'int(j["search"]["explored"] + j["search"]["pruned"])' "$space"
is best.json 'j["fastest_by_model"]["samples_per_second"] > j["best"]["samples_per_second"]' True
is best.json '0.5 < j["fastest_by_model"]["probability_faster"] < 1' True
is best.json '"phased execution" in [m["mechanism"] for m in j["fastest_by_model"]["evidence"]]' True

# On the hardware alone, and as full as a tile may be, the model's winner is another one.
asked() {  # NAME MEMBERS: the main job with more members
  python3 - "$given/bert-large-pod16.json" "$2" >"$1" <<'END'
import json, sys
job = json.load(open(sys.argv[1]))
del job["$schema"]
job.update(json.loads(sys.argv[2]))
print(json.dumps(job))
END
}
asked surer.json '{"limits": {"fit_probability": 0.999}}'
run plan surer.json --json surer.out
expect 0 out
is surer.out 'j["best"]["fit_probability"] >= 0.999' True
asked poptorch.json '{"software": "poptorch"}'
run plan poptorch.json --json poptorch.out
expect 0 out
is poptorch.out '"poptorch" in j["best"]["software"]' True

# Pins that no software accepts: the plan is found all the same, and the first lines say why.
asked tensors.json '{"plan": {"micro_batch": 2, "tensor_parallel": 2, "phases": 1}}'
run plan tensors.json --json tensors.out
expect 0 out 'No released software takes it' 'one-ipu-an-operator'
is tensors.out 'j["best"]["software"]' '[]'

# Nothing of a trillion parameters fits within the rules of software: the hardware's best plan, and the rule.
run plan "$given/gpt-1t-64000.json"
expect 0 out 'No released software takes it.' 'rule '

asked unknown.json '{"software": ["popart", "poptroch"]}'
run plan unknown.json
expect 2 err '/software' 'found "poptroch"' poptorch
finish
