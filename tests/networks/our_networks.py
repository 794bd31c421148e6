# SPDX-License-Identifier: Apache-2.0
"""Networks that torchvision has none of, in small: each as a user writes it with torch.nn, none simplified for us."""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Stacked(nn.Module):
    """Applies `wrapped` and gives one tensor of its outputs."""

    def __init__(self, wrapped, pick):
        super().__init__()
        self.wrapped, self.pick = wrapped, pick

    def forward(self, *inputs):
        return self.pick(self.wrapped(*inputs))


class Residual(nn.Module):
    def __init__(self, *inner):
        super().__init__()
        self.inner = nn.Sequential(*inner)

    def forward(self, x):
        return x + self.inner(x)


# Transformers


class Classifier(nn.Module):
    """nn.TransformerEncoder over tokens and learned places; the padding is masked."""

    def __init__(self, norm_first=False, activation="relu", layers=2, hidden=32):
        super().__init__()
        self.words, self.places = nn.Embedding(50, hidden), nn.Parameter(0.1 * torch.randn(12, hidden))
        layer = nn.TransformerEncoderLayer(hidden, 4, 64, 0.0, activation, batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(hidden))
        self.head = nn.Linear(hidden, 5)

    def forward(self, ids):
        x = self.encoder(self.words(ids) + self.places, src_key_padding_mask=ids == 0)
        return self.head(x.mean(1))


class Translator(nn.Module):
    """nn.Transformer with a causal mask, sequence first."""

    def __init__(self, hidden=32):
        super().__init__()
        self.source, self.target = nn.Embedding(40, hidden), nn.Embedding(40, hidden)
        self.transformer = nn.Transformer(hidden, 4, 2, 2, 64, 0.0)
        self.head = nn.Linear(hidden, 40)
        self.register_buffer("mask", torch.full((7, 7), float("-inf")).triu(1))

    def forward(self, source, target):
        x = self.transformer(self.source(source), self.target(target), tgt_mask=self.mask)
        return self.head(x)


class Bert(nn.Module):
    """Attention written out, with segments, an additive mask from a mask of ones, and a pooler."""

    def __init__(self, hidden=32, heads=4, layers=2):
        super().__init__()
        self.words, self.segments = nn.Embedding(60, hidden), nn.Embedding(2, hidden)
        self.places = nn.Embedding(16, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(hidden, heads) for _ in range(layers))
        self.pooler, self.head = nn.Linear(hidden, hidden), nn.Linear(hidden, 2)

    def forward(self, ids, segments, mask):
        places = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
        x = self.norm(self.words(ids) + self.segments(segments) + self.places(places))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(torch.tanh(self.pooler(x[:, 0])))


class BertLayer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.scale = heads, math.sqrt(hidden // heads)
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden) for _ in range(4))
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden, eps=1e-12) for _ in range(2))

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, bias):
        q, k, v = (self.split(f(x)) for f in (self.q, self.k, self.v))
        weights = F.softmax(torch.matmul(q, k.transpose(-1, -2)) / self.scale + bias, dim=-1)
        y = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous()
        x = self.norms[0](x + self.o(y.view(y.size(0), y.size(1), -1)))
        return self.norms[1](x + self.down(F.gelu(self.up(x))))


class Gpt2(nn.Module):
    """One product for q, k and v, a mask in a buffer, tanh GELU, the head tied to the token table."""

    def __init__(self, hidden=32, heads=4, layers=2, vocabulary=64, length=16):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, hidden), nn.Embedding(length, hidden)
        self.blocks = nn.ModuleList(Gpt2Block(hidden, heads, length) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[-1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Gpt2Block(nn.Module):
    def __init__(self, hidden, heads, length):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.register_buffer("allowed", torch.ones(length, length, dtype=torch.bool).tril())

    def forward(self, x):
        batch, length, hidden = x.shape
        parts = self.qkv(self.first(x)).split(hidden, 2)
        q, k, v = (y.view(batch, length, self.heads, -1).transpose(1, 2) for y in parts)
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
        scores = scores.masked_fill(~self.allowed[:length, :length], torch.finfo(x.dtype).min)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, hidden)
        x = x + self.out(y)
        y = self.up(self.second(x))
        y = 0.5 * y * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0))))
        return x + self.down(y)


