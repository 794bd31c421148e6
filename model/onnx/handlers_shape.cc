// SPDX-License-Identifier: Apache-2.0
// Ops that move and rename elements: reshapes, transposes, joins, cuts, pads.
#include <algorithm>
#include <numeric>
#include <optional>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1}, std::multiplies<>());
}

Results identity(Node& n) { return {n.in(0)}; }

// reshape

// The target with 0 and -1 resolved; none where the number of elements does not allow it.
std::optional<Shape> resolved(const Shape& from, std::vector<std::int64_t> target, bool copy_zero) {
  std::int64_t known = 1;
  std::ptrdiff_t open = -1;
  for (std::size_t d = 0; d < target.size(); ++d) {
    if (target[d] == 0 && copy_zero) {
      if (d >= from.size())
        Node::fail("shape " + to_text(target) + " copies dimension " + std::to_string(d) + " of " + to_text(from));
      target[d] = from[d];
    }
    if (target[d] < -1 || (target[d] == -1 && open >= 0)) Node::fail("cannot reshape to " + to_text(target));
    if (target[d] == -1) open = static_cast<std::ptrdiff_t>(d);
  }
  Shape closed = target;
  if (open >= 0) closed[static_cast<std::size_t>(open)] = 1;
  known = volume(checked_shape(closed, "target"));
  if (open >= 0) {
    if (known == 0 || volume(from) % known != 0) return std::nullopt;
    closed[static_cast<std::size_t>(open)] = volume(from) / known;
  }
  return volume(closed) == volume(from) ? std::optional(closed) : std::nullopt;
}

// The batch that the file was made for stands in a target as a number. Shapes of the operand and the
// result with that batch are known; finds the result with the operand that is there now. The one
// dimension of the operand that differs runs over elements [step, step * extent). Of the result's
// dimensions that run over some of these, it is the only one, or the one as long as the batch, or the first.
std::optional<Shape> with_other_batch(const Shape& before, const Shape& now, Shape result, std::int64_t batch) {
  if (before.size() != now.size()) return std::nullopt;
  const auto differ = std::mismatch(before.begin(), before.end(), now.begin());
  if (!std::equal(differ.first + 1, before.end(), differ.second + 1)) return std::nullopt;
  const std::int64_t extent = *differ.first, other = *differ.second;
  const std::int64_t step = std::accumulate(differ.first + 1, before.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<std::size_t> touched;
  for (std::size_t d = 0; d < result.size(); ++d) {
    const std::int64_t own = product(result, d + 1, result.size());
    const bool covers = own <= step && step * extent <= own * result[d];
    if (covers || (own < step * extent && step < own * result[d])) touched.push_back(d);
  }
  if (touched.empty() || extent == 0) return std::nullopt;
  const auto as_batch = std::find_if(touched.begin(), touched.end(), [&](std::size_t d) { return result[d] == batch; });
  std::int64_t& follows = result[as_batch == touched.end() ? touched.front() : *as_batch];
  if (follows * other % extent != 0) return std::nullopt;
  follows = follows * other / extent;
  return result;
}

// When this import has another batch than the file says, and the target in operand 1 is nevertheless
// the same list of numbers: what the operand and the result were with the file's batch.
struct Before {
  const Shape *operand = nullptr, *result = nullptr;
};

Before shapes_before(const Node& n, const std::vector<std::int64_t>& target) {
  const Context& c = n.context;
  if (!c.as_in_file || !n.wants_result(0)) return {};
  if (n.operands() > 1) {
    const auto before = c.integers_in_file->find(n.operand_name(1));
    if (before == c.integers_in_file->end() || before->second != target) return {};
  }
  const auto result = c.as_in_file->find(n.result_name(0));
  const auto operand = c.as_in_file->find(n.operand_name(0));
  if (result == c.as_in_file->end() || operand == c.as_in_file->end()) return {};
  if (operand->second.shape == n.shape(0)) return {};
  return {&operand->second.shape, &result->second.shape};
}

Results reshape(Node& n) {
  n.integers_attribute("consumed_inputs");
  const std::vector<std::int64_t> target = n.opset < 5 ? n.integers_attribute("shape") : n.integers(1, "shape");
  const bool copy_zero = n.integer_attribute("allowzero", 0) == 0;
  const Shape& from = n.shape(0);
  std::optional<Shape> to;
  if (const Before before = shapes_before(n, target); before.result) {
    to = with_other_batch(*before.operand, from, *before.result, n.context.file_batch);
  } else {
    to = resolved(from, target, copy_zero);
  }
  if (!to) Node::fail("cannot reshape " + to_text(from) + " to " + to_text(target));
  return {n.b.reshape(n.in(0), *to)};
}

Results flatten(Node& n) {
  std::int64_t axis = n.integer_attribute("axis", 1);
  if (axis < 0) axis += n.rank(0);
  if (axis < 0 || axis > n.rank(0)) Node::fail("axis " + std::to_string(axis) + " out of range");
  const Shape& shape = n.shape(0);
  const auto at = static_cast<std::size_t>(axis);
  return {n.b.reshape(n.in(0), {product(shape, 0, at), product(shape, at, shape.size())})};
}

std::vector<std::int64_t> axes_of(Node& n, std::int64_t rank) {
  constexpr std::int64_t kAsOperand = 13;
  if (n.opset >= kAsOperand) return n.has(1) ? n.axes(n.integers(1, "axes"), rank) : std::vector<std::int64_t>{};
  return n.axes(n.integers_attribute("axes"), rank);
}

Results squeeze(Node& n) {
  Shape shape = n.shape(0);
  std::vector<std::int64_t> axes = axes_of(n, n.rank(0));
  if (axes.empty()) {
    std::erase(shape, 1);
    return {n.b.reshape(n.in(0), std::move(shape))};
  }
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (shape[static_cast<std::size_t>(*axis)] != 1) {
      Node::fail("dimension " + std::to_string(*axis) + " of " + to_text(n.shape(0)) + " is not 1");
    }
    shape.erase(shape.begin() + *axis);
  }
  return {n.b.reshape(n.in(0), std::move(shape))};
}

