# SPDX-License-Identifier: Apache-2.0
"""Stands for Graphcore's PopXL examples: the fields of their configurations, and what they refuse of them.

Places in the examples' sources are of graphcore/examples 3cc8f81.
"""
import re

import yaml

from .strict import need

# Fields by example, of its config/config.py. What it has not is left out in silence: a section is read by name
# (graphcore/examples-utils examples_utils/parsing/simple_parsing_tools.py:102).
TRAINING = {"steps": int, "global_batch_size": int, "stochastic_rounding": bool}
OPTIMIZER = {"beta1": float, "beta2": float, "weight_decay": float, "gradient_clipping": float}
EXECUTION = {"micro_batch_size": int, "data_parallel": int, "device_iterations": int, "io_tiles": int,
             "available_memory_proportion": list, "loss_scaling": int}
EXAMPLES = {
    # (file of settings, folder): further fields of training.optimizer, and of execution
    "nlp/bert/popxl": ({"name": str}, {}),
    "nlp/gpt3_2.7B/popxl": ({"name": str}, {
        "tensor_parallel": int, "code_load": bool, "attention_serialisation": int, "rts_activations": bool,
        "extended_memory": bool}),
    "nlp/gpt3_175B/popxl": ({}, {
        "tensor_parallel_1": int, "tensor_parallel_2": int, "attention_serialisation": int, "test_mode": bool}),
    "nlp/gpt_j/popxl": ({"name": str}, {"tensor_parallel": int, "code_load": bool, "attention_serialisation": int}),
    "nlp/t5/popxl": ({"name": str}, {"tensor_parallel": int, "attention_serialisation": int}),
}
SECTIONS = {"config/pretraining.yml": ("phased", "release"), "config/finetuning.yml": ("release",)}


def fits(value, kind):
    if kind is list:
        return isinstance(value, list) and all(fits(v, float) for v in value)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, (int, float))
    # A fraction is cut off: the field's type is called with the value.
    return isinstance(value, kind) or (kind is int and isinstance(value, float) and value == int(value))


def read(given, fields, where):
    for name, value in given.items():
        need(name in fields, f"{where} has no {name}: left out in silence")
        need(fits(value, fields[name]), f"{where}.{name} is of type {fields[name].__name__}, not {value!r}")
    return given


def check(text):
    """Raises Refused for what the example refuses of its configuration, or leaves out."""
    place = re.search(r"# (\S+)/(config/\S+) of github.com/graphcore/examples", text)
    need(place and place[1] in EXAMPLES, "there is no such example")
    optimizer, execution = EXAMPLES[place[1]]
    (section, entries), = yaml.safe_load(text).items()
    need(section in SECTIONS[place[2]], f"{place[2]} has no section {section}")
    (name, entry), = entries.items()
    read(entry, {"training": dict, "execution": dict}, "the entry")
    training = dict(entry["training"])
    adam = read(training.pop("optimizer"), {**OPTIMIZER, **optimizer}, "optimizer")
    training = read(training, TRAINING, "training")
    run = {"data_parallel": 1, "micro_batch_size": 1, "io_tiles": 1, "loss_scaling": 1,
           **read(entry["execution"], {**EXECUTION, **execution}, "execution")}
    # nlp/gpt3_2.7B/popxl/pretraining.py:98: AdamW, whatever the name is
    need(adam.get("name", "adamw") == "adamw", f"the example has AdamW, not {adam.get('name')}")
    # config/config.py: gradient_accumulation
    need(training["global_batch_size"] % (run["data_parallel"] * run["micro_batch_size"]) == 0,
         "the global batch is no whole number of micro-batches of all replicas")
    # graphcore/popart willow/src/popx/irlowering.cpp:2930
    tiles = run["io_tiles"]
    need(32 <= tiles < 1472 and tiles % 2 == 0, f"{tiles} IO tiles are no even number from 32")
    need(run["loss_scaling"] != 0, "a loss scale of 0")
    need(all(0 < share <= 1 for share in run["available_memory_proportion"]),
         "a proportion of available memory is above 0 and at most 1")
    if place[1] == "nlp/bert/popxl":
        need(run["data_parallel"] > 1, "the example of BERT needs replicas")  # nlp/bert/popxl/pretraining.py:380
    if place[1] == "nlp/t5/popxl":  # nlp/t5/popxl/finetuning.py:107
        need(name.split("_")[0] in ("small", "base", "large", "xl", "xxl"), f"{name} does not begin with a size of T5")
