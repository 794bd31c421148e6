# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the software that settings are written for. They refuse what the real one refuses, or drops in silence.

They are written from the software's public sources, and say where. They do not read data/software, which states the
same by facts of plans. What exports come to use of the software has to be added here.
"""
import re
import runpy
import sys

from . import commands, popart, popdist, poptorch, popxl, torch
from .strict import need


class Plan:
    """What settings are of, and do not say: counts of the run, and units that use the weight of another one."""

    def __init__(self, instances=1, replicas=1, training=True, ties=()):
        self.instances, self.replicas, self.training, self.owners = instances, replicas, training, dict(ties)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def load(path):
    """The variables of a written module, which imports the stand-ins."""
    modules = {"popart": popart, "poptorch": poptorch, "torch": torch, "popdist": popdist,
               "popdist.popart": popdist.popart, "popdist.poptorch": popdist.poptorch}
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        return runpy.run_path(path)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def check_popart(path, plan):
    variables = load(path)
    values = {"defaultLearningRate": (0.001, False), "defaultWeightDecay": (0.01, True)}
    optimizer = variables["optimizer"](values) if plan.training else None
    builder = popart.Builder()
    for stage in variables["STAGES"]:
        for name in stage["units"]:
            with variables["unit"](builder, name):
                builder.add(name, plan.owners.get(name, name))
                variables["finish"](builder, name, "product", name)
            need(builder.places == {}, "a scope stays open")
    need(set(builder.kept) == set(variables["CHECKPOINTS"]), "checkpoints that no unit has")
    session = popart.Session(
        variables["options"](), optimizer, builder.operators, variables["IPUS"], variables["MICRO_BATCH_SIZE"],
        variables.get("BATCHES_PER_STEP", 1), variables["WEIGHT_TYPE"] == "FLOAT16", plan.instances)
    popart.compile_session(session)
    written = {name: stage["virtual_graph"] for stage in variables["STAGES"] for name in stage["units"]}
    need(all(session.graph_of(o) == written[o.unit] for o in session.operators),
         "STAGES says another IPU than its phases or stages have")


def check_poptorch(path, plan):
    """Runs what the head of the file says to write into a program, and compiles that."""
    variables = load(path)
    for stage in variables["STAGES"]:  # of a model that is not known: as a reader fills them in
        stage["begins"] = stage["begins"] or stage["units"][0]
    for unit, kept in variables["CHECKPOINTS"].items():
        variables["CHECKPOINTS"][unit] = kept or unit
    units = [(name, plan.owners.get(name, name), number)
             for number, stage in enumerate(variables["STAGES"]) for name in stage["units"]]
    layers = [int(n) for unit, _, _ in units for n in re.findall(r"^(?:layer|block)(\d+)", unit)]
    model = torch.Module(max(layers, default=-1) + 1, {unit for unit, _, _ in units})
    usage = re.findall(r"^#   (\w+ = .*)$", text_of(path), re.MULTILINE)
    need(len(usage) == 3, "the head does not say how it is used")
    poptorch.compiled.clear()
    exec("\n".join(usage), {**variables, "model": model, "poptorch": poptorch, "learning_rate": 0.001, "data_set": []})
    compiled, = poptorch.compiled
    need((compiled.optimizer is not None) == plan.training, "trained and not, or the other way around")
    compiled.compile(units, plan.instances)


TARGETS = {
    "popart": check_popart,
    "poptorch": check_poptorch,
    "popxl": lambda path, plan: popxl.check(text_of(path)),
    "poprun": lambda path, plan: commands.check_poprun(path),
    "vipu": lambda path, plan: commands.check_vipu(path),
}


def check(target, path, plan):
    """Why the real software would not take the settings as they are; empty: it would."""
    popdist.instances, popdist.replicas = plan.instances, plan.replicas
    try:
        TARGETS[target](path, plan)
    except Exception as error:  # of a kind that the real software raises
        return f"{type(error).__name__}: {error}"
    return ""
