// SPDX-License-Identifier: Apache-2.0
// Instructions that move and repeat elements.
#include <algorithm>
#include <limits>
#include <numeric>

#include "model/xla/writer.h"

namespace superstep::xla_import {

namespace {

// A result that other ways to make the operand go through, too.
Value with_mean(Value result, const Value& x, const std::function<Value(const Value&)>& same) {
  result.mean = nullptr;
  if (x.mean)
    result.mean =
        std::make_shared<const Mean>(Mean{x.mean->count, [mean = x.mean, same] { return same(mean->make()); }});
  return result;
}

// Dimension i of the operand becomes dimension to[i] of the result; along others elements repeat, which is left to the
// readers.
Value broadcast_of(Writer& w, const Value& x, Value v, const Extents& to) {
  v.number = x.number;
  v.tensor = x.tensor;
  v.stored = {};
  if (x.stored.empty()) return v;
  v.stored.assign(v.shape.size(), 1);
  Extents order(to.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int64_t i) { return to[static_cast<std::size_t>(i)]; });
  for (std::size_t i = 0; i < to.size(); ++i) v.stored.at(static_cast<std::size_t>(to[i])) = x.stored[i];
  const std::string moved = transposed(w, w.stored(x), order);
  Extents fresh;  // dimensions that the operand lacks
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(v.shape.size()); ++d) {
    if (std::ranges::find(to, d) == to.end()) fresh.push_back(d);
  }
  v.tensor = fresh.empty() ? moved : w.add("Unsqueeze", {moved, w.integers(fresh)});
  if (x.counts_along >= 0) v.counts_along = to.at(static_cast<std::size_t>(x.counts_along));
  return v;
}

Value broadcast(Call& c) {
  const Value& x = c.at(0);
  const Extents to(c.in.dimensions().begin(), c.in.dimensions().end());
  if (to.size() != x.shape.size()) throw std::out_of_range("dimensions");
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int64_t extent = c.shape().at(static_cast<std::size_t>(to[i]));
    if (x.shape[i] != extent && x.shape[i] != 1) throw std::out_of_range("shape");
  }
  const auto same = [w = &c.w, empty = c.result(""), to](const Value& from) {
    return broadcast_of(*w, from, empty, to);
  };
  return with_mean(same(x), x, same);
}

Value reshape_of(Writer& w, const Value& x, Value v) {
  v.number = x.number;
  if (x.stored.empty()) {
    v.tensor = x.tensor;
    v.stored = {};
  } else {
    v.tensor = x.shape == v.shape ? w.full(x) : w.add("Reshape", {w.full(x), w.integers(v.shape)});
  }
  return v;
}

Value reshape(Call& c) {
  const Value& x = c.at(0);
  if (volume_of(x.shape) != volume_of(c.shape())) throw std::out_of_range("elements");
  const auto same = [w = &c.w, empty = c.result("")](const Value& from) { return reshape_of(*w, from, empty); };
  return with_mean(same(x), x, same);
}

// The order of dimensions from the slowest.
Extents physical(const hlo_file::ShapeProto& shape) {
  const auto& minor = shape.layout().minor_to_major();
  Extents order(minor.rbegin(), minor.rend());
  if (minor.size() != shape.dimensions_size()) {
    order.resize(static_cast<std::size_t>(shape.dimensions_size()));
    std::iota(order.begin(), order.end(), 0);
  }
  return order;
}

// The same bytes, read with another shape and layout.
Value bitcast(Call& c) {
  const hlo_file::ShapeProto &from = c.program.operand(c.computation, c.in, 0).shape(), &to = c.in.shape();
  if (from.element_type() != to.element_type())
    throw Refusal{"reads values as another type; convert them in the program"};
  if (c.at(0).stored.empty()) return reshape(c);
  const Extents order = physical(to);
  Extents back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back.at(static_cast<std::size_t>(order[i])) = static_cast<std::int64_t>(i);
  const std::string laid = transposed(c.w, c.w.full(c.at(0)), physical(from));
  return c.result(transposed(c.w, c.w.add("Reshape", {laid, c.w.integers(permuted(c.shape(), order))}), back));
}

Value transpose(Call& c) {
  const Value& x = c.at(0);
  const Extents order(c.in.dimensions().begin(), c.in.dimensions().end());
  Value v = c.result("");
  if (v.shape != permuted(x.shape, order)) throw std::out_of_range("shape");
  v.number = x.number;
  v.stored = x.stored.empty() ? Extents{} : permuted(x.stored, order);
  v.tensor = x.stored.empty() ? x.tensor : transposed(c.w, c.w.stored(x), order);
  return v;
}

Value concatenate(Call& c) {
  std::vector<std::string> parts;
  for (const Value& v : c.operands) parts.push_back(c.w.full(v));
  if (parts.size() == 1) return c.result(parts[0]);
  if (c.in.dimensions().empty()) throw std::out_of_range("dimensions");
  return c.result(c.w.add("Concat", parts, {{"axis", c.in.dimensions(0)}}));
}

