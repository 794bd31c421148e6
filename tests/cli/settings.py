#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Written settings against published ones: settings.py PUBLISHED.json NAME FILE

Runs what `superstep export` wrote with stand-ins for poptorch, popart, torch and tensorflow, which note what they are
told, and says what it comes to in the words of the published configuration.
"""
import contextlib
import json
import re
import runpy
import sys
import types


class Told:
    """Stands for any name of a library: its attributes and calls are such names again, and calls are noted."""

    def __init__(self, name, calls):
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_calls", calls)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Told(f"{self._name}.{name}", self._calls)

    def __setattr__(self, name, value):
        self._calls[f"{self._name}.{name}"] = value

    def __call__(self, *args, **kwargs):
        self._calls[self._name] = args if args else kwargs
        text = ", ".join([str(a) for a in args] + [f"{k}={v}" for k, v in kwargs.items()])
        return Told(f"{self._name}({text})", self._calls)

    def __int__(self):
        return int.__new__(type("Named", (int,), {"__repr__": lambda _: self._name}))

    def __str__(self):
        return self._name


LIBRARIES = ("poptorch", "popart", "torch", "popdist", "popdist.popart", "popdist.poptorch", "tensorflow",
             "tensorflow.python", "ipu_tensorflow_addons", "ipu_tensorflow_addons.keras")


def run(path):
    """The module's variables and its calls, by the last name: {"replicationFactor": (4,)}."""
    calls = {}
    for name in LIBRARIES:
        module = types.ModuleType(name)
        module.__getattr__ = lambda attribute, name=name: Told(f"{name}.{attribute}", calls)
        sys.modules[name] = module
    variables = runpy.run_path(path)
    if "config" in variables:
        variables["config"]()
        variables["options"](Told("model", calls))
    else:
        variables["options"]()
    calls = {re.sub(r"^.*\)\.", "", key): value for key, value in calls.items()}
    if "optimizer" in variables:
        count = variables["optimizer"].__code__.co_argcount
        calls["optimizer"] = str(variables["optimizer"](*[{}] * count))
    return variables, calls


class Builder:
    """Stands for popart.Builder."""

    @contextlib.contextmanager
    def scope(self, value):
        yield value

    virtualGraph = pipelineStage = nameScope = executionPhase = scope

    def setAvailableMemoryProportion(self, tensor, proportion):
        assert 0 < proportion <= 1

    def checkpointOutput(self, tensors):
        return tensors


class Module:
    """Stands for a model: notes the paths that are replaced and hooked."""

    def __init__(self, notes, path=""):
        object.__setattr__(self, "notes", notes)
        object.__setattr__(self, "path", path)

    def get_submodule(self, path):
        return Module(self.notes, path)

    def __setattr__(self, name, value):
        self.notes.append(("begins", (self.path + "." + name).lstrip(".")))

    def register_forward_hook(self, hook):
        self.notes.append(("keeps", self.path))
        hook(None, None, (1, 2))


def placed(variables):
    """The modules that stages begin with, after place()."""
    notes = []
    variables["place"](Module(notes))
    assert sum(kind == "keeps" for kind, _ in notes) == len(variables["CHECKPOINTS"])
    return [path for kind, path in notes if kind == "begins"]


def layers_per_ipu(stages, ipu):
    out = [0] * (1 + max(s[ipu] for s in stages))
    for stage in stages:
        out[stage[ipu]] += sum(bool(re.match(r"layer\d+/attention$|block\d+$", u)) for u in stage["units"])
    return out


def halves(stages):
    """[IPU, [attention parts, feed-forward parts]] of each stage but the embedding's."""
    def count(units, part):
        return sum(u.endswith(part) for u in units)
    return [[s["virtual_graph"], [count(s["units"], "/attention"), count(s["units"], "/ffn_down")]]
            for s in stages if any("/" in u for u in s["units"])]


