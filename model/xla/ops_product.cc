// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and convolutions.
#include <algorithm>

#include "model/xla/writer.h"

namespace superstep::xla_import {

namespace {

// The letters of a product's operands and result.
struct Equation {
  std::string left, right, result;
};

Equation equation_of(const hlo_file::DotDimensionNumbers& n, std::size_t left, std::size_t right) {
  Equation e{std::string(left, ' '), std::string(right, ' '), ""};
  char next = 'a';
  const auto pair = [&](const auto& in_left, const auto& in_right) {
    for (int i = 0; i < in_left.size(); ++i, ++next) {
      e.left.at(static_cast<std::size_t>(in_left.at(i))) = next;
      e.right.at(static_cast<std::size_t>(in_right.at(i))) = next;
    }
  };
  pair(n.lhs_batch_dimensions(), n.rhs_batch_dimensions());
  for (char c = 'a'; c < next; ++c) e.result += c;
  pair(n.lhs_contracting_dimensions(), n.rhs_contracting_dimensions());
  for (std::string* letters : {&e.left, &e.right}) {
    for (char& c : *letters) {
      if (c == ' ') e.result += c = next++;
    }
  }
  return e;
}

// A matrix of weights behind a tensor of any rank, whose last dimension is contracted.
bool is_plain(const hlo_file::DotDimensionNumbers& n, const Value& x, const Value& y) {
  return n.lhs_batch_dimensions().empty() && y.shape.size() == 2 && n.lhs_contracting_dimensions_size() == 1 &&
         n.lhs_contracting_dimensions(0) == static_cast<std::int64_t>(x.shape.size()) - 1 &&
         n.rhs_contracting_dimensions(0) == 0;
}

Value dot(Call& c) {
  const hlo_file::DotDimensionNumbers& n = c.in.dot_dimension_numbers();
  const Value &x = c.at(0), &y = c.at(1);
  constexpr std::size_t kMostRank = 12;
  if (n.lhs_batch_dimensions_size() != n.rhs_batch_dimensions_size() ||
      n.lhs_contracting_dimensions_size() != n.rhs_contracting_dimensions_size() ||
      x.shape.size() + y.shape.size() > 2 * kMostRank)
    throw std::out_of_range("dimension numbers");
  const std::vector<std::string> operands = {c.w.full(x), c.w.full(y)};
  if (is_plain(n, x, y)) return c.result(c.w.add("MatMul", operands));
  const Equation e = equation_of(n, x.shape.size(), y.shape.size());
  return c.result(c.w.add("Einsum", operands, {{"equation", e.left + "," + e.right + "->" + e.result}}));
}

Extents with(std::int64_t first, std::int64_t second, const google::protobuf::RepeatedField<std::int64_t>& rest) {
  Extents out = {first, second};
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

struct Windows {
  Extents strides, dilations, low, high, between;  // between: the operand's dilation
  bool turned = false;                             // the weights, in all dimensions
};

Windows windows_of(const Call& c) {
  Windows w;
  int turned = 0;
  const auto& dimensions = c.in.window().dimensions();
  const auto at_least_one = [](std::int64_t v) { return std::max<std::int64_t>(v, 1); };
  for (const auto& d : dimensions) {
    constexpr std::int64_t kMost = 1 << 24;
    for (std::int64_t v : {d.stride(), d.window_dilation(), d.base_dilation(), d.padding_low(), d.padding_high()})
      if (v > kMost || v < -kMost) throw std::out_of_range("window");
    w.strides.push_back(at_least_one(d.stride()));
    w.dilations.push_back(at_least_one(d.window_dilation()));
    w.between.push_back(at_least_one(d.base_dilation()));
    w.low.push_back(d.padding_low());
    w.high.push_back(d.padding_high());
    turned += d.window_reversal();
  }
  if (turned != 0 && turned != dimensions.size())
    throw Refusal{"turns the window in some dimensions; turn it in all or none"};
  w.turned = turned > 0;
  return w;
}

// The window's weights in the opposite order.
std::string turned(Writer& w, const std::string& weights, std::size_t spatial) {
  Extents axes, starts(spatial, -1), ends(spatial, -(std::int64_t{1} << 31)), steps(spatial, -1);
  for (std::size_t d = 0; d < spatial; ++d) axes.push_back(static_cast<std::int64_t>(d) + 2);
  return w.add("Slice", {weights, w.integers(starts), w.integers(ends), w.integers(axes), w.integers(steps)});
}

Extents joined(const Extents& a, const Extents& b) {
  Extents out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// An operand with zeros between its elements: the convolution's gradient, with the weights the other way round.
std::string transposed_convolution(const Call& c, const std::string& x, const std::string& weights, const Windows& w,
                                   const Extents& kernel) {
  if (c.in.feature_group_count() > 1 || std::ranges::any_of(w.strides, [](std::int64_t s) { return s != 1; }))
    throw Refusal{"spreads the operand of a convolution with strides or groups; spread it in an operation of its own"};
  Extents before, after, more;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    const std::int64_t reach = (kernel[d] - 1) * w.dilations[d];
    if (reach < w.low[d]) throw Refusal{"pads by more than the window reaches; pad in an operation of its own"};
    before.push_back(reach - w.low[d]);
    after.push_back(std::max<std::int64_t>(reach - w.high[d], 0));
    more.push_back(std::max<std::int64_t>(w.high[d] - reach, 0));
  }
  Extents order = {1, 0};  // input features first
  for (std::size_t d = 0; d < kernel.size(); ++d) order.push_back(static_cast<std::int64_t>(d) + 2);
  const std::string in_first = transposed(c.w, weights, order);
  return c.w.add(
      "ConvTranspose", {x, w.turned ? in_first : turned(c.w, in_first, kernel.size())},
      {{"strides", w.between}, {"dilations", w.dilations}, {"pads", joined(before, after)}, {"output_padding", more}});
}

Value convolution(Call& c) {
  const hlo_file::ConvolutionDimensionNumbers& n = c.in.convolution_dimension_numbers();
  if (c.in.batch_group_count() > 1)
    throw Refusal{"groups along the batch, as the gradient of a grouped convolution; dump the forward pass alone"};
  if (n.input_spatial_dimensions().empty()) throw Refusal{"a convolution without a window; use a product"};
  const Windows w = windows_of(c);
  const Extents order = with(n.input_batch_dimension(), n.input_feature_dimension(), n.input_spatial_dimensions());
  const Extents weights_order =
      with(n.kernel_output_feature_dimension(), n.kernel_input_feature_dimension(), n.kernel_spatial_dimensions());
  const Extents result_order =
      with(n.output_batch_dimension(), n.output_feature_dimension(), n.output_spatial_dimensions());
  if (order.size() != c.at(0).shape.size() || weights_order.size() != c.at(1).shape.size() ||
      weights_order.size() != order.size() || w.strides.size() + 2 != order.size() ||
      result_order.size() != order.size())
    throw std::out_of_range("dimension numbers");
  const std::string x = transposed(c.w, c.w.full(c.at(0)), order);
  const std::string weights = transposed(c.w, c.w.full(c.at(1)), weights_order);
  const Extents kernel = permuted(c.at(1).shape, Extents(weights_order.begin() + 2, weights_order.end()));
  if (std::ranges::any_of(w.between, [](std::int64_t b) { return b > 1; }))
    return c.result(transposed(c.w, transposed_convolution(c, x, weights, w, kernel), inverse(result_order)));
  if (std::ranges::any_of(joined(w.low, w.high), [](std::int64_t p) { return p < 0; }))
    throw Refusal{"a convolution that cuts its operand's edges; cut them with a slice"};
  const std::string y = c.w.add("Conv", {x, w.turned ? turned(c.w, weights, kernel.size()) : weights},
                                {{"strides", w.strides},
                                 {"dilations", w.dilations},
                                 {"pads", joined(w.low, w.high)},
                                 {"group", std::max<std::int64_t>(c.in.feature_group_count(), 1)}});
  return c.result(transposed(c.w, y, inverse(result_order)));
}

}  // namespace

const std::vector<Row>& product_rows() {
  static const std::vector<Row> rows = {{"convolution", convolution}, {"dot", dot}};
  return rows;
}

}  // namespace superstep::xla_import
