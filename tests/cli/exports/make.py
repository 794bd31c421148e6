# SPDX-License-Identifier: Apache-2.0
# Small exports that stand for their kinds. Run with Debian's python3-torch (1.13): python3 make.py
import torch
import torch.nn as nn


def export(name, model, inputs, **how):
    torch.manual_seed(0)
    torch.onnx.export(model(), inputs, name + ".onnx", opset_version=13, **how)


class Embedded(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(10, 8), nn.Linear(8, 2)

    def forward(self, tokens):
        return self.out(self.table(tokens))


class ClassToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.out = nn.Parameter(torch.zeros(1, 1, 8)), nn.Linear(8, 8)

    def forward(self, x):
        return self.out(torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1))


class LossOverBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 3)

    def forward(self, x, y):
        return ((self.out(x) - y) ** 2).sum() / x.size(0)


class Penalty(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 3)

    def forward(self, x, y):
        return ((self.out(x) - y) ** 2).mean() + 0.1 * (self.out.weight**2).sum()


class Parameters(nn.Module):  # a bias, a temperature and a gate of one element each; a table that is no parameter
    def __init__(self):
        super().__init__()
        self.into, self.out = nn.Linear(4, 4), nn.Linear(4, 1)
        self.temperature, self.gate = nn.Parameter(torch.tensor(1.5)), nn.Parameter(torch.zeros(1))
        self.register_buffer("places", torch.randn(3, 4))

    def forward(self, x, y):
        h = x + self.places
        h = h + self.gate * self.into(h)
        return ((self.out(h) * self.temperature - y) ** 2).mean()


training = dict(training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, output_names=["loss"])
export("open_sequence", Embedded, (torch.zeros(1, 4, dtype=torch.long),), input_names=["tokens"], output_names=["y"],
       dynamic_axes={"tokens": {0: "batch", 1: "sequence"}})
export("fixed_batch", ClassToken, (torch.randn(1, 4, 8),))
export("loss_over_batch", LossOverBatch, (torch.randn(2, 4), torch.randn(2, 3)), input_names=["x", "y"],
       dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, **training)
export("penalty", Penalty, (torch.randn(2, 4), torch.randn(2, 3)), input_names=["x", "y"],
       dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, **training)
export("one_element", Parameters, (torch.randn(2, 3, 4), torch.randn(2, 3, 1)), input_names=["x", "y"], **training)
