// SPDX-License-Identifier: Apache-2.0
// Reductions over dimensions and windows, and batch norm.
#include <algorithm>
#include <cmath>

#include "model/xla/writer.h"

namespace superstep::xla_import {

namespace {

struct Reduction {
  std::string_view opcode;  // of two numbers
  const char* op_type;      // over dimensions
  const char* pair;         // of two tensors
};
constexpr Reduction kReductions[] = {{"add", "ReduceSum", "Add"},       {"and", "ReduceMin", "And"},
                                     {"maximum", "ReduceMax", "Max"},   {"minimum", "ReduceMin", "Min"},
                                     {"multiply", "ReduceProd", "Mul"}, {"or", "ReduceMax", "Or"}};

const Reduction& reduction_of(const Call& c) {
  const std::string opcode = c.reducer();
  const auto* at = std::ranges::find(kReductions, opcode, &Reduction::opcode);
  if (at != std::end(kReductions)) return *at;
  throw Refusal{"reduces by \"" + opcode + "\"; write the reduction as a sum, product, minimum or maximum"};
}

// A reduction from this number on is one of the elements alone. Programs write the lowest number for minus infinity.
bool is_neutral(const std::string_view op, const Value& from) {
  constexpr double kLowest = -65504;  // of f16
  if (!from.number) return false;
  const double v = *from.number;
  if (op == "add" || op == "or") return v == 0;
  if (op == "multiply" || op == "and") return v == 1;
  return op == "maximum" ? v < kLowest || v == kLowest : v > -kLowest || v == -kLowest;
}

// Over axes, which are an operand of sums and an attribute of others.
std::string reduced(Writer& w, const std::string& op_type, const std::string& x, const Extents& axes) {
  const std::int64_t keep = 0;
  if (op_type == "ReduceSum") return w.add(op_type, {x, w.integers(axes)}, {{"keepdims", keep}});
  return w.add(op_type, {x}, {{"axes", axes}, {"keepdims", keep}});
}

std::shared_ptr<const Mean> mean_of(const Call& c, const std::string& x, const Extents& axes, double count) {
  const auto make = [w = &c.w, x, axes, empty = c.result("")] {
    Value result = empty;
    result.tensor = reduced(*w, "ReduceMean", x, axes);
    return result;
  };
  return std::make_shared<const Mean>(Mean{count, make});
}

// The extremum and its place: a computation of two pairs that compares the first of each.
Value with_places(Call& c, const Extents& axes) {
  const Computation& by = c.program.called(c.in, 0);
  std::string direction;
  for (const Instruction& in : by.instructions()) {
    const std::string& d = in.comparison_direction();
    if (in.opcode() == "compare" && d != "EQ" && d != "NE" && direction.empty()) direction = d.substr(0, 1);
  }
  const bool places = c.operands.size() == 4 && axes.size() == 1 && c.at(1).counts_along == axes[0] &&
                      c.in.shape().tuple_shapes_size() == 2;
  if (!places || (direction != "G" && direction != "L"))
    throw Refusal{"reduces several operands at once by \"" + by.name() +
                  "\", which is not known as the place of an extremum; reduce one operand"};
  const bool most = direction == "G";
  const std::string x = c.w.full(c.at(0));
  const Extents shape = {c.in.shape().tuple_shapes(0).dimensions().begin(),
                         c.in.shape().tuple_shapes(0).dimensions().end()};
  const std::string place =
      c.w.add(most ? "ArgMax" : "ArgMin", {x}, {{"axis", axes[0]}, {"keepdims", std::int64_t{0}}});
  Value tuple{.type = kTuple};
  tuple.parts.push_back(whole(c.at(0).type, shape, reduced(c.w, most ? "ReduceMax" : "ReduceMin", x, axes)));
  tuple.parts.push_back(
      whole(c.at(1).type, shape, c.w.add("Cast", {place}, {{"to", std::int64_t{onnx_type(c.at(1).type)}}})));
  return tuple;
}

Value reduce(Call& c) {
  const Extents axes(c.in.dimensions().begin(), c.in.dimensions().end());
  if (c.operands.size() != 2) return with_places(c, axes);
  const Reduction& reduction = reduction_of(c);
  const Value &x = c.at(0), &from = c.at(1);
  if (axes.empty()) return x;
  const std::string full = c.w.full(x);
  Value v = c.result(reduced(c.w, reduction.op_type, full, axes));
  if (!is_neutral(reduction.opcode, from)) {
    v.tensor = c.w.add(reduction.pair, {v.tensor, c.w.stored(from)});
    return v;
  }
  if (reduction.opcode == "add" && is_floating(x.type)) {
    const auto count = static_cast<double>(volume_of(permuted(x.shape, axes)));
    v.mean = mean_of(c, full, axes, count);
  }
  return v;
}

struct Pool {
  Extents order;    // of dimensions: two without a window, then those with one
  int missing = 0;  // of the first two
  Extents kernel, strides, dilations, pads;
};

Pool pool_of(const Call& c) {
  Pool p;
  Extents plain, windowed, low, high;
  for (int d = 0; d < c.in.window().dimensions_size(); ++d) {
    const auto& w = c.in.window().dimensions(d);
    if (w.base_dilation() > 1) throw Refusal{"spreads the operand of a pooling; spread it in an operation of its own"};
    const bool idle = w.size() == 1 && w.stride() <= 1 && w.padding_low() == 0 && w.padding_high() == 0;
    constexpr std::int64_t kMost = 1 << 24;
    if (w.size() < 1 || w.size() > kMost) throw std::out_of_range("window");
    (idle ? plain : windowed).push_back(d);
    if (idle) continue;
    if (w.padding_low() < 0 || w.padding_high() < 0)
      throw Refusal{"cuts the edges of what it pools; cut them with a slice"};
    p.kernel.push_back(w.size());
    p.strides.push_back(std::max<std::int64_t>(w.stride(), 1));
    p.dilations.push_back(std::max<std::int64_t>(w.window_dilation(), 1));
    low.push_back(w.padding_low());
    high.push_back(w.padding_high());
  }
  if (plain.size() > 2) throw Refusal{"windows with more than two dimensions that have none; join these by a reshape"};
  // Channels are where a convolution has them: before the windows, or behind.
  p.missing = 2 - static_cast<int>(plain.size());
  p.order = plain;
  p.order.insert(p.order.end(), windowed.begin(), windowed.end());
  p.pads = low;
  p.pads.insert(p.pads.end(), high.begin(), high.end());
  return p;
}

Value reduce_window(Call& c) {
  if (c.operands.size() != 2) throw Refusal{"windows over several operands; take one"};
  const Reduction& reduction = reduction_of(c);
  const bool sum = reduction.opcode == "add";
  if ((!sum && reduction.opcode != "maximum") || !is_neutral(reduction.opcode, c.at(1)))
    throw Refusal{"windows are imported of sums from 0 and of maxima from minus infinity alone"};
  if (!is_floating(c.type())) throw Refusal{"windows over " + name_of(c.type()) + "; convert to f32 first"};
  const Pool p = pool_of(c);
  const Value& x = c.at(0);
  if (p.order.size() != x.shape.size()) throw std::out_of_range("window");
  if (p.kernel.empty()) return x;
  Extents back(p.order.size()), ones;
  for (std::size_t i = 0; i < back.size(); ++i)
    back.at(static_cast<std::size_t>(p.order[i])) = static_cast<std::int64_t>(i);
  for (int i = 0; i < p.missing; ++i) ones.push_back(i);
  std::string in = transposed(c.w, c.w.full(x), p.order);
  if (p.missing > 0) in = c.w.add("Unsqueeze", {in, c.w.integers(ones)});
  std::vector<Attribute> attributes = {
      {"kernel_shape", p.kernel}, {"strides", p.strides}, {"dilations", p.dilations}, {"pads", p.pads}};
  if (std::ranges::all_of(p.dilations, [](std::int64_t d) { return d == 1; })) attributes.erase(attributes.begin() + 2);
  if (sum) attributes.emplace_back("count_include_pad", std::int64_t{1});
  if (sum && attributes.size() == 5) throw Refusal{"sums over windows with gaps; sum what a gather takes"};
  const auto finish = [w = &c.w, back, ones, empty = c.result("")](const std::string& y) {
    Value result = empty;
    result.tensor = transposed(*w, ones.empty() ? y : w->add("Squeeze", {y, w->integers(ones)}), back);
    return result;
  };
  const std::string pooled = c.w.add(sum ? "AveragePool" : "MaxPool", {in}, attributes);
  if (!sum) return finish(pooled);
  const auto count = static_cast<double>(volume_of(p.kernel));
  Value v = finish(c.w.add("Mul", {pooled, c.w.constant(count, c.type())}));
  v.mean = std::make_shared<const Mean>(Mean{count, [finish, pooled] { return finish(pooled); }});
  return v;
}

// x [.., features, ..] with features as dimension 1, and the order back.
struct FeaturesFirst {
  std::string tensor;
  Extents order;
};

FeaturesFirst features_first(const Call& c) {
  const Value& x = c.at(0);
  FeaturesFirst f;
  for (std::size_t d = 0; d < x.shape.size(); ++d) f.order.push_back(static_cast<std::int64_t>(d));
  const std::int64_t feature = c.in.feature_index();
  if (x.shape.size() < 2) throw Refusal{"batch norm of one dimension; write it out"};
  f.order.erase(f.order.begin() + f.order.at(static_cast<std::size_t>(feature)));
  f.order.insert(f.order.begin() + 1, feature);
  f.tensor = transposed(c.w, c.w.full(x), f.order);
  return f;
}

std::string features_back(Writer& w, const std::string& y, const Extents& order) {
  Extents back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back.at(static_cast<std::size_t>(order[i])) = static_cast<std::int64_t>(i);
  return transposed(w, y, back);
}

Value batch_norm_inference(Call& c) {
  const FeaturesFirst f = features_first(c);
  std::vector<std::string> operands = {f.tensor};
  for (std::size_t i = 1; i < 5; ++i) operands.push_back(c.w.full(c.at(i)));
  const std::string y = c.w.add("BatchNormalization", operands, {{"epsilon", c.in.epsilon()}});
  return c.result(features_back(c.w, y, f.order));
}

}  // namespace

const std::vector<Row>& reduce_rows() {
  static const std::vector<Row> rows = {
      {"batch-norm-inference", batch_norm_inference}, {"reduce", reduce}, {"reduce-window", reduce_window}};
  return rows;
}

}  // namespace superstep::xla_import
