#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Written settings against stand_ins/, as they are and with changes that break a rule of data/software.

stand_ins_test.py jobs FOLDER   writes the jobs of settings.json and stand_ins.json here, prints names and formats
stand_ins_test.py check         checks what was written for them here
"""
import csv
import json
import pathlib
import re
import sys
import tempfile

import stand_ins
from stand_ins_breaks import BREAKS, UNSEEN

HERE = pathlib.Path(__file__).resolve().parent
SOFTWARE = HERE.parent.parent / "data/software"


def entries():
    """Returns {name: (job, changes of it, formats)}."""
    out = {}
    for name, entry in json.loads((HERE / "settings.json").read_text(encoding="utf-8")).items():
        if entry["format"] in stand_ins.TARGETS:
            out[name] = (entry["job"], entry.get("changes", {}), [entry["format"]])
    for name, entry in json.loads((HERE / "stand_ins.json").read_text(encoding="utf-8")).items():
        out[name] = (entry["job"], entry.get("changes", {}), entry["formats"])
    return out


def merged(value, changes):
    """The value with changes in its members; null takes a member away."""
    if not isinstance(changes, dict) or not isinstance(value, dict):
        return changes
    out = {**value, **{key: merged(value.get(key), change) for key, change in changes.items()}}
    return {key: member for key, member in out.items() if member is not None}


def write_jobs(folder):
    for name, (job, changes, formats) in entries().items():
        text = merged(json.loads(pathlib.Path(folder, job).read_text(encoding="utf-8")), {**changes, "$schema": None})
        pathlib.Path(f"{name}.job.json").write_text(json.dumps(text), encoding="utf-8")
        print(name, *formats)


def table(path):
    """Returns the rows of a table of a report, after a line "# name"."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def plan_of(name):
    job = json.loads(pathlib.Path(f"{name}.job.json").read_text(encoding="utf-8"))
    plan = json.loads(pathlib.Path(f"{name}.plan.json").read_text(encoding="utf-8"))["best"]["plan"]
    units = [row["name"] for row in table(f"{name}.unit.csv")]
    ties = {units[int(row["borrower"])]: units[int(row["owner"])] for row in table(f"{name}.tie.csv")}
    return stand_ins.Plan(job.get("run", {}).get("instances", 1), plan["replicas"], job["task"] == "training", ties)


def check_written():
    """Says what the stand-ins refuse of what was written."""
    for name, (_, _, formats) in entries().items():
        for target in formats:
            refusal = stand_ins.check(target, f"{name}.{target}", plan_of(name))
            if refusal:
                yield f"{name}, {target}: refused: {refusal}"


def check_breaks():
    """Says which changes the stand-ins take, or refuse for another reason than the one expected."""
    for _, rule, file, old, new, expected in BREAKS:
        name, target = file.rsplit(".", 1)
        text = pathlib.Path(file).read_text(encoding="utf-8")
        broken = old.sub(new, text) if isinstance(old, re.Pattern) else text.replace(old, new)
        where = f"{file}, {rule or expected}"
        if broken == text:
            yield f"{where}: {old} is not in it"
            continue
        with tempfile.NamedTemporaryFile("w", suffix="." + target, encoding="utf-8") as written:
            written.write(broken)
            written.flush()
            refusal = stand_ins.check(target, written.name, plan_of(name))
        if expected not in refusal:
            yield f"{where}: found {refusal!r}, expected {expected!r}"


def check_coverage():
    """Says which rules have neither a change that breaks them nor a reason why there is none, and which have both."""
    for path in sorted(SOFTWARE.glob("*.json")):
        software = path.stem
        if UNSEEN.get(software, {}) is None:
            continue
        ids = {rule["id"] for rule in json.loads(path.read_text(encoding="utf-8"))["rules"]}
        broken = {rule for of, rule, *_ in BREAKS if of == software and rule}
        unseen = set(UNSEEN.get(software, {}))
        for rule in sorted(ids ^ (broken | unseen)):
            yield f"{software} {rule}: " + ("is in neither list" if rule in ids else "is no rule")
        for rule in sorted(broken & unseen):
            yield f"{software} {rule}: is in both lists"


def main():
    if sys.argv[1] == "jobs":
        write_jobs(sys.argv[2])
        return 0
    complaints = [*check_coverage(), *check_written(), *check_breaks()]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
