#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The steps of a search as text: on standard output and in a file, whole or not at all: trace.sh SUPERSTEP JOB
# shellcheck source=tests/cli/checks.sh
source "$(dirname -- "$(readlink -f -- "$0")")/checks.sh"

run plan "$given" --quiet --trace-search -
expect 0 out 'best plan' 'bounded by tables' 'opened into' 'cut: a new best plan'
cp out shown
run plan "$given" --quiet --trace-search steps.txt --json plan.json
expect 0 out
cmp -s shown steps.txt || complain "the file differs from standard output"
# The last line has the score of the plan that is printed.
python3 - <<'END' || complain "another best plan than the result"
import json
shown = open("steps.txt").read().split()[-1].replace(",", "")
assert abs(float(shown) / json.load(open("plan.json"))["best"]["samples_per_second"] - 1) < 0.01, shown
END
run plan "$given" --quiet --trace-search none/steps.txt
expect 2 err 'none/steps.txt' 'there is no folder none'
run plan --space "$given" --trace-search -
expect 2 err '--space excludes --trace-search'
finish
