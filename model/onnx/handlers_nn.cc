// SPDX-License-Identifier: Apache-2.0
// Products, softmax, normalisations, dropout.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

// products

struct Factor {
  TensorId t;
  bool transposed = false;
};

// A transpose of the last two dimensions that was made just for the product becomes a flag of it.
Factor without_transpose(GraphBuilder& b, TensorId t) {
  const Graph& graph = b.graph();
  const OpId producer = graph.tensors[t].producer;
  const std::size_t rank = b.info(t).shape.size();
  if (rank < 2 || !producer.valid() || graph.ops[producer].attrs.find("permutation") == nullptr) return {t};
  std::vector<std::int64_t> swapped(rank);
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  if (graph.ops[producer].attrs.integers("permutation") != swapped) return {t};
  return {graph.ops[producer].inputs[0], true};
}

Results matmul(Node& n) {
  GraphBuilder& b = n.b;
  if (n.rank(0) == 0 || n.rank(1) == 0) Node::fail("a product of scalars");
  const bool row = n.rank(0) == 1, column = n.rank(1) == 1;
  const TensorId x = row ? with_ones(b, n.in(0), 0, 1) : n.in(0);
  const TensorId y = column ? with_ones(b, n.in(1), 1, 1) : n.in(1);
  const TensorId result = matrix_product(b, x, y);
  Shape shape = b.info(result).shape;
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return {b.reshape(result, std::move(shape))};
}

// softmax

// Over one axis since operand set 13; before, over all dimensions from `axis` on as one.
template <TensorId (*Function)(GraphBuilder&, TensorId, std::int64_t)>
Results over_axis(Node& n) {
  GraphBuilder& b = n.b;
  const bool by_axis = n.opset >= 13;
  const std::int64_t rank = n.rank(0);
  std::int64_t axis = n.integer_attribute("axis", by_axis ? -1 : 1);
  if (by_axis) {
    axis = n.axis(axis, rank);
    return {Function(b, n.in(0), axis)};
  }
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) Node::fail("axis " + std::to_string(axis) + " out of range");
  const Shape shape = n.shape(0);
  if (axis == rank - 1) return {Function(b, n.in(0), axis)};
  const std::int64_t rows = volume(Shape(shape.begin(), shape.begin() + axis));
  const std::int64_t columns = volume(Shape(shape.begin() + axis, shape.end()));
  return {b.reshape(Function(b, b.reshape(n.in(0), {rows, columns}), 1), shape)};
}

// 1 at the first maximum, 0 elsewhere.
TensorId hardmax_over(GraphBuilder& b, TensorId x, std::int64_t axis) {
  const Shape shape = b.info(x).shape;
  const auto d = static_cast<std::size_t>(axis);
  const TensorId places = with_ones(b, counting(b, shape[d]), 1, shape.size() - d - 1);
  TensorId hit = b.binary("equal", x, b.reduce("max", x, {axis}, true));
  if (is_float(b.info(x).type)) hit = b.binary("or", hit, b.unary("is_nan", x));  // NaN is the largest
  const TensorId at = b.one("where", {hit, places, integer_constant(b, {}, {shape[d]})});
  return b.cast(b.binary("equal", places, b.reduce("min", at, {axis}, true)), b.info(x).type);
}

TensorId softmax_over(GraphBuilder& b, TensorId x, std::int64_t axis) { return b.softmax(x, axis); }
TensorId log_softmax_over(GraphBuilder& b, TensorId x, std::int64_t axis) { return b.log_softmax(x, axis); }

// normalisations

std::vector<std::int64_t> from(std::int64_t first, std::int64_t rank) {
  std::vector<std::int64_t> axes;
  for (std::int64_t d = first; d < rank; ++d) axes.push_back(d);
  return axes;
}

// [C] as [C, 1, ...], to be broadcast over [n, C, ...].
TensorId per_channel(GraphBuilder& b, TensorId t, std::int64_t rank) {
  return with_ones(b, t, b.info(t).shape.size(), static_cast<std::size_t>(std::max<std::int64_t>(rank - 2, 0)));
}

