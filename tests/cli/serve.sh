#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Jobs as JSON lines: serve.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

coproc server { "$superstep" serve --threads 1 2>err; }
# shellcheck disable=SC2154  # set by coproc
exec {to}>&"${server[1]}" {from}<&"${server[0]}"
# shellcheck disable=SC2154  # set by coproc
process=$server_PID
ask() { printf '%s\n' "$1" >&"$to"; }
answer() {  # TEXT...: the next line has them
  local line text
  if ! IFS= read -r -t 120 line <&"$from"; then
    complain "no answer, expected $*"
    return
  fi
  for text; do
    [[ $line == *"$text"* ]] || complain "not found: $text in ${line:0:400}"
  done
}

# A request, the same plan as the command's, and once more with other pins.
ask "{\"id\": 1, \"job\": \"$given/toy-free.json\"}"
answer '"id":1' '"command":"plan"' '"best":{' '"runners_up":[' '"optimal":true'
ask "{\"id\": [2], \"command\": \"estimate\", \"worlds\": true, \"job\": \"$given/toy-pipeline.json\"}"
answer '"id":[2]' '"command":"estimate"' '"step_time_s":' '"step_time_in_worlds_s":['
ask "{\"id\": \"w\", \"job\": \"$given/toy-free.json\", \"why\": {\"pipeline_stages\": 4}, \"top\": 1, \"pareto\": false}"
answer '"id":"w"' '"verdict":"slower"' '"runners_up":[]'
# A job alone, on one line.
ask "$(tr '\n' ' ' <"$given/toy-one-ipu.json")"
answer '"id":null' '"best":{'

# The same plan on a machine with another number: what is kept of the first machine changes nothing in the answer.
other=$(tr '\n' ' ' <"$given/toy-pipeline.json" | sed 's|"override": {|"override": {"links": {"hop_latency": "30 us"}, |')
other="{\"id\": \"other\", \"command\": \"estimate\", \"job\": $other}"
but_times() { sed -E 's/"proof_seconds":[^,}]*,//; s/"seconds":[^,}]*(,"stopped":[^,}]*),"table_seconds":[^,}]*/\1/'; }
ask "$other"
IFS= read -r -t 120 warm <&"$from" || true
cold=$("$superstep" serve --threads 1 <<<"$other")
[[ $warm == *'"best":{'* ]] || complain "no answer for another machine: ${warm:0:400}"
[[ $(but_times <<<"$warm") == "$(but_times <<<"$cold")" ]] || complain "another machine, warm: $warm, cold: $cold"

# Bad requests are answers, and the next one is served.
ask '{"id": 3, "job": '
answer '"id":null' '"kind":"bad_input"' 'line 6 at byte'
ask 'plan, please'
answer '"kind":"bad_input"' 'line 7'
ask '{"id": 4, "command": "plam", "job": {}}'
answer '"id":4' '"error":"line 8#/command' 'did you mean'
ask '{"id": 5, "jobb": {}}'
answer '"id":5' '"error":"line 9#' 'job'
ask '{"id": 6, "job": {"model": {"zoo": "bert-larg"}, "machine": "ipu-pod4"}}'
answer '"id":6' 'line 10, job#/model/zoo' 'bert-large'
ask '[]'
answer '"kind":"bad_input"' 'line 11'
ask "{\"id\": 7, \"job\": \"$given/toy-free.json\", \"why\": {\"replicaz\": 4}}"
answer '"id":7' 'line 12#/why#/replicaz' 'did you mean'
ask '{"id": 8, "job": "nowhere.json"}'
answer '"id":8' 'nowhere.json'

# Cancel: what runs, what waits, and what is not there. The running search takes minutes on one thread.
ask "{\"id\": \"long\", \"job\": \"$given/gpt3-175b-pod256.json\", \"progress\": true}"
answer '"id":"long"' '"progress":'
ask "{\"id\": \"next\", \"job\": \"$given/toy-free.json\"}"
ask '{"id": "next", "command": "cancel"}'
ask '{"id": "nobody", "command": "cancel"}'
ask '{"id": "long", "command": "cancel"}'
cancelled=0
for ((i = 0; i < 2000; ++i)); do
  IFS= read -r -t 120 line <&"$from" || break
  [[ $line == *'"kind":"cancelled"'* ]] && ((++cancelled))
  if [[ $line == *nobody* ]]; then [[ $line == *'"cancelled":false'* ]] || complain "cancelled nobody: $line"; fi
  ((cancelled == 2)) && break
done
((cancelled == 2)) || complain "$cancelled requests cancelled, expected 2"

# The end of input: what waits is still answered.
ask "{\"id\": 9, \"command\": \"estimate\", \"job\": \"$given/toy-pipeline.json\"}"
exec {to}>&-
eval "exec ${server[1]}>&-"
answer '"id":9' '"best":{'
found=0
wait "$process" || found=$?
((found == 0)) || complain "exit $found at the end of input, expected 0"
[[ ! -s err ]] || complain "standard error is not empty: $(head -c 300 err)"
finish
