#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Planning models with ops outside the core: outside_core.sh SUPERSTEP FOLDER_OF_ONNX_FILES
# Control flow is refused with the node's name, exit 1; ops without a cost of their own are noted.
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

job() {
  printf '{"model": {"onnx": "%s"}, "machine": "toy", "task": "inference", "batch": {"global": 2}}' "$given/$1.onnx" >"$1.json"
}

job branch
run plan branch.json
expect 1 err 'node "either" (If)'

job determinant
run plan determinant.json
tr -s ' \n' ' ' <out >line
expect 0 line 'of the step is generic cost (determinant)'
finish
