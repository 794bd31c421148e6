#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports networks with PyTorch, and holds superstep to what PyTorch finds.

  check_networks.py SUPERSTEP [NAME...] [--update] [--keep FOLDER]

Debian: python3-torch python3-torchvision. No weights are downloaded: all are drawn. Per network, of the catalogue or
of those named:
  import   each node is supported, and there are as many parameters and FLOPs of products as PyTorch has
  default  the file that torch.onnx.export writes by itself, norms folded into weights, gives PyTorch's values
  plan     a plan that fits is found, for inference and training
  run      values of the file with nothing folded are PyTorch's, and those of a plan have the same bits
  train    loss and gradients are PyTorch's, and a step under a plan has the same bits as the plain model
The results are compared with the table of docs/results/networks.md, which --update writes. Exit 1 where less is found
than the table says.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import torch

import catalogue
from files import write_forward, write_training
from pytorch_side import drawn

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "results" / "networks.md"
STEPS = ("import", "default", "plan", "run", "train")
SEARCH_SECONDS, COMMAND_SECONDS = 20, 300
YES, NO, NOT_TRIED = "yes", "no", "–"


class Failed(Exception):
    pass


class Program:
    """superstep, at most two at a time, each on one thread."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments):
        """The JSON and the text that a command writes."""
        command = [self.path, *map(str, arguments), "--threads", "1"]
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            try:
                done = subprocess.run([*command, "--json", file.name], capture_output=True, text=True, cwd=ROOT,
                                      timeout=COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                raise Failed(f"{arguments[0]} takes more than {COMMAND_SECONDS} s") from None
            text, content = (done.stdout + done.stderr).strip(), pathlib.Path(file.name).read_text()
        if done.returncode not in (0, 1) or not content:
            raise Failed(f"{arguments[0]} exits {done.returncode}: {text.splitlines()[-1] if text else ''}")
        return json.loads(content), text


def expect(what, found, expected):
    if found != expected:
        raise Failed(f"{found:,} {what}, PyTorch has {expected:,}")


def check_import(superstep, folder, facts):
    dims = [f"--dim={name}={value}" for name, value in facts["dimensions"].items()]
    found, _ = superstep("import", folder / "model.onnx", *dims)
    if not found["supported"]:
        node = found["unsupported"][0]
        raise Failed(f"{node['op_type']} ({node['name']}): {node['why']}")
    expect("parameters", found["parameters"], facts["parameters"])
    expect("FLOPs", round(found["flops"]), facts["flops"])


def check_values(superstep, folder):
    found, _ = superstep("conformance", folder)
    for case in found["cases"]:
        if case["status"] != "passed":
            raise Failed(f"{case['status']}: {case['why']}")


def write_job(folder, facts, task, plan):
    batch = facts["train_batch" if task == "training" else "batch"]
    model = {"onnx": str(folder / ("train.onnx" if task == "training" else "model.onnx"))}
    job = {"model": model, "machine": "ipu-pod4", "task": task, "software": "any", "batch": {"global": batch},
           "plan": {"tensor_parallel": 1, "replicas": 1, "micro_batch": batch, **plan},
           "run": {"data": str(folder / "test_data_set_0")}}
    lengths = {name: value for name, value in facts["dimensions"].items() if name != "batch"}
    if task == "training":
        job["optimizer"] = {"kind": "sgd", "learning_rate": 0.01}
        if facts["buffers"]:
            model["frozen"] = facts["buffers"]
    elif lengths:
        model["dimensions"] = lengths
    path = folder / "job.json"
    path.write_text(json.dumps(job, indent=1) + "\n")
    return path


def check_plan(superstep, folder, facts, task):
    _, text = superstep("plan", write_job(folder, facts, task, {}), "--time-limit", SEARCH_SECONDS)
    refused = re.search(r"✕ ([^\n]*)", text)
    if refused:
        raise Failed(refused[1])


def check_run(superstep, folder, facts, task):
    """Under a plan in fp32; the losses, of training."""
    kinds = ("weights", "activations", "partials") + (("accumulators",) if task == "training" else ())
    plan = {"pipeline_stages": 1, "precision": {kind: "fp32" for kind in kinds}}
    found, text = superstep("run", write_job(folder, facts, task, plan))
    if not found["bit_identical"]:
        bad = re.search(r"✕ (.*?)\n\n", text + "\n\n", re.DOTALL)
        raise Failed("run: " + (bad[1] if bad else "other bits than the plain model"))
    return found["losses"]


def check_training(superstep, folder, facts):
    check_values(superstep, folder)
    loss, expected = check_run(superstep, folder, facts, "training")[0], facts["loss"]
    if not abs(loss - expected) <= 1e-5 * abs(expected):
        raise Failed(f"run: a loss of {loss}, PyTorch has {expected}")


def check(superstep, folder, facts, result):
    forward, training, default = (folder / form for form in ("forward", "training", "exported_by_default"))
    checks = [("import", check_import, forward, facts), ("plan", check_plan, forward, facts, "inference"),
              ("run", check_values, forward), ("run", check_run, forward, facts, "inference")]
    if default.exists():
        checks.append(("default", check_values, default))
    if training.exists() and "loss" in facts:
        checks += [("plan", check_plan, training, facts, "training"), ("train", check_training, training, facts)]
    for step, function, *arguments in checks:
        if result.get(step, YES) == YES:
            try:
                function(superstep, *arguments)
                result[step] = YES
            except Failed as failure:
                result[step] = str(failure).replace(str(folder) + "/", "")


def write_files(network, folder, result):
    """What PyTorch says of them; where it does not export one, the result says so."""
    facts = {}
    try:
        torch.manual_seed(1)
        net = drawn(network)
        write_forward(folder, net, network, facts)
        if network.loss:
            torch.manual_seed(2)
            write_training(folder, net.state_dict(), network, facts)
    except Exception as error:  # of any kind
        result["train" if "batch" in facts else "import"] = f"PyTorch: {type(error).__name__}: {error}"
    return facts


# The table


def engineering(number):
    for power, unit in ((9, "G"), (6, "M"), (3, "k")):
        if number >= 10**power:
            return f"{number / 10**power:.2f} {unit}"
    return str(number)


def row_of(network, result):
    marks = [NOT_TRIED if step not in result else YES if result[step] == YES else NO for step in STEPS]
    counts = [f"{result['parameters']:,}", engineering(result["flops"])] if "flops" in result else [NOT_TRIED] * 2
    return [network.name, network.family, str(network.opset), *counts, *marks, str(math.ceil(result["seconds"]))]


def reasons_of(network, result):
    whole = [(step, " ".join(result[step].split())) for step in STEPS if result.get(step, YES) != YES]
    return [[network.name, step, why if len(why) < 300 else why[:297] + "..."] for step, why in whole]


def read_rows(title):
    """Rows of the table below a heading, by network."""
    if not PAGE.exists():
        return {}
    below = PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = {}
    for line in below.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) > 2 and cells[0] != "network":
            rows.setdefault(cells[0], []).append(cells)
    return rows


PREAMBLE = """# Networks as PyTorch exports them

