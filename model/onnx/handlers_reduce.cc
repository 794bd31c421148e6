// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, positions of extrema, and running sums.
#include <algorithm>
#include <limits>
#include <optional>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

struct Reduced {
  TensorId x;
  std::vector<std::int64_t> axes;
  bool keep = true;
  bool nothing = false;  // no axes, and asked to do nothing then
};

// Axes are an attribute, or since `as_operand` a second operand; none means all.
Reduced reduced(Node& n, std::int64_t as_operand) {
  Reduced r;
  r.x = n.in(0);
  r.keep = n.integer_attribute("keepdims", 1) != 0;
  if (n.opset < as_operand) r.axes = n.integers_attribute("axes");
  const bool noop = n.opset >= as_operand && n.integer_attribute("noop_with_empty_axes", 0) != 0;
  if (n.opset >= as_operand && n.has(1)) r.axes = n.integers(1, "axes");
  const std::int64_t rank = n.rank(0);
  r.nothing = r.axes.empty() && noop;
  if (r.axes.empty() && !noop) {
    for (std::int64_t d = 0; d < rank; ++d) r.axes.push_back(d);
  }
  r.axes = n.axes(std::move(r.axes), rank);
  return r;
}

TensorId reduce(Node& n, std::string_view kind, TensorId x, const Reduced& r) {
  return r.axes.empty() ? x : n.b.reduce(kind, x, r.axes, r.keep);
}

constexpr std::int64_t kSumAxesAsOperand = 13, kAxesAsOperand = 18;

Results reduce_sum(Node& n) {
  const Reduced r = reduced(n, kSumAxesAsOperand);
  return {reduce(n, "sum", r.x, r)};
}

// Truth is reduced as the numbers 0 and 1.
Results reduce_plain(Node& n) {
  const Reduced r = reduced(n, kAxesAsOperand);
  if (n.type(0) != DType::boolean) return {reduce(n, n.core, r.x, r)};
  return {n.b.cast(reduce(n, n.core, n.b.cast(r.x, DType::uint8), r), DType::boolean)};
}

Results reduce_sum_square(Node& n) {
  const Reduced r = reduced(n, kAxesAsOperand);
  return {r.axes.empty() ? n.b.unary("square", r.x) : reduce(n, "sum_square", r.x, r)};
}

Results reduce_l1(Node& n) {
  const Reduced r = reduced(n, kAxesAsOperand);
  const TensorId size = n.b.unary("abs", r.x);
  return {r.nothing ? size : reduce(n, "sum", size, r)};
}

Results reduce_l2(Node& n) {
  const Reduced r = reduced(n, kAxesAsOperand);
  if (r.axes.empty()) return {n.b.unary("abs", r.x)};
  return {n.b.unary("sqrt", reduce(n, "sum_square", r.x, r))};
}

Results reduce_log_sum(Node& n) {
  const Reduced r = reduced(n, kAxesAsOperand);
  return {n.b.unary("log", r.nothing ? r.x : reduce(n, "sum", r.x, r))};
}

// max + log sum exp(x - max), which does not overflow. A finite number stands for an infinite maximum, whose difference
// from itself is no number.
Results reduce_log_sum_exp(Node& n) {
  const Reduced r = reduced(n, kAxesAsOperand);
  if (r.nothing || r.axes.empty()) return {r.x};
  GraphBuilder& b = n.b;
  const DType type = b.info(r.x).type;
  const double limit = largest_number(type);
  const TensorId largest = b.reduce("max", r.x, r.axes, true);
  const TensorId peak =
      b.stop_gradient(b.binary("min", b.binary("max", largest, b.scalar(type, -limit)), b.scalar(type, limit)));
  const TensorId sum = b.reduce("sum", b.unary("exp", b.binary("sub", r.x, peak)), r.axes, true);
  const TensorId result = b.binary("add", b.unary("log", sum), peak);
  if (r.keep) return {result};
  Shape shape = b.info(result).shape;
  for (auto axis = r.axes.rbegin(); axis != r.axes.rend(); ++axis) shape.erase(shape.begin() + *axis);
  return {b.reshape(result, std::move(shape))};
}