Results unsqueeze(Node& n) {
  const auto given =
      static_cast<std::int64_t>(n.opset >= 13 ? n.integers(1, "axes").size() : n.integers_attribute("axes").size());
  Shape shape = n.shape(0);
  for (std::int64_t axis : axes_of(n, n.rank(0) + given)) shape.insert(shape.begin() + axis, 1);
  return {n.b.reshape(n.in(0), std::move(shape))};
}

Results transpose(Node& n) {
  std::vector<std::int64_t> order(n.shape(0).size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = n.integers_attribute("perm", order);
  std::vector<std::int64_t> sorted = order;
  if (n.axes(std::move(sorted), n.rank(0)).size() != n.shape(0).size()) Node::fail("perm does not name all dimensions");
  for (std::int64_t& axis : order) axis = n.axis(axis, n.rank(0));
  return {n.b.transpose(n.in(0), std::move(order))};
}

// joins and cuts

Results concat(Node& n) {
  if (n.operands() == 0) Node::fail("nothing to concatenate");
  const std::int64_t axis = n.axis(n.integer_attribute("axis", n.opset < 4 ? 1 : 0), n.rank(0));
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < n.operands(); ++i) parts.push_back(n.in(i));
  return {n.b.concat(std::move(parts), axis)};
}

std::vector<std::int64_t> split_sizes(Node& n, std::int64_t extent) {
  if (n.opset >= 13 && n.has(1)) return n.integers(1, "split");
  if (n.opset < 13 && n.has_attribute("split")) return n.integers_attribute("split");
  const auto parts = static_cast<std::int64_t>(n.results());
  const std::int64_t asked = n.opset >= 18 ? n.integer_attribute("num_outputs", parts) : parts;
  if (parts == 0 || asked != parts)
    Node::fail("split into " + std::to_string(asked) + " parts with " + std::to_string(parts) + " results");
  if (extent % parts != 0 && n.opset < 18)
    Node::fail("cannot split " + std::to_string(extent) + " into " + std::to_string(parts) + " equal parts");
  const std::int64_t size = (extent + parts - 1) / parts;
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = extent; sizes.size() < static_cast<std::size_t>(parts); left -= sizes.back()) {
    sizes.push_back(std::min(size, left));
  }
  return sizes;
}

