#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The declared space as text has all that its JSON has, with whole names, on lines that a terminal has room for:
# space.sh SUPERSTEP JOB
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

run plan --space "$given" --json space.json
expect 0 out 'draws from' 'points' 'plans'
python3 - <<'END' || complain "not the fields of the JSON"
import json
fields = {k: v for k, v in json.load(open("space.json")).items() if not k.startswith("space_")}
heading, *lines = open("out").read().splitlines()
column, found, name = heading.index("draws from"), {}, ""
for line in lines:
    assert len(line) <= 100, line
    name = line[:column].strip() or name
    found[name] = (found.get(name, "") + " " + line[column:]).strip()
assert isinstance(fields["replicated_tensor_sharding.weights"], list)
def text(values):
    return values if isinstance(values, str) else ", ".join(v if isinstance(v, str) else str(v).replace(" ", "") for v in values)
for name, values in fields.items():
    assert found.get(name) == text(values), (name, found.get(name), values)
END
run plan --space "$given" --why '{"pipeline_stages": 2}'
expect 2 err '--space excludes --why'
finish
