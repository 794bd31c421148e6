#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the training references below tests/onnx/references with PyTorch: make_references.py FOLDER

Debian: python3-torch python3-onnx. The files are committed, so neither building nor testing needs this script.
Per network: train.onnx (forward and loss, weights as initializers), test_data_set_0 (inputs and target), and
reference.json with
  loss0_fp32, loss0_fp64   the loss before any step
  grads                    per weight: norm of its gradient in fp32, every sample_step-th element, the distance of fp32
                           from fp64 relative to the norm; mathematically_zero where only rounding makes it differ from 0
  curves                   per optimizer: learning rate, and 20 losses, each taken before its step, in fp32 and fp64
"""
import copy
import json
import math
import pathlib
import sys

import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional as F

STEPS = 20
SAMPLES = 16  # at most, per gradient


class Encoder(nn.Module):
    """Post-norm transformer layer over embeddings, head tied to the embedding."""

    def __init__(self, vocabulary=24, hidden=16, heads=2, length=6):
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(vocabulary, hidden)
        self.places = nn.Parameter(0.1 * torch.randn(length, hidden))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(3))
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden) for _ in range(4))
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, ids, target):
        x = self.norms[0](self.words(ids) + self.places)
        batch, length, hidden = x.shape
        q, k, v = (f(x).reshape(batch, length, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(hidden // self.heads), -1)
        x = self.norms[1](x + self.o((weights @ v).transpose(1, 2).reshape(batch, length, hidden)))
        x = self.norms[2](x + self.down(F.gelu(self.up(x))))
        scores = x @ self.words.weight.t() + self.bias
        return F.cross_entropy(scores.reshape(batch * length, -1), target.reshape(batch * length))

    @staticmethod
    def data():
        return torch.randint(0, 24, (4, 6)), torch.randint(0, 24, (4, 6))


class Images(nn.Module):
    """Convolutions with batch normalisation, one of them depthwise, and a residual sum."""

    def __init__(self):
        super().__init__()
        self.stem, self.first = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.depth, self.second = nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False), nn.BatchNorm2d(8)
        self.point, self.third = nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x, target):
        x = F.max_pool2d(torch.relu(self.first(self.stem(x))), 3, 2, 1)
        y = torch.sigmoid(self.second(self.depth(x)))
        x = torch.relu(x + self.third(self.point(y)))
        return F.cross_entropy(self.head(x.mean((2, 3))), target)

    @staticmethod
    def data():
        return torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))


class Recurrent(nn.Module):
    """Two LSTM layers over embeddings, the next element predicted at each step."""

    def __init__(self, vocabulary=12, hidden=10):
        super().__init__()
        self.words = nn.Embedding(vocabulary, hidden)
        self.layers = nn.LSTM(hidden, hidden, 2, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, ids, target):
        y, _ = self.layers(self.words(ids))
        return F.cross_entropy(self.head(y).reshape(-1, 12), target.reshape(-1))

    @staticmethod
    def data():
        return torch.randint(0, 12, (3, 7)), torch.randint(0, 12, (3, 7))


class Experts(nn.Module):
    """A mixture of experts: each takes the tokens that score it highest, so that all do the same work."""

    def __init__(self, hidden=8, experts=3, taken=4, classes=5):
        super().__init__()
        self.taken = taken
        self.gate = nn.Linear(hidden, experts, bias=False)
        self.up = nn.Parameter(0.4 * torch.randn(experts, hidden, 2 * hidden))
        self.down = nn.Parameter(0.4 * torch.randn(experts, 2 * hidden, hidden))
        self.head = nn.Linear(hidden, classes)

    def forward(self, x, target):
        batch, tokens, hidden = x.shape
        weights, places = self.gate(x).softmax(-1).transpose(1, 2).topk(self.taken, 2)  # [batch, experts, taken]
        wide = places[..., None].expand(-1, -1, -1, hidden)
        own = x[:, None].expand(-1, places.shape[1], -1, -1).gather(2, wide)
        made = weights[..., None] * (F.gelu(own @ self.up) @ self.down)
        y = x.scatter_add(1, wide.reshape(batch, -1, hidden), made.reshape(batch, -1, hidden))
        return F.cross_entropy(self.head(y).reshape(batch * tokens, -1), target.reshape(-1))

    @staticmethod
    def data():
        return torch.randn(4, 9, 8), torch.randint(0, 5, (4, 9))


class GraphConvolution(nn.Module):
    """Two layers over a graph with repeated edges: each node adds up what its neighbours send."""

    open_batch = True  # else the exporter writes the batch into the places of the sums

    def __init__(self, features=6, hidden=8, nodes=7, edges=18, classes=4):
        super().__init__()
        self.register_buffer("sources", torch.randint(0, nodes, (edges,)))
        self.register_buffer("targets", torch.randint(0, nodes, (edges,)))
        self.layers = nn.ModuleList((nn.Linear(features, hidden), nn.Linear(hidden, hidden)))
        self.head = nn.Linear(hidden, classes)

    def forward(self, x, target):
        for layer in self.layers:
            sent = layer(x)[:, self.sources]
            places = self.targets[None, :, None] + torch.zeros_like(sent, dtype=torch.long)
            x = torch.tanh(torch.zeros_like(sent[:, :x.shape[1]]).scatter_add(1, places, sent))
        return F.cross_entropy(self.head(x).reshape(-1, self.head.out_features), target.reshape(-1))

    @staticmethod
    def data():
        return torch.randn(4, 7, 6), torch.randint(0, 4, (4, 7))


class Llama(nn.Module):
    """One layer with scaling by the root mean square, rotary positions, two query heads to a key, and SwiGLU."""

    def __init__(self, vocabulary=20, hidden=16, heads=4, groups=2, ffn=24, length=6):
        super().__init__()
        self.heads, self.groups, d = heads, groups, hidden // heads
        self.words = nn.Embedding(vocabulary, hidden)
        self.norms = nn.ParameterList(nn.Parameter(torch.ones(hidden)) for _ in range(3))
        self.q, self.o = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.k, self.v = (nn.Linear(hidden, groups * d, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(hidden, ffn, bias=False) for _ in range(2))
        self.down = nn.Linear(ffn, hidden, bias=False)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        angle = torch.outer(torch.arange(length).float(), 1e4**(-torch.arange(0, d, 2).float() / d)).repeat(1, 2)
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())
        self.register_buffer("later", torch.triu(torch.full((length, length), -1e4), 1))

    def norm(self, i, x):
        return self.norms[i] * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)

    def turned(self, x):
        first, second = x.chunk(2, -1)
        return x * self.cosine + torch.cat((-second, first), -1) * self.sine

    def forward(self, ids, target):
        x = self.words(ids)
        batch, length, hidden = x.shape
        y = self.norm(0, x)
        q = self.turned(self.q(y).reshape(batch, length, self.heads, -1).transpose(1, 2))
        k, v = (f(y).reshape(batch, length, self.groups, -1).transpose(1, 2) for f in (self.k, self.v))
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (self.turned(k), v))
        weights = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(hidden // self.heads) + self.later, -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(batch, length, hidden))
        y = self.norm(1, x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return F.cross_entropy(self.head(self.norm(2, x)).reshape(batch * length, -1), target.reshape(-1))

    @staticmethod
    def data():
        return torch.randint(0, 20, (4, 6)), torch.randint(0, 20, (4, 6))


class SharedBias(nn.Module):
    """One bias, stored in another shape, that two layers read beside a residual sum."""

    def __init__(self, hidden=6):
        super().__init__()
        self.before, self.layers, self.after = (nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(4))
                                                for _ in range(3))
        self.bias = nn.Parameter(torch.randn(1, hidden))

    def forward(self, x, target):
        for layer in self.before:
            x = torch.tanh(layer(x))
        first, bias = self.layers[0](x), self.bias.squeeze(0)
        y = torch.relu(self.layers[1](first) + bias)
        y = torch.relu(self.layers[2](y) + bias)
        y = self.layers[3](y) + first
        for layer in self.after:
            y = layer(torch.tanh(y))
        return F.cross_entropy(y, target)

    @staticmethod
    def data():
        return torch.randn(4, 6), torch.randint(0, 6, (4,))


class Lamb(torch.optim.Optimizer):
    """You et al. 2019, algorithm 2: bias corrected, no clamp, decay everywhere, ratio 1 where a norm is 0."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                s = self.state[w]
                if not s:
                    s.update(t=0, m=torch.zeros_like(w), v=torch.zeros_like(w))
                s["t"] += 1
                s["m"].mul_(0.9).add_(w.grad, alpha=0.1)
                s["v"].mul_(0.999).addcmul_(w.grad, w.grad, value=0.001)
                m, v = s["m"] / (1 - 0.9 ** s["t"]), s["v"] / (1 - 0.999 ** s["t"])
                u = m / (v.sqrt() + 1e-6) + 0.01 * w
                a, b = w.norm(), u.norm()
                w.sub_(u * (group["lr"] * (a / b if a > 0 and b > 0 else 1)))


