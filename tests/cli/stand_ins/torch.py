# SPDX-License-Identifier: Apache-2.0
"""Stands for the pieces of PyTorch that written settings name: two types, and modules with the paths of a model."""
import re


class dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


float32 = dtype("float32")
float16 = dtype("float16")
float = float32
half = float16

# Paths of modules in Hugging Face's transformers, of BERT, GPT-2 and ViT; {} is the number of a layer.
PATHS = """
bert bert.embeddings bert.encoder bert.encoder.layer bert.encoder.layer.{} bert.encoder.layer.{}.attention
bert.encoder.layer.{}.intermediate bert.encoder.layer.{}.output bert.pooler
transformer transformer.wte transformer.wpe transformer.h transformer.h.{} transformer.h.{}.ln_1 transformer.h.{}.attn
transformer.h.{}.ln_2 transformer.h.{}.mlp transformer.h.{}.mlp.c_fc transformer.h.{}.mlp.c_proj transformer.ln_f
vit vit.embeddings vit.encoder vit.encoder.layer vit.encoder.layer.{} vit.encoder.layer.{}.attention
vit.encoder.layer.{}.layernorm_before vit.encoder.layer.{}.layernorm_after vit.encoder.layer.{}.intermediate
vit.encoder.layer.{}.output vit.layernorm
""".split()


class Module:
    """A model that has the modules of PATHS, and others; it notes which are changed."""

    def __init__(self, layers, others, path="", notes=None):
        vars(self).update(layers=layers, others=others, path=path, notes=[] if notes is None else notes, block=None,
                          children={})

    def get_submodule(self, path):
        number = re.search(r"\.(\d+)(\.|$)", path)
        known = path == "" or re.sub(r"\.\d+(?=\.|$)", ".{}", path) in PATHS
        if path not in self.others and not known or (number and int(number[1]) >= self.layers):
            raise AttributeError(f"the model has no module {path}")
        if path == "":
            return self
        return self.children.setdefault(path, Module(self.layers, self.others, path, self.notes))

    def __setattr__(self, name, value):
        path = (self.path + "." + name).lstrip(".")
        if not isinstance(value, Module) or value.path != path:
            raise TypeError(f"{path} is replaced by another module")
        self.notes.append((path, value.block))

    def register_forward_hook(self, hook):
        hook(self, (), (0, 1))
        hook(self, (), 0)

    def parameters(self):
        return []

    def half(self):
        vars(self)["is_half"] = True
        return self
