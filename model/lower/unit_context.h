// SPDX-License-Identifier: Apache-2.0
// What the lowering of a unit is given, beside the unit and the pass.
#pragma once

#include <cstdint>

#include "model/lower/graph_facts.h"
#include "model/lower/product_fronts.h"
#include "model/program/program.h"

namespace superstep {

// All inputs of the lowering of a unit but the unit and the pass.
struct UnitContext {
  const GraphFacts& facts;
  const GraphSharding& sharding;
  const Chip& chip;
  ProductFronts& fronts;
  std::int64_t tiles = 0;  // compute tiles
  Bytes temporary_cap;     // bound on temporary memory, bytes per tile, for every op
  // The bound temporary_cap alone, for a program. Or a range of bounds: the lowered unit then has the least time over
  // the range, and belongs to no program (TableKey::least_proportion).
  CapRange least_time_of;
  Live live = Live::none;  // kind of the bounds; no effect on updates
  Bytes held;              // bytes per tile that count against the bounds beside the unit's own live tensors
  DType partials = DType::fp16;
  bool accumulate = true;  // true: gradients are added to accumulators (several micro-batches per step)
  Serialisation serialisation;
  GroupShape update_group;  // update pass: replicas that share the work of one update
  std::int64_t rank_stride = 1;
  std::int64_t replica_stride = 1;  // IPUs from a replica to the next, for statistics groups over several replicas

  // True if the context stands for a range of bounds.
  bool bounds() const { return least_time_of.size() > 1; }
  // Returns the bound that decides the number of slices, given the bound `cap`. For a range of bounds, practically no
  // bound: the fewest slices take least time.
  Bytes slice_cap(Bytes cap) const { return bounds() ? Bytes(INT64_MAX / 8) : cap; }
};

}  // namespace superstep
