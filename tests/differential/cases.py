# SPDX-License-Identifier: Apache-2.0
"""A case is a small model with values of its inputs; generators of operators make one with its random numbers."""
import numpy as np

import onnx_files

FLOATS = ["float32", "float64", "float16"]
INTEGERS = ["int8", "uint8", "int32", "int64"]
OTHER_INTEGERS = ["int16", "uint16", "uint32", "uint64"]
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + ["bool"]
OLDEST, NEWEST = 7, 22  # operator sets

GENERATORS = {}


class Generator:
    def __init__(self, make, since, until, weight, domain):
        self.make, self.since, self.until, self.weight, self.domain = make, since, until, weight, domain


def operator(name, since=OLDEST, until=NEWEST, weight=1.0, domain=""):
    """Registers a generator: a function of a Case."""

    def register(make):
        GENERATORS[domain + "." * bool(domain) + name] = Generator(make, since, max(since, until), weight, domain)
        return make

    return register


class NoCase(Exception):
    """The random choices cannot be had together."""


def special_values(dtype):
    if dtype == "float16":
        own = [65504, -65504, 6e-8, -6e-8, 6.1e-5, 3.05e-5, 11.1, -17.4, 2049, 300]
    elif dtype == "float32":
        own = [3.4e38, -3.4e38, 1e-45, -1e-40, 1.2e-38, 88.73, -103.9, 16777217, 1e19, 3e20, 1e-20]
    else:
        own = [1.7e308, -1.7e308, 5e-324, -1e-310, 2.3e-308, 709.8, -745.2, 2.0**53, 1e155, 1e-160]
    return own + [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1, -1, 0.1, 100, -20, 2**31, -(2**31), 127.5, 255.5]


