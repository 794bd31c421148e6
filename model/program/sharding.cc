// SPDX-License-Identifier: Apache-2.0
#include "model/program/sharding.h"

namespace superstep {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::all_to_all:
      return "all_to_all";
  }
  return "";
}

std::vector<std::int64_t> local_extents(const std::vector<std::int64_t>& extents, const OpSharding& sharding,
                                        TensorParallel mesh) {
  std::vector<std::int64_t> local = extents;
  for (std::size_t j = 0; j < 2; ++j) {
    const int a = sharding.axis[j];
    if (a >= 0)
      local[static_cast<std::size_t>(a)] = ceil_div(local[static_cast<std::size_t>(a)], j == 0 ? mesh.t1 : mesh.t2);
  }
  return local;
}

GroupShape mesh_group(TensorParallel mesh, int dimension, std::int64_t rank_stride) {
  return dimension == 0 ? GroupShape{mesh.t1, mesh.t2 * rank_stride} : GroupShape{mesh.t2, rank_stride};
}

std::int64_t local_extent(const Shape& shape, std::size_t dimension, const Sharding& sharding, TensorParallel mesh) {
  std::int64_t extent = shape[dimension];
  for (std::size_t j = 0; j < 2; ++j) {
    if (sharding.on[j] == static_cast<int>(dimension)) extent = ceil_div(extent, j == 0 ? mesh.t1 : mesh.t2);
  }
  return extent;
}

std::int64_t local_volume(const Shape& shape, const Sharding& sharding, TensorParallel mesh) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) elements *= local_extent(shape, d, sharding, mesh);
  return elements;
}

}  // namespace superstep