You see how far networks get that PyTorch's exporter wrote: torchvision's, and small ones of other families
([our_networks.py](../../tests/networks/our_networks.py)). Made by

```sh norun
tests/networks/check_networks.py ./superstep --update
```

with Debian's torch 1.13 and torchvision 0.14, and checked by `./check --full`. Weights are drawn. The exporter is
`torch.onnx.export`, in the opset given; networks of the family "script" go through `torch.jit.script` first.

| column | |
|---|---|
| parameters | PyTorch's, and its buffers but for running statistics: ONNX does not tell them apart |
| FLOPs | of one batch through `mm`, `bmm`, `convolution` and their kin as PyTorch dispatches them, two a multiply-add |
| import | each node is supported, parameters and FLOPs are the same in number |
| default | the file that the exporter writes by itself, norms folded into weights, gives PyTorch's values |
| plan | a plan that fits an IPU-POD4 is found, for inference and training |
| run | values are PyTorch's, and a plan in fp32 has the bits of the plain model |
| train | loss and gradients are PyTorch's, and a step under a plan has the bits of the plain model |
| s | seconds, one core |
| – | not tried: files that the exporter writes by itself above 30 M parameters, training where catalogue.py asks for none |

Parameters are equal in number only if the export folds nothing (`training=TrainingMode.PRESERVE,
do_constant_folding=False`) and no two tensors have equal values: in evaluation mode the exporter stores equal tensors
once, so all norms of a network not yet trained share one scale.

