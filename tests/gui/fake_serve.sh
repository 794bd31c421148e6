#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stands in for `superstep serve` in the viewer's tests: fake_serve.sh MODE LOG
# MODE: answer, slow, refuse, crash, garbage, hang. Each line it reads goes to LOG.
mode=$1
log=$2
while IFS= read -r line; do
  printf '%s\n' "$line" >>"$log"
  id=$(sed -E 's/.*"id":([0-9]+).*/\1/' <<<"$line")
  if [[ $line == *'"cancel"'* ]]; then
    printf '{"id":%s,"command":"cancel","cancelled":true}\n' "$id"
    continue
  fi
  case $mode in
  crash)
    echo "out of luck" >&2
    exit 7
    ;;
  garbage) echo "Segmentation fault, or so" ;;
  hang) exec sleep 60 ;;
  refuse) printf '{"id":%s,"error":"job#/plan: replicas: no such degree","kind":"bad_input"}\n' "$id" ;;
  *)
    [[ $mode == slow ]] && sleep 0.4
    printf '{"id":%s,"progress":0.5,"what":"search"}\n' "$id"
    printf '{"id":%s,"command":"plan","best":{"label":"t=1 p=4 r=4 m=3 g=128","fits":"tight","samples_per_second":800.5,"step_time_s":1.91875,"flop_utilisation":0.25,"global_batch":1536,"memory":{"ddr_bytes_per_ipu":1048576,"ipu_peak_bytes":900000000,"tile_limit_bytes":638976,"tile_peak_bytes":630000},"plan":{"micro_batch":3},"waterfall":[{"kind":"compute","name":"ideal at FP16.16 peak","seconds":0.41875},{"kind":"host","name":"host input","seconds":1.5}]}}\n' "$id"
    ;;
  esac
done