class RmsNorm(nn.Module):
    def __init__(self, hidden, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(hidden)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Llama(nn.Module):
    """RMSNorm, rotary places, grouped queries, SwiGLU, no biases."""

    def __init__(self, hidden=32, heads=4, groups=2, layers=2, vocabulary=64):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.blocks = nn.ModuleList(LlamaBlock(hidden, heads, groups) for _ in range(layers))
        self.norm, self.head = RmsNorm(hidden), nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class LlamaBlock(nn.Module):
    def __init__(self, hidden, heads, groups):
        super().__init__()
        self.heads, self.groups, self.width = heads, groups, hidden // heads
        self.first, self.second = RmsNorm(hidden), RmsNorm(hidden)
        self.q, self.o = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.k, self.v = (nn.Linear(hidden, groups * self.width, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(hidden, 88, bias=False) for _ in range(2))
        self.down = nn.Linear(88, hidden, bias=False)
        self.register_buffer("rates", 10000 ** (-torch.arange(0, self.width, 2).float() / self.width), persistent=False)

    def repeated(self, x):
        batch, groups, length, width = x.shape
        x = x[:, :, None].expand(batch, groups, self.heads // groups, length, width)
        return x.reshape(batch, self.heads, length, width)

    def turn(self, x):
        angles = torch.outer(torch.arange(x.shape[2], device=x.device).type_as(self.rates), self.rates)
        angles = torch.cat((angles, angles), -1)
        a, b = x.chunk(2, -1)
        return x * angles.cos() + torch.cat((-b, a), -1) * angles.sin()

    def forward(self, x):
        batch, length, hidden = x.shape
        y = self.first(x)
        q = self.turn(self.q(y).view(batch, length, self.heads, self.width).transpose(1, 2))
        k = self.turn(self.k(y).view(batch, length, self.groups, self.width).transpose(1, 2))
        v = self.v(y).view(batch, length, self.groups, self.width).transpose(1, 2)
        k, v = (self.repeated(t) for t in (k, v))
        mask = torch.full((length, length), float("-inf"), device=x.device).triu(1)
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.width) + mask
        y = torch.matmul(F.softmax(scores.float(), -1).type_as(q), v)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, hidden))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Alibi(nn.Module):
    """Linear biases by distance, attention by einsum, a causal mask, parallel attention and feed-forward."""

    def __init__(self, hidden=32, heads=4, vocabulary=48):
        super().__init__()
        self.heads = heads
        self.tokens, self.norm = nn.Embedding(vocabulary, hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden)
        self.feed = nn.Sequential(nn.Linear(hidden, 64), nn.GELU(), nn.Linear(64, hidden))
        self.head = nn.Linear(hidden, vocabulary)
        self.register_buffer("slopes", 2.0 ** -torch.arange(1, heads + 1).float())

    def forward(self, ids):
        x = self.tokens(ids)
        y = self.norm(x)
        q, k, v = (t.view(*t.shape[:2], self.heads, -1) for t in self.qkv(y).chunk(3, -1))
        places = torch.arange(ids.shape[1], device=ids.device)
        distance = places[None, :] - places[:, None]
        bias = self.slopes[:, None, None] * distance.clamp(max=0)
        bias = torch.where(distance > 0, torch.full_like(bias, -1e9), bias)
        weights = torch.softmax(torch.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5 + bias, -1)
        x = x + self.out(torch.einsum("bhij,bjhd->bihd", weights, v).flatten(2)) + self.feed(y)
        return self.head(x)


class T5(nn.Module):
    """Buckets of relative places whose biases all layers share, RMSNorm before, scores not scaled, gated GELU."""

    def __init__(self, hidden=32, heads=4, layers=2, vocabulary=48):
        super().__init__()
        self.tokens, self.bias = nn.Embedding(vocabulary, hidden), nn.Embedding(8, heads)
        self.layers, self.norm = nn.ModuleList(T5Layer(hidden, heads) for _ in range(layers)), RmsNorm(hidden)

    @staticmethod
    def bucket(distance, buckets=8, furthest=16):
        half = buckets // 2
        side = (distance > 0).long() * half
        distance = distance.abs()
        near = half // 2
        far = near + (torch.log(distance.float() / near) / math.log(furthest / near) * (half - near)).long()
        return side + torch.where(distance < near, distance, torch.min(far, torch.full_like(far, half - 1)))

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        bias = self.bias(self.bucket(places[None, :] - places[:, None])).permute(2, 0, 1).unsqueeze(0)
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x, bias)
        x = self.norm(x)
        return (x * x.shape[-1] ** -0.5) @ self.tokens.weight.t()


class T5Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(hidden, 48), nn.Linear(hidden, 48), nn.Linear(48, hidden)
        self.norms = nn.ModuleList(RmsNorm(hidden) for _ in range(2))

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x, bias):
        y = self.norms[0](x)
        q, k, v = (self.split(f(y)) for f in (self.q, self.k, self.v))
        x = x + self.o(((q @ k.transpose(2, 3) + bias).softmax(-1) @ v).transpose(1, 2).flatten(2))
        y = self.norms[1](x)
        return x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y))


class Albert(nn.Module):
    """One layer run three times."""

    def __init__(self, hidden=32, heads=4):
        super().__init__()
        self.words, self.grow = nn.Embedding(50, 12), nn.Linear(12, hidden)
        self.layer, self.head = BertLayer(hidden, heads), nn.Linear(hidden, 3)

    def forward(self, ids):
        x = self.grow(self.words(ids))
        for _ in range(3):
            x = self.layer(x, 0.0)
        return self.head(x[:, 0])


class SharedBias(nn.Module):
    """A parameter that two layers read, with a skip around both."""

    def __init__(self, width=4):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(4))
        self.bias = nn.Parameter(torch.randn(1, width))

    def forward(self, x):
        a = self.layers[0](x)
        b = F.relu(self.layers[1](a) + self.bias.squeeze(0))
        return a + self.layers[3](F.relu(self.layers[2](b) + self.bias.squeeze(0)))


