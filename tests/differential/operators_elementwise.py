# SPDX-License-Identifier: Apache-2.0
"""Functions of single elements, comparisons, changes of type, quantization."""
import numpy as np

from cases import ALL, FLOATS, INTEGERS, NEWEST, NUMBERS, OTHER_INTEGERS, operator

UNARY = {"Acos": 7, "Acosh": 9, "Asin": 7, "Asinh": 9, "Atan": 7, "Atanh": 9, "Ceil": 7, "Cos": 7, "Cosh": 9, "Erf": 9,
         "Exp": 7, "Floor": 7, "HardSwish": 14, "IsNaN": 9, "Log": 7, "Mish": 18, "Reciprocal": 7, "Round": 11,
         "Sigmoid": 7, "Sin": 7, "Sinh": 9, "Softplus": 7, "Softsign": 7, "Sqrt": 7, "Tan": 7, "Tanh": 7}


def unary(c):
    c.node([c.operand(c.floats(c.shape(), c.type_of(FLOATS)), "input")])


def register_unary(name, since):
    operator(name, since)(unary)


for name, since in UNARY.items():
    register_unary(name, since)


def signed(c):
    c.node([c.operand(c.values(c.shape(), c.type_of(NUMBERS, OTHER_INTEGERS)))])


for name, since in {"Abs": 7, "Neg": 7, "Sign": 9, "Relu": 7}.items():
    operator(name, since)(signed)


@operator("Not")
def invert(c):
    c.node([c.operand(c.values(c.shape(), "bool"))])


@operator("IsInf", 10)
def is_inf(c):
    x = c.operand(c.floats(c.shape(), c.type_of(FLOATS), "any"))
    c.node([x], detect_positive=c.pick([None, 0, 1]), detect_negative=c.pick([None, 0, 1]))


def with_numbers(names, since):
    """An activation with numbers as attributes."""

    def make(c):
        given = {n: c.pick([None, float(c.random.normal()), 0.0, 1.0, 2.5, -1.5]) for n in names}
        if c.operator == "Celu" and given["alpha"] == 0:
            given["alpha"] = 0.7
        types = ["float32"] if c.operator == "Celu" else FLOATS
        c.node([c.operand(c.floats(c.shape(), c.type_of(types)))], **given)

    return make


for name, names, since in [("Elu", ["alpha"], 7), ("Celu", ["alpha"], 12), ("Selu", ["alpha", "gamma"], 7),
                           ("LeakyRelu", ["alpha"], 7), ("ThresholdedRelu", ["alpha"], 10),
                           ("HardSigmoid", ["alpha", "beta"], 7), ("Shrink", ["lambd", "bias"], 9)]:
    operator(name, since)(with_numbers(names, since))


@operator("Swish", 24)
def swish(c):
    c.node([c.operand(c.floats(c.shape(), c.type_of(FLOATS)))], alpha=c.pick([None, 1.5]))


@operator("Gelu", 20)
def gelu(c):
    c.node([c.operand(c.floats(c.shape(), c.type_of(FLOATS)))], approximate=c.pick([None, "none", "tanh"]))


@operator("PRelu")
def prelu(c):
    shape, dtype = c.shape(1), c.type_of(FLOATS)
    c.node([c.operand(c.floats(shape, dtype)), c.operand(c.floats(c.broadcastable(shape), dtype))])


# of two or more operands

def two_shapes(c):
    shape = c.shape()
    pair = [shape, c.broadcastable(shape)]
    if c.chance(0.3):
        pair = [c.broadcastable(shape), c.broadcastable(shape)]
    return pair if c.chance(0.5) else pair[::-1]


def without_overflow(x, y):
    """Divisors that no processor refuses."""
    if y.dtype.kind in "iu":
        y[(y == 0) | (y == -1)] = 3
    return x, y


def arithmetic(c):
    (a, b), dtype = two_shapes(c), c.type_of(NUMBERS, OTHER_INTEGERS)
    x, y = c.values(a, dtype), c.values(b, dtype)
    if c.operator in ("Div", "Mod"):
        x, y = without_overflow(x, y)
    fmod = None
    if c.operator == "Mod":
        fmod = 1 if dtype.startswith("float") else c.pick([None, 0, 1])
    c.node([c.operand(x), c.operand(y)], fmod=fmod)


