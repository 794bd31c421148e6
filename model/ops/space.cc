// SPDX-License-Identifier: Apache-2.0
#include "model/ops/space.h"

#include <array>
#include <bit>

#include "model/error.h"

namespace superstep::ops {

namespace {
constexpr std::size_t kMostDimensions = 64;  // of a tensor, as in PyTorch
}  // namespace

std::string_view axis_name(char letter, std::size_t number) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (char c = 'a'; c <= 'z'; ++c) {
      for (std::size_t n = 0; n < kMostDimensions; ++n) all.push_back(c + std::to_string(n));
    }
    return all;
  }();
  SUPERSTEP_CHECK(letter >= 'a' && letter <= 'z', "axis name");
  if (number >= kMostDimensions)
    throw Error("", "found more than " + std::to_string(kMostDimensions) +
                        " dimensions in one tensor; expected at most as many");
  return names[static_cast<std::size_t>(letter - 'a') * kMostDimensions + number];
}

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t d = 0; d < shorter.size(); ++d) {
    std::int64_t& extent = result[lead + d];
    if (extent == shorter[d] || shorter[d] == 1) continue;
    if (extent != 1) throw Error("", "shapes " + to_text(a) + " and " + to_text(b) + " do not broadcast");
    extent = shorter[d];
  }
  return result;
}

Projection aligned(const Shape& shape, const Shape& space) {
  Projection projection(shape.size());
  const std::size_t lead = space.size() - shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == space[lead + d]) projection[d].axis = static_cast<int>(lead + d);
  }
  return projection;
}

std::vector<Axis> axes_of(const Shape& shape, char letter, AxisKind kind) {
  std::vector<Axis> axes;
  axes.reserve(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) axes.push_back({axis_name(letter, d), shape[d], kind});
  return axes;
}

Projection identity(std::size_t rank, int first_axis) {
  Projection projection(rank);
  for (std::size_t d = 0; d < rank; ++d) projection[d].axis = first_axis + static_cast<int>(d);
  return projection;
}

std::int64_t resolve_axis(std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n) {
    throw Error("", "axis " + std::to_string(axis) + " out of range for rank " + std::to_string(n));
  }
  return axis < 0 ? axis + n : axis;
}

DType parse_type(const std::string& name) {
  for (std::size_t i = 0; i < kDTypes; ++i) {
    if (const auto type = static_cast<DType>(i); name_of(type) == name) return type;
  }
  throw Error("", "unknown type \"" + name + "\"");
}

bool linear_in_one(const OpCall&, std::uint32_t set) { return std::has_single_bit(set); }

std::vector<TensorInfo> same_as_first(const OpCall& call) { return {call.in[0]}; }

}  // namespace superstep::ops
