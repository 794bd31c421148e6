#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans to measure `superstep bench-eval` by, each a job on a line: bench/given_plans.py [N] [KIND...]

N plans (100,000 by default), in turn of each kind: pipeline (BERT-Large on a POD16 in 2 to 8 stages), phases (GPT-3 175B
on a POD256, phases of 8 stages, each a few units) and layers (the same in 96 phases of 3 stages, a layer each). The first
two with other cuts on every line, as a search would meet them; the same lines on every computer.
"""
import json
import random
import sys

DRAW = random.Random(1)


def ascending(count, end):
    """0 and count - 1 further first units below end."""
    chosen = {0}
    while len(chosen) < count:
        chosen.add(int(DRAW.random() * end))
    return sorted(chosen)


def one_of(values):
    return values[int(DRAW.random() * len(values))]


def plan(**fields):
    both = {
        "tensor_parallel": 1, "schedule": "grouped", "recompute": "layer", "phases": [0], "phase_order": "phase_outer",
        "phase_groups": 1, "replicated_tensor_sharding": {"weights": 1, "gradients": 1, "optimizer_state": 1},
        "activation_sharding": "none", "io_tiles": 0, "load": "on_demand", "prefetch_depth": 1,
        "available_memory_proportion": one_of([0.08, 0.12, 0.16, 0.2, 0.25]),
        "location": {"weights": "in_processor", "gradients": "in_processor", "optimizer_state": "streaming",
                     "activations": "in_processor", "code": "in_processor"},
    }
    both.update(fields)
    return both


def bert(chosen):
    return {
        "model": {"zoo": "bert-large", "sequence_length": 512, "masked_tokens": 76, "packed": True, "vocabulary": 30912},
        "machine": "ipu-pod16", "optimizer": {"kind": "lamb"}, "batch": {"global": 1536}, "plan": chosen,
    }


def gpt3(chosen):
    return {
        "model": {"zoo": "gpt3-175b", "sequence_length": 2048}, "machine": "ipu-pod256", "optimizer": {"kind": "adam"},
        "batch": {"global": 512}, "plan": chosen,
    }


def pipeline():
    stages = one_of([2, 4, 8])
    replicas = 16 // stages
    return bert(plan(
        pipeline_stages=stages, replicas=replicas, micro_batch=2, gradient_accumulation=768 // replicas,
        stages=ascending(stages, 74), stage_ipu=list(range(stages)),
        replicated_tensor_sharding={"weights": 1, "gradients": 1, "optimizer_state": one_of([1, replicas])}))


def phased(stages, phases, ipus):
    return gpt3(plan(
        tensor_parallel=8, pipeline_stages=8, replicas=4, micro_batch=1, gradient_accumulation=128, stages=stages,
        stage_ipu=ipus, phases=phases, activation_sharding="throughout",
        replicated_tensor_sharding={"weights": 4, "gradients": 1, "optimizer_state": 4},
        location={"weights": "streaming", "gradients": "in_processor", "optimizer_state": "streaming",
                  "activations": "streaming", "code": "in_processor"}))


def phases():
    count = one_of([8, 12, 16, 24, 32])
    return phased(ascending(8 * count, 290), list(range(0, 8 * count, 8)), [i % 8 for i in range(8 * count)])


def layers():
    """Embedding with the first layer, head with the last."""
    return phased([0] + list(range(2, 289)), list(range(0, 288, 3)), [i % 3 for i in range(288)])


KINDS = {"pipeline": pipeline, "phases": phases, "layers": layers}


def main():
    arguments = sys.argv[1:]
    count = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 100_000
    unknown = [kind for kind in arguments if kind not in KINDS]
    if unknown:
        sys.exit(f"given_plans.py: found {unknown[0]}, expected one of {', '.join(KINDS)}")
    makers = [KINDS[kind] for kind in arguments or KINDS]
    for i in range(count):
        print(json.dumps(makers[i % len(makers)](), separators=(",", ":")))


if __name__ == "__main__":
    main()
