#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts that start mpirun share; they source it. A small sweep, its rows, and ranks to kill.
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/checks.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
# shellcheck disable=SC2034  # for the scripts
results=results.sqlite

# small_sweep RATES: the toy sweep with these link rates, twelve items for each.
small_sweep() {
  sed "s|\.\./jobs|$given/../jobs|; s|\"500 kB/s\", \"1 MB/s\", \"2 MB/s\"|$1|" "$given/toy.json" >sweep.json
  grep -qF "$1" sweep.json || complain "toy.json has other link rates than expected"
}
# What is written, by the progress on standard error.
rows() {
  local written
  written=$(grep -o '"done":[0-9]*' err 2>/dev/null | tail -n 1) || true
  echo "${written:-0}" | tr -dc 0-9
}
# wait_for_rows N PROCESS: until so many are written; at once where the process has ended.
wait_for_rows() {
  while (($(rows) < $1)); do
    kill -0 "$2" 2>/dev/null || return 0
    sleep 0.05
  done
}
# rank_pid N: the process of this rank that we started.
rank_pid() {
  local pid
  for pid in $(pgrep -f "superstep sweep $PWD/sweep.json"); do
    if [[ $(cat "/proc/$pid/comm") == superstep ]] && grep -qz "^OMPI_COMM_WORLD_RANK=$1\$" "/proc/$pid/environ"; then
      printf '%s' "$pid"
      return
    fi
  done
  complain "no rank $1"
}
# kill_ranks N...: all are found first, and then gone together, while there is still something to do.
kill_ranks() {
  local rank pids=()
  for rank in "$@"; do pids+=("$(rank_pid "$rank")"); done
  kill -9 "${pids[@]}" || true
}
same_as_alone() {  # FILE WHAT
  cmp -s "$1" alone.csv || complain "$2: $(diff "$1" alone.csv | head -n 4)"
}
