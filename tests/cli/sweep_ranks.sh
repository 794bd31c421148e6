#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A grid under mpirun on one machine, with ranks killed: sweep_ranks.sh SUPERSTEP SWEEPS
# shellcheck source=tests/cli/ranks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/ranks.sh"
small_sweep '"500 kB/s", "1 MB/s", "2 MB/s"'
"$superstep" sweep sweep.json --format csv >alone.csv || true
(($(wc -l <alone.csv) == 37)) || complain "$(wc -l <alone.csv) lines, expected 37"

rm -f err
# Two of four ranks are killed with SIGKILL: they cost the item they held, which others plan.
timeout -k 5 100 mpirun --enable-recovery -n 4 "$superstep" sweep "$PWD/sweep.json" -o $results --format csv \
  --threads 1 --lost-after 3 --progress json >out 2>err &
mpi=$!
wait_for_rows 2 $mpi
kill_ranks 1 3
found=0
wait $mpi || found=$?
((found != 124)) || complain "mpirun does not end"
same_as_alone out "two of four ranks killed"
for rank in 1 3; do grep -q "rank $rank was lost, with item [0-9]*\"" err || complain "not said: rank $rank was lost"; done
grep -q '"jobs":36.*"seconds_left":' err || complain "no progress"
# Rank 0 tells each row once it is kept, whoever planned it.
(($(grep -o '^{"row":.*"item":[0-9]*' err | grep -o '"item":[0-9]*' | sort -u | wc -l) == 36)) ||
  complain "$(grep -c '^{"row":' err) rows told, expected 36"

# All is there: nothing is planned again, by any number of ranks; the exit code is that of one process, some items have none.
timeout -k 5 100 mpirun -n 2 "$superstep" sweep sweep.json -o $results --format csv --progress json >out 2>err || found=$?
same_as_alone out "read again"
((found == 1)) || complain "exit $found, expected 1"
! grep -q '"done":' err || complain "planned again: $(head -n 3 err)"

# Mistakes are said once.
timeout -k 5 100 mpirun -n 2 "$superstep" sweep nowhere.json >out 2>err || found=$?
((found == 2)) || complain "exit $found, expected 2"
(($(grep -c '^superstep: nowhere.json' err) == 1)) || complain "$(grep -c nowhere.json err) messages, expected 1"
timeout -k 5 100 mpirun -n 2 "$superstep" sweep --sensitivity "$given/../jobs/toy-free.json" >out 2>err || found=$?
grep -q 'found with --sensitivity, expected with SWEEP.json' err || complain "not refused: $(head -n 3 err)"
finish
