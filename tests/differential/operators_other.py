# SPDX-License-Identifier: Apache-2.0
"""Quantised products, transforms, control flow, sequences, and what ONNX Runtime's optimisers fuse (com.microsoft)."""
import numpy as np

import onnx_files
from cases import NEWEST, NoCase, operator
from operators_elementwise import CODES, scale_of
from operators_networks import Windows, around_one

# quantised products


def bytes_of(c, shape, dtype):
    return c.integers(shape, dtype, style=c.pick(["plain", "any"]))


def zero_of(c, shape, dtype):
    return c.operand(c.integers(shape, dtype, 0 if dtype == "uint8" else -20, 20))


@operator("MatMulInteger", 10, weight=2)
def matmul_integer(c):
    first, second = c.type_of(["uint8", "int8"]), c.type_of(["uint8", "int8"])
    m, k, n = c.between(1, 3), c.between(1, 5), c.between(1, 4)
    batch = c.pick([[], [], [2]])
    operands = [c.operand(bytes_of(c, batch + [m, k], first)), c.operand(bytes_of(c, batch + [k, n], second))]
    if c.chance(0.6):
        operands.append(zero_of(c, [], first))
        if c.chance(0.6):
            operands.append(zero_of(c, c.pick([[], [n]]) if not batch else [], second))
    c.node(operands)


@operator("ConvInteger", 10, weight=2)
def conv_integer(c):
    w, outer, first, second = Windows(c), c.between(1, 3), "uint8", c.type_of(["uint8"], ["int8"])
    inner = c.between(1, 2)
    operands = [c.operand(bytes_of(c, [1, inner] + w.image, first)),
                c.operand(bytes_of(c, [outer, inner] + w.kernel, second))]
    if c.chance(0.6):
        operands.append(zero_of(c, [], first))
        if c.chance(0.6):
            operands.append(zero_of(c, c.pick([[], [], [outer]]), second))
    c.node(operands, **w.given)


@operator("QLinearMatMul", 10, weight=2)
def qlinear_matmul(c):
    first = c.type_of(["uint8", "int8"])
    second = c.type_of(["uint8", "int8"]) if first == "uint8" else "int8"
    m, k, n = c.between(1, 3), c.between(1, 5), c.between(1, 4)
    columns = c.pick([[], [n]])
    c.node([c.operand(bytes_of(c, [m, k], first)), c.operand(scale_of(c, [])), zero_of(c, [], first),
            c.operand(bytes_of(c, [k, n], second)), c.operand(scale_of(c, columns)), zero_of(c, columns, second),
            c.operand(np.float32(c.pick([1, 10, 33]))), zero_of(c, [], first)])


@operator("QLinearConv", 10, weight=2)
def qlinear_conv(c):
    w, outer, first = Windows(c), c.between(1, 3), c.type_of(["uint8", "int8"])
    second = c.type_of(["uint8", "int8"]) if first == "uint8" else "int8"
    inner, channels = c.between(1, 2), c.pick([[], [outer]])
    operands = [c.operand(bytes_of(c, [1, inner] + w.image, first)), c.operand(scale_of(c, [])), zero_of(c, [], first),
                c.operand(bytes_of(c, [outer, inner] + w.kernel, second), "initializer"),
                c.operand(scale_of(c, channels), "initializer"),
                c.operand(np.zeros(channels, second), "initializer") if channels else zero_of(c, [], second),
                c.operand(np.float32(c.pick([1, 10, 33]))), zero_of(c, [], first)]
    if c.chance(0.4):
        operands.append(c.operand(c.integers([outer], "int32", -500, 500)))
    c.node(operands, **w.given)


def qlinear_binary(c):
    shape, dtype = c.shape(0, 3, empty=0), c.type_of(["uint8", "int8"])
    operands = []
    for own in (shape, c.broadcastable(shape)):
        operands += [c.operand(bytes_of(c, own, dtype)), c.operand(scale_of(c, [])), zero_of(c, [], dtype)]
    c.node(operands + [c.operand(np.float32(c.pick([0.1, 1, 5]))), zero_of(c, [], dtype)])


