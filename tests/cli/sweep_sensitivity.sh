#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a result depends on: sweep_sensitivity.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

run sweep --sensitivity "$given/toy-free.json" --json one.json --threads 1
expect 0 out elasticity '/chip/clock' '/links/rate' 'this plan wins while /chip/tile_memory is above '
keys one.json best numbers pointer value elasticity half twice break_points winner same_plan
run sweep --sensitivity "$given/toy-free.json" --json - --threads 2 --progress json
cmp -s out one.json || complain "threads matter: $(diff out one.json | head -n 4)"
expect 0 err '"what":"0.5x and 2x, ' '"what":"break-points, round 6 of 6, '

# Nothing to rank where there is no plan.
run sweep --sensitivity "$given/bert-large-pod16-p4-unsharded.json"
expect 1 out 'no plan fits: tile memory on IPU '
finish