struct Cut {
  Extents axes, starts, ends, steps;
};

std::string sliced(Writer& w, const std::string& tensor, const Cut& cut) {
  if (cut.axes.empty()) return tensor;
  return w.add("Slice",
               {tensor, w.integers(cut.starts), w.integers(cut.ends), w.integers(cut.axes), w.integers(cut.steps)});
}

void add(Cut& cut, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  cut.axes.push_back(axis);
  cut.starts.push_back(start);
  cut.ends.push_back(end);
  cut.steps.push_back(step);
}

Value slice(Call& c) {
  const Value& x = c.at(0);
  Cut cut;
  for (int d = 0; d < c.in.slice_dimensions_size(); ++d) {
    const auto& s = c.in.slice_dimensions(d);
    const std::int64_t extent = x.shape.at(static_cast<std::size_t>(d)), step = s.stride() == 0 ? 1 : s.stride();
    if (s.start() < 0 || s.limit() > extent || s.limit() < s.start() || step < 0) throw std::out_of_range("slice");
    if (s.start() != 0 || s.limit() != extent || step != 1) add(cut, d, s.start(), s.limit(), step);
  }
  if (x.stored.empty() && volume_of(c.shape()) > 0) {
    Value v = c.result(x.tensor);
    v.stored = {};
    v.number = x.number;
    return v;
  }
  return c.result(sliced(c.w, c.w.full(x), cut));
}

Value reverse(Call& c) {
  Cut cut;
  for (std::int64_t d : c.in.dimensions()) add(cut, d, -1, std::numeric_limits<std::int32_t>::min(), -1);
  return c.result(sliced(c.w, c.w.full(c.at(0)), cut));
}

Value pad(Call& c) {
  const Value &x = c.at(0), &filling = c.at(1);
  if (!filling.number) throw Refusal{"pads with a number that is not known when importing; pad with a constant"};
  Cut cut;
  Extents before, after;
  for (int d = 0; d < c.in.padding_config().dimensions_size(); ++d) {
    const auto& p = c.in.padding_config().dimensions(d);
    const std::int64_t extent = x.shape.at(static_cast<std::size_t>(d));
    if (p.interior_padding() != 0)
      throw Refusal{"puts padding between elements, as gradients do; dump the forward pass alone"};
    const std::int64_t low = p.edge_padding_low(), high = p.edge_padding_high();
    constexpr std::int64_t kMost = std::int64_t{1} << 42;
    if (std::max(low, high) > kMost || std::min(low, high) < -kMost) throw std::out_of_range("padding");
    if (low < 0 || high < 0) add(cut, d, std::max<std::int64_t>(-low, 0), extent + std::min<std::int64_t>(high, 0), 1);
    before.push_back(std::max<std::int64_t>(low, 0));
    after.push_back(std::max<std::int64_t>(high, 0));
  }
  const std::string rest = sliced(c.w, c.w.full(x), cut);
  before.insert(before.end(), after.begin(), after.end());
  if (std::ranges::all_of(before, [](std::int64_t p) { return p == 0; })) return c.result(rest);
  return c.result(c.w.add("Pad", {rest, c.w.integers(before), c.w.stored(filling)}));
}

Value iota(Call& c) {
  const std::int64_t along = c.in.dimensions().empty() ? 0 : c.in.dimensions(0);
  Value v = c.result("");
  const std::int64_t extent = v.shape.at(static_cast<std::size_t>(along));
  constexpr std::int64_t kMost = 1 << 24;
  if (extent > kMost) throw Refusal{"counts beyond 2^24; count within smaller dimensions"};
  v.stored.assign(v.shape.size(), 1);
  v.stored[static_cast<std::size_t>(along)] = extent;
  v.counts_along = along;
  Extents numbers(static_cast<std::size_t>(extent));
  std::iota(numbers.begin(), numbers.end(), 0);
  v.tensor = c.w.integers(numbers);
  if (v.shape.size() > 1) v.tensor = c.w.add("Reshape", {v.tensor, c.w.integers(v.stored)});
  constexpr std::int64_t kOnnxInt64 = 7;
  if (onnx_type(v.type) != kOnnxInt64)
    v.tensor = c.w.add("Cast", {v.tensor}, {{"to", std::int64_t{onnx_type(v.type)}}});
  return v;
}

}  // namespace

const std::vector<Row>& shape_rows() {
  static const std::vector<Row> rows = {{"bitcast", bitcast},
                                        {"broadcast", broadcast},
                                        {"concatenate", concatenate},
                                        {"iota", iota},
                                        {"pad", pad},
                                        {"reshape", reshape},
                                        {"reverse", reverse},
                                        {"slice", slice},
                                        {"transpose", transpose}};
  return rows;
}

}  // namespace superstep::xla_import
