#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what small networks of the zoo must come to, by PyTorch in fp64: make_zoo_references.py

Debian: python3-torch. The numbers are in zoo_reference_test.cc, so neither building nor testing needs this script.
Weights, in the order in which they are used, and inputs are waves (see wave()). Printed per network: parameters, loss,
and the sum of all gradients, element by element times another wave.
"""
import math

import torch
from torch.nn import functional as F


def wave(number, shape, pace=1.3, height=0.5):
    places = torch.arange(math.prod(shape), dtype=torch.float64)
    return (height * torch.sin(0.7 * number + pace * places)).reshape(shape)


class Weights:
    def __init__(self):
        self.all = []

    def __call__(self, *shape):
        self.all.append(wave(len(self.all) + 1, shape).requires_grad_())
        return self.all[-1]

    def report(self, name, loss):
        loss.backward()
        along = sum((w.grad * wave(k, w.shape, 0.9, 1)).sum() for k, w in enumerate(self.all))
        print(f"{name}: {sum(w.numel() for w in self.all)} parameters, loss {loss.item():.12g}, along {along:.12g}")


SIZES = [(3, 1, 1, False), (3, 2, 2, True), (5, 2, 2, True), (3, 2, 3, True), (5, 1, 3, True), (5, 2, 4, True),
         (3, 1, 1, True)]


def efficientnet(name, size, expansion, group_size, groups, blocks=1):
    """All widths 8, no dropout; `groups` of group norm, 0: batch norm."""
    w = Weights()
    width = 8

    def conv(x, filters, window=1, stride=1, split=1):
        x = F.conv2d(x, w(filters, x.shape[1] // split, window, window), None, stride, window // 2, 1, split)
        gamma, beta = w(filters), w(filters)
        if groups:
            return F.group_norm(x, min(groups, filters), gamma, beta, 1e-3)
        return F.batch_norm(x, None, None, gamma, beta, True, 0, 1e-3)

    def dense(x, columns):
        return x @ w(x.shape[1], columns) + w(columns)

    images = wave(0, (3, 3, size, size), 1.7, 1)
    x = F.silu(conv(images, width, 3, 2))
    for window, stride, _, expands in SIZES:
        for i in range(blocks):
            given = x
            within = width * expansion if expands else width
            if within != width:
                x = F.silu(conv(x, within))
            x = F.silu(conv(x, within, window, stride if i == 0 else 1, max(1, within // group_size)))
            means = x.mean((2, 3))
            factors = torch.sigmoid(dense(F.silu(dense(means, width // 4)), within))
            x = conv(x * factors[:, :, None, None], width)
            if i > 0 or stride == 1:
                x = x + given
    x = F.silu(conv(x, 16)).mean((2, 3))
    loss = F.cross_entropy(dense(x, 5), torch.tensor([4, 0, 2]))
    w.report(name, loss)


efficientnet("depthwise, batch norm", 64, 6, 1, 0)
efficientnet("groups of 4, group norm", 64, 2, 4, 4)