Results split(Node& n) {
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 0), n.rank(0));
  std::vector<std::int64_t> sizes = split_sizes(n, n.shape(0)[static_cast<std::size_t>(axis)]);
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t s) { return s < 0; })) Node::fail("a negative size");
  Attributes attrs;
  attrs.set("axis", axis);
  attrs.set("sizes", std::move(sizes));
  return n.b.add("split", {n.in(0)}, std::move(attrs));
}

struct Cut {
  std::int64_t axis, begin, end, step;
};

// One axis from begin, by step, up to but not including end.
TensorId cut(Node& n, TensorId x, const Cut& c) {
  const Shape& shape = n.b.info(x).shape;
  const std::int64_t extent = shape[static_cast<std::size_t>(c.axis)];
  const auto from_front = [&](std::int64_t place) { return place < 0 ? place + extent : place; };
  if (c.step == 1) {
    const std::int64_t begin = std::clamp<std::int64_t>(from_front(c.begin), 0, extent);
    const std::int64_t end = std::clamp<std::int64_t>(from_front(c.end), begin, extent);
    return n.b.slice(x, c.axis, begin, end);
  }
  std::vector<std::int64_t> places;
  if (c.step > 0) {
    const std::int64_t end = std::clamp<std::int64_t>(from_front(c.end), 0, extent);
    const std::int64_t step = std::min(c.step, extent + 1);
    for (std::int64_t p = std::clamp<std::int64_t>(from_front(c.begin), 0, extent); p < end; p += step)
      places.push_back(p);
  } else {
    const std::int64_t end = std::clamp<std::int64_t>(from_front(c.end), -1, std::max<std::int64_t>(extent - 1, -1));
    const std::int64_t step = std::max(c.step, -extent - 1);
    // A begin before the first element is the first, as the standard has it (NumPy: there is none).
    const std::int64_t begin = extent == 0 ? -1 : std::clamp<std::int64_t>(from_front(c.begin), 0, extent - 1);
    for (std::int64_t p = begin; p > end; p += step) places.push_back(p);
  }
  return gather_axis(n.b, x, integer_constant(n.b, {static_cast<std::int64_t>(places.size())}, places), c.axis);
}

Results slice(Node& n) {
  const bool as_operands = n.opset >= 10;
  const std::vector<std::int64_t> begins = as_operands ? n.integers(1, "starts") : n.integers_attribute("starts");
  const std::vector<std::int64_t> ends = as_operands ? n.integers(2, "ends") : n.integers_attribute("ends");
  std::vector<std::int64_t> axes(begins.size()), steps(begins.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (as_operands && n.has(3)) axes = n.integers(3, "axes");
  if (!as_operands) axes = n.integers_attribute("axes", axes);
  if (as_operands && n.has(4)) steps = n.integers(4, "steps");
  if (ends.size() != begins.size() || axes.size() != begins.size() || steps.size() != begins.size()) {
    Node::fail("starts, ends, axes and steps differ in length");
  }
  TensorId x = n.in(0);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    if (steps[i] == 0) Node::fail("a step of 0");
    x = cut(n, x, {n.axis(axes[i], n.rank(0)), begins[i], ends[i], steps[i]});
  }
  return {x};
}

// expand, tile, pad

Shape broadcast_of(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t d = 0; d < result.size(); ++d) {
    const std::size_t back = result.size() - d;
    const std::int64_t ea = back > a.size() ? 1 : a[a.size() - back], eb = back > b.size() ? 1 : b[b.size() - back];
    if (ea != eb && ea != 1 && eb != 1) Node::fail("cannot expand " + to_text(a) + " to " + to_text(b));
    result[d] = ea == 1 ? eb : ea;
  }
  return result;
}

// Whether a constant has the same values at every index of a dimension.
bool repeats(const Array& array, std::size_t d) {
  const Shape& shape = array.info.shape;
  const std::int64_t inner = product(shape, d + 1, shape.size()), extent = shape[d];
  for (std::int64_t e = 0; e < array.info.elements(); ++e) {
    if (array.at(e) != array.at(e - e / inner % extent * inner)) return false;
  }
  return true;
}

