#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The settings of published plans, written and compared with what was published: settings.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
here=$(dirname -- "$(readlink -f -- "$0")")
source "$here/checks.sh"
if ! command -v python3 >/dev/null; then
  echo "skipped: there is no python3 to run the written settings"
  exit 77
fi

# What jobs leave out of a published run is said beside it, as changes of the job.
python3 - "$here/settings.json" "$given" >names <<'END'
import json, sys
for name, entry in json.load(open(sys.argv[1])).items():
    job = json.load(open(f"{sys.argv[2]}/{entry['job']}"))
    job.update(entry.get("changes", {}))
    del job["$schema"]
    json.dump(job, open(f"{name}.job.json", "w"))
    print(name, entry["format"])
END
while read -r name format; do
  report=$name.ssr
  run estimate "$name.job.json" -o "$report" --quiet
  expect 0 out
  run export "$report" --to "$format" -o "$name"
  expect 0 out "Wrote $name: "
  case $format in
    poptorch | popart | tensorflow) python3 -m py_compile "$name" || complain "$name: not Python" ;;
    poprun | vipu) sh -n "$name" || complain "$name: not a shell script" ;;
  esac
  python3 "$here/settings.py" "$here/settings.json" "$name" "$name" || failed=1
done <names

# What a target cannot express is refused, and nothing is written.
run export gpt3-175b.ssr --to poptorch -o refused.py
expect 1 err 'PopTorch cannot express the plan: tensor_parallel is 64' '(pin "tensor_parallel": 1; rule one-ipu-an-operator, popart ' 'phases is 98'
[[ ! -e refused.py ]] || complain "refused, but written"
finish