// The smallest (or largest) position that has the extremum. NaN is one, as in PyTorch.
Results arg_extremum(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 0), n.rank(0));
  const bool keep = n.integer_attribute("keepdims", 1) != 0;
  const bool last = n.opset >= 12 && n.integer_attribute("select_last_index", 0) != 0;
  const auto d = static_cast<std::size_t>(axis);
  const std::int64_t extent = n.shape(0)[d];
  const TensorId places = with_ones(b, counting(b, extent), 1, n.shape(0).size() - d - 1);
  TensorId hit = b.binary("equal", x, b.reduce(n.core, x, {axis}, true));
  if (is_float(n.type(0))) hit = b.binary("or", hit, b.unary("is_nan", x));
  const TensorId none = integer_constant(b, {}, {last ? -1 : extent});
  const TensorId found = b.one("where", {hit, places, none});
  return {b.reduce(last ? "max" : "min", found, {axis}, keep)};
}

// x with `value` `by` times before its first element along the axis, and as many elements less at the end; or the other
// way round.
TensorId moved_on(GraphBuilder& b, TensorId x, std::int64_t axis, std::int64_t by, bool reverse, double value) {
  const Shape shape = b.info(x).shape;
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> before(shape.size()), after(shape.size());
  (reverse ? after : before)[static_cast<std::size_t>(axis)] = by;
  const TensorId rest = reverse ? b.slice(x, axis, by, extent) : b.slice(x, axis, 0, extent - by);
  Attributes attrs;
  attrs.set("before", before);
  attrs.set("after", after);
  attrs.set("value", value);
  return b.one("pad", {rest}, std::move(attrs));
}

// Sums or products of 1, 2, 4, ... elements, each of two of half as many. What is not finite reaches no earlier one.
Results cumulate(Node& n) {
  GraphBuilder& b = n.b;
  const std::vector<std::int64_t> wanted = n.integers(1, "axis");
  if (wanted.size() != 1) Node::fail("axis is not a number");
  const bool exclusive = n.integer_attribute("exclusive", 0) != 0, reverse = n.integer_attribute("reverse", 0) != 0;
  const std::int64_t axis = n.axis(wanted[0], n.rank(0)), extent = n.shape(0)[static_cast<std::size_t>(axis)];
  TensorId x = n.in(0);
  const double none = n.core == "mul" ? 1 : 0;
  if (exclusive && extent > 0) x = moved_on(b, x, axis, 1, reverse, none);
  for (std::int64_t reach = 1; reach < extent; reach *= 2)
    x = b.binary(n.core, x, moved_on(b, x, axis, reach, reverse, none));
  return {x};
}

constexpr Handler kReduceHandlers[] = {
    {"ArgMax", 1, 1, arg_extremum, "max"},
    {"ArgMin", 1, 1, arg_extremum, "min"},
    {"CumProd", 26, 2, cumulate, "mul"},
    {"CumSum", 11, 2, cumulate, "add"},
    {"ReduceL1", 1, 2, reduce_l1},
    {"ReduceL2", 1, 2, reduce_l2},
    {"ReduceLogSum", 1, 2, reduce_log_sum},
    {"ReduceLogSumExp", 1, 2, reduce_log_sum_exp},
    {"ReduceMax", 1, 2, reduce_plain, "max"},
    {"ReduceMean", 1, 2, reduce_plain, "mean"},
    {"ReduceMin", 1, 2, reduce_plain, "min"},
    {"ReduceProd", 1, 2, reduce_plain, "prod"},
    {"ReduceSum", 1, 2, reduce_sum},
    {"ReduceSumSquare", 1, 2, reduce_sum_square},
};

}  // namespace

std::span<const Handler> reduce_handlers() { return kReduceHandlers; }

}  // namespace superstep::onnx_import