// A constant that was stored for the file's batch, where the target now has another: one of its equal parts.
TensorId without_file_batch(Node& n, const Shape& target) {
  TensorId x = n.in(0);
  const Context& c = n.context;
  if (!c.as_in_file || n.b.graph().tensors[x].kind != TensorKind::constant) return x;
  const auto before = c.integers_in_file->find(n.operand_name(1));
  if (before == c.integers_in_file->end() || before->second.size() != target.size()) return x;
  const std::size_t rank = n.shape(0).size();
  for (std::size_t back = 1; back <= std::min(target.size(), rank); ++back) {
    const std::int64_t extent = n.b.info(x).shape[rank - back], then = before->second[target.size() - back];
    const bool of_batch = extent == then && then != target[target.size() - back] && extent > 1;
    if (of_batch && repeats(*n.b.graph().tensors[x].data, rank - back))
      x = n.b.slice(x, static_cast<std::int64_t>(rank - back), 0, 1);
    if (n.b.graph().tensors[x].kind != TensorKind::constant) return x;
  }
  return x;
}

Results expand(Node& n) {
  Shape target = checked_shape(n.integers(1, "shape"), "target");
  const TensorId x = without_file_batch(n, target);
  const Shape from = n.b.info(x).shape;
  if (const Before shapes = shapes_before(n, target); shapes.operand) {  // the operand knows the batch
    const Shape& before = *shapes.operand;
    for (std::size_t back = 1; back <= std::min(target.size(), from.size()); ++back) {
      const bool same = before.size() == from.size() && target[target.size() - back] == before[before.size() - back];
      if (same) target[target.size() - back] = from[from.size() - back];
    }
  }
  return {n.b.expand(x, checked_shape(broadcast_of(from, target), "result"))};
}

Results tile(Node& n) {
  const std::vector<std::int64_t> repeats = n.integers(1, "repeats");
  const Shape from = n.shape(0);
  if (n.opset < 6 || repeats.size() != from.size()) Node::fail("repeats " + to_text(repeats) + " of " + to_text(from));
  Shape apart, wide, result;
  for (std::size_t d = 0; d < from.size(); ++d) {
    apart.insert(apart.end(), {1, from[d]});
    wide.insert(wide.end(), {repeats[d], from[d]});
  }
  checked_shape(wide, "result");
  for (std::size_t d = 0; d < from.size(); ++d) result.push_back(repeats[d] * from[d]);
  if (volume(result) == volume(from)) return {n.b.reshape(n.in(0), result)};
  return {n.b.reshape(n.b.expand(n.b.reshape(n.in(0), apart), wide), result)};
}

std::int64_t mirrored(std::int64_t place, std::int64_t extent) {
  const std::int64_t period = std::max<std::int64_t>(2 * (extent - 1), 1);
  place = (place % period + period) % period;
  return place < extent ? place : period - place;
}

// Padding with the tensor's own elements.
TensorId padded_with_own(Node& n, TensorId x, std::int64_t axis, std::int64_t before, std::int64_t after,
                         const std::string& mode) {
  const std::int64_t extent = n.b.info(x).shape[static_cast<std::size_t>(axis)];
  if (before == 0 && after == 0) return x;
  if (extent == 0) Node::fail("mode \"" + mode + "\" has nothing to pad with");
  std::vector<std::int64_t> places;
  for (std::int64_t p = -before; p < extent + after; ++p) {
    places.push_back(mode == "edge"      ? std::clamp<std::int64_t>(p, 0, extent - 1)
                     : mode == "reflect" ? mirrored(p, extent)
                                         : (p % extent + extent) % extent);
  }
  return gather_axis(n.b, x, integer_constant(n.b, {static_cast<std::int64_t>(places.size())}, places), axis);
}

struct Padding {
  std::vector<std::int64_t> before, after;
};