operator("QLinearAdd", 1, NEWEST, domain="com.microsoft")(qlinear_binary)
operator("QLinearMul", 1, NEWEST, domain="com.microsoft")(qlinear_binary)


@operator("QLinearSigmoid", 1, NEWEST, domain="com.microsoft")
def qlinear_sigmoid(c):
    dtype = c.type_of(["uint8", "int8"])
    constant = lambda array: c.operand(array, "initializer")
    zero = lambda: constant(c.integers([], dtype, 0, 20))
    c.node([c.operand(bytes_of(c, c.shape(1, 3, empty=0), dtype), "input"), constant(np.float32(0.05)), zero(),
            constant(np.float32(1 / 256)), zero()])


@operator("QGemm", 1, NEWEST, domain="com.microsoft", weight=2)
def qgemm(c):
    first = c.type_of(["uint8", "int8"])
    second = c.type_of(["uint8", "int8"]) if first == "uint8" else "int8"
    m, k, n = c.between(1, 3), c.between(1, 5), c.between(1, 4)
    trans_a, trans_b = c.pick([None, 0, 1]), c.pick([None, 0, 1])
    columns = c.pick([[], [n]])
    operands = [c.operand(bytes_of(c, [k, m] if trans_a else [m, k], first)), c.operand(scale_of(c, [])),
                zero_of(c, [], first), c.operand(bytes_of(c, [n, k] if trans_b else [k, n], second)),
                c.operand(scale_of(c, columns)), zero_of(c, columns, second),
                c.operand(c.integers(c.pick([[n], [m, n], [1, n]]), "int32", -500, 500)) if c.chance(0.5) else None]
    if c.chance(0.6):
        operands += [c.operand(np.float32(c.pick([1, 10, 33]))), zero_of(c, [], first)]
    c.node(operands, transA=trans_a, transB=trans_b, alpha=c.pick([None, 0.5]))


@operator("MatMulIntegerToFloat", 1, NEWEST, domain="com.microsoft")
def matmul_integer_to_float(c):
    first, second = c.type_of(["uint8", "int8"]), c.type_of(["uint8", "int8"])
    m, k, n = c.between(1, 3), c.between(1, 5), c.between(1, 4)
    columns = c.pick([[], [n]])
    operands = [c.operand(bytes_of(c, [m, k], first)), c.operand(bytes_of(c, [k, n], second)),
                c.operand(scale_of(c, [])), c.operand(scale_of(c, columns))]
    operands.append(zero_of(c, [], first) if c.chance(0.5) else None)
    operands.append(zero_of(c, columns, second) if c.chance(0.5) else None)
    if c.chance(0.5):
        operands.append(c.operand(around_one(c, [n])))
    c.node(operands)


@operator("DynamicQuantizeMatMul", 1, NEWEST, domain="com.microsoft")
def dynamic_quantize_matmul(c):
    second, m, k, n = c.type_of(["uint8", "int8"]), c.between(1, 3), c.between(1, 5), c.between(1, 4)
    columns = c.pick([[], [n]])
    operands = [c.operand(around_one(c, [m, k])), c.operand(bytes_of(c, [k, n], second)),
                c.operand(scale_of(c, columns)), zero_of(c, columns, second) if c.chance(0.5) else None]
    if c.chance(0.5):
        operands.append(c.operand(around_one(c, [n])))
    c.node(operands)


# the rest of com.microsoft


def microsoft(name, weight=1.0):
    return operator(name, 1, NEWEST, weight, "com.microsoft")


def biased(c):
    shape = c.shape(1, 3, empty=0)
    operands = [c.operand(c.floats(shape))]
    if c.operator.endswith("BiasGelu") or (c.operator.endswith("FastGelu") and c.chance(0.5)):
        operands.append(c.operand(c.floats(shape[-1:], style="plain")))
    c.node(operands, alpha=c.pick([None, 1.0, 0.5]) if c.operator.endswith("QuickGelu") else None)


