# SPDX-License-Identifier: Apache-2.0
"""Reductions, moves of elements, lookups, constants, choices whose results' shapes depend on values."""
import numpy as np

from cases import ALL, FLOATS, NUMBERS, OTHER_INTEGERS, NoCase, operator
from operators_elementwise import CODES

# reductions


def reduction(c):
    floating = c.operator in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceMean")
    picks = c.operator in ("ReduceMax", "ReduceMin")
    types = FLOATS + ([] if floating and c.chance(0.7) else ["int32", "int64"])
    if picks:
        types = FLOATS + ["int8", "uint8", "int32", "int64"] + ["bool"] * (c.opset >= 20)
    dtype, shape = c.type_of(types), c.shape(empty=0.08)
    style = c.pick(["plain", "sums", "any"]) if picks else c.pick(["sums", "sums", "plain", "positive"])
    if dtype == "float16" and not picks:
        style = "sums"
    x = c.values(shape, dtype, style if picks or dtype.startswith("float") else "sums")
    if c.operator == "ReduceProd" and dtype.startswith("int"):
        x = c.integers(shape, dtype, -2, 2)  # ONNX Runtime multiplies integers as floating numbers
    if dtype.startswith("float") and x.size and c.chance(0.15):
        x.flat[c.between(0, x.size - 1)] = c.pick([np.nan, np.inf, -np.inf])
    axes = c.axes(len(shape))
    given = {"keepdims": c.pick([None, 0, 1])}
    operands = [c.operand(x)]
    if c.opset < (13 if c.operator == "ReduceSum" else 18):
        given["axes"] = axes or None
    else:
        given["noop_with_empty_axes"] = c.pick([None, None, 0, 1])
        operands.append(c.pick([None, c.ints(axes)]) if not axes else c.ints(axes))
    c.node(operands, **given)


for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
    operator("Reduce" + name, weight=2)(reduction)


def place_of_extremum(c):
    types = ["float32", "float32", "float64", "int8", "uint8", "int32", "int64", "float16"]
    shape, dtype = c.shape(1), c.type_of(types)
    x = c.values(shape, dtype, c.pick(["plain", "sums", "any"]))
    last = c.pick([None, 0, 1]) if c.opset >= 12 else None
    c.node([c.operand(x)], axis=c.axis(len(shape)), keepdims=c.pick([None, 0, 1]), select_last_index=last)


for name in ("ArgMax", "ArgMin"):
    operator(name, weight=2)(place_of_extremum)


@operator("CumSum", 11, weight=2)
def cumulative_sum(c):
    shape, dtype = c.shape(1, largest=6), c.type_of(FLOATS[:2] + ["int32", "int64"], ["float16"])
    x = c.values(shape, dtype, c.pick(["sums", "plain"]))
    if dtype.startswith("float") and x.size and c.chance(0.3):
        x.flat[c.between(0, x.size - 1)] = c.pick([np.nan, np.inf, -np.inf])
    axis = np.array(c.axis(len(shape)), dtype=c.pick(["int32", "int64"]))
    c.node([c.operand(x), c.operand(axis if c.chance(0.5) else axis.reshape(1))],
           exclusive=c.pick([None, 0, 1]), reverse=c.pick([None, 0, 1]))


# moves


@operator("Concat")
def concat(c):
    shape, dtype = c.shape(1), c.type_of(ALL, OTHER_INTEGERS)
    axis = c.axis(len(shape))
    parts = []
    for _ in range(c.between(1, 4)):
        own = list(shape)
        own[axis] = c.between(0, 3)
        parts.append(c.operand(c.values(own, dtype)))
    c.node(parts, axis=axis)


@operator("Split", weight=2)
def split(c):
    shape, dtype = c.shape(1, largest=7), c.type_of(ALL)
    axis = c.axis(len(shape))
    parts = c.between(1, 3)
    equal = c.chance(0.5)
    sizes = [c.between(0, 3) for _ in range(parts)]
    shape[axis] = sum(sizes)
    if equal:
        shape[axis] = c.between(0, 4) * parts
        if c.opset >= 18 and c.chance(0.5):
            shape[axis] = c.between(parts * 2, 9)
    operands = [c.operand(c.values(shape, dtype))]
    given = {"axis": axis}
    if not equal and c.opset < 13:
        given["split"] = sizes
    elif not equal:
        operands.append(c.ints(sizes))
    elif c.opset >= 18:
        given["num_outputs"] = parts
    c.node(operands, parts, **given)