Padding padding(Node& n) {
  const auto rank = n.shape(0).size();
  std::vector<std::int64_t> all =
      n.opset >= 11 ? n.integers(1, "pads") : n.integers_attribute(n.opset < 2 ? "paddings" : "pads");
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (n.opset >= 18 && n.has(3)) axes = n.integers(3, "axes");
  if (all.size() != 2 * axes.size()) Node::fail("pads " + to_text(all) + " of " + to_text(n.shape(0)));
  constexpr std::int64_t kMost = std::int64_t{1} << 32;
  Padding p{std::vector<std::int64_t>(rank), std::vector<std::int64_t>(rank)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(n.axis(axes[i], n.rank(0)));
    const auto [low, high] = std::minmax(all[i], all[i + axes.size()]);
    if (low < -kMost || high > kMost) Node::fail("absurd pads " + to_text(all));
    p.before[d] = all[i];
    p.after[d] = all[i + axes.size()];
  }
  return p;
}

Results pad(Node& n) {
  const std::string mode = n.text_attribute("mode", "constant");
  const Padding p = padding(n);
  double value = 0;
  if (n.opset < 11) value = n.number_attribute("value", 0);
  if (n.opset >= 11 && n.has(2) && mode == "constant") value = n.number(2, "constant_value");
  Shape shape = n.shape(0);
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] += p.before[d] + p.after[d];
  checked_shape(shape, "result");
  if (mode == "constant") {
    Attributes attrs;
    attrs.set("before", p.before);
    attrs.set("after", p.after);
    attrs.set("value", value);
    return {n.b.one("pad", {n.in(0)}, std::move(attrs))};
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap") Node::not_supported("mode \"" + mode + "\"");
  TensorId x = n.in(0);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    x = padded_with_own(n, x, static_cast<std::int64_t>(d), p.before[d], p.after[d], mode);
  }
  return {x};
}

// blocks of pixels and channels

std::int64_t block_size(Node& n) {
  const std::int64_t block = n.integer_attribute("blocksize", 1);
  if (n.rank(0) != 4 || block < 1 || block > 1 << 20)
    Node::fail("blocks of " + std::to_string(block) + " in " + to_text(n.shape(0)));
  return block;
}

Results depth_to_space(Node& n) {
  const std::int64_t s = block_size(n);
  const Shape x = n.shape(0);
  const std::string mode = n.text_attribute("mode", "DCR");
  if (x[1] % (s * s) != 0) Node::fail("channels of " + to_text(x) + " do not make blocks");
  const std::int64_t c = x[1] / (s * s);
  const Shape apart = mode == "CRD" ? Shape{x[0], c, s, s, x[2], x[3]} : Shape{x[0], s, s, c, x[2], x[3]};
  const std::vector<std::int64_t> order =
      mode == "CRD" ? std::vector<std::int64_t>{0, 1, 4, 2, 5, 3} : std::vector<std::int64_t>{0, 3, 4, 1, 5, 2};
  return {n.b.reshape(n.b.transpose(n.b.reshape(n.in(0), apart), order), {x[0], c, x[2] * s, x[3] * s})};
}

Results space_to_depth(Node& n) {
  const std::int64_t s = block_size(n);
  const Shape x = n.shape(0);
  if (x[2] % s != 0 || x[3] % s != 0) Node::fail("pixels of " + to_text(x) + " do not make blocks");
  const TensorId apart = n.b.reshape(n.in(0), {x[0], x[1], x[2] / s, s, x[3] / s, s});
  return {n.b.reshape(n.b.transpose(apart, {0, 3, 5, 1, 2, 4}), {x[0], x[1] * s * s, x[2] / s, x[3] / s})};
}

constexpr Handler kShapeHandlers[] = {
    {"Concat", 1, kMany, concat},
    {"DepthToSpace", 1, 1, depth_to_space},
    {"Expand", 8, 2, expand},
    {"Flatten", 1, 1, flatten},
    {"Identity", 1, 1, identity},
    {"Pad", 1, 4, pad},
    {"Reshape", 1, 2, reshape},
    {"Slice", 1, 5, slice},
    {"SpaceToDepth", 1, 1, space_to_depth},
    {"Split", 2, 2, split},
    {"Squeeze", 1, 2, squeeze},
    {"Tile", 6, 2, tile},
    {"Transpose", 1, 1, transpose},
    {"Unsqueeze", 1, 2, unsqueeze},
};

}  // namespace

std::span<const Handler> shape_handlers() { return kShapeHandlers; }

}  // namespace superstep::onnx_import