for name in ("Gelu", "BiasGelu", "FastGelu", "QuickGelu"):
    microsoft(name)(biased)


def fused_matmul(c):
    m, k, n, batch = c.between(1, 3), c.between(1, 3), c.between(1, 3), c.shape(0, 2, empty=0)
    trans_a, trans_b = c.pick([None, 0, 1]), c.pick([None, 0, 1])
    dtype = c.type_of(["float32"], ["float64"])
    given = {}
    if batch and c.operator.endswith("FusedMatMul") and c.chance(0.15):
        given = {"transBatchA": 1, "transBatchB": 1}
    c.node([c.operand(around_one(c, batch + ([k, m] if trans_a else [m, k]), dtype)),
            c.operand(around_one(c, batch + ([n, k] if trans_b else [k, n]), dtype))],
           transA=trans_a, transB=trans_b, alpha=c.pick([None, 0.5]), **given)


microsoft("FusedMatMul", 2)(fused_matmul)

ACTIVATIONS = [("Relu", None), ("Sigmoid", None), ("Tanh", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.5]),
               ("HardSigmoid", [0.3, 0.4])]


@microsoft("FusedConv", 2)
def fused_conv(c):
    w, outer, inner = Windows(c), c.between(1, 2), c.between(1, 2)
    name, numbers = c.pick(ACTIVATIONS)
    operands = [c.operand(around_one(c, [1, inner] + w.image)), c.operand(around_one(c, [outer, inner] + w.kernel))]
    if c.chance(0.5):
        operands.append(c.operand(around_one(c, [outer])))
    c.node(operands, activation=name, activation_params=numbers, **w.given)


@microsoft("FusedGemm")
def fused_gemm(c):
    m, k, n = c.between(1, 3), c.between(1, 3), c.between(1, 3)
    name, numbers = c.pick([("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("LeakyRelu", {"activation_alpha": 0.1}),
                            ("LeakyRelu", {}), ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})])
    c.node([c.operand(around_one(c, [m, k])), c.operand(around_one(c, [k, n]))]
           + ([c.operand(around_one(c, [n]))] if c.chance(0.7) else []),
           activation=name, alpha=c.pick([None, 0.5]), beta=c.pick([None, 0.5]), **numbers)


@microsoft("SkipLayerNormalization")
def skip_layer_norm(c):
    shape = [c.between(1, 2), c.between(1, 3), c.between(2, 4)]
    operands = [c.operand(around_one(c, shape)), c.operand(around_one(c, shape)), c.operand(around_one(c, shape[2:]))]
    operands += [c.operand(around_one(c, shape[2:])) if c.chance(0.6) else None for _ in range(2)]
    c.node(operands, 4, keep=c.pick([[0], [0, 3]]), epsilon=c.pick([None, 1e-3]))


@microsoft("SkipSimplifiedLayerNormalization")
def skip_rms_norm(c):
    shape = [c.between(1, 2), c.between(1, 3), c.between(2, 4)]
    operands = [c.operand(around_one(c, shape)), c.operand(around_one(c, shape)), c.operand(around_one(c, shape[2:]))]
    if c.chance(0.5):
        operands.append(c.operand(around_one(c, shape[2:])))
    c.node(operands, 4, keep=c.pick([[0], [0, 3]]), epsilon=c.pick([None, 1e-3]))


@microsoft("EmbedLayerNormalization")
def embed_layer_norm(c):
    batch, length, width = c.between(1, 2), c.between(1, 4), c.between(2, 4)
    segments = c.chance(0.6)
    tokens = lambda most: c.operand(c.integers([batch, length], "int32", 0, most - 1))
    operands = [tokens(5), tokens(2) if segments else None, c.operand(around_one(c, [5, width])),
                c.operand(around_one(c, [6, width])), c.operand(around_one(c, [2, width])) if segments else None,
                c.operand(around_one(c, [width])), c.operand(around_one(c, [width]))]
    if c.chance(0.4):
        operands += [None, tokens(6)]
    c.node(operands, 3, keep=[0, 2], epsilon=c.pick([None, 1e-3]))


