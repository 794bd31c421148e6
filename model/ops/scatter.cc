// SPDX-License-Identifier: Apache-2.0
// Opaque ops that write to places their operands name: scatter_elements and scatter_nd, with what to do
// where an element is already there; and top_k, the largest elements along an axis.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/error.h"
#include "model/ops/families.h"
#include "model/ops/opaque.h"
#include "model/ops/space.h"

namespace superstep::ops {

namespace {

using Join = double (*)(double, double);

Join join_of(const OpCall& call) {
  const std::string& reduction = call.attrs.text("reduction");
  if (reduction == "none") return [](double, double update) { return update; };
  if (reduction == "add") return [](double old, double update) { return old + update; };
  if (reduction == "mul") return [](double old, double update) { return old * update; };
  if (reduction == "max") return [](double old, double update) { return std::max(old, update); };
  if (reduction == "min") return [](double old, double update) { return std::min(old, update); };
  throw Error("", "reduction \"" + reduction + "\", expected none, add, mul, max or min");
}

std::int64_t place(double index, std::int64_t extent) {
  auto at = static_cast<std::int64_t>(index);
  if (at < 0) at += extent;
  if (at >= 0 && at < extent) return at;
  throw Error("", "index " + std::to_string(static_cast<std::int64_t>(index)) + " is outside of " +
                      std::to_string(extent) + " elements");
}

// scatter_elements(data, indices, updates)

std::vector<TensorInfo> elements_infer(const OpCall& call) {
  const Shape &data = call.in[0].shape, &indices = call.in[1].shape;
  resolve_axis(call.attrs.integer("axis"), data.size());
  join_of(call);
  bool fits = indices.size() == data.size() && indices == call.in[2].shape && !is_float(call.in[1].type);
  if (!fits || call.in[2].type != call.in[0].type) {
    throw Error("", "scatter of " + to_text(call.in[2].shape) + " at " + to_text(indices) + " into " + to_text(data));
  }
  return {call.in[0]};
}

void scatter_elements(const OpCall& call, std::span<const Dense> in, std::span<Dense> out) {
  const std::size_t axis = resolve_axis(call.attrs.integer("axis"), in[0].shape.size());
  const Join join = join_of(call);
  out[0].values = in[0].values;
  const Shape &data = in[0].shape, &from = in[1].shape;
  std::vector<std::int64_t> point(from.size(), 0);
  for (std::size_t i = 0; i < in[1].values.size(); ++i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < data.size(); ++d) {
      const std::int64_t own =
          d == axis ? place(in[1].values[i], data[d]) : place(static_cast<double>(point[d]), data[d]);
      at = at * data[d] + own;
    }
    double& target = out[0].values[static_cast<std::size_t>(at)];
    target = join(target, in[2].values[i]);
    for (std::size_t d = from.size(); d-- > 0;) {
      if (++point[d] < from[d]) break;
      point[d] = 0;
    }
  }
}

// scatter_nd(data, indices, updates): the last dimension of the indices names the leading ones of the data.

std::vector<TensorInfo> nd_infer(const OpCall& call) {
  const Shape &data = call.in[0].shape, &indices = call.in[1].shape;
  join_of(call);
  const bool tuples = !indices.empty() && indices.back() >= 0 &&
                      static_cast<std::size_t>(indices.back()) <= data.size() && !is_float(call.in[1].type);
  if (!tuples) throw Error("", "scatter at " + to_text(indices) + " into " + to_text(data));
  Shape updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), data.begin() + indices.back(), data.end());
  if (updates != call.in[2].shape || call.in[2].type != call.in[0].type) {
    throw Error("", "updates are " + to_text(call.in[2].shape) + ", expected " + to_text(updates));
  }
  return {call.in[0]};
}

void scatter_nd(const OpCall& call, std::span<const Dense> in, std::span<Dense> out) {
  const Join join = join_of(call);
  const Shape& data = in[0].shape;
  const auto tuple = static_cast<std::size_t>(in[1].shape.back());
  const auto slice = static_cast<std::size_t>(volume(Shape(data.begin() + in[1].shape.back(), data.end())));
  out[0].values = in[0].values;
  const std::size_t places = slice == 0 ? 0 : in[2].values.size() / slice;
  for (std::size_t i = 0; i < places; ++i) {
    std::int64_t row = 0;
    for (std::size_t d = 0; d < tuple; ++d) row = row * data[d] + place(in[1].values[i * tuple + d], data[d]);
    for (std::size_t k = 0; k < slice; ++k) {
      double& target = out[0].values[static_cast<std::size_t>(row) * slice + k];
      target = join(target, in[2].values[i * slice + k]);
    }
  }
}

// top_k(x): values and places of the k largest (or smallest) along an axis, in order; of equals the first.

std::vector<TensorInfo> top_infer(const OpCall& call) {
  TensorInfo result = call.in[0];
  std::int64_t& extent =
      result.shape.at(static_cast<std::size_t>(resolve_axis(call.attrs.integer("axis"), result.shape.size())));
  const std::int64_t k = call.attrs.integer("k");
  if (k < 0 || k > extent) throw Error("", "the first " + std::to_string(k) + " of " + std::to_string(extent));
  extent = k;
  return {result, {DType::int64, result.shape}};
}

void top_k(const OpCall& call, std::span<const Dense> in, std::span<Dense> out) {
  const auto axis = static_cast<std::size_t>(resolve_axis(call.attrs.integer("axis"), in[0].shape.size()));
  const bool largest = call.attrs.integer("largest") != 0;
  const Along from = along(in[0].shape, axis), to = along(out[0].shape, axis);
  std::vector<std::int64_t> order(static_cast<std::size_t>(from.n));
  for (std::int64_t outer = 0; outer < from.before; ++outer) {
    for (std::int64_t inner = 0; inner < from.after; ++inner) {
      const auto value = [&](std::int64_t i) { return in[0].values[from.at(outer, i, inner)]; };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return largest ? value(a) > value(b) : value(a) < value(b);
      });
      for (std::int64_t i = 0; i < to.n; ++i) {
        out[0].values[to.at(outer, i, inner)] = value(order[static_cast<std::size_t>(i)]);
        out[1].values[to.at(outer, i, inner)] = static_cast<double>(order[static_cast<std::size_t>(i)]);
      }
    }
  }
}

}  // namespace

std::vector<const OpDef*> scatter_ops() {
  static const OpDef defs[] = {
      opaque_op<scatter_elements>("scatter_elements", 3,
                                  {{"axis", std::int64_t{0}}, {"reduction", std::string("none")}}, elements_infer),
      opaque_op<scatter_nd>("scatter_nd", 3, {{"reduction", std::string("none")}}, nd_infer),
      opaque_op<top_k>("top_k", 1, {{"axis", std::int64_t{-1}}, {"k", std::int64_t{1}}, {"largest", std::int64_t{1}}},
                       top_infer)};
  return {&defs[0], &defs[1], &defs[2]};
}

}  // namespace superstep::ops
