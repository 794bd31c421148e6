// SPDX-License-Identifier: Apache-2.0
// Lookups, choices and masks.
#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

void want_integers(const Node& n, std::size_t i) {
  if (is_float(n.type(i))) Node::fail("indices are " + std::string(name_of(n.type(i))) + ", expected integers");
}

// Indices counted from the end, counted from the front.
TensorId from_front(GraphBuilder& b, TensorId indices, std::int64_t extent) {
  const DType type = b.info(indices).type;
  const TensorId negative = b.binary("less", indices, b.scalar(type, 0));
  const TensorId turned = b.binary("add", indices, b.scalar(type, static_cast<double>(extent)));
  return b.one("where", {negative, turned, indices});
}

Results gather(Node& n) {
  GraphBuilder& b = n.b;
  want_integers(n, 1);
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 0), n.rank(0));
  const std::int64_t extent = n.shape(0)[static_cast<std::size_t>(axis)];
  const Array* known = n.known(n.in(1));
  if (!known || known->info.elements() != 1 || n.rank(1) > 0) return {gather_axis(b, n.in(0), n.in(1), axis)};
  std::int64_t place = integers_of(*known)[0];  // one known place: a slice
  if (place < 0) place += extent;
  if (place < 0 || place >= extent)
    Node::fail("index " + std::to_string(place) + " is outside of " + std::to_string(extent) + " elements");
  Shape shape = n.shape(0);
  shape.erase(shape.begin() + axis);
  return {b.reshape(b.slice(n.in(0), axis, place, place + 1), std::move(shape))};
}

Results gather_elements(Node& n) {
  GraphBuilder& b = n.b;
  want_integers(n, 1);
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 0), n.rank(0));
  if (n.rank(1) != n.rank(0)) Node::fail("data and indices differ in rank");
  TensorId data = n.in(0);
  const Shape places = n.shape(1);
  for (std::int64_t d = 0; d < n.rank(0); ++d) {
    if (d != axis) data = b.slice(data, d, 0, places[static_cast<std::size_t>(d)]);
  }
  Attributes attrs;
  attrs.set("axis", n.rank(0) - 1);
  attrs.set("batch_dims", n.rank(0) - 1);
  const TensorId found = b.one("gather", {axis_last(b, data, axis), axis_last(b, n.in(1), axis)}, std::move(attrs));
  return {axis_from_last(b, found, axis)};
}

// Tuples of indices as single indices into the dimensions they name, made one.
Results gather_nd(Node& n) {
  GraphBuilder& b = n.b;
  want_integers(n, 1);
  const std::int64_t batch = n.integer_attribute("batch_dims", 0);
  const Shape data = n.shape(0), indices = n.shape(1);
  if (indices.empty() || batch < 0 || batch >= static_cast<std::int64_t>(indices.size()) ||
      batch + indices.back() > static_cast<std::int64_t>(data.size())) {
    Node::fail("indices " + to_text(indices) + " into " + to_text(data));
  }
  const Shape extents(data.begin() + batch, data.begin() + batch + indices.back());
  Shape joined(data.begin(), data.begin() + batch);
  joined.push_back(volume(extents));
  joined.insert(joined.end(), data.begin() + batch + indices.back(), data.end());
  Attributes attrs;
  attrs.set("axis", batch);
  attrs.set("batch_dims", batch);
  return {b.one("gather", {b.reshape(n.in(0), joined), joined_indices(b, n.in(1), extents)}, std::move(attrs))};
}

Results where(Node& n) { return {n.b.one("where", {n.in(0), n.in(1), n.in(2)})}; }

Results one_hot(Node& n) {
  GraphBuilder& b = n.b;
  const std::vector<std::int64_t> depths = n.integers(1, "depth");
  if (depths.size() != 1 || depths[0] < 0 || depths[0] > 1 << 24) Node::fail("depth " + to_text(depths));
  const std::int64_t depth = depths[0], rank = n.rank(0) + 1;
  const std::int64_t axis = n.axis(n.integer_attribute("axis", -1), rank);
  const TensorId indices = from_front(b, b.cast(n.in(0), DType::int64), depth);
  const TensorId classes = with_ones(b, counting(b, depth), 1, static_cast<std::size_t>(rank - axis - 1));
  const TensorId hit = b.binary("equal", with_ones(b, indices, static_cast<std::size_t>(axis), 1), classes);
  if (n.shape(2) != Shape{2}) Node::fail("values " + to_text(n.shape(2)) + ", expected two");
  const TensorId off = b.reshape(b.slice(n.in(2), 0, 0, 1), {}), on = b.reshape(b.slice(n.in(2), 0, 1, 2), {});
  return {b.one("where", {hit, on, off})};
}

// True where column - row lies at or above (upper) or at or below the diagonal k.
TensorId triangle(GraphBuilder& b, std::int64_t rows, std::int64_t columns, std::int64_t k, bool upper) {
  const TensorId row = b.reshape(counting(b, rows), {rows, 1}), column = counting(b, columns);
  const TensorId distance = b.binary("sub", column, row), diagonal = integer_constant(b, {}, {k});
  return b.binary(upper ? "greater_equal" : "less_equal", distance, diagonal);
}

Results trilu(Node& n) {
  GraphBuilder& b = n.b;
  const bool upper = n.integer_attribute("upper", 1) != 0;
  std::int64_t k = 0;
  if (n.has(1)) k = static_cast<std::int64_t>(n.number(1, "k"));
  const Shape& shape = n.shape(0);
  if (shape.size() < 2) Node::fail("a matrix is expected, found " + to_text(shape));
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const TensorId mask = triangle(b, rows, columns, k, upper);
  return {b.one("where", {mask, n.in(0), b.scalar(n.type(0), 0)})};
}

Results eye_like(Node& n) {
  GraphBuilder& b = n.b;
  const std::int64_t k = n.integer_attribute("k", 0);
  const DType type = type_named(n, "dtype", n.type(0));
  if (n.rank(0) != 2) Node::fail("a matrix is expected, found " + to_text(n.shape(0)));
  const std::int64_t rows = n.shape(0)[0], columns = n.shape(0)[1];
  const TensorId diagonal = b.binary("and", triangle(b, rows, columns, k, true), triangle(b, rows, columns, k, false));
  return {b.cast(diagonal, type)};
}

constexpr Handler kIndexHandlers[] = {
    {"EyeLike", 9, 1, eye_like},    {"Gather", 1, 2, gather},  {"GatherElements", 11, 2, gather_elements},
    {"GatherND", 11, 2, gather_nd}, {"OneHot", 9, 3, one_hot}, {"Trilu", 14, 2, trilu},
    {"Where", 9, 3, where},
};

}  // namespace

TensorId joined_indices(GraphBuilder& b, TensorId tuples, const Shape& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  const auto length = static_cast<std::int64_t>(extents.size());
  const TensorId front = b.binary("mod", b.cast(tuples, DType::int64), integer_constant(b, {length}, extents));
  return b.reduce("sum", b.binary("mul", front, integer_constant(b, {length}, strides)), {-1}, false);
}

std::span<const Handler> index_handlers() { return kIndexHandlers; }

}  // namespace superstep::onnx_import
