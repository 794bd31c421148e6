#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx/operators: single operators with values by PyTorch: make_operators.py

Debian: python3-torch, python3-torchvision. Each folder is a case as those of the ONNX backend tests, so neither
building nor testing needs this script.
"""
import math
import shutil
from pathlib import Path

import torch
import torchvision
from torch.nn import functional as F

import onnx_bytes
from onnx_bytes import integer, message

FOLDER = Path(__file__).parent / "operators"
TYPES = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7, torch.bool: 9,
         torch.float64: 11, torch.bfloat16: 16}


def tensor(name, value):
    raw = value.contiguous().view(torch.int16) if value.dtype == torch.bfloat16 else value.contiguous()
    return onnx_bytes.tensor(value.shape, TYPES[value.dtype], raw.numpy().tobytes(), name)


def info(name, value):
    shape = b"".join(message(1, integer(1, extent)) for extent in value.shape)
    return message(1, name) + message(2, message(1, integer(1, TYPES[value.dtype]) + message(2, shape)))


def attribute(name, value):
    if isinstance(value, str):
        return message(1, name) + message(4, value) + integer(20, 3)
    if isinstance(value, int):
        return message(1, name) + integer(3, value) + integer(20, 2)
    return message(1, name) + b"".join(integer(8, v) for v in value) + integer(20, 7)


def case(name, op, opset, inputs, known, outputs, **attributes):
    """`known`: operands as initializers; None in `inputs`: left out."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = b"".join(message(1, n) for n in names) + b"".join(message(1, f"k{i}") for i in range(len(known)))
    node += b"".join(message(2, f"y{i}") for i in range(len(outputs))) + message(3, name) + message(4, op)
    node += b"".join(message(5, attribute(k, v)) for k, v in attributes.items())
    graph = message(1, node) + message(2, name)
    graph += b"".join(message(5, tensor(f"k{i}", k)) for i, k in enumerate(known))
    given = [(n, x) for n, x in zip(names, inputs) if x is not None]
    graph += b"".join(message(11, info(n, x)) for n, x in given)
    graph += b"".join(message(12, info(f"y{i}", y)) for i, y in enumerate(outputs))
    model = integer(1, 10) + message(2, "make_operators.py") + message(7, graph)
    model += message(8, message(1, "") + integer(2, opset))
    data = FOLDER / name / "test_data_set_0"
    data.mkdir(parents=True)
    (FOLDER / name / "model.onnx").write_bytes(model)
    for i, (n, x) in enumerate(given):
        (data / f"input_{i}.pb").write_bytes(tensor(n, x))
    for i, y in enumerate(outputs):
        (data / f"output_{i}.pb").write_bytes(tensor(f"y{i}", y))


def ints(*values):
    return torch.tensor(values)


shutil.rmtree(FOLDER, ignore_errors=True)
torch.manual_seed(1)

x = torch.randn(2, 12, 9)
case("col2im_strides", "Col2Im", 18, [x], [ints(5, 6), ints(2, 2)],
     [F.fold(x, (5, 6), (2, 2), padding=(1, 0), stride=(2, 2))], strides=[2, 2], pads=[1, 0, 1, 0])
x = torch.randn(1, 4, 20)
case("col2im_dilation", "Col2Im", 18, [x], [ints(5, 6), ints(2, 2)],
     [F.fold(x, (5, 6), (2, 2), dilation=(1, 1))], dilations=[1, 1])

theta = torch.randn(2, 2, 3)
for corners in (0, 1):
    case(f"affine_grid_{corners}", "AffineGrid", 20, [theta], [ints(2, 3, 4, 5)],
         [F.affine_grid(theta, (2, 3, 4, 5), align_corners=bool(corners))], align_corners=corners)
theta = torch.randn(1, 3, 4)
case("affine_grid_volume", "AffineGrid", 20, [theta], [ints(1, 2, 3, 4, 2)],
     [F.affine_grid(theta, (1, 2, 3, 4, 2), align_corners=False)])

x, w, bias = torch.randn(2, 4, 6, 7), torch.randn(6, 2, 3, 2), torch.randn(6)
offset, mask = 2 * torch.randn(2, 2 * 6 * 2, 3, 6), torch.rand(2, 2 * 6, 3, 6)
case("deform_conv", "DeformConv", 19, [x, w, offset, bias, mask], [],
     [torchvision.ops.deform_conv2d(x, offset, w, bias, (2, 1), (1, 0), (1, 1), mask)],
     strides=[2, 1], pads=[1, 0, 1, 0], group=2, offset_group=2)
