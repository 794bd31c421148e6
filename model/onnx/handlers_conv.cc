// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling.
#include <algorithm>

#include "model/onnx/handlers.h"
#include "model/ops/window.h"

namespace superstep::onnx_import {

namespace {

using Numbers = std::vector<std::int64_t>;
using ops::spatial;

struct Window {
  Numbers extents, strides, dilations, before, after;
};

Numbers per_dimension(Node& n, std::string_view name, std::int64_t fallback, std::size_t dims) {
  Numbers values = n.integers_attribute(name, Numbers(dims, fallback));
  if (values.size() != dims)
    Node::fail("attribute \"" + std::string(name) + "\" is " + to_text(values) + " for " + std::to_string(dims) +
               " spatial dimensions");
  constexpr std::int64_t kMost = 1 << 30;
  for (std::int64_t v : values) {
    if (v < std::min<std::int64_t>(fallback, 1) || v > kMost)
      Node::fail("attribute \"" + std::string(name) + "\" is " + to_text(values));
  }
  return values;
}

void check_rank(const Node& n) {
  if (n.rank(0) < 3) Node::fail("operand 0 has shape " + to_text(n.shape(0)) + ", expected spatial dimensions");
}

std::int64_t reach(const Window& w, std::size_t d) { return (w.extents[d] - 1) * w.dilations[d] + 1; }

// `auto_pad` of SAME: as many windows as strides, what is missing shared by both ends.
void pad_to_same(Window& w, const Shape& from, bool more_before) {
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::int64_t windows = (from[d] + w.strides[d] - 1) / w.strides[d];
    const std::int64_t missing = std::max<std::int64_t>((windows - 1) * w.strides[d] + reach(w, d) - from[d], 0);
    w.before[d] = more_before ? (missing + 1) / 2 : missing / 2;
    w.after[d] = missing - w.before[d];
  }
}

// Windows of `extents` over `from`.
Window window(Node& n, const Shape& from, Numbers extents) {
  const std::size_t dims = from.size();
  Window w{std::move(extents), per_dimension(n, "strides", 1, dims), per_dimension(n, "dilations", 1, dims), {}, {}};
  const Numbers pads = per_dimension(n, "pads", 0, 2 * dims);
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims));
  w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(dims), pads.end());
  const std::string automatic = n.text_attribute("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") pad_to_same(w, from, automatic == "SAME_LOWER");
  if (automatic == "VALID") w.before = w.after = Numbers(dims, 0);
  if (w.extents.size() != dims) Node::fail("window " + to_text(w.extents) + " over " + to_text(from));
  return w;
}

Attributes attributes(const Window& w) {
  Attributes attrs;
  attrs.set("strides", w.strides);
  attrs.set("dilations", w.dilations);
  attrs.set("pads_begin", w.before);
  attrs.set("pads_end", w.after);
  return attrs;
}

TensorId with_bias(Node& n, TensorId y) {
  if (!n.has(2)) return y;
  return n.b.binary("add", y, with_ones(n.b, n.in(2), 1, n.b.info(y).shape.size() - 2));
}

Results conv(Node& n) {
  Node::need("conv");
  return {with_bias(n, convolution(n, n.in(0), n.in(1)))};
}

// The pads that give `to` when windows are laid from `from` elements; as `auto_pad` says.
void pad_to(Window& w, const Shape& from, const Shape& to, const Numbers& more, bool more_before) {
  for (std::size_t d = 0; d < from.size(); ++d) {
    std::int64_t total = w.strides[d] * (from[d] - 1) + more[d] + reach(w, d) - to[d];
    if (total <= -w.strides[d]) Node::not_supported("an output shape that needs negative pads");
    total = std::max<std::int64_t>(total, 0);  // what is beyond the last window is zero
    w.before[d] = more_before ? (total + 1) / 2 : total / 2;
    w.after[d] = total - w.before[d];
  }
}

// The gradient of a convolution with respect to its operand.
Results conv_transpose(Node& n) {
  Node::need("conv_input_grad");
  check_rank(n);
  const Shape from = spatial(n.shape(0)), kernel = spatial(n.shape(1));
  if (n.rank(1) != n.rank(0)) Node::fail("weights " + to_text(n.shape(1)) + " for operand " + to_text(n.shape(0)));
  if (n.integers_attribute("kernel_shape", kernel) != kernel)
    Node::fail("kernel_shape differs from weights " + to_text(n.shape(1)));
  const Numbers more = per_dimension(n, "output_padding", 0, from.size());
  const std::string automatic = n.text_attribute("auto_pad", "NOTSET");
  Window w = window(n, from, kernel);
  Numbers to = n.integers_attribute("output_shape");
  if (!to.empty() && to.size() != from.size()) Node::fail("output_shape " + to_text(to));
  if (to.empty() && automatic.starts_with("SAME")) {
    for (std::size_t d = 0; d < from.size(); ++d) to.push_back(from[d] * w.strides[d]);
  }
  if (!to.empty()) pad_to(w, from, checked_shape(to, "output_shape"), more, automatic != "SAME_UPPER");
  if (to.empty()) {
    for (std::size_t d = 0; d < from.size(); ++d) {
      to.push_back(w.strides[d] * (from[d] - 1) + more[d] + reach(w, d) - w.before[d] - w.after[d]);
    }
  }
  Attributes attrs = attributes(w);
  attrs.set("groups", n.integer_attribute("group", 1));
  attrs.set("spatial", checked_shape(to, "result"));
  return {with_bias(n, n.b.one("conv_input_grad", {n.in(0), n.in(1)}, std::move(attrs)))};
}

