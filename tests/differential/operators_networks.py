# SPDX-License-Identifier: Apache-2.0
"""Products, convolutions, pooling, resampling, normalisations, losses, recurrent layers, attention."""
import numpy as np

from cases import FLOATS, NoCase, operator


def around_one(c, shape, dtype="float32"):
    """Values whose sums are not torn by rounding: exact ones in half precision."""
    return c.floats(shape, dtype, "sums" if dtype == "float16" else c.pick(["sums", "plain"]))


def with_strange(c, x, probability=0.1):
    if x.dtype.kind == "f" and x.size and c.chance(probability):
        x.flat[c.between(0, x.size - 1)] = c.pick([np.nan, np.inf, -np.inf])
    return x


# products


@operator("MatMul", weight=3)
def matmul(c):
    dtype = c.type_of(FLOATS + ["int32", "int64"])
    m, k, n = c.between(0, 3), c.pick([0, 1, 2, 3, 5]), c.between(1, 4)
    batch = c.shape(0, 2, empty=0)
    a, b = c.broadcastable(batch) + [m, k], c.broadcastable(batch) + [k, n]
    if c.chance(0.2):
        a = [k]
    if c.chance(0.2):
        b = [k]
    x = c.operand(with_strange(c, c.values(a, dtype, "sums")))
    if len(b) > 1 and c.chance(0.2):  # a transpose that becomes a flag of the product
        order = [*range(len(b) - 2), len(b) - 1, len(b) - 2]
        y = c.node([c.operand(c.values(b[:-2] + [n, k], dtype, "sums"))], op="Transpose", perm=order)
    else:
        y = c.operand(c.values(b, dtype, "sums"))
    c.node([x, y])


@operator("Gemm", weight=3)
def gemm(c):
    dtype = c.type_of(FLOATS[:2], ["float16", "int32"])
    m, k, n = c.between(0, 4), c.pick([0, 1, 2, 3]), c.between(1, 4)
    trans_a, trans_b = c.pick([None, 0, 1]), c.pick([None, 0, 1])
    operands = [c.operand(c.values([k, m] if trans_a else [m, k], dtype, "sums")),
                c.operand(c.values([n, k] if trans_b else [k, n], dtype, "sums"))]
    if c.opset < 11 or c.chance(0.7):
        shape = c.pick([[m, n], [n], [1, n], [m, 1], [1], []])
        operands.append(c.operand(with_strange(c, c.values(shape, dtype, "sums"))))
    c.node(operands, transA=trans_a, transB=trans_b, alpha=c.pick([None, 0.0, 0.5, -2.0]),
           beta=c.pick([None, 0.0, 0.5, -2.0]))


@operator("Einsum", 12, weight=3)
def einsum(c):
    extents = {"i": 2, "j": 3, "k": 2, "l": 1, "b": 2, "A": 3}
    equation = c.pick(["ij,jk->ik", "ij->ji", "ii->i", "ii", "ij->", "ij,ij->ij", "ij,ij->", "i,j->ij", "bij,bjk->bik",
                       "...ij,...jk->...ik", "...ij->...ji", "...i->...", "i...->...", "ij,jk", "ij , jk -> ik", "->",
                       "ij,kj,ik->i", "bi,ij->bj", "iij->j", "Ai,iA->A", "ba", "...,...->...", "i...j,j->i...",
                       "ijk,ijl->kl", "il,lj->ij", "bhqd,bhkd->bhqk", "i,i", "ij,j,i->", "...ii->...i", ","])
    extents |= {"h": 2, "q": 3, "d": 2, "a": 2}
    many = c.shape(0, 2, empty=0)
    operands = []
    dtype = c.type_of(FLOATS[:2] + ["int32", "int64"], ["float16"])
    for term in equation.replace(" ", "").split("->")[0].split(","):
        shape = []
        for part in term.replace("...", "."):
            shape += c.broadcastable(many) if part == "." else [extents[part]]
        operands.append(c.operand(c.values(shape, dtype, "sums")))
    c.node(operands, equation=equation)


# windows


