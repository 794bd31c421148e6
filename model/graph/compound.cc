// SPDX-License-Identifier: Apache-2.0
// Compound operations as core ops. Every op is a superstep on the device, so the expansions are
// short; statistics are kept in fp32 when the values are fp16, as the vendor's kernels do.
#include <algorithm>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/graph/op_def.h"
#include "model/graph/statistics.h"

namespace superstep {

namespace {

DType statistics_type(DType type) { return type == DType::fp16 ? DType::fp32 : type; }

// The reduction that the second operand of the op that made `y` comes from.
const Attributes& statistics_of(GraphBuilder& b, TensorId y) {
  const Graph& graph = b.graph();
  OpId op = graph.tensors[graph.ops[graph.tensors[y].producer].inputs[1]].producer;
  while (!graph.ops[op].def->statistic) op = graph.tensors[graph.ops[op].inputs[0]].producer;
  return graph.ops[op].attrs;
}
std::vector<std::int64_t> statistics_axes(GraphBuilder& b, TensorId y) { return statistics_of(b, y).integers("axes"); }

// y = softmax(x):  dx = y (dy - sum(dy y)); needs y alone.
TensorId softmax_gradient(GraphBuilder& b, TensorId, TensorId y, TensorId dy) {
  const TensorId sum =
      b.reduce("sum", b.binary("mul", y, dy), statistics_axes(b, y), true, statistics_type(b.info(y).type));
  return b.binary("mul", y, b.binary("sub", dy, sum));
}

// y = x - log sum exp x:  dx = dy - exp(y) sum(dy)
TensorId log_softmax_gradient(GraphBuilder& b, TensorId, TensorId y, TensorId dy) {
  const Shape shape = b.info(y).shape;
  const TensorId sum =
      b.reduce("sum", b.expand(dy, shape), statistics_axes(b, y), true, statistics_type(b.info(y).type));
  return b.binary("sub", dy, b.binary("mul", b.unary("exp", y), sum));
}

// y = (x - mean) r with r = 1 / sqrt(var + eps):  dx = r (dy - mean(dy) - y mean(dy y)); needs y and r.
TensorId normalize_gradient(GraphBuilder& b, TensorId, TensorId y, TensorId dy) {
  const std::vector<std::int64_t> axes = statistics_axes(b, y);
  const std::int64_t across = statistics_of(b, y).integer("across");
  const TensorId r = b.graph().ops[b.graph().tensors[y].producer].inputs[1];
  const DType type = statistics_type(b.info(y).type);
  const Shape shape = b.info(y).shape;
  dy = b.expand(dy, shape);
  const TensorId mean = b.group_statistic(b.reduce("mean", dy, axes, true, type), across);
  const TensorId along = b.group_statistic(b.reduce("mean", b.binary("mul", y, dy), axes, true, type), across);
  const TensorId centred = b.binary("sub", b.binary("sub", dy, b.binary("mul", y, along)), mean);
  return b.binary("mul", centred, r);
}

// The dimensions from `axis` on, which is counted from the end if it is negative.
std::vector<std::int64_t> axes_from(std::int64_t axis, const TensorInfo& info) {
  const auto rank = static_cast<std::int64_t>(info.shape.size());
  std::vector<std::int64_t> axes;
  for (std::int64_t d = axis < 0 ? axis + rank : axis; d < rank; ++d) axes.push_back(d);
  return axes;
}

constexpr GradientRule kSoftmax{"softmax", softmax_gradient};
constexpr GradientRule kLogSoftmax{"log_softmax", log_softmax_gradient};
constexpr GradientRule kNormalize{"normalize", normalize_gradient};

}  // namespace

TensorId GraphBuilder::softmax(TensorId a, std::int64_t axis) {
  const TensorId centred = binary("sub", a, reduce("max", a, {axis}, true));
  const TensorId e = unary("exp", centred);
  const TensorId sum = reduce("sum", e, {axis}, true, statistics_type(info(a).type));
  const TensorId y = binary("mul", e, unary("reciprocal", sum));
  set_gradient_rule(y, a, kSoftmax);
  return y;
}

TensorId GraphBuilder::log_softmax(TensorId a, std::int64_t axis) {
  const TensorId centred = binary("sub", a, reduce("max", a, {axis}, true));
  const TensorId sum = reduce("sum", unary("exp", centred), {axis}, true, statistics_type(info(a).type));
  const TensorId y = binary("sub", centred, unary("log", sum));
  set_gradient_rule(y, a, kLogSoftmax);
  return y;
}

TensorId GraphBuilder::group_statistic(TensorId t, std::int64_t across) {
  const OpId producer = graph_.tensors[t].producer;
  if (!producer.valid() || across == 0) return t;  // a constant is the same in every group
  Op& op = graph_.ops[producer];
  SUPERSTEP_CHECK(op.def->statistic, "a statistic is the result of a reduction");
  op.attrs.set("across", across);
  if (op.attrs.integer("mean")) {
    const std::int64_t counted = info(op.inputs[0]).elements() / std::max<std::int64_t>(info(t).elements(), 1);
    op.attrs.set("scale", 1.0 / static_cast<double>(counted * across));
  }
  return t;
}

TensorId GraphBuilder::normalize(TensorId a, std::vector<std::int64_t> axes, double epsilon, std::int64_t across) {
  const DType type = statistics_type(info(a).type);
  const TensorId centred = binary("sub", a, group_statistic(reduce("mean", a, axes, true, type), across));
  const TensorId variance = group_statistic(reduce("mean_square", centred, axes, true, type), across);
  const TensorId y = binary("mul", centred, unary("rsqrt", shift(variance, epsilon)));
  set_gradient_rule(y, a, kNormalize);
  return y;
}

TensorId GraphBuilder::rms_norm(TensorId a, TensorId gamma, double epsilon, std::int64_t axis) {
  const TensorId square = reduce("mean_square", a, axes_from(axis, info(a)), true, statistics_type(info(a).type));
  const TensorId y = binary("mul", a, unary("rsqrt", shift(square, epsilon)));
  return gamma.valid() ? binary("mul", y, gamma) : y;
}

TensorId GraphBuilder::layer_norm(TensorId a, TensorId gamma, TensorId beta, double epsilon, std::int64_t axis) {
  TensorId y = normalize(a, axes_from(axis, info(a)), epsilon);
  if (gamma.valid()) y = binary("mul", y, gamma);
  return beta.valid() ? binary("add", y, beta) : y;
}

GraphBuilder::BatchGroups GraphBuilder::batch_groups(TensorId a) {
  const Shape& shape = info(a).shape;
  const std::int64_t samples = graph_.micro_batch;
  const std::int64_t group = graph_.statistics_group == 0 ? samples : graph_.statistics_group;
  BatchGroups found{a, {}, replicas_of_group(group, samples)};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != 1) found.axes.push_back(static_cast<std::int64_t>(d));
  }
  if (group >= samples) return found;
  if (shape[0] % samples != 0)
    throw Error("", "dimension 0 of " + to_text(shape) + " does not hold the " + std::to_string(samples) +
                        " samples that statistics groups of " + std::to_string(group) + " are taken of");
  Shape grouped{samples / group, shape[0] / samples * group};
  grouped.insert(grouped.end(), shape.begin() + 1, shape.end());
  found.values = reshape(a, grouped);
  for (std::int64_t& axis : found.axes) ++axis;
  return found;
}

