#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Built without MPI, ranks are refused rather than each doing all: sweep_no_ranks.sh SUPERSTEP SWEEPS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"
OMPI_COMM_WORLD_SIZE=2 run sweep "$given/toy.json"
expect 2 err 'this program was built without MPI' '-DSUPERSTEP_MPI=ON'
finish
