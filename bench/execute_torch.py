#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of execute_bench in PyTorch, with its weights: execute_torch.py FOLDER TIMES

FOLDER is what execute_bench wrote; TIMES has the lines it printed. Prints a table of both programs' times, ours also with
products by OpenBLAS, their ratios to PyTorch's, and how far the values are apart. Exit 0; 3, with a reason, where there is no PyTorch.
"""
import ctypes
import sys
import time
from pathlib import Path

try:
    import numpy
    import torch
    from torch.nn import functional as F
except ImportError as error:
    print(f"no comparison: {error} (Debian: python3-torch and libopenblas0-pthread)")
    sys.exit(3)


class Weights:
    def __init__(self, folder):
        self.folder = folder
        self.used = {}

    def get(self, name, shape):
        if name not in self.used:
            data = numpy.fromfile(self.folder / f"{name}.f32", dtype=numpy.float32)
            self.used[name] = torch.from_numpy(data.reshape(shape)).requires_grad_(name != "x")
        return self.used[name]


def bert(w):
    batch, tokens, hidden, heads = 4, 128, 768, 12

    def dense(name, x, columns):
        return x @ w.get(name + "_weight", (x.shape[-1], columns)) + w.get(name + "_bias", (columns,))

    def norm(name, x):
        return F.layer_norm(x, (hidden,), w.get(name + "_gamma", (hidden,)), w.get(name + "_beta", (hidden,)), 1e-5)

    def head(name, x):
        return dense(name, x, hidden).reshape(batch, tokens, heads, hidden // heads).transpose(1, 2)

    x = w.get("x", (batch, tokens, hidden))
    for layer in ("layer0.", "layer1."):
        q, k, v = (head(layer + part, x) for part in ("query", "key", "value"))
        weights = torch.softmax(q @ k.transpose(2, 3) * (hidden // heads) ** -0.5, -1)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, tokens, hidden)
        x = norm(layer + "norm1", x + dense(layer + "out", mixed, hidden))
        x = norm(layer + "norm2", x + dense(layer + "down", F.gelu(dense(layer + "up", x, 4 * hidden)), hidden))
    return x


def resnet(w, batch, training):
    def conv(name, x, filters, window, stride):
        weight = w.get(name + "_weight", (filters, x.shape[1], window, window))
        x = F.conv2d(x, weight, stride=stride, padding=window // 2)
        gamma, beta = w.get(name + "_gamma", (filters,)), w.get(name + "_beta", (filters,))
        if training:
            return F.batch_norm(x, None, None, gamma, beta, True, 0, 1e-5)
        return F.batch_norm(x, torch.zeros(filters), torch.ones(filters), gamma, beta, False, 0, 1e-5)

    x = F.relu(conv("stem", w.get("x", (batch, 3, 224, 224)), 64, 7, 2))
    x = F.max_pool2d(x, 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for i in range(blocks):
            name, width, stride = f"stage{stage}_block{i}.", 64 << stage, 2 if i == 0 and stage > 0 else 1
            y = F.relu(conv(name + "conv1", x, width, 1, 1))
            y = F.relu(conv(name + "conv2", y, width, 3, stride))
            y = conv(name + "conv3", y, 4 * width, 1, 1)
            x = F.relu(y + (conv(name + "project", x, 4 * width, 1, stride) if i == 0 else x))
    x = x.mean((2, 3))
    return x @ w.get("head_weight", (2048, 1000)) + w.get("head_bias", (1000,))


NETWORKS = {
    "bert": bert,
    "resnet-1": lambda w: resnet(w, 1, False),
    "resnet-4": lambda w: resnet(w, 4, True),
}


def run(network, w, both):
    if not both:
        with torch.no_grad():
            return network(w)
    for t in w.used.values():
        t.grad = None
    result = network(w)
    (result * result).mean().backward()
    return result


def use_threads(count):
    torch.set_num_threads(count)
    try:
        # PyTorch tells OpenMP only; Debian's OpenBLAS takes all cores unless it is told as well.
        ctypes.CDLL("libopenblas.so.0").openblas_set_num_threads(count)
    except OSError:
        print("no OpenBLAS: PyTorch's products are many times slower than they could be")


def best_seconds(network, w, both, threads):
    use_threads(threads)
    times = []
    for _ in range(6):
        start = time.perf_counter()
        run(network, w, both)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def apart(ours, theirs):
    """The norm of the difference of all values, in parts of their norm."""
    pairs = [(o, t.detach().numpy().ravel()) for o, t in zip(ours, theirs)]
    return float(sum(((o - t) ** 2).sum() for o, t in pairs) / sum((t**2).sum() for _, t in pairs)) ** 0.5


def difference(folder, w, network, both):
    result = run(network, w, both)
    read = lambda name: numpy.fromfile(folder / f"{name}.f32", dtype=numpy.float32).astype(numpy.float64)
    if not both:
        return apart([read("result")], [result])
    trained = {name: t.grad for name, t in w.used.items() if t.grad is not None}
    return apart([read(f"gradient.{name}") for name in trained], trained.values())


def main():
    folder = Path(sys.argv[1])
    print(f"{'network':10} {'pass':10} {'threads':>7} {'here':>9} {'OpenBLAS':>9} {'PyTorch':>9} {'ratio':>6} {'ratio':>6}  difference")
    for line in Path(sys.argv[2]).read_text().splitlines():
        name, what, threads, seconds, blas = line.split()
        w = Weights(folder / name)
        both = what == "both"
        theirs = best_seconds(NETWORKS[name], w, both, int(threads))
        distance = difference(folder / name, w, NETWORKS[name], both)
        here = float(seconds)
        engine = (f"{1e3 * float(blas):6.1f} ms", f"{float(blas) / theirs:6.2f}") if blas != "-" else ("-", "-")
        print(
            f"{name:10} {what:10} {threads:>7} {1e3 * here:6.1f} ms {engine[0]:>9} {1e3 * theirs:6.1f} ms"
            f" {here / theirs:6.2f} {engine[1]:>6}  {distance:.1e}",
            flush=True,
        )


main()
