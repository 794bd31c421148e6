#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Predicted against published: validate.sh SUPERSTEP DATA
# The repository's points, files and folders of others, and points whose job is wrong.
files=$(dirname -- "$(readlink -f -- "$0")")/bad/files
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

value() {  # KEY FILE: its first number
  sed -n "s/^ *\"$1\": \([-+.0-9e]*\),*$/\1/p" "$2" | head -1
}

run validate
expect 0 out mlperf10-bert-pod16-step caraml-gpt2s-pod4-gb64 'null: median' 'bert, validation' 'calibration runs'

# A point's prediction is what estimate says, and its sign is that of the rate.
one="{\"id\": \"one\", \"use\": \"mine\", \"family\": \"bert\", \"job\": \"$given/jobs/gallery/epcc-bertB128-bow4.json\",
  \"measured\": {\"metric\": \"step_time_s\", \"value\": 1, \"unit\": \"ms\", \"source\": \"a test\"}}"
two='{"id": "two", "use": "mine", "family": "bert", "job": {"model": {"zoo": "brt-base"}, "machine": "toy"},
  "measured": {"metric": "throughput", "value": 1, "unit": "samples/s", "source": "a test"}}'
echo "{\"points\": [$one]}" >one.json
run validate one.json --json result.json --threads 2
expect 0 result.json '"id": "one"' '"use": "mine"' '"predicted": ' '"median_abs_error": ' '"p90_abs_error": ' \
  '"max_abs_error": ' '"utilisation": '
"$superstep" estimate "$given/jobs/gallery/epcc-bertB128-bow4.json" --json estimate.json --quiet
[[ $(value samples_per_second result.json) == "$(value samples_per_second estimate.json)" ]] ||
  complain "validate: $(value samples_per_second result.json), estimate: $(value samples_per_second estimate.json)"
[[ $(value error result.json) == -0.99* ]] || complain "error $(value error result.json), expected nearly -1"

# A folder, nothing on standard output but the result, progress.
mkdir folder
cp one.json folder
run validate folder --json - --progress json
expect 0 out '"id": "one"'
[[ $(head -c 1 out) == '{' ]] || complain "not JSON alone: $(head -c 200 out)"
grep -q '"progress":' err || complain "no progress: $(head -c 200 err)"
run validate folder --quiet
expect 0 out
[[ ! -s out ]] || complain "--quiet prints $(head -c 200 out)"

# The others are done although one job is wrong.
echo "{\"points\": [$two, $one]}" >two.json
run validate two.json --json result.json
expect 2 err 'point "two": two.json#/points/0/job/model/zoo: ' 'bert-base'
(($(wc -l <err) == 1)) || complain "$(wc -l <err) lines of message, expected 1"
expect 2 out 'not estimated'
expect 2 result.json '"failure": "two.json#/points/0/job/model/zoo: ' '"median_abs_error": 0.99'

# Unsupported is not bad input.
echo '{"points": [{"id": "three", "use": "mine", "family": "net", "job": {"model": {"onnx": "branch.onnx"}, "machine": "toy",
  "task": "inference"}, "measured": {"metric": "throughput", "value": 1, "unit": "runs/s", "source": "a test"}}]}' >three.json
cp "$files/branch.onnx" .
run validate three.json --quiet
expect 1 err 'point "three": ' 'node "either" (If)'

# Single operators: the repository's facts, files, and what is wrong in them.
run validate --operators --json result.json
expect 0 out 'vendor-fp16-16-64x64x64' 'heidelberg-gemm-fp32' 'outside, known' 'facts within their tolerance' ' 0 outside'
expect 0 result.json '"outside": 0' '"unit": "TFLOP/s"' '"basis": "measured"' '"source": '
fact='"id": "sum", "group": "mine", "machine": "toy", "kind": "reduction", "parts": 4, "elements": 8, "tolerance": 0.1'
echo "{\"facts\": [{$fact, \"stated\": {\"value\": 50, \"unit\": \"cycles\", \"basis\": \"measured\", \"source\": \"a test\"}}]}" >facts.json
run validate --operators facts.json --json result.json --quiet
expect 0 result.json '"ours": 105.0' '"within": false' '"outside": 1'
[[ $(value error result.json) == 1.1 ]] || complain "error $(value error result.json), expected 1.1"
run validate --operators one.json --quiet
expect 2 err 'one.json' 'facts'

# Memory: what ran and what ran out.
run validate --memory --json result.json
expect 0 out 'mt5-small-pod4' 'out_of_memory' 'cases are as the model says' 'missed'
keys result.json cases right right_share brier_score fit_probability outcome miss
run validate --memory one.json
expect 2 err 'one.json: found no memory_cases'
run validate --memory --operators
expect 2 err '--operators'

# Constants of one's own: one run that is half as fast as predicted, with the repository's.
seconds=$("$superstep" estimate "$given/jobs/gallery/epcc-bertB128-bow4.json" --quiet --json - | python3 -c '
import json, sys
print(2 * json.load(sys.stdin)["best"]["step_time_s"])')
echo "{\"points\": [${one/\"value\": 1, \"unit\": \"ms\"/\"value\": $seconds, \"unit\": \"s\"}]}" >own.json
run calibrate --points own.json
expect 2 err 'own.json: found no point whose use is "calibration"'
sed -i 's/"use": "mine"/"use": "calibration"/' own.json
run calibrate --points own.json -o mine.json --json fit.json
expect 0 out '16 IPUs, left out' 'bert, left out'
keys fit.json leave_one_size_out ipus leave_one_family_out
run validate own.json --calibration mine.json --json result.json
expect 0 out 'mine.json: median' 'gains most: one '
keys result.json before gains error_before in_band_share
python3 - result.json <<'END' || complain "the refit does not come nearer: $(grep error result.json)"
import json, sys
gain = json.load(open(sys.argv[1]))["gains"][0]
sys.exit(not abs(gain["error"]) < abs(gain["error_before"]) < 1.01)
END
run validate --calibration none.json
expect 2 err none.json
# A job names the file, from where the job is.
mkdir beside
cp mine.json beside
python3 - "$given/jobs/gallery/epcc-bertB128-bow4.json" >beside/job.json <<'END'
import json, sys
print(json.dumps({**json.load(open(sys.argv[1])), "calibration": "mine.json"}))
END
run estimate beside/job.json --json with.json --quiet
expect 0 out
[[ $(value samples_per_second with.json) != "$(value samples_per_second estimate.json)" ]] || complain "the job's calibration is not used"
sed -i 's/mine.json/yours.json/' beside/job.json
run estimate beside/job.json
expect 2 err yours.json

# Beside another system: what was published, and what is modelled now.
run validate --against dgx-a100 --json result.json --threads 2
expect 0 out 'BERT-Large training, MLPerf v1.1' '3 x dgx-a100' 'published' 'announced' 'modelled' 'items/J'
expect 0 result.json '"basis": "modelled"' '"joules_per_item": ' '"speed": ' '"items_per_joule_ratio": '
finish
