// SPDX-License-Identifier: Apache-2.0
// Operators whose results' shapes depend on values: these must be known when importing.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

using Integers = std::vector<std::int64_t>;

TensorId list_constant(GraphBuilder& b, const Integers& values) {
  return integer_constant(b, {static_cast<std::int64_t>(values.size())}, values);
}

Results compress(Node& n) {
  GraphBuilder& b = n.b;
  const std::vector<double> kept = n.values(1, "condition").values();
  const bool flat = !n.has_attribute("axis");
  const TensorId x = flat ? b.reshape(n.in(0), {b.info(n.in(0)).elements()}) : n.in(0);
  const Shape& shape = b.info(x).shape;
  const std::int64_t axis = flat ? 0 : n.axis(n.integer_attribute("axis", 0), n.rank(0));
  Integers places;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != 0) places.push_back(static_cast<std::int64_t>(i));
  }
  if (!places.empty() && places.back() >= shape[static_cast<std::size_t>(axis)]) {
    Node::fail("condition keeps element " + std::to_string(places.back()) + " of " + to_text(shape));
  }
  return {gather_axis(b, x, list_constant(b, places), axis)};
}

Results non_zero(Node& n) {
  const Array& x = n.values(0, "values");
  const std::size_t rank = x.info.shape.size();
  std::vector<Integers> places(std::max<std::size_t>(rank, 1));
  for (std::int64_t i = 0; i < x.info.elements(); ++i) {
    if (x.at(i) == 0) continue;
    if (rank == 0) places[0].push_back(0);
    std::int64_t rest = i;
    for (std::size_t d = rank; d-- > 0;) {
      places[d].push_back(rest % x.info.shape[d]);
      rest /= x.info.shape[d];
    }
  }
  Integers all;
  for (const Integers& one : places) all.insert(all.end(), one.begin(), one.end());
  return {integer_constant(n.b, {static_cast<std::int64_t>(places.size()), static_cast<std::int64_t>(places[0].size())},
                           all)};
}

// Where equal slices stand, of `extent` slices along a dimension that has `after` elements behind it; sorted by their
// values.
template <class T, class Value>
std::vector<Integers> equal_slices(std::int64_t elements, std::int64_t extent, std::int64_t after, Value value) {
  std::vector<std::vector<T>> slices(static_cast<std::size_t>(extent));
  for (std::int64_t k = 0; k < elements; ++k) slices[static_cast<std::size_t>(k / after % extent)].push_back(value(k));
  std::map<std::vector<T>, Integers> found;
  for (std::size_t i = 0; i < slices.size(); ++i) found[std::move(slices[i])].push_back(static_cast<std::int64_t>(i));
  std::vector<Integers> groups;
  for (const auto& [slice, places] : found) groups.push_back(places);
  return groups;
}

// Slices along an axis (or single elements) that differ, in their order or sorted; where each stands first, which
// one each slice is, and how often it occurs.
Results unique(Node& n) {
  GraphBuilder& b = n.b;
  const Array& x = n.values(0, "values");
  const bool flat = !n.has_attribute("axis"), sorted = n.integer_attribute("sorted", 1) != 0;
  const Shape shape = flat ? Shape{x.info.elements()} : x.info.shape;
  const auto axis = static_cast<std::size_t>(flat ? 0 : n.axis(n.integer_attribute("axis", 0), n.rank(0)));
  const std::int64_t extent = shape.at(axis);
  const std::int64_t after = volume(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
  const Integers integers = is_integer(x.info.type) ? integers_of(x) : Integers{};
  const auto at = [](const Integers& from) {
    return [&](std::int64_t k) { return from[static_cast<std::size_t>(k)]; };
  };
  std::vector<Integers> groups =
      is_integer(x.info.type)
          ? equal_slices<std::int64_t>(x.info.elements(), extent, after, at(integers))
          : equal_slices<double>(x.info.elements(), extent, after, [&](std::int64_t k) { return x.at(k); });
  if (!sorted) std::sort(groups.begin(), groups.end());
  Integers first, which(static_cast<std::size_t>(extent)), counts;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    first.push_back(groups[g].front());
    counts.push_back(static_cast<std::int64_t>(groups[g].size()));
    for (std::int64_t place : groups[g]) which[static_cast<std::size_t>(place)] = static_cast<std::int64_t>(g);
  }
  const TensorId all = b.reshape(n.in(0), shape);
  return {gather_axis(b, all, list_constant(b, first), static_cast<std::int64_t>(axis)), list_constant(b, first),
          list_constant(b, which), list_constant(b, counts)};
}

// non-maximum suppression

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_at(const Array& boxes, std::int64_t at, bool center) {
  const double a = boxes.at(at), b = boxes.at(at + 1), c = boxes.at(at + 2), d = boxes.at(at + 3);
  if (center) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

// Intersection over union.
double overlap(const Box& x, const Box& y) {
  const double height = std::min(x.bottom, y.bottom) - std::max(x.top, y.top);
  const double width = std::min(x.right, y.right) - std::max(x.left, y.left);
  if (height <= 0 || width <= 0) return 0;
  return height * width / (x.area() + y.area() - height * width);
}

struct Suppression {
  double most, overlap, least;  // boxes per class; the last two exclusive
};

// Places of the boxes that stay, best first.
Integers kept_boxes(const std::vector<Box>& boxes, const std::vector<double>& scores, const Suppression& s) {
  Integers order(boxes.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](std::int64_t i) { return scores[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
  for (std::int64_t i : order) {
    if (static_cast<double>(kept.size()) >= s.most || !(score(i) > s.least)) break;
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](std::int64_t other) {
      return overlap(boxes[static_cast<std::size_t>(i)], boxes[static_cast<std::size_t>(other)]) > s.overlap;
    });
    if (!hidden) kept.push_back(i);
  }
  return kept;
}

Results non_max_suppression(Node& n) {
  const Array &boxes = n.values(0, "boxes"), &scores = n.values(1, "scores");
  const Shape &shape = boxes.info.shape, &score_shape = scores.info.shape;
  if (shape.size() != 3 || shape[2] != 4 || score_shape.size() != 3 || score_shape[0] != shape[0] ||
      score_shape[2] != shape[1]) {
    Node::fail("boxes " + to_text(shape) + " with scores " + to_text(score_shape));
  }
  const bool center = n.integer_attribute("center_point_box", 0) != 0;
  const Suppression s{n.has(2) ? n.number(2, "max_output_boxes_per_class") : 0,
                      n.has(3) ? n.number(3, "iou_threshold") : 0,
                      n.has(4) ? n.number(4, "score_threshold") : -HUGE_VAL};
  Integers found;
  for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
    std::vector<Box> own;
    for (std::int64_t i = 0; i < shape[1]; ++i) own.push_back(box_at(boxes, (batch * shape[1] + i) * 4, center));
    for (std::int64_t c = 0; c < score_shape[1]; ++c) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < shape[1]; ++i)
        values.push_back(scores.at((batch * score_shape[1] + c) * shape[1] + i));
      for (std::int64_t i : kept_boxes(own, values, s)) found.insert(found.end(), {batch, c, i});
    }
  }
  return {integer_constant(n.b, {static_cast<std::int64_t>(found.size()) / 3, 3}, found)};
}

constexpr Handler kSelectHandlers[] = {
    {"Compress", 9, 2, compress},
    {"NonMaxSuppression", 10, 5, non_max_suppression},
    {"NonZero", 9, 1, non_zero},
    {"Unique", 11, 1, unique},
};

}  // namespace

std::span<const Handler> select_handlers() { return kSelectHandlers; }

}  // namespace superstep::onnx_import