offset = torch.randn(2, 6 * 2, 4, 6)
w = torch.randn(3, 4, 3, 2)
case("deform_conv_plain", "DeformConv", 19, [x, w, offset], [], [torchvision.ops.deform_conv2d(x, offset, w)])

for length in (8, 7):
    signal = torch.randn(2, length)
    bins = torch.view_as_real(torch.fft.rfft(signal))
    case(f"irfft_{length}", "DFT", 20, [bins], [ints(length)[0], ints(1)[0]],
         [torch.fft.irfft(torch.view_as_complex(bins), length)[..., None]], onesided=1, inverse=1)

a, b = torch.randint(-2**62, 2**62, (2, 3, 4)), torch.randint(-2**62, 2**62, (4,))
for op, made in (("And", a & b), ("Or", a | b), ("Xor", a ^ b)):
    case(f"bitwise_{op.lower()}", f"Bitwise{op}", 18, [a, b], [], [made])
case("bitwise_not", "BitwiseNot", 18, [a.to(torch.int16)], [], [~a.to(torch.int16)])

x = torch.tensor([[1.5, 0.0, 2, -1], [3, math.inf, 0.5, 2]])
case("cumprod", "CumProd", 26, [x], [ints(1)[0]], [x.cumprod(1)])
back = torch.flip(torch.cat([torch.ones(1, 4), torch.flip(x, [0])[:-1]]).cumprod(0), [0])
case("cumprod_exclusive_reverse", "CumProd", 26, [x], [ints(0)[0]], [back], exclusive=1, reverse=1)

x = torch.randn(7, 5)
case("center_crop_pad", "CenterCropPad", 18, [x], [ints(4, 8)], [F.pad(x[1:5], (1, 2))])

truth = torch.rand(3, 4) < 0.5
case("reduce_max_of_truth", "ReduceMax", 20, [truth], [ints(1)], [truth.any(1, keepdim=True)])
case("reduce_min_of_truth", "ReduceMin", 20, [truth], [ints(0)], [truth.all(0, keepdim=True)])

x = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
case("lp_normalization_of_zeros", "LpNormalization", 1, [x], [], [F.normalize(x, dim=1)])

x = torch.randn(3, 4, 5)
places, updates = torch.randint(0, 4, (3, 6, 5)), torch.randn(3, 6, 5)
case("scatter_add", "ScatterElements", 18, [x, places, updates], [], [x.scatter_add(1, places, updates)], axis=1,
     reduction="add")
for reduction, theirs in (("mul", "prod"), ("max", "amax"), ("min", "amin")):
    case(f"scatter_{reduction}", "ScatterElements", 18, [x, places, updates], [],
         [x.scatter_reduce(1, places, updates, theirs)], axis=1, reduction=reduction)
places = torch.stack([torch.randperm(4)[:2] for _ in range(6)]).reshape(2, 3, 2).transpose(1, 2).contiguous()
updates = torch.randn(2, 2, 3)
case("scatter_part", "ScatterElements", 18, [x, places, updates], [], [x.scatter(1, places, updates)], axis=1)
counts = torch.randint(-2**62, 2**62, (3, 4, 5))
case("scatter_large_integers", "ScatterElements", 18, [counts, places, counts[:2, :2, :3].contiguous()], [],
     [counts.scatter(1, places, counts[:2, :2, :3])], axis=1)
places, updates = torch.tensor([[0, 1], [2, -1], [0, 1]]), torch.randn(3, 5)
added = x.clone()
for place, row in zip(places, updates):
    added[place[0], place[1]] += row
case("scatter_nd_add", "ScatterND", 18, [x, places, updates], [], [added], reduction="add")
x = torch.tensor([[1.0, math.nan, 3, -math.inf, 2], [5, 4, 2, math.inf, 0]])
case("top_k_of_nan", "TopK", 11, [x], [ints(3)], list(x.topk(3)))

wide = torch.randn(4, 5) * 1e3
case("cast_to_bfloat16", "Cast", 19, [wide], [], [wide.bfloat16()], to=16)
# Values of the least numbers: int8 and int16 wrap around.
a = torch.tensor([-128, 127, 100, -1], dtype=torch.int8)
case("add_int8_wraps", "Add", 14, [a, a], [], [a + a])
a = torch.tensor([-2**15, 2**15 - 1, 300, -7], dtype=torch.int16)
case("mul_int16_wraps", "Mul", 14, [a, a], [], [a * a])
case("abs_int16", "Abs", 13, [a], [], [a.abs()])
