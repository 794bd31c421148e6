// SPDX-License-Identifier: Apache-2.0
#include "model/graph/sample_axes.h"

#include <algorithm>
#include <iterator>

namespace superstep {

namespace {

// The axis that walks through the whole dimension from its first element on, in equal runs; -1: none does.
int axis_through(const Space& space, const DimMap& map, std::int64_t extent, std::int64_t outer) {
  if (map.axis < 0 || map.window_axis >= 0 || map.offset != 0 || map.stride != map.span) return -1;
  if (outer > 1 && map.stride > 1) return -1;
  const Axis& axis = space.axes[static_cast<std::size_t>(map.axis)];
  return axis.kind != AxisKind::whole && axis.extent * map.stride == extent ? map.axis : -1;
}

// Rows of a table are looked up by number: they are not walked through.
bool looks_up(const OpCall& call, const Space& space, int axis) {
  return call.def.lookup == Lookup::takes && space.axes[static_cast<std::size_t>(axis)].kind == AxisKind::reduce;
}

int axis_of(const OpCall& call, const Space& space, std::size_t k, SamplePlace place) {
  const auto d = static_cast<std::size_t>(place.at);
  if (k >= space.in.size() || d >= space.in[k].size()) return -1;
  const int axis = axis_through(space, space.in[k][d], call.in[k].shape[d], place.outer);
  return axis >= 0 && looks_up(call, space, axis) ? -1 : axis;
}

SamplePlaces sorted(SamplePlaces places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

bool contains(const SamplePlaces& places, SamplePlace place) {
  return std::binary_search(places.begin(), places.end(), place);
}

}  // namespace

SamplePlaces common(const SamplePlaces& a, const SamplePlaces& b) {
  SamplePlaces both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

SamplePlaces axes_of_operand(const OpCall& call, const Space& space, std::size_t k, const SamplePlaces& dimensions) {
  SamplePlaces axes;
  for (SamplePlace place : dimensions) {
    const int axis = axis_of(call, space, k, place);
    if (axis >= 0) axes.push_back({axis, place.outer});
  }
  return sorted(std::move(axes));
}

SamplePlaces dimensions_of_operand(const OpCall& call, const Space& space, std::size_t k,
                                   const SamplePlaces& dimensions, const SamplePlaces& axes) {
  SamplePlaces on;
  for (SamplePlace place : dimensions) {
    if (contains(axes, {axis_of(call, space, k, place), place.outer})) on.push_back(place);
  }
  return on;
}

SamplePlaces dimensions_of_result(const OpCall& call, const Space& space, std::size_t k, const SamplePlaces& axes) {
  SamplePlaces on;
  for (std::size_t d = 0; k < space.out.size() && d < space.out[k].size(); ++d) {
    for (SamplePlace axis : axes) {
      const bool through = axis_through(space, space.out[k][d], call.out[k].shape[d], axis.outer) == axis.at;
      if (through) on.push_back({static_cast<int>(d), axis.outer});
    }
  }
  return sorted(std::move(on));
}

SamplePlaces reshaped_dimensions(const Shape& from, const Shape& to, const SamplePlaces& dimensions,
                                 std::int64_t samples) {
  SamplePlaces all;
  for (SamplePlace place : dimensions) {
    std::int64_t before = place.outer;
    for (int d = 0; d < place.at; ++d) before *= from[static_cast<std::size_t>(d)];
    std::int64_t reached = 1;
    bool alone = false;  // in a dimension with nothing else: then not also with what follows it
    for (std::size_t e = 0; e < to.size() && reached > 0 && reached <= before; reached *= to[e++]) {
      const std::int64_t outer = before / reached;
      if (before % reached != 0 || to[e] == 0 || (to[e] == 1 && samples != 1)) continue;
      const bool groups = outer == 1 && samples % to[e] == 0;
      if ((to[e] % (outer * samples) != 0 && !groups) || (alone && to[e] > 1)) continue;
      alone = alone || to[e] == 1;
      all.push_back({static_cast<int>(e), outer});
    }
  }
  return sorted(std::move(all));
}

bool outermost_reduced(const Space& space, SamplePlace axis) {
  for (std::size_t a = 0; a < static_cast<std::size_t>(axis.at); ++a) {
    if (space.axes[a].kind == AxisKind::reduce && space.axes[a].extent > 1) return false;
  }
  return axis.outer == 1;
}

}  // namespace superstep