class Perceiver(nn.Module):
    """Learned latents that attend to a longer input with nn.MultiheadAttention."""

    def __init__(self, hidden=24, latents=6):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, hidden))
        self.cross = nn.MultiheadAttention(hidden, 3, kdim=10, vdim=10, batch_first=True)
        self.own = nn.MultiheadAttention(hidden, 3, batch_first=True)
        self.norms = nn.ModuleList((nn.LayerNorm(hidden), nn.LayerNorm(10), nn.LayerNorm(hidden)))
        self.head = nn.Linear(hidden, 4)

    def forward(self, x):
        queries = self.latents.expand(x.shape[0], -1, -1)
        read = self.norms[1](x)
        y = queries + self.cross(self.norms[0](queries), read, read)[0]
        z = self.norms[2](y)
        return self.head((y + self.own(z, z, z, need_weights=False)[0]).mean(1))


class Mixture(nn.Module):
    """All experts run, and a softmax over the best two weighs them."""

    def __init__(self, hidden=16, experts=4):
        super().__init__()
        self.router = nn.Linear(hidden, experts)
        self.up = nn.Parameter(0.2 * torch.randn(experts, hidden, 32))
        self.down = nn.Parameter(0.2 * torch.randn(experts, 32, hidden))
        self.head = nn.Linear(hidden, 3)

    def forward(self, x):
        scores = self.router(x)
        best, _ = scores.topk(2, -1)
        weights = scores.masked_fill(scores < best[..., -1:], float("-inf")).softmax(-1)
        y = torch.einsum("bsh,ehf->besf", x, self.up)
        y = torch.einsum("besf,efh->besh", F.relu(y), self.down)
        return self.head((x + torch.einsum("besh,bse->bsh", y, weights)).mean(1))


class SoftMixture(nn.Module):
    """All experts run, weighed by a softmax."""

    def __init__(self, hidden=16, experts=3):
        super().__init__()
        self.router = nn.Linear(hidden, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(hidden, 24), nn.SiLU(), nn.Linear(24, hidden))
                                     for _ in range(experts))

    def forward(self, x):
        weights = self.router(x).softmax(-1)
        return (torch.stack([e(x) for e in self.experts], -1) * weights.unsqueeze(-2)).sum(-1)


class LinearAttention(nn.Module):
    """elu + 1 as the feature map, so products associate the other way; a running sum for the causal form."""

    def __init__(self, hidden=24, causal=False):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden) for _ in range(4))
        self.causal = causal

    def forward(self, x):
        q, k, v = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1, self.v(x)
        if self.causal:
            state = torch.cumsum(k.unsqueeze(-1) * v.unsqueeze(-2), 1)
            total = (q * k.cumsum(1)).sum(-1, keepdim=True)
            return self.o((q.unsqueeze(-2) @ state).squeeze(-2) / total)
        return self.o((q @ (k.transpose(1, 2) @ v)) / (q @ k.sum(1).unsqueeze(-1)))