class Case:
    def __init__(self, name, operator_name, seed, opset, domain):
        self.name, self.operator, self.opset, self.domain = name, operator_name, opset, domain
        self.random = np.random.default_rng(seed)
        self.graph = onnx_files.Graph()
        self.style = self.pick(["plain", "plain", "finite", "any"])
        self.operands, self.tags = [], []

    # choices

    def pick(self, choices):
        return choices[int(self.random.integers(len(choices)))]

    def chance(self, probability):
        return bool(self.random.random() < probability)

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    def type_of(self, types, rare=()):
        return self.pick(list(rare)) if rare and self.chance(0.12) else self.pick(list(types))

    def shape(self, low=0, high=4, empty=0.04, largest=4):
        shape = [self.between(1, largest) for _ in range(self.between(low, high))]
        if shape and self.chance(empty):
            shape[self.between(0, len(shape) - 1)] = 0
        return shape

    def axis(self, rank):
        if rank == 0:
            raise NoCase
        return self.between(-rank, rank - 1)

    def axes(self, rank):
        chosen = [d for d in range(rank) if self.chance(0.5)]
        self.random.shuffle(chosen)
        return [d - rank if self.chance(0.3) else d for d in chosen]

    def broadcastable(self, shape):
        """Of `shape`: some extents 1, some dimensions in front left out."""
        made = [1 if self.chance(0.3) else extent for extent in shape]
        return made[self.between(0, len(made)):] if self.chance(0.4) else made

    # values

    def floats(self, shape, dtype="float32", style=None):
        """plain: around 1. sums: multiples of 1/4. positive. finite, any: with extreme values."""
        style = style or self.style
        n = int(np.prod(shape, dtype=int))
        values = self.random.normal(size=n) * 2
        if style == "sums":
            values = self.random.integers(-8, 9, size=n) / 4
        elif style == "positive":
            values = np.abs(values) + 0.1
        elif style in ("finite", "any"):
            special = special_values(dtype) + ([np.nan, np.inf, -np.inf] * 3 if style == "any" else [])
            where = self.random.random(n) < 0.6
            values = np.where(where, self.random.choice(special, size=n), np.round(values * 2) / 2)
        with np.errstate(over="ignore"):
            return values.reshape(shape).astype(dtype)

    def integers(self, shape, dtype, low=None, high=None, style=None):
        n = int(np.prod(shape, dtype=int))
        limits = np.iinfo(dtype)
        if low is None and (style or self.style) != "plain" and (style or self.style) != "sums":
            special = [limits.min, limits.max, limits.max - 1, 0, 1, 2, limits.max // 2, 100]
            return np.array([self.pick(special) for _ in range(n)], dtype=dtype).reshape(shape)
        low = max(limits.min, -9) if low is None else low
        high = 9 if high is None else high
        return self.random.integers(low, high + 1, size=n).astype(dtype).reshape(shape)

    def values(self, shape, dtype, style=None):
        if dtype == "bool":
            return np.asarray(self.random.random(tuple(shape)) < 0.5)
        if dtype.startswith("float"):
            return self.floats(shape, dtype, style)
        return self.integers(shape, dtype, style=style)

    # the model

    def operand(self, array, place=None):
        """Gives an array to the model: as an input, as an initializer or by a Constant. Returns its name."""
        array = np.asarray(array)
        name = f"x{len(self.operands)}"
        self.operands.append(array)
        place = place or self.pick(["input"] * 6 + ["initializer"] * 3 + ["constant"])
        if place == "input":
            self.graph.inputs.append((name, array))
        elif place == "initializer":
            self.graph.initializers.append((name, array))
        else:
            self.graph.add("Constant", [], [name], value=array)
        return name

    def ints(self, values, dtype="int64"):
        """A list that the operator reads as numbers, such as axes: mostly known."""
        place = self.pick(["initializer", "initializer", "constant", "input"])
        return self.operand(np.array(values, dtype=dtype), place)

    def node(self, operands, results=1, op=None, domain=None, keep=None, **attributes):
        """Adds a node; its results become outputs of the model, but for those that `keep` leaves out."""
        names = [f"y{len(self.graph.nodes)}_{i}" for i in range(results)]
        kept = range(results) if keep is None else keep
        listed = [n if i in kept else "" for i, n in enumerate(names)]
        while listed and not listed[-1]:
            listed.pop()
        self.graph.add(op or self.operator.split(".")[-1], [o or "" for o in operands], listed,
                       self.domain if domain is None else domain, **attributes)
        self.graph.outputs = [n for n in listed if n]
        return names[0] if results == 1 else names

    def follow(self, dtype):
        """Sometimes a second node: one that shows the sign of 0 or the last digits of a large integer, or one that
        moves elements."""
        if dtype not in ("float32", "float64", "int64") or len(self.graph.outputs) != 1 or not self.chance(0.25):
            return
        last, known = self.graph.outputs[0], []
        op = self.pick(["Reciprocal", "Reciprocal", "Transpose", "Identity", "Neg"])
        if dtype == "int64":
            op, number = self.pick([("Mod", 9973), ("Sub", 2**63 - 2), ("Sub", 2**62)])
            known = [self.operand(np.array(number, dtype="int64"), "initializer")]
        self.graph.add(op, [last, *known], ["after"])
        self.graph.outputs = ["after"]

    def description(self):
        """One line: what is tested, for reading and for the patterns of accepted.json."""
        parts = []
        for op, _, results, domain, attributes in self.graph.nodes:
            if op == "Constant":
                continue
            shown = " ".join(f"{k}={show(v)}" for k, v in sorted(attributes.items()) if v is not None)
            parts.append(f"{domain + '.' * bool(domain)}{op}({shown})")
        types = ", ".join(f"{a.dtype.name}{list(a.shape)}".replace(" ", "") for a in self.operands)
        tags = list(self.tags)
        for a in self.operands:
            if a.dtype.kind == "f" and a.size:
                tags += ["nan"] * bool(np.isnan(a).any()) + ["inf"] * bool(np.isinf(a).any())
            tags += ["empty"] * (a.size == 0)
        return f"opset {self.opset} {' '.join(parts)} of {types} {' '.join(sorted(set(tags)))}".strip()


def show(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{value.tolist()}".replace(" ", "")
    if isinstance(value, onnx_files.Graph):
        return "{" + ",".join(n[0] for n in value.nodes) + "}"
    return str(value).replace(" ", "")