TensorId scaled(GraphBuilder& b, TensorId x, TensorId gamma, TensorId beta) {
  if (gamma.valid()) x = b.binary("mul", x, gamma);
  return beta.valid() ? b.binary("add", x, beta) : x;
}

Results layer_normalization(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const std::int64_t axis = n.axis(n.integer_attribute("axis", -1), n.rank(0));
  const double epsilon = n.number_attribute("epsilon", 1e-5);
  n.integer_attribute("stash_type", 1);
  const TensorId y = b.layer_norm(x, n.optional_in(1), n.optional_in(2), epsilon, axis);
  if (!n.wants_result(1) && !n.wants_result(2)) return {y};
  const std::vector<std::int64_t> axes = from(axis, n.rank(0));
  // Statistics are fp32 whatever the type (stash_type 1), of fp64 rounded once.
  const DType wide = n.type(0) == DType::fp64 ? DType::fp64 : DType::fp32;
  const TensorId mean = b.reduce("mean", x, axes, true, wide);
  const TensorId variance = b.reduce("mean_square", b.binary("sub", b.cast(x, wide), mean), axes, true);
  const TensorId inverse = b.unary("rsqrt", b.shift(variance, epsilon));
  return {y, b.cast(mean, DType::fp32), b.cast(inverse, DType::fp32)};
}

Results rms_normalization(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const std::int64_t axis = n.axis(n.integer_attribute("axis", -1), n.rank(0));
  const double epsilon = n.number_attribute("epsilon", 1e-5);
  n.integer_attribute("stash_type", 1);
  return {b.rms_norm(x, n.optional_in(1), epsilon, axis)};
}

struct BatchNorm {
  double epsilon, momentum;
  bool training;
};

BatchNorm batch_norm(Node& n) {
  BatchNorm norm{n.number_attribute("epsilon", 1e-5), n.number_attribute("momentum", 0.9), false};
  if (n.integer_attribute("spatial", 1) == 0) Node::not_supported("statistics per pixel (spatial = 0)");
  n.integers_attribute("consumed_inputs");
  norm.training = n.opset >= 14  ? n.integer_attribute("training_mode", 0) != 0
                  : n.opset >= 7 ? n.results() > 1
                                 : n.integer_attribute("is_test", 0) == 0 && n.results() > 1;
  if (n.rank(0) < 2) Node::fail("operand 0 has shape " + to_text(n.shape(0)) + ", expected channels in dimension 1");
  return norm;
}

// Over all dimensions but the channels', and the running statistics moved on: by the mean of several groups'.
Results batch_norm_training(Node& n, const BatchNorm& norm) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const std::int64_t rank = n.rank(0);
  const GraphBuilder::BatchGroups groups = b.batch_groups(x);
  const TensorId y = b.reshape(b.normalize(groups.values, groups.axes, norm.epsilon, groups.across), n.shape(0));
  Results results{scaled(b, y, per_channel(b, n.in(1), rank), per_channel(b, n.in(2), rank))};
  if (n.results() < 2) return results;
  const auto statistic = [&](std::string_view kind, TensorId of, bool keep) {
    return b.group_statistic(b.reduce(kind, of, groups.axes, keep), groups.across);
  };
  const auto of_all_groups = [&](TensorId t) {
    return groups.values == x ? t : b.group_statistic(b.reduce("mean", t, {0}, false), 1);
  };
  const TensorId centred = b.binary("sub", groups.values, statistic("mean", groups.values, true));
  const TensorId variance = of_all_groups(statistic("mean_square", centred, false));
  const TensorId mean = of_all_groups(statistic("mean", groups.values, false));
  const auto moved = [&](TensorId running, TensorId now) {
    return b.binary("add", b.scale(running, norm.momentum), b.scale(now, 1 - norm.momentum));
  };
  results.insert(results.end(), {moved(n.in(3), mean), moved(n.in(4), variance), mean, variance});
  return results;
}