class Cached(nn.Module):
    """One new token against keys and values of those before; gives the longer ones too."""

    def __init__(self, hidden=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)

    def forward(self, x, keys, values):
        q, k, v = (t.view(*t.shape[:2], self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
        weights = (q @ keys.transpose(2, 3) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.out((weights @ values).transpose(1, 2).flatten(2)), keys, values


class ImageTransformer(nn.Module):
    """ViT with a convolution per patch, a class token and pre-norm nn.TransformerEncoderLayer."""

    def __init__(self, hidden=32):
        super().__init__()
        self.patches = nn.Conv2d(3, hidden, 8, 8)
        self.label = nn.Parameter(torch.zeros(1, 1, hidden))
        self.places = nn.Parameter(0.02 * torch.randn(1, 17, hidden))
        layer = nn.TransformerEncoderLayer(hidden, 4, 64, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(hidden, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.label.expand(x.shape[0], -1, -1), x), 1) + self.places
        return self.head(self.encoder(x)[:, 0])


class Mixer(nn.Module):
    """MLP-Mixer."""

    def __init__(self, hidden=32, tokens=16):
        super().__init__()
        self.stem = nn.Conv2d(3, hidden, 8, 8)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(3))
        self.tokens = nn.Sequential(nn.Linear(tokens, 24), nn.GELU(), nn.Linear(24, tokens))
        self.channels = nn.Sequential(nn.Linear(hidden, 64), nn.GELU(), nn.Linear(64, hidden))
        self.head = nn.Linear(hidden, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norms[1](x))
        return self.head(self.norms[2](x).mean(1))


# Recurrent


class Tagger(nn.Module):
    """A recurrent layer (nn.LSTM, nn.GRU or nn.RNN) over tokens, a label for each."""

    def __init__(self, kind, **settings):
        super().__init__()
        self.words = nn.Embedding(30, 16)
        self.layers = kind(16, 12, **settings)
        wide = settings.get("proj_size", 0) or 12
        self.head = nn.Linear(wide * (2 if settings.get("bidirectional") else 1), 6)

    def forward(self, ids):
        y, _ = self.layers(self.words(ids))
        return self.head(y)


class LastState(nn.Module):
    """The last state of each direction decides; the first states are inputs."""

    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.LSTM(8, 10, 2, bidirectional=True), nn.Linear(40, 3)

    def forward(self, x, h, c):
        _, (h, c) = self.layers(x, (h, c))
        return self.head(torch.cat((h[-2], h[-1], c[-2], c[-1]), 1))


class Cells(nn.Module):
    """LSTMCell and GRUCell in a loop of Python."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.LSTMCell(6, 8), nn.GRUCell(8, 8), nn.Linear(8, 6)

    def forward(self, x):
        h, c, g = (x.new_zeros(x.shape[0], 8) for _ in range(3))
        found = []
        for step in x.unbind(1):
            h, c = self.first(step, (h, c))
            g = self.second(h, g)
            found.append(self.head(g))
        return torch.stack(found, 1)


class SequenceToSequence(nn.Module):
    """GRU encoder and decoder with additive attention, the decoder fed the true tokens."""

    def __init__(self, hidden=16):
        super().__init__()
        self.source, self.target = nn.Embedding(30, hidden), nn.Embedding(30, hidden)
        self.encoder = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hidden, hidden)
        self.cell = nn.GRUCell(3 * hidden, hidden)
        self.q, self.k, self.score = nn.Linear(hidden, hidden), nn.Linear(2 * hidden, hidden), nn.Linear(hidden, 1)
        self.head = nn.Linear(3 * hidden, 30)

    def forward(self, source, target):
        read, last = self.encoder(self.source(source))
        h = torch.tanh(self.bridge(last.transpose(0, 1).flatten(1)))
        keys, found = self.k(read), []
        for step in range(target.shape[1]):
            weights = self.score(torch.tanh(self.q(h).unsqueeze(1) + keys)).softmax(1)
            seen = (weights * read).sum(1)
            h = self.cell(torch.cat((self.target(target[:, step]), seen), 1), h)
            found.append(self.head(torch.cat((h, seen), 1)))
        return torch.stack(found, 1)


class ConvLstm(nn.Module):
    """Convolutional LSTM over four frames."""

    def __init__(self, channels=6):
        super().__init__()
        self.channels = channels
        self.gates = nn.Conv2d(2 + channels, 4 * channels, 3, padding=1)
        self.head = nn.Conv2d(channels, 1, 1)

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], self.channels, x.shape[3], x.shape[4], device=x.device)
        for frame in range(x.shape[1]):
            i, f, o, g = self.gates(torch.cat((x[:, frame], h), 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.head(h)


# Sound and text


class Wave(nn.Module):
    """wav2vec in small: convolutions with group norm, a grouped convolution for places (weight norm), an encoder."""

    def __init__(self, hidden=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 10, 5, bias=False), nn.GroupNorm(16, 16), nn.GELU(),
            nn.Conv1d(16, 16, 3, 2, bias=False), nn.GELU(), nn.Conv1d(16, 16, 2, 2, bias=False), nn.GELU())
        self.project = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, hidden))
        self.places = nn.utils.weight_norm(nn.Conv1d(hidden, hidden, 8, padding=4, groups=4), dim=2)
        layer = nn.TransformerEncoderLayer(hidden, 4, 64, 0.0, "gelu", batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(hidden, 12)

    def forward(self, x):
        x = self.project(self.features(x.unsqueeze(1)).transpose(1, 2))
        x = x + F.gelu(self.places(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
        return self.head(self.encoder(x)).log_softmax(-1)


class Spectrogram(nn.Module):
    """Keyword spotting: 2-d convolutions that are separable, batch norm, average over time."""

    def __init__(self):
        super().__init__()
        def separable(channels):
            return nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False),
                                 nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels, 1, bias=False),
                                 nn.BatchNorm2d(channels), nn.ReLU())
        self.net = nn.Sequential(nn.Conv2d(1, 16, (10, 4), 2, (5, 1), bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                                 separable(16), separable(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 12))

    def forward(self, x):
        return self.net(x)


class Conformer(nn.Module):
    """Half steps around attention with a depthwise convolution, GLU, SiLU and batch norm."""

    def __init__(self, hidden=24):
        super().__init__()
        def feed():
            return nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, 48), nn.SiLU(), nn.Linear(48, hidden))
        self.first, self.second = feed(), feed()
        self.before, self.attention = nn.LayerNorm(hidden), nn.MultiheadAttention(hidden, 4, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.convolutions = nn.Sequential(
            nn.Conv1d(hidden, 2 * hidden, 1), nn.GLU(1), nn.Conv1d(hidden, hidden, 5, padding=2, groups=hidden),
            nn.BatchNorm1d(hidden), nn.SiLU(), nn.Conv1d(hidden, hidden, 1))
        self.last = nn.LayerNorm(hidden)

    def forward(self, x):
        x = x + 0.5 * self.first(x)
        y = self.before(x)
        x = x + self.attention(y, y, y)[0]
        x = x + self.convolutions(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return self.last(x + 0.5 * self.second(x))


class Temporal(nn.Module):
    """TCN: causal convolutions, each twice as far apart, by padding on the left."""

    def __init__(self, channels=12):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(2 if not i else channels, channels, 3, dilation=2**i) for i in range(3))
        self.head = nn.Conv1d(channels, 1, 1)

    def forward(self, x):
        for layer in self.layers:
            y = F.relu(layer(F.pad(x, (2 * layer.dilation[0], 0))))
            x = y if y.shape != x.shape else x + y
        return self.head(x)


class WaveNet(nn.Module):
    """Gated dilated convolutions with skips."""

    def __init__(self, channels=8):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 1)
        self.gates = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 2, dilation=2**i, padding=2**i) for i in range(3))
        self.skips = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 1) for _ in range(3))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(channels, 16, 1))

    def forward(self, x):
        x, total = self.stem(x), 0
        for gate, skip in zip(self.gates, self.skips):
            a, b = gate(x)[:, :, : x.shape[2]].chunk(2, 1)
            y, s = skip(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            x, total = x + y, total + s
        return self.head(total)


class Characters(nn.Module):
    """Kim's convolutions over characters of several widths, the maximum of each over time, highway."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(40, 8, padding_idx=0)
        self.widths = nn.ModuleList(nn.Conv1d(8, 12, width) for width in (2, 3, 4))
        self.gate, self.carry, self.head = nn.Linear(36, 36), nn.Linear(36, 36), nn.Linear(36, 4)

    def forward(self, ids):
        x = self.letters(ids).transpose(1, 2)
        x = torch.cat([F.relu(f(x)).max(2)[0] for f in self.widths], 1)
        gate = torch.sigmoid(self.gate(x))
        return self.head(gate * F.relu(self.carry(x)) + (1 - gate) * x)


# Generative


class UNet(nn.Module):
    """Ronneberger's, two levels: transposed convolutions, skips."""

    def __init__(self, width=8):
        super().__init__()
        def twice(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True),
                                 nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True))
        self.down = nn.ModuleList((twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(2 * n * width, n * width, 2, 2) for n in (2, 1))
        self.up = nn.ModuleList((twice(4 * width, 2 * width), twice(2 * width, width)))
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        c = self.down[2](F.max_pool2d(b, 2))
        b = self.up[0](torch.cat((b, self.rise[0](c)), 1))
        return self.head(self.up[1](torch.cat((a, self.rise[1](b)), 1)))


class Diffusion(nn.Module):
    """A denoiser: sinusoids of the time, group norm, SiLU, attention in the middle, nearest upsampling."""

    def __init__(self, width=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, 32), nn.SiLU(), nn.Linear(32, width))
        self.stem, self.head = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.first, self.second = DiffusionBlock(width), DiffusionBlock(2 * width, width)
        self.down = nn.Conv2d(width, width, 3, 2, 1)
        self.norm, self.attention = nn.GroupNorm(4, width), nn.MultiheadAttention(width, 2, batch_first=True)

    def forward(self, x, time):
        rates = torch.exp(-math.log(10000.0) * torch.arange(8, device=x.device) / 8).to(x.dtype)
        angles = time[:, None].to(x.dtype) * rates[None]
        emb = self.time(torch.cat((angles.sin(), angles.cos()), -1))
        a = self.first(self.stem(x), emb)
        b = self.down(a)
        y = self.norm(b).flatten(2).transpose(1, 2)
        b = b + self.attention(y, y, y)[0].transpose(1, 2).view_as(b)
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.head(F.silu(self.second(torch.cat((a, b), 1), emb)))


