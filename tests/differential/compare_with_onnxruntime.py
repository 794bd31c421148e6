#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Superstep with ONNX Runtime on small random models of one or two operators.

Models and values are drawn by a seed; ONNX Runtime's results are the expected ones. Differences that are known, each
with its reason, are in accepted.json; any other makes the exit status 1. What ONNX Runtime itself refuses is counted.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from pathlib import Path

import cases
import onnx_files
import operators_elementwise  # noqa: F401  (registers generators)
import operators_networks  # noqa: F401
import operators_other  # noqa: F401
import operators_shape  # noqa: F401

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ONNXRUNTIME = "onnxruntime-node@1.30.0"
PART = 250  # cases of one call of Superstep
SECONDS_OF_CASE = 30


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/dev/bin/superstep"))
    parser.add_argument("--proto", type=Path, default=ROOT / "model/onnx/onnx_subset.proto")
    parser.add_argument("--packages", type=Path, help=f"folder with node_modules (default: {ONNXRUNTIME} is installed)")
    parser.add_argument("--accepted", type=Path, default=HERE / "accepted.json")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--operator", help="only those whose name matches this pattern")
    parser.add_argument("--keep", type=Path, help="folder for the models and values (default: one that is removed)")
    parser.add_argument("--counts", action="store_true", help="print counts of every operator")
    return parser.parse_args()


# models


def drawn(count, seed, pattern):
    """Operators in turn, by their weights, each with numbers of its own: a case stays when others are added."""
    generators = {n: g for n, g in cases.GENERATORS.items() if not pattern or re.fullmatch(pattern, n)}
    whole = sum(g.weight for g in generators.values())
    for name, generator in sorted(generators.items()):
        for i in range(max(1, round(count * generator.weight / whole))):
            made = one_case(name, generator, seed, i)
            if made:
                yield made


def one_case(name, generator, seed, number):
    for attempt in range(20):
        own = [seed, number, attempt, *name.encode()]
        case = cases.Case(f"{name.replace('.', '_')}_{number}", name, own, 0, generator.domain)
        oldest = max(generator.since, cases.OLDEST) if not generator.domain else 13
        case.opset = case.between(oldest, generator.until)
        try:
            generator.make(case)
        except cases.NoCase:
            continue
        if case.operator in SAME_TYPE and case.opset >= 10:
            case.follow(case.operands[SAME_TYPE[case.operator]].dtype)
        return case
    return None


# Operators whose result has the type of an operand: of which.
SAME_TYPE = {name: 0 for name in """
    Abs Neg Relu Round Ceil Floor Add Sub Mul Div Min Max Mod Clip Pad Pow ReduceMax ReduceMin ReduceSum ReduceProd
    Gather GatherND GatherElements Sqrt Sign Concat Tile Expand Slice CumSum Trilu ScatterND ScatterElements MaxPool
    Resize LeakyRelu Elu Selu Tanh Sin Atan MatMul Einsum Transpose HardSwish""".split()}
SAME_TYPE["Where"] = 1


def write(case, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    versions = {"": case.opset} | ({case.domain: 1} if case.domain else {})
    (folder / "model.onnx").write_bytes(onnx_files.model(case.graph, versions))
    for k, (name, array) in enumerate(case.graph.inputs):
        (data / f"input_{k}.pb").write_bytes(onnx_files.tensor(array, name).SerializeToString())


def write_all(made, folder):
    listed, values, at = [], [], 0
    for i, case in enumerate(made):
        case.folder = folder / f"part_{i // PART:02}" / case.name
        write(case, case.folder)
        inputs = []
        for name, array in case.graph.inputs:
            inputs.append({"name": name, "type": array.dtype.name, "dims": list(array.shape), "from": at,
                           "bytes": array.nbytes})
            values.append(array.tobytes())
            at += array.nbytes
        listed.append({"folder": str(case.folder), "inputs": inputs})
    (folder / "list.json").write_text(json.dumps(listed))
    (folder / "values.bin").write_bytes(b"".join(values))


# ONNX Runtime


def install(folder):
    subprocess.run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts",
                    "--loglevel=error", ONNXRUNTIME], check=True, stdout=subprocess.DEVNULL)
    return folder


def lines_of(process):
    """What the process prints; it is ended when it says nothing for long."""
    while True:
        timer = threading.Timer(SECONDS_OF_CASE, process.kill)
        timer.start()
        line = process.stdout.readline()
        timer.cancel()
        if not line:
            return
        yield line