TensorId GraphBuilder::batch_norm(TensorId a, TensorId gamma, TensorId beta, double epsilon) {
  const Shape shape = info(a).shape;
  Shape per_channel(shape.size() - 1, 1);
  per_channel[0] = shape[1];
  const BatchGroups x = batch_groups(a);
  const TensorId y = reshape(normalize(x.values, x.axes, epsilon, x.across), shape);
  const TensorId scaled = binary("mul", y, reshape(gamma, per_channel));
  return binary("add", scaled, reshape(beta, per_channel));
}

TensorId GraphBuilder::linear(TensorId a, TensorId weight, TensorId bias) {
  const TensorId product = matmul(a, weight);
  return bias.valid() ? binary("add", product, bias) : product;
}

TensorId GraphBuilder::dropout(TensorId a, double ratio) {
  if (ratio == 0) return a;
  Attributes attrs;
  attrs.set("ratio", ratio);
  const Shape& shape = info(a).shape;
  const bool by_sample = graph_.sample_dimension == 0 && !shape.empty() && shape[0] % graph_.micro_batch == 0;
  attrs.set("samples", by_sample ? graph_.micro_batch : std::int64_t{0});
  const std::string name = fresh_name("dropout");
  attrs.set("key", static_cast<std::int64_t>(key_of(name)));
  return one("dropout", {a}, std::move(attrs), std::string_view(name).substr(scope_.empty() ? 0 : scope_.size() + 1));
}

TensorId GraphBuilder::cross_entropy(TensorId logits, TensorId labels, std::int64_t ignore, bool of_none_is_nan) {
  const DType type = statistics_type(info(logits).type);
  const TensorId peak = stop_gradient(reduce("max", logits, {-1}, true));
  const TensorId centred = binary("sub", logits, peak);
  const TensorId sum = reduce("sum", unary("exp", centred), {-1}, false, type);
  const TensorId hit = cast(one("pick", {centred, labels}), type);
  const TensorId loss = binary("sub", unary("log", sum), hit);
  const TensorId counted =
      cast(one("not_equal", {labels, scalar(info(labels).type, static_cast<double>(ignore))}), type);
  std::vector<std::int64_t> all;
  for (std::size_t d = 0; d < info(labels).shape.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
  const TensorId total = reduce("sum", binary("mul", loss, counted), all, false);
  const TensorId rows = reduce("sum", counted, all, false);
  return binary("div", total, of_none_is_nan ? rows : binary("max", rows, scalar(type, 1)));
}

}  // namespace superstep