class DiffusionBlock(nn.Module):
    def __init__(self, given, width=None):
        super().__init__()
        width = width or given
        self.first, self.second = nn.GroupNorm(4, given), nn.GroupNorm(4, width)
        self.a, self.b = nn.Conv2d(given, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(16, width)
        self.skip = nn.Conv2d(given, width, 1) if given != width else nn.Identity()

    def forward(self, x, emb):
        y = self.a(F.silu(self.first(x))) + self.time(F.silu(emb))[:, :, None, None]
        return self.skip(x) + self.b(F.silu(self.second(y)))


def dcgan_generator(width=8):
    return nn.Sequential(
        nn.ConvTranspose2d(16, 4 * width, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(True),
        nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True),
        nn.ConvTranspose2d(2 * width, width, 3, 2, 1, output_padding=1, bias=False), nn.BatchNorm2d(width),
        nn.ReLU(True),
        nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())


def dcgan_discriminator(norm, width=8):
    return nn.Sequential(
        norm(nn.Conv2d(3, width, 4, 2, 1, bias=False)), nn.LeakyReLU(0.2, True),
        norm(nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False)), nn.InstanceNorm2d(2 * width, affine=True),
        nn.LeakyReLU(0.2, True), nn.Conv2d(2 * width, 1, 8), nn.Flatten())


class Vae(nn.Module):
    """The noise is an input. The loss (squares and the divergence) lies inside."""

    def __init__(self, pixels=64, hidden=24, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.mean, self.spread = nn.Linear(hidden, code), nn.Linear(hidden, code)
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def forward(self, x, noise):
        y = self.encoder(x)
        mean, spread = self.mean(y), self.spread(y)
        found = self.decoder(mean + noise * torch.exp(0.5 * spread))
        divergence = -0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp(), 1).mean()
        return (found - x).pow(2).mean() + 0.1 * divergence


def autoencoder():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1), nn.ELU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ELU(), nn.Conv2d(16, 16, 3, 1, 1), nn.ELU(),
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), nn.Conv2d(16, 8, 3, 1, 1), nn.ELU(),
        nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Sigmoid())


class SuperResolution(nn.Module):
    """Sub-pixel convolution, PReLU, a bicubic picture to add to."""

    def __init__(self, channels=12):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, channels, 5, padding=2), nn.PReLU(channels),
                                 Residual(nn.Conv2d(channels, channels, 3, padding=1), nn.PReLU()),
                                 nn.Conv2d(channels, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        return self.net(x) + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)