@operator("Reshape", weight=2)
def reshape(c):
    shape, dtype = c.shape(0, 4, empty=0.15), c.type_of(ALL)
    x = c.values(shape, dtype)
    target = list(c.random.permutation(shape)) if c.chance(0.5) else [x.size]
    if c.chance(0.3):
        target.insert(c.between(0, len(target)), 1)
    target = [int(t) for t in target]
    allow_zero = c.pick([None, 0, 1]) if c.opset >= 14 else None
    same = [d for d in range(len(target)) if d < len(shape) and target[d] == shape[d]]
    if same and c.chance(0.4) and not allow_zero:
        target[c.pick(same)] = 0
    if target and 0 not in target and c.chance(0.5):
        target[c.between(0, len(target) - 1)] = -1
    c.node([c.operand(x), c.ints(target)], allowzero=allow_zero)


@operator("Flatten")
def flatten(c):
    shape = c.shape(0 if c.opset >= 11 else 1)
    axis = c.between(0 if c.opset < 11 else -len(shape), len(shape))
    c.node([c.operand(c.values(shape, c.type_of(ALL)))], axis=c.pick([None, axis]) if shape else 0)


@operator("Squeeze")
def squeeze(c):
    shape = [c.pick([1, 1, 2, 3]) for _ in range(c.between(0, 5))]
    axes = [d - len(shape) if c.opset >= 11 and c.chance(0.4) else d
            for d, e in enumerate(shape) if e == 1 and c.chance(0.6)]
    x = c.operand(c.values(shape, c.type_of(ALL)))
    if c.opset < 13:
        c.node([x], axes=axes or None)
    else:
        c.node([x] + ([c.ints(axes)] if axes else []))


@operator("Unsqueeze")
def unsqueeze(c):
    shape, count = c.shape(0, 3), c.between(1, 2)
    rank = len(shape) + count
    axes = [int(a) for a in c.random.choice(rank, size=count, replace=False)]
    axes = [a - rank if c.opset >= 11 and c.chance(0.4) else a for a in axes]
    x = c.operand(c.values(shape, c.type_of(ALL)))
    if c.opset < 13:
        c.node([x], axes=axes)
    else:
        c.node([x, c.ints(axes)])


@operator("Transpose", weight=1.5)
def transpose(c):
    shape = c.shape(0, 5)
    order = [int(d) for d in c.random.permutation(len(shape))]
    c.node([c.operand(c.values(shape, c.type_of(ALL, OTHER_INTEGERS)))], perm=c.pick([None, order, order]) or None)


@operator("Identity")
def identity(c):
    c.node([c.operand(c.values(c.shape(), c.type_of(ALL, OTHER_INTEGERS)))])


@operator("Slice", weight=5)
def slice_(c):
    shape, dtype = c.shape(1, 4, largest=7), c.type_of(ALL)
    count = c.between(1, len(shape))
    axes = [int(a) for a in c.random.choice(len(shape), size=count, replace=False)]
    far = [2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 100, -100]
    place = lambda: c.pick(far) if c.chance(0.25) else c.between(-8, 8)
    starts, ends = [place() for _ in axes], [place() for _ in axes]
    x = c.operand(c.values(shape, dtype))
    if c.opset < 10:
        c.node([x], starts=starts, ends=ends, axes=axes)
        return
    axes = [a - len(shape) if c.chance(0.4) else a for a in axes]
    steps = [c.pick([1, 1, -1, 2, -2, 3, -3, 100, -100, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]) for _ in axes]
    # ONNX Runtime takes these ends of a negative step for the beginning.
    ends = [-100 if step < 0 and end in (2**31 - 1, 2**63 - 1) else end for step, end in zip(steps, ends)]
    index = "int64"
    if c.chance(0.3) and all(abs(v + 0.5) < 2**31 for v in starts + ends + steps):
        index = "int32"
    given = [c.ints(starts, index), c.ints(ends, index)]
    with_axes = c.chance(0.8)
    if with_axes or c.chance(0.5):
        given.append(c.ints(axes, index) if with_axes else None)
        given.append(c.ints(steps, index))
    c.node([x] + given)


@operator("Expand", 8)
def expand(c):
    shape = c.shape(0, 4)
    small = c.broadcastable(shape)
    target = [1 if c.chance(0.2) else e for e in shape]
    c.node([c.operand(c.values(small, c.type_of(ALL))), c.ints(target)])


@operator("Tile")
def tile(c):
    shape = c.shape(0, 4)
    repeats = [c.pick([0, 1, 1, 2, 3]) for _ in shape]
    c.node([c.operand(c.values(shape, c.type_of(ALL))), c.ints(repeats)])