"""


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows]) + "\n"


def write_page(rows, reasons):
    names = [network.name for network in catalogue.ALL]
    ordered = lambda found: [row for name in names for row in found.get(name, [])]
    good = sum(all(cell != NO for cell in row) for row in ordered(rows))
    text = PREAMBLE + "## Networks\n\n" + f"{good} of {len(ordered(rows))} networks fail in no column.\n\n"
    text += table(["network", "family", "opset", "parameters", "FLOPs", *STEPS, "s"], ordered(rows))
    text += "\n## What does not pass\n\n" + table(["network", "step", "why"], ordered(reasons))
    PAGE.write_text(text)


def worse(old, new):
    """What the table has that was not found; seconds may differ."""
    if old is None:
        return ["is not in the table: --update"]
    cells = zip(("opset", "parameters", "FLOPs", *STEPS), old[2:10], new[2:10])
    return [f"{column}: {b}, the table has {a}" for column, a, b in cells if a not in (b, NO)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("superstep")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--update", action="store_true", help="write the table")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the files there")
    options = parser.parse_intermixed_args()
    unknown = set(options.names) - {network.name for network in catalogue.ALL}
    if unknown:
        parser.error("no such network: " + ", ".join(sorted(unknown)))
    networks = [n for n in catalogue.ALL if n.name in options.names or not options.names]
    torch.set_num_threads(1)
    superstep = Program(str(pathlib.Path(options.superstep).resolve()))
    rows, reasons, failures = read_rows("Networks"), read_rows("What does not pass"), []
    old = {name: found[0] for name, found in rows.items()}
    writing, ahead = threading.Lock(), threading.Semaphore(3)  # folders with files that are not yet checked
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:

        def finish(network, folder, facts, result, begin):
            try:
                if "batch" in facts:
                    check(superstep, folder, facts, result)
            finally:
                ahead.release()
                if not options.keep:
                    shutil.rmtree(folder)
            result.update({key: facts[key] for key in ("parameters", "flops") if key in facts})
            result["seconds"] = time.monotonic() - begin
            row = row_of(network, result)
            with writing:
                rows[network.name], reasons[network.name] = [row], reasons_of(network, result)
                print(*row, *(f"\n  {step}: {why}" for _, step, why in reasons[network.name]), flush=True)
                if options.update:
                    write_page(rows, reasons)
            failures.extend(f"{network.name} {what}" for what in worse(old.get(network.name), row))

        pending = []
        for network in networks:
            ahead.acquire()
            folder = pathlib.Path(options.keep or scratch) / network.name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            result, begin = {}, time.monotonic()
            facts = write_files(network, folder, result)
            pending.append(pool.submit(finish, network, folder, facts, result, begin))
        for done in pending:
            done.result()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print("%d networks; processor seconds: %.0f of PyTorch, %.0f of superstep" %
          (len(networks), *(u.ru_utime + u.ru_stime for u in used)))
    if options.update:
        return 0
    for failure in failures:
        print("FAILED", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