class StyleTransfer(nn.Module):
    """Reflected padding, instance norm, residual blocks, nearest upsampling."""

    def __init__(self, width=8):
        super().__init__()
        def convolution(a, b, size, stride=1):
            return nn.Sequential(nn.ReflectionPad2d(size // 2), nn.Conv2d(a, b, size, stride))
        def block():
            return Residual(convolution(2 * width, 2 * width, 3), nn.InstanceNorm2d(2 * width, affine=True), nn.ReLU(),
                            convolution(2 * width, 2 * width, 3), nn.InstanceNorm2d(2 * width, affine=True))
        self.net = nn.Sequential(
            convolution(3, width, 9), nn.InstanceNorm2d(width, affine=True), nn.ReLU(),
            convolution(width, 2 * width, 3, 2), nn.InstanceNorm2d(2 * width), nn.ReLU(), block(),
            nn.Upsample(scale_factor=2),
            convolution(2 * width, width, 3), nn.InstanceNorm2d(width, affine=True), nn.ReLU(),
            convolution(width, 3, 9))

    def forward(self, x):
        return self.net(x)


class Siren(nn.Module):
    """Sines of coordinates."""

    def __init__(self, hidden=32):
        super().__init__()
        self.layers = nn.ModuleList((nn.Linear(2, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 3)))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.sin(30.0 * layer(x))
        return self.layers[-1](x)


class Radiance(nn.Module):
    """NeRF: sines and cosines of rising frequency, a skip, density and colour, composed along each ray."""

    def __init__(self, hidden=32):
        super().__init__()
        self.first, self.second = nn.Linear(27, hidden), nn.Linear(hidden + 27, hidden)
        self.density, self.colour = nn.Linear(hidden, 1), nn.Linear(hidden, 3)

    def forward(self, x):
        parts = [x]
        for i in range(4):
            parts += [torch.sin(2.0**i * x), torch.cos(2.0**i * x)]
        places = torch.cat(parts, -1)
        y = F.relu(self.first(places))
        y = F.relu(self.second(torch.cat((y, places), -1)))
        depth = F.softplus(self.density(y)).squeeze(-1) * 0.1
        opaque, through = 1 - torch.exp(-depth), torch.exp(depth - torch.cumsum(depth, 1))
        return ((opaque * through).unsqueeze(-1) * torch.sigmoid(self.colour(y))).sum(1)


class Coupling(nn.Module):
    """RealNVP: gives the negative log likelihood."""

    def __init__(self, width=8):
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(width // 2, 16), nn.Tanh(), nn.Linear(16, width))
                                  for _ in range(3))

    def forward(self, x):
        total = 0
        for net in self.nets:
            a, b = x.chunk(2, 1)
            scale, shift = net(a).chunk(2, 1)
            scale = torch.tanh(scale)
            x = torch.cat((b * scale.exp() + shift, a), 1)
            total = total + scale.sum(1)
        return (0.5 * (x**2).sum(1) - total).mean()


# Tables, graphs, the rest


class Recommender(nn.Module):
    """DLRM: tables of features, products of each pair, an MLP below and above."""

    def __init__(self, width=8, bags=False):
        super().__init__()
        kind = (lambda n: nn.EmbeddingBag(n, width, mode="sum")) if bags else (lambda n: nn.Embedding(n, width))
        self.tables, self.bags = nn.ModuleList(kind(n) for n in (20, 30, 40)), bags
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + 6, 16), nn.ReLU(), nn.Linear(16, 1))
        self.register_buffer("pairs", torch.tril_indices(4, 4, -1), persistent=False)

    def forward(self, dense, ids):
        x = self.bottom(dense)
        found = [table(ids[:, i] if self.bags else ids[:, i, 0]) for i, table in enumerate(self.tables)]
        every = torch.stack([x] + found, 1)
        products = torch.bmm(every, every.transpose(1, 2))
        return self.top(torch.cat((x, products[:, self.pairs[0], self.pairs[1]]), 1)).squeeze(1)


class WideAndDeep(nn.Module):
    """One-hot categories for the wide part, tables for the deep one."""

    def __init__(self):
        super().__init__()
        self.table, self.wide = nn.Embedding(20, 6), nn.Linear(20, 1, bias=False)
        self.deep = nn.Sequential(nn.Linear(16, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, ids, dense):
        wide = self.wide(F.one_hot(ids, 20).to(dense.dtype))
        return (wide + self.deep(torch.cat((self.table(ids), dense), 1))).squeeze(1)


class GraphConvolution(nn.Module):
    """Kipf's, the matrix of edges given and normalised by degree inside."""

    def __init__(self, given=8, hidden=16, classes=4):
        super().__init__()
        self.first, self.second = nn.Linear(given, hidden), nn.Linear(hidden, classes)

    def forward(self, x, edges):
        edges = edges + torch.eye(edges.shape[1], device=x.device)
        scale = edges.sum(-1).pow(-0.5)
        edges = scale.unsqueeze(-1) * edges * scale.unsqueeze(-2)
        return edges @ self.second(F.relu(edges @ self.first(x)))


class GraphAttention(nn.Module):
    """GAT: scores of pairs by broadcasting, edges as the mask."""

    def __init__(self, given=8, hidden=12, classes=4):
        super().__init__()
        self.project, self.head = nn.Linear(given, hidden, bias=False), nn.Linear(hidden, classes)
        self.left, self.right = nn.Linear(hidden, 1), nn.Linear(hidden, 1)

    def forward(self, x, edges):
        y = self.project(x)
        scores = F.leaky_relu(self.left(y) + self.right(y).transpose(1, 2), 0.2)
        weights = scores.masked_fill(edges == 0, -1e9).softmax(-1)
        return self.head(F.elu(weights @ y))


class Messages(nn.Module):
    """Edges as a list: gather, an MLP, scatter_add to the nodes."""

    def __init__(self, width=8):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, 16), nn.ReLU(), nn.Linear(16, width))
        self.head = nn.Linear(width, 3)

    def forward(self, x, source, target):
        found = self.message(torch.cat((x[source], x[target]), 1))
        total = torch.zeros_like(x).scatter_add(0, target.unsqueeze(1).expand_as(found), found)
        return self.head(x + total)


