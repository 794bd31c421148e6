#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stands in for `superstep plan` and `superstep sweep` in the viewer's tests:
#   fake_plan.sh MODE REPORT LOG COMMAND FILE -o OUTPUT ...
# MODE: done, slow, infeasible, refuse, silent, crash, hang, garbage, partial. "name" is what the job's file is called.
# A report is a copy of REPORT. The arguments go to LOG.
mode=$1
report=$2
log=$3
shift 3
printf '%s\n' "$*" >>"$log"
command=$1
[[ $mode != name ]] || mode=$(basename -- "$2" .json)
while [[ $1 != -o ]]; do shift; done
output=$2

progress() { printf '{"progress":%s,"what":"%s"}\n' "$1" "$2" >&2; }
write() {
  cp -- "$report" "$output.part"
  mv -- "$output.part" "$output"
}

case $mode in
crash)
  progress 0.4 "searching"
  echo "terminate called" >&2
  kill -SEGV $$
  ;;
hang) exec sleep 60 ;;
refuse)
  echo 'superstep: job.json#/plan/replicas: found 3, expected a divisor of 16' >&2
  exit 2
  ;;
silent) exit 3 ;;
garbage)
  echo "no JSON at all" >&2
  head -c 4096 /dev/zero >&2
  echo "nor this"
  echo "no report" >"$output"
  exit 0
  ;;
partial)
  printf '{"progress":0.25,"wh' >&2
  sleep 0.2
  printf 'at":"in two parts"}\n{"progress":' >&2
  write
  exit 0
  ;;
esac

progress 0.5 "searching"
[[ $mode != slow ]] || sleep 0.4
if [[ $command == sweep ]]; then
  printf '{"row":%s}\n' '{"item": 0, "grid": {"/plan/replicas": 2}, "status": "planned", "label": "t=1 p=1 r=2 m=4 g=1",
    "fits": "tight", "samples_per_second": 120.25, "step_time_s": 0.0625, "tile_peak_bytes": 48000, "gap": 0.0}' |
    tr -d '\n' >&2
  printf '\n{"progress":0.5,"what":"t=1","done":1,"jobs":3,"without_plan":1,"seconds_left":2.5}\n' >&2
  [[ $mode != slow ]] || sleep 0.4
  cat <<'JSON'
{"best": 0, "planned": 1, "infeasible": 1, "failed": 1, "items": [
 {"item": 0, "grid": {"/plan/replicas": 2, "/machine/override/links/rate": "1 MB/s"}, "status": "planned",
  "label": "t=1 p=1 r=2 m=4 g=1", "fits": "tight", "global_batch": 8, "samples_per_second": 120.25, "step_time_s": 0.0625,
  "tile_peak_bytes": 48000, "ddr_bytes_per_ipu": 256, "gap": 0.0, "plan": {}},
 {"item": 1, "grid": {"/plan/replicas": 4}, "status": "infeasible", "reason": "no plan fits: tile memory is over by 3 KiB"},
 {"item": 2, "grid": {"/plan/replicas": 3}, "status": "failed", "reason": "found 3, which does not divide the 8 IPUs"}]}
JSON
  exit 1
fi
write
[[ $mode != infeasible ]] || exit 1
