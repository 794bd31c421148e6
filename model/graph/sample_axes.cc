// SPDX-License-Identifier: Apache-2.0
#include "model/graph/sample_axes.h"

namespace superstep {

namespace {

constexpr std::size_t kMostAxes = 64;

DimensionSet bit(std::size_t i) { return i < kMostAxes ? DimensionSet{1} << i : 0; }

// The axis that walks through the whole dimension from its first element on, in equal runs; -1: none does.
int axis_through(const Space& space, const DimMap& map, std::int64_t extent) {
  if (map.axis < 0 || map.window_axis >= 0 || map.offset != 0 || map.stride != map.span) return -1;
  const Axis& axis = space.axes[static_cast<std::size_t>(map.axis)];
  return axis.kind != AxisKind::whole && axis.extent * map.stride == extent ? map.axis : -1;
}

// Rows of a table are looked up by number: they are not walked through.
bool looks_up(const OpCall& call, const Space& space, int axis) {
  const bool lookup = call.def.name == "gather" || call.def.name == "pick";
  return lookup && space.axes[static_cast<std::size_t>(axis)].kind == AxisKind::reduce;
}

}  // namespace

Space space_with_unit_axes(const OpCall& call) {
  Space space = call.def.space(call);
  if (call.def.name != "matmul") return space;
  const std::size_t rank = space.out[0].size();
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (space.out[0][d].axis >= 0 || call.out[0].shape[d] != 1) continue;
    const int axis = static_cast<int>(space.axes.size());
    space.axes.push_back({"one", 1, AxisKind::parallel});
    space.out[0][d].axis = axis;
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t own = space.in[k].size();
      if (d + own >= rank) space.in[k][d + own - rank].axis = axis;
    }
  }
  return space;
}

DimensionSet sample_axes(const OpCall& call, const Space& space, std::size_t k, DimensionSet dimensions) {
  DimensionSet axes = 0;
  if (k >= space.in.size()) return axes;
  for (std::size_t d = 0; d < space.in[k].size(); ++d) {
    if (!(dimensions & bit(d))) continue;
    const int axis = axis_through(space, space.in[k][d], call.in[k].shape[d]);
    if (axis >= 0 && !looks_up(call, space, axis)) axes |= bit(static_cast<std::size_t>(axis));
  }
  return axes;
}

DimensionSet dimensions_on(const OpCall& call, const Space& space, std::size_t k, DimensionSet dimensions,
                           DimensionSet axes) {
  DimensionSet on = 0;
  for (std::size_t d = 0; d < space.in[k].size(); ++d) {
    if (sample_axes(call, space, k, dimensions & bit(d)) & axes) on |= bit(d);
  }
  return on;
}

DimensionSet result_dimensions(const OpCall& call, const Space& space, std::size_t k, DimensionSet axes) {
  DimensionSet on = 0;
  for (std::size_t d = 0; k < space.out.size() && d < space.out[k].size(); ++d) {
    const int axis = axis_through(space, space.out[k][d], call.out[k].shape[d]);
    if (axis >= 0 && (axes & bit(static_cast<std::size_t>(axis)))) on |= bit(d);
  }
  return on;
}

DimensionSet reshaped_dimensions(const Shape& from, const Shape& to, DimensionSet dimensions, std::int64_t samples) {
  DimensionSet on = 0, with_others = 0;
  std::int64_t before = 1;
  for (std::size_t d = 0; d < from.size(); before *= from[d++]) {
    if (!(dimensions & bit(d))) continue;
    std::int64_t reached = 1;
    for (std::size_t e = 0; e < to.size() && reached <= before; reached *= to[e++]) {
      if (reached != before || to[e] == 0 || (to[e] == 1 && samples != 1)) continue;
      if (to[e] % samples == 0 || samples % to[e] == 0) (to[e] == 1 ? on : with_others) |= bit(e);
    }
  }
  return on ? on : with_others;
}

bool outermost_reduced(const Space& space, int axis) {
  for (std::size_t a = 0; a < static_cast<std::size_t>(axis); ++a) {
    if (space.axes[a].kind == AxisKind::reduce && space.axes[a].extent > 1) return false;
  }
  return true;
}

}  // namespace superstep