class PointNet(nn.Module):
    """A learned transform of the points, shared layers, the maximum over points."""

    def __init__(self):
        super().__init__()
        def shared(*widths):
            layers = []
            for a, b in zip(widths, widths[1:]):
                layers += [nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU()]
            return nn.Sequential(*layers)
        self.turn, self.matrix = shared(3, 16, 24), nn.Linear(24, 9)
        self.points, self.head = shared(3, 16, 32), nn.Linear(32, 6)

    def forward(self, x):
        matrix = self.matrix(torch.max(self.turn(x), 2)[0]).view(-1, 3, 3) + torch.eye(3, device=x.device)
        x = torch.bmm(x.transpose(2, 1), matrix).transpose(2, 1)
        return self.head(torch.max(self.points(x), 2, keepdim=True)[0].view(-1, 32))


class Spatial(nn.Module):
    """Spatial transformer: affine_grid and grid_sample, then convolutions."""

    def __init__(self):
        super().__init__()
        self.find = nn.Sequential(nn.Flatten(), nn.Linear(256, 6))
        self.net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 196, 5))

    def forward(self, x):
        # affine_grid written out, since torch 1.13 has no export of it
        line = torch.linspace(-0.9375, 0.9375, 16, device=x.device).to(x.dtype)
        rows, columns = line.view(16, 1).expand(16, 16), line.view(1, 16).expand(16, 16)
        base = torch.stack((columns, rows, torch.ones_like(rows)), -1).view(1, 256, 3)
        grid = base @ self.find(x).view(-1, 2, 3).transpose(1, 2)
        return self.net(F.grid_sample(x, grid.view(-1, 16, 16, 2), align_corners=False))


class Actor(nn.Module):
    """Actor and critic over one trunk: two outputs."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.policy, self.value = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, x):
        y = self.trunk(x)
        return F.softmax(self.policy(y), -1), self.value(y).squeeze(-1)


class DuelingAtari(nn.Module):
    """Convolutions over four frames in bytes, a dueling head."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(4, 8, 8, 4), nn.ReLU(), nn.Conv2d(8, 16, 4, 2), nn.ReLU(), nn.Flatten())
        self.value, self.gain = nn.Linear(400, 1), nn.Linear(400, 6)

    def forward(self, x):
        y = self.net(x.to(self.value.weight.dtype) / 255.0)
        gain = self.gain(y)
        return self.value(y) + gain - gain.mean(1, keepdim=True)


class Contrastive(nn.Module):
    """CLIP in small: two towers, unit vectors, a learned temperature; the loss goes both ways."""

    def __init__(self, width=16):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, 8, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(128, width))
        self.words, self.text = nn.Embedding(30, width), nn.Linear(width, width)
        self.temperature = nn.Parameter(torch.tensor(2.0))

    def forward(self, image, ids):
        a = F.normalize(self.image(image), dim=-1)
        b = self.text(self.words(ids).mean(1))
        b = b / b.norm(dim=-1, keepdim=True)
        scores = self.temperature.exp() * a @ b.t()
        which = torch.arange(scores.shape[0], device=scores.device)
        return (F.cross_entropy(scores, which) + F.cross_entropy(scores.t(), which)) / 2


class Siamese(nn.Module):
    """One tower run twice; the contrastive loss of distances."""

    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 8))

    def forward(self, a, b, same):
        distance = F.pairwise_distance(self.tower(a), self.tower(b))
        return (same * distance.pow(2) + (1 - same) * F.relu(1 - distance).pow(2)).mean()


class Kan(nn.Module):
    """Radial functions of each input instead of weights."""

    def __init__(self, given=4, made=6, knots=5):
        super().__init__()
        self.register_buffer("knots", torch.linspace(-2, 2, knots))
        self.factors = nn.Parameter(0.3 * torch.randn(made, given, knots))
        self.base = nn.Linear(given, made)

    def forward(self, x):
        near = torch.exp(-((x.unsqueeze(-1) - self.knots) ** 2))
        return self.base(F.silu(x)) + torch.einsum("bik,oik->bo", near, self.factors)