class Windows:
    """A random window over a random image."""

    def __init__(self, c, ceil=False, dilated=True):
        self.dims = c.pick([1, 1, 2, 2, 2, 3])
        some = lambda choices: [c.pick(choices) for _ in range(self.dims)]
        self.kernel = some([1, 2, 3])
        self.strides = some([1, 1, 2, 3])
        self.dilations = some([1, 1, 2]) if dilated and c.chance(0.4) else [1] * self.dims
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]
        self.image = [r + c.between(0, 5) for r in self.reach]
        self.given = {"strides": self.strides if c.chance(0.8) else None}
        if self.given["strides"] is None:
            self.strides = [1] * self.dims
        if dilated and self.dilations != [1] * self.dims:
            self.given["dilations"] = self.dilations
        pad = c.pick(["none", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
        if pad == "pads":
            self.given["pads"] = [c.between(0, min(k - 1, 2)) for k in self.kernel + self.kernel]
        elif pad != "none":
            self.given["auto_pad"] = pad
        if ceil:
            self.given["ceil_mode"] = c.pick([None, 0, 1])


@operator("Conv", weight=4)
def conv(c):
    w, group, dtype = Windows(c), c.pick([1, 1, 2, 3]), c.type_of(["float32"], ["float16", "float64"])
    inner, outer = c.between(1, 2), c.between(1, 2) * group
    x = with_strange(c, around_one(c, [c.between(1, 2), inner * group] + w.image, dtype))
    operands = [c.operand(x), c.operand(around_one(c, [outer, inner] + w.kernel, dtype))]
    if c.chance(0.5):
        operands.append(c.operand(around_one(c, [outer], dtype)))
    c.node(operands, group=group if group > 1 else None, kernel_shape=c.pick([None, w.kernel]), **w.given)


@operator("ConvTranspose", weight=4)
def conv_transpose(c):
    w, group, dtype = Windows(c), c.pick([1, 1, 2]), c.type_of(["float32"], ["float16", "float64"])
    inner, outer = c.between(1, 2) * group, c.between(1, 2)
    operands = [c.operand(around_one(c, [c.between(1, 2), inner] + w.image, dtype)),
                c.operand(around_one(c, [inner, outer] + w.kernel, dtype))]
    if c.chance(0.4):
        operands.append(c.operand(around_one(c, [outer * group], dtype)))
    more = None
    if c.chance(0.3):
        more = [c.between(0, s - 1) for s in w.strides]
    if c.chance(0.2):
        w.given.pop("pads", None)
        w.given["output_shape"] = [s * (i - 1) + r - c.between(0, min(r - 1, 2)) + (more[d] if more else 0)
                                   for d, (s, i, r) in enumerate(zip(w.strides, w.image, w.reach))]
    c.node(operands, group=group if group > 1 else None, kernel_shape=c.pick([None, w.kernel]), output_padding=more,
           **w.given)


def pool(c):
    newer = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[c.operator]
    w = Windows(c, ceil=c.opset >= (10 if c.operator != "LpPool" else 18), dilated=c.opset >= newer)
    types = ["float32", "float32", "float64"]
    if c.operator == "MaxPool" and c.opset >= 12:
        types += ["int8", "uint8"]
    dtype = c.type_of(types, ["float16"])
    style = c.pick(["plain", "sums", "any"]) if c.operator == "MaxPool" else "sums"
    x = c.values([c.between(1, 2), c.between(1, 2)] + w.image, dtype, style)
    given, results = dict(w.given), 1
    if c.operator == "AveragePool":
        given["count_include_pad"] = c.pick([None, 0, 1])
        with_strange(c, x)
    if c.operator == "LpPool":
        given["p"] = c.pick([None, 1, 2, 3])
    if c.operator == "MaxPool" and c.opset >= 8 and c.chance(0.4):
        results, given["storage_order"] = 2, c.pick([None, 0, 1])
    c.node([c.operand(x)], results, kernel_shape=w.kernel, **given)


for name in ("MaxPool", "AveragePool", "LpPool"):
    operator(name, weight=4)(pool)


def global_pool(c):
    shape = [c.between(1, 2), c.between(1, 3)] + [c.between(1, 4) for _ in range(c.between(1, 3))]
    x = c.floats(shape, c.type_of(["float32", "float32", "float64"], ["float16"]), "sums")
    c.node([c.operand(with_strange(c, x))], p=c.pick([None, 1, 2, 3]) if c.operator == "GlobalLpPool" else None)


for name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    operator(name)(global_pool)


@operator("MaxUnpool", 9, weight=2)
def max_unpool(c):
    dims, strides = c.between(1, 2), []
    kernel = [c.between(1, 3) for _ in range(dims)]
    strides = [c.between(1, 3) for _ in range(dims)]
    shape = [1, c.between(1, 2)] + [c.between(1, 3) for _ in range(dims)]
    natural = shape[:2] + [(e - 1) * s + k for e, s, k in zip(shape[2:], strides, kernel)]
    places = c.random.permutation(int(np.prod(natural)))[: int(np.prod(shape))].reshape(shape).astype("int64")
    operands = [c.operand(c.floats(shape)), c.operand(places)]
    if c.chance(0.3):
        operands.append(c.ints(natural[:2] + [e + c.between(0, 1) for e in natural[2:]]))
    c.node(operands, kernel_shape=kernel, strides=strides)


# resampling


def clear_scales(extent, mode, coordinates):
    """Those where runtimes agree: no ties by rounding, no doubt about the length, no resampling to the same length."""
    exact = coordinates in ("align_corners", "tf_crop_and_resize", "pytorch_half_pixel")
    choices = [0.5, 0.75, 1.5, 2.0, 2.5, 3.0] + ([0.4, 0.6, 0.8, 1.3, 2.7] if mode != "nearest" else [])
    return [s for s in choices if s * extent >= 1 and int(s * extent) != extent
            and (not exact or (s * extent).is_integer())]


@operator("Resize", 10, weight=12)
def resize(c):
    rank = c.pick([1, 2, 3, 4, 4, 4, 5])
    mode = c.pick(["nearest", "nearest", "linear", "cubic"] if c.opset >= 11 else ["nearest", "linear"])
    shape = [c.between(1, 5) for _ in range(rank)]
    if rank > 2 and mode != "nearest" or c.chance(0.3):
        shape[:-2] = [c.between(1, 2) for _ in shape[:-2]]
    spatial = [d for d in range(rank) if d >= rank - 2 or (mode == "nearest" and c.chance(0.3))]
    if mode == "cubic" and rank not in (2, 4):
        raise NoCase
    dtype = c.type_of(["float32"], ["int8", "uint8", "int32", "float64", "float16"])
    x = c.operand(c.values(shape, dtype, "plain"))
    if c.opset == 10:
        scales = [1.0] * rank
        for d in spatial:
            scales[d] = c.pick([0.5, 0.6, 1.0, 1.5, 2.0, 3.0])
        c.node([x, c.ints(scales, "float32")], mode=mode)
        return
    given = {"mode": mode}
    given["coordinate_transformation_mode"] = c.pick([None, "half_pixel", "align_corners", "asymmetric",
                                                      "pytorch_half_pixel", "tf_crop_and_resize"]
                                                     + ["half_pixel_symmetric"] * (c.opset >= 19)
                                                     + ["tf_half_pixel_for_nn"] * (c.opset < 13 and mode == "nearest"))
    if mode == "nearest":
        given["nearest_mode"] = c.pick([None, "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    if mode == "cubic":
        given["cubic_coeff_a"] = c.pick([None, -0.5])
        given["exclude_outside"] = c.pick([None, 0, 1])
    if c.opset >= 18 and mode != "nearest" and c.chance(0.3):
        given["antialias"] = 1
    axes = list(range(rank))
    if c.opset >= 18 and c.chance(0.4):
        axes = list(spatial)
        c.random.shuffle(axes)
        given["axes"] = [int(a) - rank if c.chance(0.3) else int(a) for a in axes]
    by_size = c.chance(0.5)
    coordinates = given["coordinate_transformation_mode"]
    numbers = []
    for a in axes:
        extent = shape[a]
        if a not in spatial:
            numbers.append(extent if by_size else 1.0)
        elif by_size:
            numbers.append(c.pick([n for n in range(1, 9) if coordinates != "tf_crop_and_resize" or n != extent]))
        else:
            numbers.append(c.pick(clear_scales(extent, mode, coordinates) or [1.0]))
    if by_size and c.opset >= 18 and c.chance(0.4):
        given["keep_aspect_ratio_policy"] = c.pick(["stretch", "not_larger", "not_smaller"])
    roi = None
    if given["coordinate_transformation_mode"] == "tf_crop_and_resize":
        given["extrapolation_value"] = c.pick([None, 9.0])
        moved = [a in spatial and n != (shape[a] if by_size else 1.0) for a, n in zip(axes, numbers)]
        begin = [c.pick([0.0, 0.2, -0.2]) if m else 0.0 for m in moved]
        roi = c.ints(begin + [c.pick([1.0, 0.7, 1.3]) if m else 1.0 for m in moved], "float32")
    if c.opset < 13 and roi is None:
        roi = c.ints([], "float32")
    scales = c.ints(numbers if not by_size else [], "float32") if not by_size or c.opset < 13 else None
    c.node([x, roi, scales] + ([c.ints(numbers)] if by_size else []), **given)


@operator("Upsample", 7, 9, weight=2)
def upsample(c):
    mode = c.pick(["nearest", "linear"])
    shape = [c.between(1, 2), c.between(1, 2), c.between(1, 4), c.between(1, 4)]
    scales = [1.0, 1.0, c.pick([1.0, 1.5, 2.0, 3.0]), c.pick([1.0, 1.5, 2.0, 2.5])]
    x = c.operand(c.values(shape, c.type_of(["float32"], ["int32"]), "plain"))
    if c.opset < 9:
        c.node([x], mode=mode, scales=scales)
    else:
        c.node([x, c.ints(scales, "float32")], mode=mode)


@operator("GridSample", 16, weight=4)
def grid_sample(c):
    dims = 2 if c.chance(0.85) else 3
    batch, image = c.between(1, 2), [c.between(1, 5) for _ in range(dims)]
    places = [c.between(1, 4) for _ in range(dims)]
    x = around_one(c, [batch, c.between(1, 2)] + image)
    grid = (c.random.random([batch] + places + [dims]) * 3 - 1.5).astype("float32")
    if c.chance(0.4):
        grid = c.random.choice([-1, -0.5, 0, 0.5, 1, 0.25, 1.5, -3.3], size=grid.shape).astype("float32")
    modes = ["bilinear", "nearest", "bicubic"] if c.opset < 20 else ["linear", "nearest", "cubic"]
    c.node([c.operand(x), c.operand(grid)], mode=c.pick([None] + modes), align_corners=c.pick([None, 0, 1]),
           padding_mode=c.pick([None, "zeros", "border", "reflection"]))


@operator("RoiAlign", 10, weight=3)
def roi_align(c):
    batch, rois = c.between(1, 2), c.between(1, 3)
    x = around_one(c, [batch, c.between(1, 2), c.between(2, 6), c.between(2, 6)])
    corners = (c.random.random((rois, 2)) * 5 - 1).round(2)
    boxes = np.concatenate([corners, corners + (c.random.random((rois, 2)) * 5).round(2)], 1).astype("float32")
    half = c.pick([None, "half_pixel", "output_half_pixel"]) if c.opset >= 16 else None
    c.node([c.operand(x), c.operand(boxes), c.operand(c.integers([rois], "int64", 0, batch - 1))],
           mode=c.pick([None, "avg", "max"]), output_height=c.pick([None, 1, 2, 3]),
           output_width=c.pick([None, 1, 2, 3]),
           sampling_ratio=c.pick([None, 0, 1, 2, 3]), spatial_scale=c.pick([None, 1.0, 0.5, 2.0]),
           coordinate_transformation_mode=half)


@operator("Det", 11)
def determinant(c):
    n = c.between(1, 4)
    c.node([c.operand(c.floats(c.shape(0, 2, empty=0) + [n, n], c.type_of(["float32"], ["float64"]), "sums"))])


# normalisations


def over_axis(c):
    shape = c.shape(1, 4)
    axis = c.pick([None, c.axis(len(shape)) if c.opset >= 11 else c.between(0, len(shape) - 1)])
    if axis is None and c.opset < 13 and len(shape) < 2:
        axis = 0
    style = c.pick(["plain", "sums", "finite", "any"])
    types = ["float32"] if c.operator == "Hardmax" else ["float32", "float64"]
    c.node([c.operand(c.floats(shape, c.type_of(types, ["float16"]), style))], axis=axis)


for name in ("Softmax", "LogSoftmax", "Hardmax"):
    operator(name, weight=2)(over_axis)


@operator("BatchNormalization", weight=3)
def batch_normalization(c):
    shape, dtype = c.shape(2, 5, empty=0), c.type_of(["float32", "float32", "float64"], ["float16"])
    channels = [shape[1]]
    operands = [c.operand(around_one(c, shape, dtype))] + [c.operand(around_one(c, channels, dtype)) for _ in range(3)]
    operands.append(c.operand(c.floats(channels, dtype, "positive")))
    training = c.opset >= 14 and c.chance(0.4)
    c.node(operands, 3 if training else 1, epsilon=c.pick([None, 1e-3, 0.1]), momentum=c.pick([None, 0.5]),
           training_mode=1 if training else None)


@operator("InstanceNormalization")
def instance_normalization(c):
    shape = [c.between(1, 2), c.between(1, 3)] + [c.between(2, 4) for _ in range(c.between(1, 3))]
    dtype = c.type_of(["float32"], ["float16", "float64"])
    c.node([c.operand(around_one(c, shape, dtype))] + [c.operand(around_one(c, [shape[1]], dtype)) for _ in range(2)],
           epsilon=c.pick([None, 1e-3, 0.1]))


@operator("GroupNormalization", 18, weight=2)
def group_normalization(c):
    groups, each = c.between(1, 3), c.between(1, 3)
    shape = [c.between(1, 2), groups * each] + [c.between(1, 4) for _ in range(c.between(1, 3))]
    factors = [groups if c.opset < 21 else groups * each]
    c.node([c.operand(around_one(c, shape))] + [c.operand(around_one(c, factors)) for _ in range(2)],
           num_groups=groups, epsilon=c.pick([None, 1e-3]))


@operator("LayerNormalization", 17, weight=2)
def layer_normalization(c):
    shape, dtype = c.shape(1, 4, empty=0), c.type_of(["float32", "float32", "float64"], ["float16"])
    axis = c.axis(len(shape))
    own = shape[axis:]
    operands = [c.operand(around_one(c, shape, dtype)), c.operand(around_one(c, own, dtype))]
    if c.chance(0.7):
        operands.append(c.operand(around_one(c, own, dtype)))
    c.node(operands, c.pick([1, 1, 3]), axis=c.pick([axis, axis, None]) if axis == -1 else axis,
           epsilon=c.pick([None, 1e-3]))


def rms_normalization(c):
    shape = c.shape(1, 4, empty=0)
    axis = c.axis(len(shape))
    c.node([c.operand(around_one(c, shape)), c.operand(around_one(c, shape[axis:]))], axis=axis,
           epsilon=c.pick([None, 1e-3]))


operator("RMSNormalization", 23)(rms_normalization)
operator("SimplifiedLayerNormalization", 7)(rms_normalization)


@operator("MeanVarianceNormalization", 9)
def mean_variance_normalization(c):
    shape = [c.between(1, 3) for _ in range(4)]
    x = around_one(c, shape) * np.float32(c.pick([1, 1, 1e-3, 1e-5]))
    c.node([c.operand(x)], axes=c.pick([None, [0, 2, 3], [1, 2], [0, 1, 2, 3], [2, 3]]))


@operator("LpNormalization")
def lp_normalization(c):
    shape = c.shape(1, 4, empty=0)
    x = around_one(c, shape, c.type_of(["float32", "float64"]))
    if c.chance(0.2):
        x[...] = 0
    c.node([c.operand(x)], axis=c.pick([None, c.axis(len(shape))]), p=c.pick([None, 1, 2]))


@operator("LRN")
def local_response(c):
    shape = [c.between(1, 2), c.between(1, 6), c.between(1, 3), c.between(1, 3)]
    c.node([c.operand(around_one(c, shape))], size=c.pick([1, 3, 5]), alpha=c.pick([None, 0.5]),
           beta=c.pick([None, 0.5]), bias=c.pick([None, 2.0]))


@operator("Dropout")
def dropout(c):
    x = c.operand(c.floats(c.shape(), c.type_of(FLOATS)))
    results = c.pick([1, 2]) if c.opset >= 10 else 1
    if c.opset < 12:
        c.node([x], results, ratio=c.pick([None, 0.3]))
    else:
        c.node([x] + ([c.operand(np.float32(0.3))] if c.chance(0.5) else []), results)


# losses


def loss(c):
    classes, batch, rest = c.between(1, 4), c.between(1, 3), c.shape(0, 2, empty=0)
    x = c.floats([batch, classes] + rest, c.type_of(["float32"], ["float64"]), "plain")
    ignored = c.pick([None, None, 0, -1, -100])
    labels = c.integers([batch] + rest, c.pick(["int32", "int64"]), 0, classes - 1)
    if ignored is not None:
        labels[c.random.random(labels.shape) < 0.3] = ignored
    operands = [c.operand(x), c.operand(labels)]
    if c.chance(0.5):
        operands.append(c.operand(c.floats([classes], x.dtype.name, "positive")))
    results = c.pick([1, 2]) if c.operator == "SoftmaxCrossEntropyLoss" else 1
    c.node(operands, results, reduction=c.pick([None, "mean", "sum", "none"]), ignore_index=ignored)


operator("SoftmaxCrossEntropyLoss", 12, weight=3)(loss)
operator("NegativeLogLikelihoodLoss", 12, weight=3)(loss)


# recurrent layers


def recurrent(c):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[c.operator]
    steps, batch, inputs, hidden = c.between(1, 4), c.between(1, 3), c.between(1, 3), c.between(1, 3)
    way = c.pick([None, "forward", "reverse", "bidirectional"])
    directions = 2 if way == "bidirectional" else 1
    layout = c.pick([None] * 6 + [0] * 3 + [1]) if c.opset >= 14 else None
    dtype = c.type_of(["float32"] * 5, ["float64"]) if c.operator == "RNN" else "float32"
    small = lambda shape: c.floats(shape, dtype, "plain") * np.dtype(dtype).type(0.5)
    state = [batch, directions, hidden] if layout == 1 else [directions, batch, hidden]
    operands = [c.operand(small([batch, steps, inputs] if layout == 1 else [steps, batch, inputs])),
                c.operand(small([directions, gates * hidden, inputs])),
                c.operand(small([directions, gates * hidden, hidden]))]
    maybe = lambda array, probability=0.5: c.operand(array) if c.chance(probability) else None
    operands.append(maybe(small([directions, 2 * gates * hidden]), 0.7))
    lengths = c.integers([batch], "int32", 1 if c.chance(0.8) else 0, steps)
    operands.append(maybe(lengths, 0.3))
    if operands[-1] and (lengths == 0).any():
        c.tags.append("no-steps")
    operands.append(maybe(small(state)))
    if c.operator == "LSTM":
        operands += [maybe(small(state)), maybe(small([directions, 3 * hidden]), 0.3)]
    given = {"hidden_size": hidden, "direction": way, "layout": layout}
    if c.chance(0.2):
        given["clip"] = c.pick([0.2, 1.0])
    if c.chance(0.3):
        count = {"RNN": 1, "GRU": 2, "LSTM": 3}[c.operator] * directions
        choices = ["Sigmoid", "Tanh", "Relu", "Softplus", "Softsign", "HardSigmoid", "LeakyRelu", "Elu", "Affine",
                   "ScaledTanh", "ThresholdedRelu"]
        given["activations"] = [c.pick(choices[: 3 if c.chance(0.7) else len(choices)]) for _ in range(count)]
    if c.operator == "GRU":
        given["linear_before_reset"] = c.pick([None, 0, 1])
    if c.operator == "LSTM" and c.chance(0.2):
        given["input_forget"] = 1
    kept = [i for i in range(3 if c.operator == "LSTM" else 2) if c.chance(0.8)] or [0]
    c.node(operands, 3 if c.operator == "LSTM" else 2, keep=kept, **given)


for name in ("RNN", "GRU", "LSTM"):
    operator(name, weight=5)(recurrent)


# attention


@operator("Attention", 23, 24, weight=6)
def attention(c):
    batch, kv_heads, width, value_width = c.between(1, 2), c.between(1, 2), c.between(1, 3), c.between(1, 3)
    q_heads = kv_heads * c.between(1, 2)
    queries, keys, past = c.between(1, 4), c.between(1, 4), c.pick([0, 0, 2])
    keys = queries if past else keys  # else ONNX Runtime lets causal queries read more than their past
    flat = c.chance(0.4)
    make = lambda heads, places, w: c.operand(around_one(c, [batch, places, heads * w] if flat
                                                         else [batch, heads, places, w]))
    operands = [make(q_heads, queries, width), make(kv_heads, keys, width), make(kv_heads, keys, value_width)]
    mask = None
    if c.chance(0.4):
        shape = c.pick([[], [1], [batch]]) and [c.pick([1, batch]), c.pick([1, q_heads])]
        shape = c.pick([[], shape]) + [queries, keys + past]
        mask = c.operand(c.values(shape, "bool") if c.chance(0.5) else around_one(c, shape))
    operands.append(mask)
    if past:
        operands += [c.operand(around_one(c, [batch, kv_heads, past, w])) for w in (width, value_width)]
    given = {"q_num_heads": q_heads if flat else None, "kv_num_heads": kv_heads if flat else None,
             "is_causal": c.pick([None, 0, 1]), "scale": c.pick([None, 0.5]), "softcap": c.pick([None, None, 1.5])}
    shown = c.chance(0.3)
    if shown:
        given["qk_matmul_output_mode"] = c.pick([None, 0, 1, 2, 3])
    results = 4 if shown else 3 if past else c.pick([1, 3])
    c.node(operands, results, keep=None if past or not shown else [0, 3], **given)


@operator("RotaryEmbedding", 23, 24, weight=2)
def rotary_embedding(c):
    batch, heads, places, width, most = c.between(1, 2), c.between(1, 3), c.between(1, 4), 2 * c.between(2, 3), 6
    turned = c.pick([0, 0, 2, width])
    flat = c.chance(0.4)
    by_place = c.chance(0.6)
    half = (turned or width) // 2
    x = around_one(c, [batch, places, heads * width] if flat else [batch, heads, places, width])
    table = [most, half] if by_place else [batch, places, half]
    operands = [c.operand(x), c.operand(around_one(c, table)), c.operand(around_one(c, table))]
    if by_place:
        operands.append(c.operand(c.integers([batch, places], "int64", 0, most - 1)))
    c.node(operands, num_heads=heads if flat or turned else None, interleaved=c.pick([None, 0, 1]),
           rotary_embedding_dim=turned or None)


# places computed


@operator("AffineGrid", 20)
def affine_grid(c):
    dims, batch = c.between(2, 3), c.between(1, 2)
    corners = c.pick([None, 0, 1])
    # Where the one place lies when corners are aligned is not defined.
    size = [batch, c.between(1, 2)] + [c.between(2 if corners else 1, 4) for _ in range(dims)]
    theta = around_one(c, [batch, dims, dims + 1], c.type_of(["float32"], ["float64"]))
    c.node([c.operand(theta), c.ints(size)], align_corners=corners)


@operator("Col2Im", 18)
def column_to_image(c):
    w = Windows(c)
    for name in ("auto_pad", "ceil_mode"):
        w.given.pop(name, None)
    before, after = np.split(np.array(w.given.get("pads", [0] * 2 * w.dims)), 2)
    blocks = [(i + b + a - r) // s + 1 for i, b, a, r, s in zip(w.image, before, after, w.reach, w.strides)]
    channels = c.between(1, 2)
    x = around_one(c, [c.between(1, 2), channels * int(np.prod(w.kernel)), int(np.prod(blocks))])
    c.node([c.operand(x), c.ints(w.image), c.ints(w.kernel)], **w.given)


@operator("CenterCropPad", 18)
def center_crop_pad(c):
    shape = c.shape(1, 4, empty=0)
    axes = c.axes(len(shape))
    count = len(axes) or len(shape)
    x = c.operand(c.values(shape, c.type_of(["float32", "int64"])))
    c.node([x, c.ints([c.between(1, 5) for _ in range(count)])], axes=axes or None)


@operator("DeformConv", 19, weight=2)
def deformable_conv(c):
    kernel, group, outer = [c.between(1, 3), c.between(1, 3)], c.pick([1, 1, 2]), c.between(1, 2)
    image, of_offsets = [k + c.between(0, 3) for k in kernel], c.pick([1, 1, 2])
    pads, strides = [c.between(0, 1) for _ in range(4)], [c.between(1, 2), c.between(1, 2)]
    places = [(i + pads[d] + pads[d + 2] - k) // s + 1 for d, (i, k, s) in enumerate(zip(image, kernel, strides))]
    channels, batch, taps = 2, c.between(1, 2), int(np.prod(kernel))
    operands = [c.operand(around_one(c, [batch, channels] + image)),
                c.operand(around_one(c, [outer * group, channels // group] + kernel)),
                c.operand((c.random.random([batch, of_offsets * taps * 2] + places) * 3 - 1.5).astype("float32")),
                c.operand(around_one(c, [outer * group])) if c.chance(0.5) else None]
    if c.chance(0.5):
        operands.append(c.operand(c.random.random([batch, of_offsets * taps] + places).astype("float32")))
    c.node(operands, group=group if group > 1 else None, offset_group=of_offsets if of_offsets > 1 else None,
           kernel_shape=c.pick([None, kernel]), pads=pads, strides=strides)