def checkpoint_every_layer(variables):
    kept = set(variables["CHECKPOINTS"])
    for stage in variables["STAGES"]:
        kept.add(stage["units"][-1])
    ends = {u for s in variables["STAGES"] for u in s["units"] if u.endswith("/ffn_down")}
    return ends <= kept


def of_poptorch(path):
    variables, calls = run(path)
    state = str(calls["TensorLocations.setOptimizerLocation"][0])
    return {
        "replication_factor": calls["replicationFactor"][0],
        "gradient_accumulation": calls["Training.gradientAccumulation"][0],
        "micro_batch_size": variables["MICRO_BATCH_SIZE"],
        "ipus_per_replica": len(calls["setAvailableMemoryProportion"][0]),
        "layers_per_ipu": layers_per_ipu(variables["STAGES"], "ipu"),
        "matmul_proportion": list(calls["setAvailableMemoryProportion"][0].values()),
        "enable_half_partials": str(calls["Precision.setPartialsType"][0]) == "torch.float16",
        "optimizer_state_offchip": "useOnChipStorage(False)" in state,
        "replicated_tensor_sharding": "useReplicatedTensorSharding(True)" in state,
        "recompute_checkpoint_every_layer": checkpoint_every_layer(variables),
        "optimizer": re.search(r"optim\.(\w+)\(", calls["optimizer"]).group(1),
        "stages": len(calls["poptorch.PipelinedExecution"]),
        "begins": placed(variables),
    }


def of_popart(path):
    variables, calls = run(path)
    calls = {key.split("SessionOptions().")[-1]: value for key, value in calls.items()}
    state = str(calls["optimizerStateTensorLocationSettings"])
    # PopDist sets the replicas of a process among several, which has as many IPUs.
    with open(path, encoding="utf-8") as file:
        processes = int((re.search(r"in (\d+) processes that PopRun starts", file.read()) or [0, 1])[1])
    replicas = processes * variables["IPUS"] // len(variables["AVAILABLE_MEMORY_PROPORTION"])
    assert calls.get("replicatedGraphCount", replicas) == replicas
    for stage in variables["STAGES"]:
        for name in stage["units"]:
            with variables["unit"](Builder(), name):
                variables["finish"](Builder(), name, "product", "output")
    mode = re.search(r"AdamMode\.(\w+)", calls["optimizer"]).group(1)
    return {
        "replication_factor": replicas,
        "gradient_accumulation_factor": calls["accumulationFactor"],
        "global_batch_size": calls["accumulationFactor"] * replicas * variables["MICRO_BATCH_SIZE"],
        "batch_size": variables["MICRO_BATCH_SIZE"],
        "micro_batch_size": variables["MICRO_BATCH_SIZE"],
        "popart_dtype": variables["WEIGHT_TYPE"],
        "layers_per_ipu": layers_per_ipu(variables["STAGES"], "virtual_graph"),
        "att_ffn_placement": halves(variables["STAGES"]),
        "available_memory_proportion": list(variables["AVAILABLE_MEMORY_PROPORTION"].values()),
        "enable_half_partials": calls["partialsTypeMatMuls"] == "half",
        "optimizer_state_offchip": "TensorStorage.OffChip" in state,
        "replicated_tensor_sharding": "ReplicatedTensorSharding.On" in state,
        "gradient_reduction_type": str(calls["accumulationAndReplicationReductionType"]).split(".")[-1],
        "optimizer": {"LambNoBias": "LAMB_NO_BIAS", "Lamb": "LAMB"}.get(mode, mode),
        "lamb_m_dtype": re.search(r"accl1_type=popart\.DataType\.(\w+)", calls["optimizer"]).group(1),
        "pipeline": calls["enablePipelining"],
        "stochastic_rounding": calls.get("enableStochasticRounding", False),
        "loss_scaling": float((re.search(r"'lossScaling': \(([0-9.]+)", calls["optimizer"]) or [0, 0])[1]),
        "sharding_domain": str(calls.get("optimizerStateTensorLocationSettings.location.shardingDomain")),
        "autoRecomputation": str(calls["autoRecomputation"]),
    }


