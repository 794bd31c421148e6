// SPDX-License-Identifier: Apache-2.0
// Operators that are one op outside the core, and some made of lookups.
#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

TensorId scattered(Node& n, TensorId data, TensorId indices, TensorId updates, std::int64_t axis) {
  Attributes attrs;
  attrs.set("axis", axis);
  attrs.set("reduction", n.text_attribute("reduction", "none"));
  return n.b.one("scatter_elements", {data, indices, updates}, std::move(attrs));
}

Results scatter_elements(Node& n) {
  return {scattered(n, n.in(0), n.in(1), n.in(2), n.axis(n.integer_attribute("axis", 0), n.rank(0)))};
}

Results scatter_nd(Node& n) {
  Attributes attrs;
  attrs.set("reduction", n.text_attribute("reduction", "none"));
  return {n.b.one("scatter_nd", {n.in(0), n.in(1), n.in(2)}, std::move(attrs))};
}

// The places are those of the whole result, as MaxPool gives them.
Results max_unpool(Node& n) {
  GraphBuilder& b = n.b;
  const Shape from = n.shape(0);
  const auto dims = from.size() < 2 ? 0 : from.size() - 2;
  const std::vector<std::int64_t> window = n.integers_attribute("kernel_shape");
  const std::vector<std::int64_t> strides = n.integers_attribute("strides", std::vector<std::int64_t>(dims, 1));
  const std::vector<std::int64_t> pads = n.integers_attribute("pads", std::vector<std::int64_t>(2 * dims, 0));
  if (window.size() != dims || strides.size() != dims || pads.size() != 2 * dims)
    Node::fail("windows over " + to_text(from));
  Shape natural = from;
  for (std::size_t d = 0; d < dims; ++d) {
    natural[2 + d] = (from[2 + d] - 1) * strides[d] + window[d] - pads[d] - pads[dims + d];
  }
  checked_shape(natural, "result");
  const std::int64_t count = b.info(n.in(0)).elements();
  if (b.info(n.in(1)).elements() != count) Node::fail("places " + to_text(n.shape(1)) + " for " + to_text(from));
  const auto laid_out = [&](const Shape& shape) {
    const TensorId zeros = b.expand(b.scalar(n.type(0), 0), {volume(shape)});
    const TensorId places = b.reshape(n.in(1), {count}), values = b.reshape(n.in(0), {count});
    Attributes attrs;
    return b.reshape(b.one("scatter_elements", {zeros, places, values}, std::move(attrs)), shape);
  };
  if (!n.has(2)) return {laid_out(natural)};
  // Places count within the natural result; a larger one has zeros at the ends.
  const Shape wanted = checked_shape(n.integers(2, "output_shape"), "output_shape");
  if (wanted.size() != natural.size()) Node::fail("output_shape " + to_text(wanted));
  std::vector<std::int64_t> before(wanted.size(), 0), after;
  for (std::size_t d = 0; d < wanted.size(); ++d) after.push_back(wanted[d] - natural[d]);
  Attributes attrs;
  attrs.set("before", before);
  attrs.set("after", after);
  return {b.one("pad", {laid_out(natural)}, std::move(attrs))};
}

Results top_k(Node& n) {
  const std::int64_t axis = n.axis(n.integer_attribute("axis", -1), n.rank(0));
  Attributes attrs;
  attrs.set("axis", axis);
  attrs.set("k", n.opset < 10 ? n.integer_attribute("k", 1) : static_cast<std::int64_t>(n.number(1, "k")));
  attrs.set("largest", n.integer_attribute("largest", 1));
  n.integer_attribute("sorted", 1);  // in order is also a result where any order will do
  return n.b.add("top_k", {n.in(0)}, std::move(attrs));
}