for name, since in {"Add": 7, "Sub": 7, "Mul": 7, "Div": 7, "Mod": 10}.items():
    operator(name, since, weight=2)(arithmetic)


@operator("Pow", weight=3)
def power(c):
    a, b = two_shapes(c)
    first = c.type_of(FLOATS + ["int32", "int64"])
    second = c.type_of(NUMBERS) if c.opset >= 12 and c.chance(0.5) else first
    x, y = c.values(a, first), c.values(b, second)
    if first.startswith("int"):
        x, y = c.integers(a, first, -5, 5), c.values(b, second, "plain")
        y = np.abs(y)
    if second.startswith("float") and c.chance(0.5):
        y = np.full(c.pick([[], [1], [1, 1]]), c.pick([0, 0.5, 1, 2, 3, -0.5, -1, -2, 4]), dtype=second)
    elif second.startswith("int") or second.startswith("uint"):
        y = c.integers(b, second, 0, 6)
    c.node([c.operand(x), c.operand(y, c.pick(["input", "initializer"]))])


def comparison(c):
    types = ALL if c.operator == "Equal" and c.opset >= 11 else NUMBERS
    (a, b), dtype = two_shapes(c), c.type_of(types, OTHER_INTEGERS)
    x, y = c.values(a, dtype), c.values(b, dtype)
    if dtype != "bool" and c.chance(0.5):
        with np.errstate(invalid="ignore"):
            x, y = (x % 3 if x.dtype.kind in "iu" else x), (y % 3 if y.dtype.kind in "iu" else y)
    c.node([c.operand(x), c.operand(y)])


for name, since in {"Equal": 7, "Greater": 7, "Less": 7, "GreaterOrEqual": 12, "LessOrEqual": 12}.items():
    operator(name, since)(comparison)


def logical(c):
    a, b = two_shapes(c)
    c.node([c.operand(c.values(a, "bool")), c.operand(c.values(b, "bool"))])


for name in ("And", "Or", "Xor"):
    operator(name)(logical)


def variadic(c):
    types = NUMBERS if c.operator in ("Max", "Min") else FLOATS
    shape, dtype = c.shape(), c.type_of(types, OTHER_INTEGERS if c.operator in ("Max", "Min") else ())
    count = c.between(1, 4)
    # The later operands may also widen the first.
    c.node([c.operand(c.values(c.broadcastable(shape), dtype)) for _ in range(count)])


for name in ("Max", "Min", "Sum", "Mean"):
    operator(name, weight=2 if name in ("Max", "Min") else 1)(variadic)


@operator("Clip", weight=2)
def clip(c):
    if c.opset < 11:
        x = c.operand(c.floats(c.shape(), c.type_of(FLOATS)))
        c.node([x], min=c.pick([None, -1.0, 0.0, 2.0]), max=c.pick([None, 1.0, 0.5]))
        return
    dtype = c.type_of(NUMBERS if c.opset >= 12 else FLOATS)
    bound = lambda: c.operand(c.values([], dtype)) if c.chance(0.7) else None
    c.node([c.operand(c.values(c.shape(), dtype)), bound(), bound()])


@operator("Where", 9)
def where(c):
    shape, dtype = c.shape(), c.type_of(ALL)
    shapes = [c.broadcastable(shape) for _ in range(3)]
    c.node([c.operand(c.values(shapes[0], "bool"))] + [c.operand(c.values(s, dtype)) for s in shapes[1:]])


@operator("BitShift", 11)
def bit_shift(c):
    (a, b), dtype = two_shapes(c), c.type_of(["uint8"], OTHER_INTEGERS[1:])
    bits = np.iinfo(dtype).bits
    c.node([c.operand(c.values(a, dtype)), c.operand(c.integers(b, dtype, 0, bits - 1))],
           direction=c.pick(["LEFT", "RIGHT"]))