// A last window that is not full, where `ceil_mode` asks for one. Returns true if there is one.
bool widen(Node& n, Window& w, const Shape& from) {
  if (n.integer_attribute("ceil_mode", 0) == 0) return false;
  bool widened = false;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::int64_t room = from[d] + w.before[d] + w.after[d] - reach(w, d);
    const std::int64_t rest = room >= 0 ? room % w.strides[d] : 0;
    const std::int64_t start = (room / w.strides[d] + 1) * w.strides[d] - w.before[d];
    if (rest == 0 || start >= from[d]) continue;  // no window begins in the padding after
    w.after[d] += w.strides[d] - rest;
    widened = true;
  }
  return widened;
}

Window pool_window(Node& n) {
  check_rank(n);
  const std::size_t dims = n.shape(0).size() - 2;
  if (!n.has_attribute("kernel_shape")) Node::fail("attribute \"kernel_shape\" is missing");
  return window(n, spatial(n.shape(0)), per_dimension(n, "kernel_shape", 1, dims));
}

Results max_pool(Node& n) {
  Node::need("max_pool");
  Window w = pool_window(n);
  widen(n, w, spatial(n.shape(0)));
  const std::int64_t columns = n.integer_attribute("storage_order", 0);
  Attributes attrs = attributes(w);
  attrs.set("window", w.extents);
  Results results{n.b.one("max_pool", {n.in(0)}, attrs)};
  if (!n.wants_result(1)) return results;
  attrs.set("columns", columns);
  results.push_back(n.b.one("max_pool_places", {n.in(0)}, std::move(attrs)));
  return results;
}

// x with the zeros of the window's pads.
TensorId padded(GraphBuilder& b, TensorId x, const Window& w) {
  Numbers before(2), after(2);
  before.insert(before.end(), w.before.begin(), w.before.end());
  after.insert(after.end(), w.after.begin(), w.after.end());
  return with_zeros(b, x, before, after);
}

Results average_pool(Node& n) {
  Node::need("average_pool");
  Window w = pool_window(n);
  const bool count_pads = n.integer_attribute("count_include_pad", 0) != 0;
  const Window given = w;
  TensorId x = n.in(0);
  const bool widened = widen(n, w, spatial(n.shape(0)));
  if (widened && count_pads) {  // pads count, what is beyond them does not
    x = padded(n.b, x, given);
    for (std::size_t d = 0; d < w.before.size(); ++d) w.after[d] -= given.after[d], w.before[d] = 0;
  }
  Attributes attrs = attributes(w);
  attrs.set("window", w.extents);
  attrs.set("count_include_pad", std::int64_t{count_pads && !widened});
  return {n.b.one("average_pool", {x}, std::move(attrs))};
}

// The sum of |x|^p over a window, as a mean of so many; then its p-th root.
TensorId root_of_powers(GraphBuilder& b, TensorId mean, double count, double p) {
  const TensorId sum = b.scale(mean, count);
  if (p == 1) return sum;
  return p == 2 ? b.unary("sqrt", sum) : b.binary("pow", sum, b.scalar(b.info(sum).type, 1 / p));
}

TensorId powers(GraphBuilder& b, TensorId x, double p) {
  if (p == 2) return b.unary("square", x);
  const TensorId size = b.unary("abs", x);
  return p == 1 ? size : b.binary("pow", size, b.scalar(b.info(x).type, p));
}

Results lp_pool(Node& n) {
  Node::need("average_pool");
  Window w = pool_window(n);
  widen(n, w, spatial(n.shape(0)));
  const auto p = static_cast<double>(n.integer_attribute("p", 2));
  Attributes attrs = attributes(w);
  attrs.set("window", w.extents);
  attrs.set("count_include_pad", std::int64_t{1});
  const TensorId mean = n.b.one("average_pool", {powers(n.b, n.in(0), p)}, std::move(attrs));
  return {root_of_powers(n.b, mean, static_cast<double>(volume(w.extents)), p)};
}

Results global_lp_pool(Node& n) {
  check_rank(n);
  const auto p = static_cast<double>(n.integer_attribute("p", 2));
  Numbers axes;
  for (std::int64_t d = 2; d < n.rank(0); ++d) axes.push_back(d);
  return {root_of_powers(n.b, n.b.reduce("sum", powers(n.b, n.in(0), p), std::move(axes), true), 1, p)};
}

Results global_pool(Node& n) {
  check_rank(n);
  Numbers axes;
  for (std::int64_t d = 2; d < n.rank(0); ++d) axes.push_back(d);
  return {n.b.reduce(n.core, n.in(0), std::move(axes), true)};
}

constexpr Handler kConvHandlers[] = {
    {"AveragePool", 1, 1, average_pool},         {"Conv", 1, 3, conv},
    {"ConvTranspose", 1, 3, conv_transpose},     {"GlobalAveragePool", 1, 1, global_pool, "mean"},
    {"GlobalMaxPool", 1, 1, global_pool, "max"}, {"MaxPool", 1, 1, max_pool},
    {"GlobalLpPool", 2, 1, global_lp_pool},      {"LpPool", 2, 1, lp_pool},
};

}  // namespace

TensorId convolution(Node& n, TensorId x, TensorId w) {
  const Shape operand = n.b.info(x).shape, weights = n.b.info(w).shape;
  check_rank(n);
  if (weights.size() != operand.size()) Node::fail("weights " + to_text(weights) + " for operand " + to_text(operand));
  const Shape kernel = spatial(weights);
  if (n.integers_attribute("kernel_shape", kernel) != kernel)
    Node::fail("kernel_shape differs from weights " + to_text(weights));
  Attributes attrs = attributes(window(n, spatial(operand), kernel));
  attrs.set("groups", n.integer_attribute("group", 1));
  return n.b.one("conv", {x, w}, std::move(attrs));
}

std::span<const Handler> conv_handlers() { return kConvHandlers; }

}  // namespace superstep::onnx_import
