#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A grid of jobs: killed at any moment, it goes on and nothing is lost or doubled: sweep_grid.sh SUPERSTEP SWEEPS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"
toy=$given/toy.json
items=36 # 3 link rates, 3 memories, 4 replicas

run sweep "$toy" -o whole.sqlite --format csv --threads 2 --json whole.json
mv out whole.csv
expect 1 whole.csv 'item,/machine/override/chip,/machine/override/links/rate,/plan/replicas,status,reason' infeasible
keys whole.json items planned infeasible failed best plan label fits tile_peak_bytes samples_per_second reason
(($(wc -l <whole.csv) == items + 1)) || complain "$(wc -l <whole.csv) lines, expected $((items + 1))"
[[ ! -s err ]] || complain "standard error is not empty: $(head -c 300 err)"
run sweep "$toy" --threads 1 --format json
mv out json.out
cmp -s json.out whole.json || complain "--format json and --json differ, or threads matter"
run sweep "$toy" -o whole.sqlite
expect 1 out samples/s replicas 't=2 p=1 r=4' 'item 0: no plan fits: '
run sweep "$toy" -o whole.sqlite --format markdown
expect 1 out '| item | chip | rate | replicas | samples/s | plan |' '|---:|'

# start_and_kill AFTER: a run that is killed when so many items are done.
mkfifo pipe
exec 3<>pipe # both ends stay open, so that the program can write whoever reads
start_and_kill() {
  local child line
  "$superstep" sweep "$toy" -o results.sqlite --threads 2 --progress json >killed.out 2>&3 &
  child=$!
  while IFS= read -r line; do
    [[ $line != '{"row":{'* ]] || continue
    [[ $line == *'"done":'* ]] || complain "no progress: $line"
    line=${line#*'"done":'}
    ((${line%%,*} < $1)) || break
  done <&3
  # While it runs, a second one must not write.
  kill -STOP "$child"
  run sweep "$toy" -o results.sqlite
  expect 2 err 'results.sqlite: another process is writing to it'
  kill -9 "$child"
  wait "$child" 2>/dev/null || true
}
for after in 0 1 7 20; do start_and_kill "$after"; done
run sweep "$toy" -o results.sqlite --format csv --threads 2 --progress json
mv out resumed.csv
expect 1 err "\"done\":$items" "\"jobs\":$items" '"seconds_left":'
cmp -s resumed.csv whole.csv || complain "resumed: $(diff resumed.csv whole.csv | head -n 4)"
# Each item is told once: those that were there, then the others as they end.
rows=$(grep -c '^{"row":{.*"item":' err)
((rows == items)) || complain "$rows rows of $items told"
grep -o '"item":[0-9]*' err | sort | uniq -d | grep . && complain "an item told twice"
first=$(grep -m 1 -v '^{"row":' err)
[[ $first != *'"done":0,'* ]] || complain "began anew: $first"

# All there: read alone.
run sweep "$toy" -o results.sqlite --format csv --progress json
cmp -s out whole.csv || complain "read again: $(diff out whole.csv | head -n 4)"
[[ ! -s err ]] || complain "planned again: $(head -n 1 err)"

# Another sweep, and files that are none.
sed 's/"2 MB/"3 MB/' "$toy" | sed "s|\.\./jobs|$given/../jobs|" >other.json
run sweep other.json -o results.sqlite
expect 2 err 'holds results of another sweep' '/grid/~1machine~1override~1links~1rate/2' 'found "2 MB/s"' 'expected "3 MB/s"'
run sweep "$toy" -o results.sqlite --time-limit 9
expect 2 err 'found 0.0 for /time_limit, expected 9.0'
run sweep "$toy" -o whole.csv
expect 2 err 'whole.csv: found another kind of file'

# One item as a job: the same numbers, and a report.
run plan "$toy" --item 22 --json item.json -o item.ssr --quiet
expect 0 item.json '"label": "t=2 p=1 r=4 m=4 g=1"' "$(grep -F '"item": 22,' -A 60 whole.json | grep -m 1 samples_per_second | tr -d ', ' | sed 's/:/: /')"
[[ -s item.ssr ]] || complain "no report of an item"
run plan "$toy" --item 3
expect 2 err '/plan/replicas: found 16, which does not divide the 8 IPUs'
run plan "$toy" --item 36
expect 2 err '--item: found 36, expected an item from 0 to 35'
run plan "$given/../jobs/toy-free.json" --item 0
expect 2 err 'toy-free.json: found no sweep'
finish
