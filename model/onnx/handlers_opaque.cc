// SPDX-License-Identifier: Apache-2.0
// Scatters, and operators that are one op outside the core.
#include <algorithm>

#include "model/graph/op_def.h"
#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

// The sum of data and what floating `updates` add at the places along the axis.
TensorId added(GraphBuilder& b, TensorId data, TensorId indices, TensorId updates, std::int64_t axis) {
  const std::int64_t rows = b.info(data).shape[static_cast<std::size_t>(axis)], rank = b.info(data).shape.size();
  const Shape places = b.info(indices).shape;
  Attributes attrs;
  attrs.set("rows", rows);
  if (volume(places) == places[static_cast<std::size_t>(axis)]) {  // the same for all beside the axis
    attrs.set("axis", axis);
    const TensorId list = b.reshape(indices, {volume(places)});
    return b.binary("add", data, b.one("scatter_add", {updates, list}, std::move(attrs)));
  }
  attrs.set("axis", rank - 1);
  attrs.set("batch_dims", rank - 1);
  const TensorId sum =
      b.one("scatter_add", {axis_last(b, updates, axis), axis_last(b, indices, axis)}, std::move(attrs));
  return b.binary("add", data, axis_from_last(b, sum, axis));
}

// Indices that were expanded beside the axis, as they were before.
TensorId narrow(GraphBuilder& b, TensorId indices, std::int64_t axis) {
  const Graph& graph = b.graph();
  const OpId producer = graph.tensors[indices].producer;
  if (!producer.valid() || graph.ops[producer].def->name != "expand") return indices;
  const TensorId from = graph.ops[producer].inputs[0];
  Shape shape = b.info(from).shape;
  shape.insert(shape.begin(), b.info(indices).shape.size() - shape.size(), 1);
  const std::int64_t along = shape[static_cast<std::size_t>(axis)];
  const bool same = along == volume(shape) && along == b.info(indices).shape[static_cast<std::size_t>(axis)];
  return same ? b.reshape(from, shape) : indices;
}

TensorId scattered(Node& n, TensorId data, TensorId indices, TensorId updates, std::int64_t axis) {
  GraphBuilder& b = n.b;
  const std::string reduction = n.text_attribute("reduction", "none");
  if (reduction == "add" && is_float(b.info(data).type)) return added(b, data, indices, updates, axis);
  Attributes attrs;
  attrs.set("axis", axis);
  attrs.set("reduction", reduction);
  const bool writes = reduction == "none" || reduction == "add";
  return b.one(writes ? "scatter_elements" : "scatter_join", {data, indices, updates}, std::move(attrs));
}

// Where indices end before the data do, beside the axis, the rest of the data stays.
Results scatter_elements(Node& n) {
  GraphBuilder& b = n.b;
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 0), n.rank(0));
  const Shape shape = n.shape(0), places = n.shape(1);
  if (places.size() != shape.size() || places != n.shape(2))
    Node::fail("updates " + to_text(n.shape(2)) + " at " + to_text(places) + " into " + to_text(shape));
  TensorId data = n.in(0);
  std::vector<std::pair<std::int64_t, TensorId>> rest;  // by dimension
  for (std::int64_t d = 0; d < n.rank(0); ++d) {
    const std::int64_t all = shape[static_cast<std::size_t>(d)], some = places[static_cast<std::size_t>(d)];
    if (d == axis || all == some) continue;
    if (some > all) Node::fail("indices " + to_text(places) + " into " + to_text(shape));
    rest.emplace_back(d, b.slice(data, d, some, all));
    data = b.slice(data, d, 0, some);
  }
  TensorId y = scattered(n, data, narrow(b, n.in(1), axis), n.in(2), axis);
  for (auto part = rest.rbegin(); part != rest.rend(); ++part) y = b.concat({y, part->second}, part->first);
  return {y};
}

// Tuples of indices as single indices into the leading dimensions that they name, made one; what is left is a row.
Results scatter_nd(Node& n) {
  GraphBuilder& b = n.b;
  const Shape data = n.shape(0), indices = n.shape(1);
  const bool fits = !indices.empty() && indices.back() >= 0 && indices.back() <= n.rank(0);
  Shape wanted(indices.begin(), indices.end() - (indices.empty() ? 0 : 1));
  if (fits) wanted.insert(wanted.end(), data.begin() + indices.back(), data.end());
  if (!fits || wanted != n.shape(2))
    Node::fail("updates " + to_text(n.shape(2)) + " at " + to_text(indices) + " into " + to_text(data));
  const Shape named(data.begin(), data.begin() + indices.back());
  const std::int64_t row = volume(data) / std::max<std::int64_t>(volume(named), 1);
  const std::int64_t places = volume(Shape(indices.begin(), indices.end() - 1));
  const TensorId index = b.reshape(joined_indices(b, n.in(1), named), {places, 1});
  const TensorId rows = b.reshape(n.in(0), {volume(named), row}), updates = b.reshape(n.in(2), {places, row});
  return {b.reshape(scattered(n, rows, index, updates, 0), data)};
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

constexpr Handler kOpaqueHandlers[] = {
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