@operator("Pad", weight=5)
def pad(c):
    shape = c.shape(1, 4, largest=5)
    modes = ["constant", "constant", "edge", "reflect"] + ["wrap"] * (c.opset >= 19)
    mode, dtype = c.pick(modes), c.type_of(FLOATS[:2] if c.opset < 11 else ALL)
    most = lambda e: max(min(3, e - 1), 0) if mode == "reflect" else min(3, e) if mode == "wrap" else 3
    axes = list(range(len(shape)))
    if c.opset >= 18 and c.chance(0.5):
        axes = [d for d in c.axes(len(shape))]
    if not axes:
        raise NoCase
    low = -1 if c.chance(0.4) else 0
    before, after = ([c.between(low, most(shape[a])) for a in axes] for _ in range(2))
    if any(b + a + shape[d] < 0 for b, a, d in zip(before, after, axes)):
        raise NoCase
    if min(before + after) < 0:
        c.tags.append("crops")
    x = c.operand(c.values(shape, dtype))
    if c.opset < 11:
        c.node([x], mode=mode, pads=before + after, value=c.pick([None, 1.5, -np.inf]))
        return
    operands = [x, c.ints(before + after)]
    if mode == "constant" and c.chance(0.6):
        operands.append(c.operand(c.values([], dtype)))
    if len(axes) < len(shape) or c.chance(0.3):
        if c.opset < 18:
            axes = None
        operands += [None] * (3 - len(operands)) + ([c.ints(axes, c.pick(["int32", "int64"]))] if axes else [])
    c.node(operands, mode=c.pick([mode, None]) if mode == "constant" else mode)


def blocks(c):
    block, channels = c.between(1, 3), c.between(1, 3)
    shape, mode = [c.between(1, 2), channels, c.between(1, 3), c.between(1, 3)], None
    if c.operator == "DepthToSpace":
        shape[1] *= block * block
        mode = c.pick([None, "DCR", "CRD"]) if c.opset >= 11 else None
    else:
        shape[2:] = [e * block for e in shape[2:]]
    c.node([c.operand(c.values(shape, c.type_of(FLOATS, ["uint8"])))], blocksize=block, mode=mode)


operator("DepthToSpace")(blocks)
operator("SpaceToDepth")(blocks)


# lookups


def indices(c, shape, extent, types=("int32", "int64")):
    if extent == 0:
        raise NoCase
    return c.integers(shape, c.pick(list(types)), -extent if c.opset >= 11 else 0, extent - 1)


@operator("Gather", weight=2)
def gather(c):
    shape = c.shape(1)
    axis = c.axis(len(shape))
    own = c.shape(0, 2)
    c.node([c.operand(c.values(shape, c.type_of(ALL))), c.operand(indices(c, own, shape[axis]))], axis=axis)


@operator("GatherElements", 11)
def gather_elements(c):
    shape = c.shape(1)
    axis = c.axis(len(shape))
    own = [c.between(1, e) if e else 0 for e in shape]
    own[axis] = c.between(0, 5)
    c.node([c.operand(c.values(shape, c.type_of(ALL))), c.operand(indices(c, own, shape[axis]))], axis=axis)


@operator("GatherND", 11, weight=2)
def gather_nd(c):
    shape = c.shape(1, 4, empty=0)
    batch = c.between(0, min(2, len(shape) - 1)) if c.opset >= 12 else 0
    tuple_length = c.between(1, len(shape) - batch)
    own = shape[:batch] + c.shape(0, 2)
    columns = [indices(c, own, shape[batch + i], ["int64"]) for i in range(tuple_length)]
    c.node([c.operand(c.values(shape, c.type_of(ALL))), c.operand(np.stack(columns, -1))], batch_dims=batch or None)


@operator("ScatterElements", 11, weight=2)
def scatter_elements(c):
    shape, dtype = c.shape(1), c.type_of(NUMBERS)
    axis = c.axis(len(shape))
    own = [c.between(1, e) if e else 0 for e in shape]
    reduction = c.pick([None, "none", "add", "mul"] + ["max", "min"] * (c.opset >= 18)) if c.opset >= 16 else None
    if not shape[axis]:
        raise NoCase
    if reduction in (None, "none"):  # each place once
        of_axis = c.random.permutation(shape[axis])[: own[axis]]
        places = np.broadcast_to(of_axis.reshape([-1] + [1] * (len(shape) - axis % len(shape) - 1)), own)
        places = np.where(c.random.random(own) < 0.3, places - shape[axis], places).astype("int64")
    else:
        places = indices(c, own, shape[axis])
    style = "sums" if reduction in ("add", "mul") else None
    c.node([c.operand(c.values(shape, dtype, style)), c.operand(places), c.operand(c.values(own, dtype, style))],
           axis=axis, reduction=reduction)