class StateSpace(nn.Module):
    """A diagonal state space model: its kernel is built from powers and applied as a convolution."""

    def __init__(self, channels=8, states=4, length=16):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(channels, states))
        self.gain, self.skip = nn.Parameter(torch.randn(channels, states)), nn.Parameter(torch.ones(channels))
        self.mix = nn.Linear(channels, channels)
        self.length = length

    def forward(self, x):
        places = torch.arange(self.length, device=x.device).float()
        kernel = (self.gain.unsqueeze(-1) * torch.exp(-self.decay.unsqueeze(-1) * places)).sum(1)
        y = F.conv1d(F.pad(x, (self.length - 1, 0)), kernel.flip(1).unsqueeze(1), groups=x.shape[1])
        return self.mix(F.gelu(y + self.skip.unsqueeze(-1) * x).transpose(1, 2))


class Fourier(nn.Module):
    """FNet with the transform as products with stored tables."""

    def __init__(self, hidden=16, length=12):
        super().__init__()
        def table(n):
            angles = 2 * math.pi * torch.outer(torch.arange(n), torch.arange(n)) / n
            return angles.cos(), angles.sin()
        for name, n in (("wide", hidden), ("long", length)):
            c, s = table(n)
            self.register_buffer(name + "_cos", c)
            self.register_buffer(name + "_sin", s)
        self.norm = nn.LayerNorm(hidden)
        self.feed = nn.Sequential(nn.Linear(hidden, 32), nn.GELU(), nn.Linear(32, hidden))

    def forward(self, x):
        y = self.long_cos @ (x @ self.wide_cos) - self.long_sin @ (x @ self.wide_sin)
        x = self.norm(x + y)
        return self.feed(x)


class Pyramid(nn.Module):
    """A detector's backbone and feature pyramid with heads for classes and boxes at each level (RetinaNet in small)."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU())
        self.stages = nn.ModuleList(nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.ReLU())
                                    for a, b in ((8, 16), (16, 24), (24, 32)))
        self.lateral = nn.ModuleList(nn.Conv2d(c, width, 1) for c in (16, 24, 32))
        self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.classes, self.boxes = nn.Conv2d(width, 2 * 5, 3, padding=1), nn.Conv2d(width, 2 * 4, 3, padding=1)

    def forward(self, x):
        levels, x = [], self.stem(x)
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        levels = [f(level) for f, level in zip(self.lateral, levels)]
        for i in (1, 0):
            levels[i] = levels[i] + F.interpolate(levels[i + 1], size=levels[i].shape[-2:], mode="nearest")
        levels = [f(level) for f, level in zip(self.smooth, levels)]
        def flat(head, n):
            found = [head(level).permute(0, 2, 3, 1).reshape(x.shape[0], -1, n) for level in levels]
            return torch.cat(found, 1)
        return flat(self.classes, 5), flat(self.boxes, 4)


class Yolo(nn.Module):
    """Leaky ReLU, a stack of the picture's quarters (Focus), pooling of several sizes, boxes from a grid."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(12, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.SiLU())
        self.down = nn.Sequential(nn.Conv2d(width, 2 * width, 3, 2, 1, bias=False), nn.BatchNorm2d(2 * width),
                                  nn.LeakyReLU(0.1))
        self.pools = nn.ModuleList(nn.MaxPool2d(k, 1, k // 2) for k in (5, 9))
        self.head = nn.Conv2d(6 * width, 3 * 9, 1)

    def forward(self, x):
        x = torch.cat((x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]), 1)
        x = self.down(self.stem(x))
        x = self.head(torch.cat([x] + [pool(x) for pool in self.pools], 1))
        batch, _, rows, columns = x.shape
        y = x.view(batch, 3, 9, rows, columns).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
        where = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        grid = torch.stack((where[1], where[0]), -1).float()
        return torch.cat(((y[..., :2] * 2 - 0.5 + grid) * 8, (y[..., 2:4] * 2) ** 2, y[..., 4:]), -1).view(batch, -1, 9)


class Fixed(nn.Module):
    """Applies `wrapped` with settings of its forward function."""

    def __init__(self, wrapped, **settings):
        super().__init__()
        self.wrapped, self.settings = wrapped, settings

    def forward(self, *inputs):
        return self.wrapped(*inputs, **self.settings)


class Steps(nn.Module):
    """A loop over the steps of a sequence, its length read from the tensor: torch.jit.script makes a Loop of it."""

    def __init__(self):
        super().__init__()
        self.wide, self.back, self.head = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 6)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 8, dtype=x.dtype)
        for step in range(x.shape[1]):
            h = torch.tanh(self.wide(x[:, step]) + self.back(h))
        return self.head(h)


class Choice(nn.Module):
    """Branches that shapes and a setting decide."""

    def __init__(self, twice: bool = True):
        super().__init__()
        self.twice = twice
        self.first, self.second = nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, x):
        y = self.first(x)
        y = torch.relu(y) if x.shape[0] < 8 else torch.tanh(y)
        if self.twice:
            y = y * 2
        return self.second(y)


class StepsInList(nn.Module):
    """The same, a result for each step in a list: its Loop carries a sequence."""

    def __init__(self):
        super().__init__()
        self.wide, self.back = nn.Linear(6, 8), nn.Linear(8, 8)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 8, dtype=x.dtype)
        found = []
        for step in range(x.shape[1]):
            h = torch.tanh(self.wide(x[:, step]) + self.back(h))
            found.append(h)
        return torch.stack(found, 1)


class StepsWithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = Steps()

    def forward(self, x, target):
        return (self.steps(x) - target).pow(2).mean()
