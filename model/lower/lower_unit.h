// SPDX-License-Identifier: Apache-2.0
// One unit of a graph in one pass, as supersteps of one IPU.
#pragma once

#include <cstdint>

#include "model/lower/graph_facts.h"
#include "model/lower/product_fronts.h"
#include "model/lower/program.h"

namespace superstep {

struct UnitContext {
  const GraphFacts& facts;
  const GraphSharding& sharding;
  const Chip& chip;
  ProductFronts& fronts;
  std::int64_t tiles = 0;  // compute tiles
  Bytes temporary_cap;     // per op and tile
  CapRange least_time_of;  // just that, or several bounds: not a program's, see TableKey
  Live live = Live::none;  // that these bounds count, not of an update
  Bytes held;              // of them what the layer keeps beside the unit, per tile
  DType partials = DType::fp16;
  bool accumulate = true;  // gradients are added to an accumulator (several micro-batches per step)
  Serialisation serialisation;
  GroupShape update_group;  // update pass: replicas that share the work of one update
  std::int64_t rank_stride = 1;
  std::int64_t replica_stride = 1;  // from a replica to the next, where a statistics group goes on

  bool bounds() const { return least_time_of.size() > 1; }
  // What is made in slices is made in as many as this asks for.
  Bytes slice_cap(Bytes cap) const { return bounds() ? Bytes(INT64_MAX / 8) : cap; }
};

Function lower_unit(const UnitContext& context, UnitId unit, Pass pass);

}  // namespace superstep
