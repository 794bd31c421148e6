#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Scaling over sizes of a machine: sweep.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

run sweep --scaling "$given/scaling-resnet50.json" --sizes 64,16 --json result.json -o plot.svg --threads 2
expect 0 out 'efficiency' 'samples/J' '7 kW' '28 kW' 'o strong' 'x weak'
keys result.json strong weak plan samples_per_second efficiency speed_up samples_per_joule rated_power_w step_time_band_s
expect 0 plot.svg '</svg>' '>IPUs<' '>samples/s<'
(($(grep -c '<circle' plot.svg) == 3)) || complain "not two points and a legend: $(grep -c '<circle' plot.svg)"

# A row is what plan finds.
"$superstep" plan "$given/scaling-resnet50.json" --json plan.json --quiet
rate=$(sed -n 's/^ *"samples_per_second": \([0-9.]*\),*$/\1/p' plan.json | head -1)
expect 0 result.json "\"samples_per_second\": $rate"

# Progress, nothing else on standard output, and a size that has no plan: 100 samples for 256 IPUs.
sed 's/10240/100/' "$given/scaling-resnet50.json" >small.json
run sweep --scaling small.json --sizes 256 --json - --progress json
expect 1 out '"failure": '
[[ $(head -c 1 out) == '{' ]] || complain "not JSON alone: $(head -c 200 out)"
run sweep --scaling small.json --sizes 256
expect 1 out 'no plan' 'strong scaling, ipu-pod256: '
finish