class Lars(torch.optim.Optimizer):
    """You et al. 2017: eta 1e-3, momentum 0.9, decay 1e-4 everywhere."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for w in group["params"]:
                s = self.state[w]
                if not s:
                    s["m"] = torch.zeros_like(w)
                a, b = w.norm(), w.grad.norm()
                ratio = 1e-3 * a / (b + 1e-4 * a) if a > 0 and b > 0 else 1
                s["m"].mul_(0.9).add_((w.grad + 1e-4 * w) * ratio)
                w.sub_(s["m"], alpha=group["lr"])


OPTIMIZERS = {
    "sgd": lambda p, lr: torch.optim.SGD(p, lr),
    "sgd_momentum": lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9, weight_decay=1e-4),
    "adam": lambda p, lr: torch.optim.Adam(p, lr),
    "adamw": lambda p, lr: torch.optim.AdamW(p, lr, weight_decay=0.01),
    "lamb": Lamb,
    "lars": Lars,
}

# Name: class, seed, learning rates.
NETWORKS = {
    "encoder_h16": (Encoder, 1, {"sgd": 0.05, "sgd_momentum": 0.05, "adam": 2e-3, "adamw": 2e-3, "lamb": 5e-3, "lars": 2}),
    "images_w8": (Images, 2, {"sgd": 0.05, "sgd_momentum": 0.02, "adam": 1e-3, "adamw": 1e-3, "lamb": 1e-3, "lars": 0.5}),
    "experts_h8": (Experts, 4, {"sgd": 0.1, "sgd_momentum": 0.05, "adam": 2e-3, "adamw": 2e-3, "lamb": 5e-3, "lars": 1}),
    "graph_h8": (GraphConvolution, 5, {"sgd": 0.1, "sgd_momentum": 0.05, "adam": 2e-3, "adamw": 2e-3, "lamb": 5e-3,
                                       "lars": 1}),
    "llama_h16": (Llama, 6, {"sgd": 0.1, "sgd_momentum": 0.05, "adam": 2e-3, "adamw": 2e-3, "lamb": 5e-3, "lars": 1}),
    "shared_h6": (SharedBias, 7, {"sgd": 0.1, "sgd_momentum": 0.05, "adam": 2e-3, "adamw": 2e-3, "lamb": 5e-3, "lars": 1}),
    "lstm_h10": (Recurrent, 3, {"sgd": 0.5, "sgd_momentum": 0.5, "adam": 2e-3, "adamw": 2e-3, "lamb": 5e-3, "lars": 2}),
}


def doubled(tensors):
    return [t.double() if t.is_floating_point() else t for t in tensors]


def gradients(net, data):
    net.zero_grad()
    loss = net(*data)
    loss.backward()
    return loss.item(), {name: w.grad.clone() for name, w in net.named_parameters()}


def curve(net, data, kind, lr):
    net = copy.deepcopy(net)
    optimizer = OPTIMIZERS[kind](list(net.parameters()), lr)
    losses = []
    for _ in range(STEPS):
        loss, _ = gradients(net, data)
        losses.append(loss)
        optimizer.step()
    return losses


def sampled(gradient, exact, largest):
    norm, distance = gradient.norm().item(), (gradient.double() - exact).norm().item()
    flat = gradient.flatten()
    step = math.ceil(flat.numel() / SAMPLES)
    entry = {"norm": norm, "sample_step": step, "samples": flat[::step].tolist()}
    if exact.norm().item() < 1e-12 * largest:
        return {**entry, "mathematically_zero": True}
    return {**entry, "rel_err_vs_fp64": distance / exact.norm().item()}


def save(tensor, path):
    path.write_bytes(numpy_helper.from_array(tensor.numpy()).SerializeToString())


def write(folder, network, seed, rates):
    torch.manual_seed(seed)
    net, data = network(), network.data()
    net.train()
    twin, exact_data = copy.deepcopy(net).double(), doubled(data)
    (folder / "test_data_set_0").mkdir(parents=True, exist_ok=True)
    torch.onnx.export(copy.deepcopy(net), tuple(data), str(folder / "train.onnx"), opset_version=17,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      input_names=["input", "target"], output_names=["loss"],
                      dynamic_axes={"input": {0: "batch"}, "target": {0: "batch"}} if hasattr(net, "open_batch") else {})
    model = onnx.load(str(folder / "train.onnx"))
    for node in model.graph.node:
        node.ClearField("doc_string")  # where in which file: not reproducible
    onnx.save(model, str(folder / "train.onnx"))
    save(data[0], folder / "test_data_set_0" / "input_0.pb")
    save(data[1], folder / "test_data_set_0" / "target.pb")
    loss, found = gradients(net, data)
    exact_loss, exact = gradients(twin, exact_data)
    largest = max(g.norm().item() for g in exact.values())
    stored = {i.name for i in model.graph.initializer}
    missing = [name for name in found if name not in stored]
    assert not missing, f"weights that are no initializers: {missing}"
    reference = {"made_by": f"tests/onnx/make_references.py, PyTorch {torch.__version__}", "seed": seed,
                 "loss0_fp32": loss, "loss0_fp64": exact_loss,
                 "grads": {name: sampled(found[name], exact[name], largest) for name in found},
                 "curves": {kind: {"lr": lr, "fp32": curve(net, data, kind, lr),
                                   "fp64": curve(twin, exact_data, kind, lr)} for kind, lr in rates.items()}}
    (folder / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")


def main():
    root = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    for name, (network, seed, rates) in NETWORKS.items():
        write(root / name, network, seed, rates)


if __name__ == "__main__":
    main()