Results batch_normalization(Node& n) {
  const BatchNorm norm = batch_norm(n);
  if (norm.training) return batch_norm_training(n, norm);
  GraphBuilder& b = n.b;
  const TensorId scale = b.binary("mul", n.in(1), b.unary("rsqrt", b.shift(n.in(4), norm.epsilon)));
  const TensorId shift = b.binary("sub", n.in(2), b.binary("mul", n.in(3), scale));
  return {scaled(b, n.in(0), per_channel(b, scale, n.rank(0)), per_channel(b, shift, n.rank(0)))};
}

Results instance_normalization(Node& n) {
  const std::int64_t rank = n.rank(0);
  if (rank < 3) Node::fail("operand 0 has shape " + to_text(n.shape(0)) + ", expected spatial dimensions");
  const TensorId y = n.b.normalize(n.in(0), from(2, rank), n.number_attribute("epsilon", 1e-5));
  return {scaled(n.b, y, per_channel(n.b, n.in(1), rank), per_channel(n.b, n.in(2), rank))};
}

Results group_normalization(Node& n) {
  GraphBuilder& b = n.b;
  const Shape shape = n.shape(0);
  const std::int64_t groups = n.integer_attribute("num_groups", 1);
  n.integer_attribute("stash_type", 1);
  if (shape.size() < 3 || groups < 1 || shape[1] % groups != 0) {
    Node::fail(std::to_string(groups) + " groups of the channels of " + to_text(shape));
  }
  Shape grouped{shape[0], groups, shape[1] / groups};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  const TensorId x = b.reshape(n.in(0), grouped);
  const TensorId y =
      b.normalize(x, from(2, static_cast<std::int64_t>(grouped.size())), n.number_attribute("epsilon", 1e-5));
  if (n.opset < 21) {  // one factor per group
    const auto rank = static_cast<std::int64_t>(grouped.size());
    return {b.reshape(scaled(b, y, per_channel(b, n.in(1), rank), per_channel(b, n.in(2), rank)), shape)};
  }
  const TensorId flat = b.reshape(y, shape);
  return {scaled(b, flat, per_channel(b, n.in(1), n.rank(0)), per_channel(b, n.in(2), n.rank(0)))};
}

// (x - mean) / (deviation + 1e-9)
Results mean_variance_normalization(Node& n) {
  GraphBuilder& b = n.b;
  const std::vector<std::int64_t> axes = n.axes(n.integers_attribute("axes", {0, 2, 3}), n.rank(0));
  const DType wide = n.type(0) == DType::fp16 ? DType::fp32 : n.type(0);
  const TensorId centred = b.binary("sub", n.in(0), b.reduce("mean", n.in(0), axes, true, wide));
  const TensorId deviation = b.unary("sqrt", b.reduce("mean_square", centred, axes, true, wide));
  return {b.binary("div", centred, b.shift(deviation, 1e-9))};
}

Results lp_normalization(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const std::int64_t p = n.integer_attribute("p", 2), axis = n.axis(n.integer_attribute("axis", -1), n.rank(0));
  if (p != 1 && p != 2) Node::not_supported("norm of order " + std::to_string(p));
  const TensorId norm = p == 1 ? b.reduce("sum", b.unary("abs", x), {axis}, true)
                               : b.unary("sqrt", b.reduce("sum_square", x, {axis}, true));
  const TensorId divisor =
      b.one("where", {b.binary("equal", norm, b.scalar(n.type(0), 0)), b.scalar(n.type(0), 1), norm});
  return {b.binary("div", x, divisor)};  // zeros stay zeros
}

// x / (bias + alpha / size * sum of squares over `size` channels around)^beta
Results local_response(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const std::int64_t size = n.integer_attribute("size", 1), channels = n.rank(0) > 1 ? n.shape(0)[1] : 0;
  if (n.rank(0) < 2 || size < 1 || size > 1024) Node::fail("window of " + std::to_string(size) + " channels");
  std::vector<std::int64_t> before(n.shape(0).size()), after(before);
  before[1] = (size - 1) / 2;
  after[1] = size - 1 - before[1];
  const TensorId squares = with_zeros(b, b.unary("square", x), before, after);
  TensorId sum = b.slice(squares, 1, 0, channels);
  for (std::int64_t i = 1; i < size; ++i) sum = b.binary("add", sum, b.slice(squares, 1, i, i + channels));
  const double alpha = n.number_attribute("alpha", 1e-4), beta = n.number_attribute("beta", 0.75);
  const TensorId base = b.shift(b.scale(sum, alpha / static_cast<double>(size)), n.number_attribute("bias", 1));
  return {b.binary("div", x, b.binary("pow", base, b.scalar(b.info(x).type, beta)))};
}