@operator("Scatter", 9, 10)
def scatter(c):
    scatter_elements(c)


@operator("ScatterND", 11, weight=2)
def scatter_nd(c):
    shape, dtype = c.shape(1, 4, empty=0), c.type_of(NUMBERS)
    tuple_length = c.between(1, len(shape))
    reduction = c.pick([None, "none", "add", "mul"] + ["max", "min"] * (c.opset >= 18)) if c.opset >= 16 else None
    extents = shape[:tuple_length]
    count = c.between(1, int(np.prod(extents)))
    flat = c.random.permutation(int(np.prod(extents)))[:count]
    if reduction not in (None, "none"):
        flat = c.random.integers(0, int(np.prod(extents)), size=count)
    places = np.stack(np.unravel_index(flat, extents), -1).astype("int64")
    places = np.where(c.random.random(places.shape) < 0.3, places - np.array(extents), places)
    style = "sums" if reduction in ("add", "mul") else None
    c.node([c.operand(c.values(shape, dtype, style)), c.operand(places),
            c.operand(c.values([count] + shape[tuple_length:], dtype, style))], reduction=reduction)


@operator("OneHot", 9, weight=2)
def one_hot(c):
    shape, depth = c.shape(1, 3), c.between(1, 5)
    index, dtype, of_depth = c.pick([("int64", "int64", "int64"), ("float32", "int64", "int64"),
                                     ("float32", "float32", "float32"), ("int64", "float32", "int64"),
                                     ("int32", "float32", "int32"), ("int64", "int32", "float32")])
    low = -depth if c.opset >= 11 else 0
    places = c.integers(shape, "int64", low - 2, depth + 1).astype(index)
    number = np.array(depth, dtype=of_depth)
    axis = c.between(-len(shape) - 1, len(shape))
    if c.chance(0.5):
        number = number.reshape(1)
    c.node([c.operand(places), c.operand(number), c.operand(c.values([2], dtype))], axis=c.pick([None, axis]))


@operator("Trilu", 14)
def trilu(c):
    shape = c.shape(2, 4)
    operands = [c.operand(c.values(shape, c.type_of(["float32", "float64", "int64", "bool"])))]
    if c.chance(0.7):
        operands.append(c.operand(np.array(c.pick([0, 1, -1, 2, -3, 10, -10, 2**40, -(2**40)]), dtype="int64")))
    c.node(operands, upper=c.pick([None, 0, 1]))


@operator("EyeLike", 9)
def eye_like(c):
    to = c.pick([None, "float32", "float64", "int64", "int32", "uint8"])
    c.node([c.operand(c.values(c.shape(2, 2), c.type_of(["float32", "float64", "int64", "int32"])))],
           k=c.pick([None, 0, 1, -1, 3, -5]), dtype=to and CODES[to])


@operator("TopK", weight=3)
def top_k(c):
    shape, dtype = c.shape(1, 4, largest=6), c.type_of(["float32", "float64", "int64", "int32"], ["float16", "int8"])
    axis = c.axis(len(shape)) if c.opset >= 11 else c.between(0, len(shape) - 1)
    x = c.values(shape, dtype, c.pick(["plain", "sums", "any", "finite"]))
    k = c.between(0, shape[axis])
    if c.opset < 10:
        c.node([c.operand(x)], 2, k=max(k, 1), axis=axis)
        return
    largest = c.pick([None, 0, 1]) if c.opset >= 11 else None
    c.node([c.operand(x), c.ints([k])], 2, axis=axis, largest=largest)


@operator("ReverseSequence", 10)
def reverse_sequence(c):
    shape, time_axis = c.shape(2, 4, empty=0, largest=5), c.between(0, 1)
    lengths = c.integers([shape[1 - time_axis]], "int64", 0, shape[time_axis])
    given = {} if time_axis == 0 and c.chance(0.5) else {"time_axis": time_axis, "batch_axis": 1 - time_axis}
    c.node([c.operand(c.values(shape, c.type_of(ALL))), c.operand(lengths)], **given)


# constants


@operator("ConstantOfShape", 9)
def constant_of_shape(c):
    dtype = c.pick([None] + ALL)
    c.node([c.ints(c.shape(0, 4, empty=0.2))], value=c.values([1], dtype) if dtype else None)