class KerasModel:
    """Stands for a functional model of these layers, in order: notes the stage of each."""

    def __init__(self, names):
        self.layers = [types.SimpleNamespace(name=name, call=lambda inputs: inputs) for name in names]

    def get_layer(self, name):
        return next(layer for layer in self.layers if layer.name == name)

    def get_pipeline_stage_assignment(self):
        return [types.SimpleNamespace(layer=layer) for layer in self.layers]

    def set_pipeline_stage_assignment(self, assignments):
        self.stages = [assignment.pipeline_stage for assignment in assignments]


def layers_per_stage(variables):
    """How many layers of the table each stage has, after place()."""
    units = [u for stage in variables["STAGES"] for u in stage["units"]]
    names = {u: stage["ends"] for stage in variables["STAGES"] for u in stage["units"][-1:]}
    names.update(variables.get("CHECKPOINTS", {}))
    model = KerasModel([names.get(u, u) for u in units])
    variables["place"](model)
    for name in variables.get("CHECKPOINTS", {}).values():
        assert "recomputation_checkpoint(x)" in str(model.get_layer(name).call("x"))
    return [sum(bool(re.search(r"/attention$|/block\d+$", u)) for u, s in zip(units, model.stages) if s == stage)
            for stage in range(len(variables["STAGES"]))]


def of_tensorflow(path):
    variables, calls = run(path)
    told = calls["model.set_pipelining_options"]
    replicas = calls["auto_select_ipus"] // (max(told["device_mapping"]) + 1)
    products = calls["matmuls.poplar_options"]
    return {
        "micro-batch-size": variables["MICRO_BATCH_SIZE"],
        "num-replicas": replicas,
        "gradient-accumulation": told["gradient_accumulation_steps_per_replica"],
        "global-batch-size": variables["MICRO_BATCH_SIZE"] * variables["STEPS_PER_EXECUTION"] * replicas,
        "pipeline-splits": [stage["ends"] for stage in variables["STAGES"][:-1]],
        "layers_per_stage": layers_per_stage(variables),
        "pipeline-schedule": str(told["pipeline_schedule"]).split(".")[-1],
        "device-mapping": told["device_mapping"],
        "recomputation": calls["allow_recompute"],
        "recomputation_mode": str(told["recomputation_mode"]).split(".")[-1],
        "reduction": told["gradient_accumulation_reduction_method"],
        "available-memory-proportion": [100 * float(products["availableMemoryProportion"])],
        "half-partials": products["partialsType"] == "half" and products == calls["convolutions.poplar_options"],
        "policy": variables["POLICY"],
        "optimizer-state-offloading": told["offload_weight_update_variables"],
        "replicated_tensor_sharding": told["replicated_optimizer_state_sharding"],
        "loss-scaling": variables.get("LOSS_SCALE", 1.0),
        "stochastic-rounding": str(calls.get("floating_point_behaviour.esr", "OFF")).split(".")[-1],
        "optimizer": re.search(r"optimizers\.(\w+)\(", str(calls)).group(1),
    }


def of_popxl(path):
    out = {}
    for line in open(path, encoding="utf-8"):
        match = re.match(r"\s+(\w+): (.+)$", line)
        if match:
            out[match.group(1)] = json.loads(match.group(2))
    return out


def of_command(path):
    text = open(path, encoding="utf-8").read()
    return {name: int(value) if value.isdigit() else value for name, value in re.findall(r"--([\w-]+) ([\w-]+)", text)}


def main():
    published, name, path = sys.argv[1:]
    entry = json.load(open(published, encoding="utf-8"))[name]
    written = {"poptorch": of_poptorch, "popart": of_popart, "tensorflow": of_tensorflow, "popxl": of_popxl,
               "poprun": of_command, "vipu": of_command}[entry["format"]](path)
    failed = 0
    for key, value in entry["settings"].items():
        if written.get(key) != value:
            print(f"{name}: {key} is {written.get(key)!r}, published {value!r}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