// The mask is an operand of nothing but the gradient, which we make ourselves; while nothing is dropped
// it is known.
Results dropout(Node& n) {
  GraphBuilder& b = n.b;
  double ratio = 0.5;
  bool training = n.context.training;
  if (n.opset < 12) {
    ratio = n.number_attribute("ratio", 0.5);
    n.integers_attribute("consumed_inputs");
    if (n.integer_attribute("is_test", n.opset < 7 ? 0 : 1) == 0 && n.opset < 7) training = true;
  } else {
    n.integer_attribute("seed", 0);
    if (n.has(1)) ratio = n.number(1, "ratio");
    training = n.has(2) && n.number(2, "training_mode") != 0;
  }
  if (ratio < 0 || ratio >= 1) Node::fail("ratio " + std::to_string(ratio));
  const TensorId y = training ? b.dropout(n.in(0), ratio) : n.in(0);
  if (!n.wants_result(1)) return {y};
  if (training && ratio > 0) return {y, TensorId{}};
  const DType mask = n.opset < 10 ? n.type(0) : DType::boolean;
  return {y, b.expand(b.constant(Array::from(mask, {}, {1})), n.shape(0))};
}

constexpr Handler kNnHandlers[] = {
    {"BatchNormalization", 1, 5, batch_normalization},
    {"Dropout", 1, 3, dropout},
    {"Gemm", 1, 3, gemm},
    {"GroupNormalization", 18, 3, group_normalization},
    {"Hardmax", 1, 1, over_axis<hardmax_over>},
    {"InstanceNormalization", 1, 3, instance_normalization},
    {"LRN", 1, 1, local_response},
    {"LayerNormalization", 1, 3, layer_normalization},
    {"LogSoftmax", 1, 1, over_axis<log_softmax_over>},
    {"LpNormalization", 1, 1, lp_normalization},
    {"MatMul", 1, 2, matmul},
    {"MeanVarianceNormalization", 9, 1, mean_variance_normalization},
    {"RMSNormalization", 23, 2, rms_normalization},
    {"SimplifiedLayerNormalization", 1, 2, rms_normalization},  // ONNX Runtime's name of it, in ONNX's own domain
    {"Softmax", 1, 1, over_axis<softmax_over>},
};

}  // namespace

TensorId matrix_product(GraphBuilder& b, TensorId x, TensorId y, bool transpose_x, bool transpose_y) {
  const Factor fx = without_transpose(b, x), fy = without_transpose(b, y);
  return b.matmul(fx.t, fy.t, fx.transposed != transpose_x, fy.transposed != transpose_y);
}

Results gemm(Node& n) {
  GraphBuilder& b = n.b;
  const double alpha = n.number_attribute("alpha", 1), beta = n.number_attribute("beta", 1);
  n.integer_attribute("broadcast", 0);  // before operator set 7; as NumPy since
  const bool transpose_a = n.integer_attribute("transA", 0) != 0, transpose_b = n.integer_attribute("transB", 0) != 0;
  if (n.rank(0) != 2 || n.rank(1) != 2)
    Node::fail("matrices are expected, found " + to_text(n.shape(0)) + " and " + to_text(n.shape(1)));
  const TensorId result = b.scale(matrix_product(b, n.in(0), n.in(1), transpose_a, transpose_b), alpha);
  if (!n.has(2) || beta == 0) return {result};
  return {b.binary("add", result, b.scale(n.in(2), beta))};
}

std::span<const Handler> nn_handlers() { return kNnHandlers; }

}  // namespace superstep::onnx_import