@microsoft("Attention", 3)
def attention(c):
    batch, places, width, heads = c.between(1, 2), c.between(1, 4), c.between(1, 4), c.between(1, 2)
    hidden = heads * c.between(1, 3)
    operands = [c.operand(around_one(c, [batch, places, width])), c.operand(around_one(c, [width, 3 * hidden])),
                c.operand(around_one(c, [3 * hidden]))]
    if c.chance(0.4):
        operands.append(c.operand(c.integers([batch, places], "int32", 0, 1)))
    c.node(operands, num_heads=heads, unidirectional=c.pick([None, 0, 1]), scale=c.pick([None, 0.5]),
           mask_filter_value=c.pick([None, -5.0]))


# signals


def window(c):
    to = c.pick([None, "float32", "float64", "float16"])
    size = np.array(c.pick([0, 1, 2, 5, 10]), dtype=c.pick(["int32", "int64"]))
    c.node([c.operand(size)], periodic=c.pick([None, 0, 1]), output_datatype=to and CODES[to])


for name in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    operator(name, 17)(window)


@operator("MelWeightMatrix", 17)
def mel_weights(c):
    numbers = [np.int64(c.between(1, 8)), np.int64(c.pick([8, 16, 17, 32])), np.int64(c.pick([8000, 16000]))]
    numbers += [np.float32(c.pick([0, 100])), np.float32(c.pick([2000, 4000]))]
    c.node([c.operand(n) for n in numbers])


@operator("DFT", 17, weight=2)
def dft(c):
    rank = c.between(3, 4)
    shape = [c.between(1, 5) for _ in range(rank - 1)] + [c.between(1, 2)]
    axis = c.between(1, rank - 2)
    inverse, half = c.pick([None, 0, 1]), c.pick([None, 0, 1])
    if half and (inverse or shape[-1] == 2):
        half = None
    x = c.operand(around_one(c, shape, c.type_of(["float32", "float64"])))
    length = c.operand(np.array(shape[axis] + c.between(-1, 2) or 1, dtype="int64")) if c.chance(0.5) else None
    if c.opset < 20:
        c.node([x] + [length] * (length is not None), axis=axis, inverse=inverse, onesided=half)
        return
    c.node([x, length, c.operand(np.array(c.pick([axis, axis - rank]), dtype="int64"))], inverse=inverse, onesided=half)


@operator("STFT", 17)
def stft(c):
    shape, step, length = [c.between(1, 2), c.between(6, 10), 1], c.between(1, 3), c.between(2, 5)
    x = c.operand(around_one(c, shape))
    own = c.operand(around_one(c, [length])) if c.chance(0.6) else None
    size = c.operand(np.array(length, dtype="int64")) if own is None or c.chance(0.5) else None
    operands = [x, c.operand(np.array(step, dtype="int64")), own] + [size] * (size is not None)
    c.node(operands, onesided=c.pick([None, 0, 1]))


# control flow and sequences


def body(operations, inputs, outputs):
    graph = onnx_files.Graph()
    graph.inputs, graph.outputs = inputs, outputs
    for op, operands, results in operations:
        graph.add(op, operands, results)
    return graph


@operator("If", 11)
def if_else(c):
    x = c.operand(c.floats(c.shape(), style="plain"))
    then = body([("Neg", [x], ["t"])], [], ["t"])
    other = body([("Exp", [x], ["e0"]), ("Abs", ["e0"], ["e"])], [], ["e"])
    c.node([c.operand(np.array(c.chance(0.5)) if c.chance(0.5) else np.array([c.chance(0.5)]))],
           then_branch=then, else_branch=other)