def bitwise(c):
    (a, b), dtype = two_shapes(c), c.type_of(INTEGERS, OTHER_INTEGERS)
    c.node([c.operand(c.values(a, dtype)), c.operand(c.values(b, dtype))])


for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    operator(name, 18, weight=0.3)(bitwise)


@operator("BitwiseNot", 18, weight=0.3)
def bitwise_not(c):
    c.node([c.operand(c.values(c.shape(), c.type_of(INTEGERS, OTHER_INTEGERS)))])


# changes of type

def in_range(x, to):
    """Floating values that the integer type can hold: what others become is not defined."""
    if x.dtype.kind != "f" or to == "bool" or to.startswith("float"):
        return x
    limits = np.iinfo(to)
    most = min(float(limits.max), 2.0**62) * 0.999
    return np.clip(np.nan_to_num(x, nan=0), max(float(limits.min), -(2.0**62)) * 0.999, most).astype(x.dtype)


CODES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
         "uint16": 4, "int16": 5, "uint32": 12, "uint64": 13}


@operator("Cast", weight=6)
def cast(c):
    to = c.type_of(ALL, OTHER_INTEGERS)
    x = in_range(c.values(c.shape(), c.type_of(ALL, OTHER_INTEGERS)), to)
    c.node([c.operand(x)], to=CODES[to])


@operator("CastLike", 15, weight=2)
def cast_like(c):
    to = c.type_of(ALL)
    x = in_range(c.values(c.shape(), c.type_of(ALL)), to)
    c.node([c.operand(x), c.operand(c.values(c.shape(), to))])


# 8-bit integers with a scale

def scale_of(c, shape):
    return c.random.choice([0.5, 0.25, 0.1, 1.0, 0.037, 2.0], size=shape).astype("float32")


def scale_and_zero(c, shape, dtype, axis):
    """One of each, or one for each place of a dimension."""
    own = [shape[axis]] if axis is not None and shape else []
    zero = c.integers(own, dtype, 0 if dtype == "uint8" else -20, 20) if c.chance(0.75) else None
    return scale_of(c, own), zero


@operator("QuantizeLinear", 10, weight=3)
def quantize(c):
    shape, dtype = c.shape(1, largest=5), c.type_of(["uint8", "int8"], ["uint16", "int16"])
    axis = c.axis(len(shape)) if c.opset >= 13 and c.chance(0.5) else None
    scale, zero = scale_and_zero(c, shape, dtype, axis)
    x = c.floats(shape, c.type_of(["float32"], ["float16"]), c.pick(["plain", "sums", "finite", "any"]))
    if c.chance(0.3):
        x = c.integers(shape, "int32", -1000, 1000)
    if x.dtype == "float16":
        scale = scale.astype("float16")
    c.node([c.operand(x), c.operand(scale), c.operand(zero) if zero is not None else None], axis=axis)


@operator("DequantizeLinear", 10, weight=2)
def dequantize(c):
    shape, dtype = c.shape(1, largest=5), c.type_of(["uint8", "int8", "int32"], ["uint16", "int16"])
    axis = c.axis(len(shape)) if c.opset >= 13 and c.chance(0.5) else None
    scale, zero = scale_and_zero(c, shape, dtype, axis)
    if dtype == "int32":
        zero = None
    if c.opset >= 19 and c.chance(0.2):
        scale = scale.astype("float16")
    x = c.integers(shape, dtype, style="any")
    c.node([c.operand(x), c.operand(scale), c.operand(zero) if zero is not None else None], axis=axis)


@operator("QuantizeLinear", 1, NEWEST, domain="com.microsoft")
def quantize_microsoft(c):
    quantize(c)


@operator("DequantizeLinear", 1, NEWEST, domain="com.microsoft")
def dequantize_microsoft(c):
    dequantize(c)


@operator("DynamicQuantizeLinear", 11, weight=2)
def dynamic_quantize(c):
    x = c.floats(c.shape(0, 3), "float32", c.pick(["plain", "sums", "positive"]))
    c.node([c.operand(np.float32(c.pick([1, -1, 100, 0])) * x)], 3)
