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


def conformer(name, layers, decoder_layers, hidden, heads, ffn, kernel, vocabulary, frames, features, length, lengths,
              token_lengths):
    """No dropout. The loss is 0.7 of the decoder's and 0.3 of the frames'."""
    w = Weights()
    m = len(lengths)

    def dense(x, columns, bias=True):
        y = x @ w(x.shape[-1], columns)
        return y + w(columns) if bias else y

    def norm(x):
        return F.layer_norm(x, x.shape[-1:], w(x.shape[-1]), w(x.shape[-1]), 1e-5)

    def positions(rows):
        pace = torch.exp(torch.arange(0, hidden, 2, dtype=torch.float64) * -(math.log(10000.0) / hidden))
        angle = torch.arange(rows, dtype=torch.float64)[:, None] * pace
        return torch.stack((torch.sin(angle), torch.cos(angle)), -1).reshape(rows, hidden)

    def split(x):
        return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)

    def mixed(scores, value, mask):
        scores = scores / math.sqrt(hidden // heads) * mask + (mask - 1) * 1e3
        x = (torch.softmax(scores, -1) * mask) @ value
        return dense(x.transpose(1, 2).reshape(m, -1, hidden), hidden)

    def attention(x, memory, mask, places=None):
        query, key, value = split(dense(x, hidden)), split(dense(memory, hidden)), split(dense(memory, hidden))
        if places is None:
            return mixed(query @ key.transpose(-2, -1), value, mask)
        places = split(dense(places[None], hidden, False))
        by_content = (query + w(heads, hidden // heads)[:, None]) @ key.transpose(-2, -1)
        by_place = (query + w(heads, hidden // heads)[:, None]) @ places.transpose(-2, -1)
        return mixed(by_content + by_place, value, mask)

    def feed_forward(x, function):
        return dense(function(dense(norm(x), ffn)), hidden)

    def convolution(x):
        x = F.glu(dense(norm(x), 2 * hidden, False), -1).transpose(1, 2)
        x = F.conv1d(x, w(hidden, 1, kernel), None, 1, kernel // 2, 1, hidden).transpose(1, 2)
        return dense(F.silu(norm(x)), hidden, False)

    x = wave(0, (m, 1, frames, features), 1.7, 1)
    for channels in (1, hidden):
        x = F.relu(F.conv2d(x, w(hidden, channels, 3, 3), w(hidden), 2))
    x = dense(x.transpose(1, 2).flatten(2), hidden) * math.sqrt(hidden)
    rows = x.shape[1]
    mask = (4 * torch.arange(rows) < torch.tensor(lengths)[:, None]).double()[:, None, None, :]
    for i in range(layers):
        x = x + 0.5 * feed_forward(x, F.silu)
        given = norm(x)
        x = x + attention(given, given, mask, positions(rows))
        x = x + convolution(x)
        x = norm(x + 0.5 * feed_forward(x, F.silu))
    memory = norm(x)

    earlier = torch.tril(torch.ones(length, length, dtype=torch.float64))
    own = earlier * (torch.arange(length) < torch.tensor(token_lengths)[:, None]).double()[:, None, None, :]
    tokens = torch.arange(m * length).reshape(m, length) * 5 % vocabulary
    x = w(vocabulary, hidden)[tokens] * math.sqrt(hidden) + positions(length)
    for i in range(decoder_layers):
        given = norm(x)
        x = x + attention(given, given, own)
        x = x + attention(norm(x), memory, mask)
        x = x + feed_forward(x, F.relu)
    scores, of_frames = dense(norm(x), vocabulary), dense(memory, vocabulary)

    def labels(counts, rows, pace):
        every = torch.arange(m * rows).reshape(m, rows) * pace % vocabulary
        return torch.where(torch.arange(rows) < torch.tensor(counts)[:, None], every, torch.tensor(-100)).flatten()

    loss = 0.7 * F.cross_entropy(scores.flatten(0, 1), labels(token_lengths, length, 7))
    counts = [-(-n // 4) for n in lengths]
    loss = loss + 0.3 * F.cross_entropy(of_frames.flatten(0, 1), labels(counts, rows, 4))
    w.report(name, loss)


def bert(name, head, packed):
    """One layer, hidden 8, 2 heads, samples of 6 tokens, no dropout, GELU by its tanh form.

    Sequences of a pack are numbered from 1.
    """
    w = Weights()
    m, length, hidden, heads, vocabulary = 2, 6, 8, 2, 11

    def dense(x, columns):
        return x @ w(x.shape[-1], columns) + w(columns)

    def norm(x):
        return F.layer_norm(x, x.shape[-1:], w(hidden), w(hidden), 1e-5)

    tokens = torch.arange(m * length).reshape(m, length) * 5 % vocabulary
    segments = torch.arange(m * length).reshape(m, length) % 2
    sequences = torch.tensor([[1, 1, 2, 2, 2, 2], [1, 1, 1, 2, 2, 3]])
    places = torch.tensor([[0, 1, 0, 1, 2, 3], [0, 1, 2, 0, 1, 0]]) if packed else torch.arange(length)
    firsts = torch.tensor([[0, 2, 0], [0, 3, 5]]) if packed else torch.zeros(m, 1, dtype=torch.int64)
    tokens_there = torch.tensor([[1.0] * 6, [1.0] * 4 + [0.0] * 2], dtype=torch.float64)
    words = w(vocabulary, hidden)
    x = norm(words[tokens] + w(length, hidden)[places] + w(2, hidden)[segments])

    # The columns of the joint weight lie by head, then query, key, value.
    query, key, value = dense(x, 3 * hidden).reshape(m, length, heads, 3, hidden // heads).permute(3, 0, 2, 1, 4)
    scores = query @ key.transpose(-2, -1) / math.sqrt(hidden // heads)
    if packed:
        scores = scores + torch.where(sequences[:, None, :, None] == sequences[:, None, None, :], 0.0, -1e4)
    else:
        scores = scores + (tokens_there[:, None, None, :] - 1) * 1e4
    mixed = (torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(m, length, hidden)
    x = norm(x + dense(mixed, hidden))
    x = norm(x + dense(F.gelu(dense(x, 12), approximate="tanh"), hidden))

    rows = torch.arange(m)[:, None]

    def of_sequences(classes, labels):
        scores = dense(torch.tanh(dense(x[rows, firsts], hidden)), classes)
        return F.cross_entropy(scores.flatten(0, 1), torch.tensor(labels))

    if head == "masked language":
        masked = torch.tensor([[1, 4], [0, 2]])
        y = norm(F.gelu(dense(x[rows, masked], hidden), approximate="tanh"))
        loss = F.cross_entropy((y @ words.T + w(vocabulary)).flatten(0, 1), torch.tensor([3, 10, -100, 7]))
        loss = loss + of_sequences(2, [1, 0, -100, 0, 1, 1] if packed else [1, 0])
    elif head == "classification":
        loss = of_sequences(3, [2, 0, -100, 1, 1, 2] if packed else [2, 1])
    else:
        scores = dense(x, 2).transpose(1, 2)[:, :, None, :]
        starts, ends = [1, 2, -100, 0, 3, 5], [1, 5, -100, 2, 4, 5]
        if packed:
            own = sequences[:, None, None, :] == torch.arange(1, 4)[None, None, :, None]
            scores = torch.where(own, scores, torch.tensor(-1e4, dtype=torch.float64))
        else:
            starts, ends = [1, 0], [3, 2]
        loss = sum(F.cross_entropy(scores[:, i].flatten(0, 1), torch.tensor(labels))
                   for i, labels in enumerate((starts, ends)))
    w.report(name, loss)


def llama(name, tied, biases, norms):
    """Two layers, hidden 12, 4 heads of 6 on 2 of keys and values, samples of 5 tokens, labels the tokens that follow."""
    w = Weights()
    m, length, hidden, heads, groups, d, vocabulary = 2, 5, 12, 4, 2, 6, 11

    def norm(x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w(x.shape[-1])

    def turned(x):
        angle = torch.outer(torch.arange(length, dtype=torch.float64), 1e6**(-torch.arange(0, d, 2).double() / d))
        cosine, sine = (torch.cat((f(angle), f(angle)), -1) for f in (torch.cos, torch.sin))
        return x * cosine + torch.cat((-x[..., d // 2:], x[..., :d // 2]), -1) * sine

    tokens = torch.arange(m * length).reshape(m, length) * 5 % vocabulary
    words = w(vocabulary, hidden)
    x = words[tokens]
    later = torch.triu(torch.full((length, length), -torch.inf, dtype=torch.float64), 1)
    for _ in range(2):
        qkv = norm(x) @ w(hidden, (heads + 2 * groups) * d)
        if biases:
            qkv = qkv + w((heads + 2 * groups) * d)
        # The columns lie by group: its heads of queries, its key, its value.
        query, key, value = qkv.reshape(m, length, groups, -1, d).split([heads // groups, 1, 1], 3)
        query = query.reshape(m, length, heads, d).transpose(1, 2)
        query = turned(norm(query) if norms else query)
        key = turned(norm(key[..., 0, :].transpose(1, 2)) if norms else key[..., 0, :].transpose(1, 2))
        key, value = (t.repeat_interleave(heads // groups, 1) for t in (key, value[..., 0, :].transpose(1, 2)))
        mixed = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(d) + later, -1) @ value
        x = x + mixed.transpose(1, 2).reshape(m, length, heads * d) @ w(heads * d, hidden)
        y = norm(x)
        x = x + F.silu(y @ w(hidden, 16)) * (y @ w(hidden, 16)) @ w(16, hidden)
    scores = norm(x) @ (words if tied else w(vocabulary, hidden)).T
    w.report(name, F.cross_entropy(scores[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()))


llama("llama", False, False, False)
llama("qwen 2.5, tied", True, True, False)
llama("qwen 3, tied", True, False, True)
for pack in (False, True):
    for what in ("masked language", "classification", "question answering"):
        bert(f"bert, {what}, {'packed' if pack else 'one sequence'}", what, pack)
conformer("conformer", 2, 2, 8, 2, 12, 3, 9, 31, 11, 5, [28, 17], [5, 3])
efficientnet("depthwise, batch norm", 64, 6, 1, 0)
efficientnet("groups of 4, group norm", 64, 2, 4, 4)