@operator("Loop", 11)
def loop(c):
    shape = c.shape(0, 2, empty=0)
    x, scans = c.floats(shape, style="sums"), c.chance(0.6)
    one = c.operand(np.ones(shape, "float32"))
    operations = [("Identity", ["go"], ["go_on"]), ("Add", ["s", one], ["t"])]
    operations += [("Mul", ["s", one], ["seen"])] if scans else []
    inside = body(operations, [("i", np.array(0)), ("go", np.array(True)), ("s", x)], ["go_on", "t"] + ["seen"] * scans)
    count = c.operand(np.array(c.between(1 if scans else 0, 4), dtype="int64")) if c.chance(0.9) else None
    start = c.operand(np.array(True)) if count and c.chance(0.7) else None
    if not count:
        raise NoCase
    c.node([count, start, c.operand(x)], 2 if scans else 1, body=inside)


@operator("Scan", 9)
def scan(c):
    rank = c.between(1, 3)
    shape = [c.between(1, 4) for _ in range(rank)]
    axis = c.axis(rank) if c.opset >= 11 else c.between(0, rank - 1)
    rest = [e for d, e in enumerate(shape) if d != axis % rank]
    x, s = c.floats(shape, style="sums"), c.floats(rest, style="sums")
    inside = body([("Add", ["s", "x"], ["t"]), ("Mul", ["s", "x"], ["seen"])], [("s", s), ("x", s)],
                  ["t", "seen"])
    out = c.between(0, rank - 1) if c.chance(0.8) or c.opset < 11 else c.between(-rank, -1)
    c.node([c.operand(s), c.operand(x)], 2, body=inside, num_scan_inputs=1, scan_input_axes=[axis],
           scan_output_axes=[out], scan_input_directions=c.pick([None, [0], [1]]),
           scan_output_directions=c.pick([None, [0], [1]]))


@operator("SplitToSequence", 11, weight=2)
def split_to_sequence(c):
    shape, dtype = c.shape(1, 3, empty=0, largest=6), c.type_of(["float32", "int64", "float64", "int32"])
    axis = c.axis(len(shape))
    operands = [c.operand(c.values(shape, dtype))]
    keep = None
    form = c.pick(["none", "one", "many"])
    if form == "none":
        keep = c.pick([None, 0, 1])
    elif form == "one":
        operands.append(c.ints(c.between(1, shape[axis])))
    else:
        first = c.between(0, shape[axis])
        operands.append(c.ints([first, shape[axis] - first]))
    s = c.node(operands, axis=axis, keepdims=keep)
    after = c.pick(["at", "length", "concat"])
    if after == "at":
        c.node([s, c.operand(np.array(c.pick([0, -1]), dtype="int64"))], op="SequenceAt")
    elif after == "length":
        c.node([s], op="SequenceLength")
    elif keep == 0:
        c.node([s], op="ConcatFromSequence", axis=c.pick([0, -1]), new_axis=1)
    else:
        c.node([s], op="ConcatFromSequence", axis=axis)


@operator("SequenceInsert", 11)
def sequences(c):
    shape, dtype = c.shape(1, 3, empty=0), c.type_of(["float32", "int64"])
    parts = [c.operand(c.values(shape, dtype)) for _ in range(3)]
    s = c.node(parts[:2], op="SequenceConstruct")
    if c.chance(0.3):
        s = c.node([], op="SequenceEmpty", dtype=CODES[dtype])
        s = c.node([s, parts[0]])
    else:
        place = [c.operand(np.array(c.between(-2, 2), dtype="int64"))] if c.chance(0.7) else []
        s = c.node([s, parts[2]] + place)
        if c.chance(0.4):
            s = c.node([s] + ([c.operand(np.array(c.between(-3, 2), dtype="int64"))] if c.chance(0.5) else []),
                       op="SequenceErase")
    c.node([s], op="ConcatFromSequence", axis=c.axis(len(shape)), new_axis=c.pick([None, 0, 1]))
