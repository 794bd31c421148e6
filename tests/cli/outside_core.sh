#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Planning models with ops outside the core: outside_core.sh SUPERSTEP FOLDER_OF_ONNX_FILES
# Control flow is refused with the node's name, exit 1; ops without a cost of their own are noted.
set -euo pipefail

superstep=$(readlink -f -- "$1")
files=$(readlink -f -- "$2")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

job() {
  printf '{"model": {"onnx": "%s"}, "machine": "toy", "task": "inference", "batch": {"global": 2}}' "$files/$1.onnx" >"$1.json"
}
expect() { grep -qF -- "$2" "$1" || { echo "not found: $2"; cat "$1"; exit 1; }; }

job branch
status=0
"$superstep" plan branch.json >out 2>&1 || status=$?
((status == 1)) || { echo "exit $status, expected 1"; cat out; exit 1; }
expect out 'node "either" (If)'

job top
"$superstep" plan top.json >out 2>&1
tr -s ' \n' ' ' <out >line
expect line 'of the step is generic cost (top_k)'