@operator("Constant")
def constant(c):
    forms = {"value": c.values(c.shape(), c.type_of(ALL))}
    if c.opset >= 12:
        forms |= {"value_float": 0.1, "value_floats": [0.5, -1e-40, 3.0], "value_int": -(2**63), "value_ints": [3, -4]}
    form = c.pick(list(forms))
    c.node([], **{form: forms[form]})
    first = c.graph.outputs[0]
    c.node([first], op="Identity")


def sizes(c):
    given = {}
    if c.operator == "Shape" and c.opset >= 15:
        given = {"start": c.pick([None, 0, 1, -1, -9, 9]), "end": c.pick([None, 0, 2, -1, -9, 9])}
    c.node([c.operand(c.values(c.shape(0, 5, empty=0.2), c.type_of(ALL)))], **given)


operator("Shape")(sizes)
operator("Size")(sizes)


@operator("Range", 11, weight=2)
def range_(c):
    dtype = c.type_of(["float32", "float64", "int32", "int64"])
    delta = c.pick([1, 2, -1, -3] + ([0.1, -0.3, 0.25] if dtype.startswith("float") else []))
    start = c.between(-5, 5) + (c.pick([0, 0.5, 0.7]) if dtype.startswith("float") else 0)
    limit = c.between(-9, 9)
    if dtype == "int64" and c.chance(0.2):
        start, limit, delta = 2**60, 2**60 + 5, 2
    c.node([c.operand(np.array(v, dtype=dtype)) for v in (start, limit, delta)])


# results whose shapes depend on values


@operator("NonZero", 9)
def non_zero(c):
    x = c.values(c.shape(0, 4, empty=0.1), c.type_of(["float32", "int32", "int64", "bool", "uint8"]))
    c.node([c.operand(np.where(c.values(x.shape, "bool"), x, np.zeros_like(x)))])


@operator("Compress", 9)
def compress(c):
    shape = c.shape(1, 4)
    axis = c.pick([None, c.axis(len(shape)) if c.opset >= 11 else c.between(0, len(shape) - 1)])
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    kept = c.values([c.between(0, extent)], "bool")
    c.node([c.operand(c.values(shape, c.type_of(ALL))), c.operand(kept)], axis=axis)


@operator("Unique", 11, weight=2)
def unique(c):
    shape = c.shape(1, 3)
    dtype = c.type_of(["float32", "int64", "int8", "float64"])
    x = c.integers(shape, "int64", -1, 2).astype(dtype)
    if dtype.startswith("float") and c.chance(0.3):
        x = c.random.choice([0.0, -0.0, 1, np.inf, -np.inf], size=shape).astype(dtype)
    c.node([c.operand(x)], 4, sorted=c.pick([None, 0, 1]), axis=c.pick([None, c.axis(len(shape))]))


@operator("NonMaxSuppression", 10, weight=2)
def non_max_suppression(c):
    batch, count, classes = c.between(1, 2), c.between(1, 8), c.between(1, 3)
    boxes = (c.random.random((batch, count, 4)) * 4).round(1 if c.chance(0.5) else 4).astype("float32")
    scores = c.random.random((batch, classes, count)).round(1 if c.chance(0.5) else 4).astype("float32")
    operands = [c.operand(boxes), c.operand(scores), c.operand(np.array([c.between(0, 5)], dtype="int64"))]
    for choices in ([0.0, 0.3, 0.5, 1.0], [0.0, 0.3, 0.5, -1.0]):
        operands.append(c.operand(np.array(c.pick(choices), dtype="float32")) if c.chance(0.8) else None)
    c.node(operands, center_point_box=c.pick([None, 0, 1]))


@operator("TfIdfVectorizer", 9)
def tf_idf(c):
    shape = c.pick([[c.between(1, 9)], [2, c.between(1, 7)]])
    pool = [1, 2, 3, 1, 2, 2, 3, 3, 1, 1, 2, 3]  # three of one, three of two, one of three
    longest, shortest = c.pick([(1, 1), (2, 1), (2, 2), (3, 1), (3, 3)])
    weights = [0.5, 1.0, 2.0, 0.25, 3.0, 1.5, 0.75]
    c.node([c.operand(c.integers(shape, c.pick(["int32", "int64"]), 1, 4), "input")],
           mode=c.pick(["TF", "IDF", "TFIDF"]), max_gram_length=longest, min_gram_length=shortest,
           max_skip_count=c.between(0, 2), ngram_counts=[0, 3, 9], ngram_indexes=[0, 2, 1, 3, 6, 5, 4],
           pool_int64s=pool, weights=c.pick([None, weights]))
