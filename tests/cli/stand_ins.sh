#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Written settings against stand-ins that refuse what the real software refuses: stand_ins.sh SUPERSTEP JOBS
# shellcheck source=tests/cli/checks.sh
here=$(dirname -- "$(readlink -f -- "$0")")
source "$here/checks.sh"
if ! python3 -c 'import yaml' 2>/dev/null; then
  echo "skipped: there is no python3 with yaml to run the written settings"
  exit 77
fi
export PYTHONDONTWRITEBYTECODE=1

python3 "$here/stand_ins_test.py" jobs "$given" >names
while read -r name formats; do
  run estimate "$name.job.json" -o "$name.ssr" --quiet --json "$name.plan.json"
  expect 0 out
  for table in unit tie; do
    run export "$name.ssr" --to csv --table "$table" -o "$name.$table.csv"
    expect 0 out
  done
  for format in $formats; do
    run export "$name.ssr" --to "$format" -o "$name.$format"
    expect 0 out "Wrote $name.$format: "
  done
done <names
((failed)) || python3 "$here/stand_ins_test.py" check || failed=1
finish