Results grid_sample(Node& n) {
  std::string mode = n.text_attribute("mode", n.opset < 20 ? "bilinear" : "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  const std::string padding = n.text_attribute("padding_mode", "zeros");
  if (mode != "linear" && mode != "nearest" && mode != "cubic") Node::fail("mode \"" + mode + "\"");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    Node::fail("padding_mode \"" + padding + "\"");
  if (n.rank(0) != 4) Node::not_supported("samples of " + to_text(n.shape(0)));
  Attributes attrs;
  attrs.set("mode", mode);
  attrs.set("padding", padding);
  attrs.set("corners", n.integer_attribute("align_corners", 0));
  return {n.b.one("grid_sample", {n.in(0), n.in(1)}, std::move(attrs))};
}

Results roi_align(Node& n) {
  const std::string mode = n.text_attribute("mode", "avg");
  if (mode != "avg" && mode != "max") Node::fail("mode \"" + mode + "\"");
  const std::string coordinates =
      n.opset < 16 ? "output_half_pixel" : n.text_attribute("coordinate_transformation_mode", "half_pixel");
  Attributes attrs;
  attrs.set("mode", mode);
  attrs.set("height", n.integer_attribute("output_height", 1));
  attrs.set("width", n.integer_attribute("output_width", 1));
  attrs.set("sampling_ratio", n.integer_attribute("sampling_ratio", 0));
  attrs.set("spatial_scale", n.number_attribute("spatial_scale", 1));
  attrs.set("half_pixel", std::int64_t{coordinates == "half_pixel"});
  return {n.b.one("roi_align", {n.in(0), n.in(1), n.in(2)}, std::move(attrs))};
}

Results determinant(Node& n) { return {n.b.one("determinant", {n.in(0)})}; }

Results tf_idf(Node& n) {
  if (n.has_attribute("pool_strings")) Node::not_supported("n-grams of strings");
  Attributes attrs;
  attrs.set("mode", n.text_attribute("mode", "TF"));
  attrs.set("min_length", n.integer_attribute("min_gram_length", 1));
  attrs.set("max_length", n.integer_attribute("max_gram_length", 1));
  attrs.set("max_skip", n.integer_attribute("max_skip_count", 0));
  attrs.set("counts", n.integers_attribute("ngram_counts"));
  attrs.set("indexes", n.integers_attribute("ngram_indexes"));
  attrs.set("pool", n.integers_attribute("pool_int64s"));
  attrs.set("weights", n.numbers_attribute("weights"));
  return {n.b.one("tf_idf", {n.in(0)}, std::move(attrs))};
}

// The first `lengths` elements of each sequence in reverse order.
Results reverse_sequence(Node& n) {
  GraphBuilder& b = n.b;
  const std::int64_t batch_axis = n.integer_attribute("batch_axis", 1), time_axis = n.integer_attribute("time_axis", 0);
  if (n.rank(0) < 2 || batch_axis + time_axis != 1 || batch_axis * time_axis != 0) {
    Node::fail("batch_axis " + std::to_string(batch_axis) + ", time_axis " + std::to_string(time_axis));
  }
  std::vector<std::int64_t> order;
  for (std::int64_t d = 0; d < n.rank(0); ++d) order.push_back(d);
  if (time_axis == 0) std::swap(order[0], order[1]);
  const TensorId x = b.transpose(n.in(0), order);  // [batch, time, ...]
  const TensorId time = counting(b, b.info(x).shape[1]);
  const TensorId lengths = with_ones(b, b.cast(n.in(1), DType::int64), 1, 1);
  const TensorId turned = b.binary("sub", b.binary("sub", lengths, integer_constant(b, {}, {1})), time);
  Attributes attrs;
  attrs.set("axis", std::int64_t{1});
  attrs.set("batch_dims", std::int64_t{1});
  const TensorId places = b.one("where", {b.binary("less", time, lengths), turned, time});
  return {b.transpose(b.one("gather", {x, places}, std::move(attrs)), order)};
}

// Times a power of two, within the type.
Results bit_shift(Node& n) {
  GraphBuilder& b = n.b;
  const std::string direction = n.text_attribute("direction", "");
  if (n.type(0) != DType::uint8) Node::not_supported("shifts of " + std::string(name_of(n.type(0))));
  const TensorId x = b.cast(n.in(0), DType::fp64);
  const TensorId power = b.binary("pow", b.scalar(DType::fp64, 2), b.cast(n.in(1), DType::fp64));
  if (direction == "RIGHT") return {b.cast(b.unary("floor", b.binary("div", x, power)), DType::uint8)};
  if (direction != "LEFT") Node::fail("direction \"" + direction + "\"");
  return {b.cast(b.binary("mod", b.binary("mul", x, power), b.scalar(DType::fp64, 256)), DType::uint8)};
}

constexpr Handler kOpaqueHandlers[] = {
    {"BitShift", 11, 2, bit_shift},
    {"Det", 11, 1, determinant},
    {"GridSample", 16, 2, grid_sample},
    {"MaxUnpool", 9, 3, max_unpool},
    {"ReverseSequence", 10, 2, reverse_sequence},
    {"RoiAlign", 10, 3, roi_align},
    {"Scatter", 9, 3, scatter_elements},
    {"ScatterElements", 11, 3, scatter_elements},
    {"ScatterND", 11, 3, scatter_nd},
    {"TfIdfVectorizer", 9, 1, tf_idf},
    {"TopK", 1, 2, top_k},
};

}  // namespace

std::span<const Handler> opaque_handlers() { return kOpaqueHandlers; }

}  // namespace superstep::onnx_import