def run_onnxruntime(made, folder, packages):
    """Sets what ONNX Runtime says of each case: "" or why not. Goes on behind a case that ends it."""
    first = 0
    while first < len(made):
        command = ["node", str(HERE / "run_onnxruntime.cjs"), str(packages), str(folder), str(first)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        at = first
        for line in lines_of(process):
            told = json.loads(line)
            if "start" in told:
                at = told["start"]
                made[at].refused = "ends ONNX Runtime, or does not end in it"
            elif "done" in told:
                made[told["done"]].refused = ""
            else:
                made[told["refused"]].refused = told["why"]
        if process.wait() == 0:
            return
        first = at + 1


# Superstep


def run_superstep(program, folder):
    """name of the case's folder: (status, why); None when the program did not end well."""
    report = folder / "report.json"
    command = [program, "conformance", str(folder), "--json", str(report), "--quiet", "--threads", "2"]
    try:
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               timeout=SECONDS_OF_CASE if (folder / "model.onnx").exists() else 10 * SECONDS_OF_CASE)
    except subprocess.TimeoutExpired:
        return None, "does not end"
    if ended.returncode not in (0, 1):
        return None, f"ends Superstep: status {ended.returncode} {ended.stderr.strip()[:200]}"
    told = json.loads(report.read_text())["cases"]
    return {c["name"].split("/")[1]: (c["status"], c["why"]) for c in told}, ""


def judge(program, made, folder):
    for part in sorted(folder.glob("part_*")):
        own = [c for c in made if c.folder.parent == part]
        for case in own:
            if case.refused:
                shutil.move(case.folder, folder / "refused" / case.name)
        if not any(not c.refused for c in own):
            continue
        results, _ = run_superstep(program, part)
        for case in own:
            if case.refused:
                continue
            if results is None:  # one case ended it: each by itself
                single, why = run_superstep(program, case.folder)
                case.status, case.why = ("failed", why) if single is None else next(iter(single.values()))
            else:
                case.status, case.why = results[case.name]


# the report


class Accepted:
    """Known differences: patterns of a case's description and of what Superstep says of it. With "absolute" or
    "relative" the first two numbers that differ are at most so far apart."""

    def __init__(self, path):
        self.entries = json.loads(path.read_text()) if path.exists() else []
        for entry in self.entries:
            entry["pattern"] = re.compile(entry["case"])
            entry["saying"] = re.compile(entry.get("why", ""))

    def reason(self, case):
        what = case.description()
        for entry in self.entries:
            if entry["pattern"].search(what) and entry["saying"].search(case.why) and near(entry, case.why):
                return entry["reason"]
        return ""


def near(entry, why):
    """Of "element 3 is 0.5, expected 0.7"."""
    if "absolute" not in entry and "relative" not in entry:
        return True
    numbers = re.search(r"element \d+ is (\S+), expected ([^\s;]+)", why)
    if not numbers:
        return False
    found, expected = float(numbers[1]), float(numbers[2])
    return abs(found - expected) <= entry.get("absolute", 0) + entry.get("relative", 0) * abs(expected)


def report(made, accepted, counts):
    totals, by_operator, by_reason, unknown = Counter(), defaultdict(Counter), Counter(), []
    for case in made:
        if case.refused:
            outcome = "refused"
        elif case.status == "passed":
            outcome = "passed"
        else:
            reason = accepted.reason(case)
            outcome = "accepted" if reason else "different"
            by_reason[reason] += bool(reason)
            if not reason:
                unknown.append(case)
        totals[outcome] += 1
        by_operator[case.operator][outcome] += 1
    if counts:
        for name, of in sorted(by_operator.items()):
            print(f"{name:45} " + " ".join(f"{k} {of[k]}" for k in sorted(of)))
    for reason, n in by_reason.most_common():
        if reason:
            print(f"accepted {n:4}: {reason}")
    for case in unknown:
        print(f"\nDIFFERENT {case.name} ({case.folder})\n  {case.description()}\n  {case.status}: {case.why}")
    print(f"\n{len(by_operator)} operators, {len(made)} cases: {totals['passed']} passed, "
          f"{totals['accepted']} accepted, {totals['different']} different, "
          f"{totals['refused']} refused by ONNX Runtime")
    return not unknown


def main():
    given = arguments()
    scratch = Path(tempfile.mkdtemp(prefix="superstep_differential."))
    folder = given.keep.resolve() if given.keep else scratch / "cases"
    try:
        (folder / "refused").mkdir(parents=True)
        onnx_files.make_classes(given.proto, scratch)
        made = list(drawn(given.cases, given.seed, given.operator))
        write_all(made, folder)
        run_onnxruntime(made, folder, given.packages or install(scratch / "packages"))
        judge(given.program, made, folder)
        (folder / "outcomes.json").write_text(json.dumps(
            [{"name": c.name, "operator": c.operator, "what": c.description(), "refused": c.refused,
              "status": getattr(c, "status", ""), "why": getattr(c, "why", "")} for c in made], indent=1))
        return 0 if report(made, Accepted(given.accepted), given.counts) else 1
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
