// SPDX-License-Identifier: Apache-2.0
#include "model/xla/sharding.h"

#include <algorithm>

#include "model/error.h"
#include "model/xla/writer.h"

namespace superstep::xla_import {

namespace {

std::int64_t size_of(const hlo_file::NamedSharding& sharding, const hlo_file::NamedSharding::AxisRef& ref) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const auto& axes = sharding.mesh().axes();
  const std::int64_t i = ref.mesh_axis_index();
  if (ref.has_sub_axis_info()) return std::clamp<std::int64_t>(ref.sub_axis_info().size(), 1, kMost);
  return i >= 0 && i < axes.size() ? std::clamp<std::int64_t>(axes[static_cast<int>(i)].size(), 1, kMost) : 1;
}

Extents named_parts(const hlo_file::NamedSharding& sharding) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  Extents parts;
  for (const auto& dimension : sharding.dim_shardings()) {
    parts.push_back(1);
    for (const auto& ref : dimension.axes()) parts.back() = std::min(parts.back() * size_of(sharding, ref), kMost);
  }
  return parts;
}

}  // namespace

Extents parts_of(const hlo_file::OpSharding& sharding, const hlo_file::ShapeProto& shape) {
  const auto rank = static_cast<std::size_t>(shape.dimensions_size());
  Extents parts;
  if (sharding.has_named_sharding()) {
    parts = named_parts(sharding.named_sharding());
  } else if (sharding.type() == hlo_file::OpSharding::OTHER) {
    const auto& all = sharding.tile_assignment_dimensions();
    const int others = sharding.replicate_on_last_tile_dim() ? 1 : sharding.last_tile_dims_size();
    parts.assign(all.begin(), all.end() - std::min(others, all.size()));
  }
  constexpr std::int64_t kMostDevices = 1 << 24;
  std::int64_t devices = 1;
  const bool sound = std::ranges::all_of(parts, [&](std::int64_t p) {
    if (p < 1 || p > kMostDevices / devices) return false;
    devices *= p;
    return true;
  });
  if (!parts.empty() && (parts.size() != rank || !sound))
    throw Error("", "found " + to_text(parts) + " parts of a tensor with " + std::to_string(rank) + " dimensions");
  return std::ranges::all_of(parts, [](std::int64_t p) { return p == 1; }) ? Extents{} : parts;
}

void add_degrees(const std::string& path, int batch_dimension, ProgramFacts& facts) {
  for (const TensorSharding& s : facts.sharding) {
    if (s.parts.empty()) continue;
    if (s.weight) {
      facts.tensor_parallel = std::max(facts.tensor_parallel, volume_of(s.parts));
      continue;
    }
    const auto d = static_cast<std::size_t>(batch_dimension);
    const std::int64_t samples = d < s.parts.size() ? s.parts[d] : 1;
    if (samples > 1 && facts.replicas > 1 && samples != facts.replicas)
      throw Error(path, "input \"" + s.name + "\" is cut into " + std::to_string(samples) +
                            " parts along the samples, another input into " + std::to_string(facts.replicas) +
                            "; expected one number");
    facts.replicas = std::max(facts.replicas, samples);
  }
}

}  // namespace superstep::xla_import
