// SPDX-License-Identifier: Apache-2.0
// Placement of a plan's parts: stages in phases and IPU groups, shards on replicas, tied weights on two IPU groups,
// remote memory on lenders.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower/unit_table.h"
#include "model/program/program.h"

namespace superstep {

// A stage: its units [begin, end), its phase, its IPU group, and its place in the pipeline of the phase.
struct StageSpan {
  std::int64_t begin = 0, end = 0;
  std::int64_t phase = 0;
  std::int64_t position = 0;  // place in the pipeline, from 0 for the first stage
  std::int64_t from_end = 0;  // place from the end of the pipeline, 0 for the last stage
  std::int64_t ipu = 0;       // IPU group
  Recompute recompute = Recompute::layer;
};
// Returns all stages of a plan for a model of `units` units.
std::vector<StageSpan> stage_spans(const Plan& plan, std::int64_t units);
// Returns the stage that has the unit.
const StageSpan& span_of(const std::vector<StageSpan>& spans, UnitId unit);

// True for phases with micro_batch_outer. Weights and accumulators of a phase have then left the tiles before the
// phase's update, which must load both again.
bool update_loads(const Plan& plan);
// Returns the stride, in IPUs, to the lender of remote memory. IPU i uses memory of IPU i + stride, and the last IPUs
// use memory of the first. The lender is outside of IPU i's replica, and for remote_machine outside of its IPU-Machine.
// The lender runs the same stage of another replica, and lends as much as it borrows. Returns 1 for memory that is not
// remote. Replicas must be outermost in the placement.
std::int64_t lender_stride(const Plan& plan, Location location, std::int64_t per_machine);
// True if each IPU of the machine has such a lender, or the memory is not remote. False for remote memory if replicas
// are not outermost in the placement.
bool has_lender(const Plan& plan, Location location, const Machine& machine);

// Shard degree and location of accumulators between micro-batches. Accumulators of a phase that does all its
// micro-batches at once never leave the tiles: degree 1, in_processor. Accumulators of a phase with micro_batch_outer
// leave the tiles: to streaming, unless the plan names another place.
std::int64_t gradient_shards(const Plan& plan);
Location accumulators_at(const Plan& plan);

// Returns the index of the stage that runs a unit.
std::size_t stage_of(const Plan& plan, std::int64_t unit);

// A tied weight: its owner and one borrower, with the IPU groups and phases of both.
struct Tie {
  std::int64_t owner = 0, borrower = 0;  // units
  std::int64_t owner_ipu = 0, borrower_ipu = 0;
  bool same_phase = true;
  std::int64_t owner_phase = 0, borrower_phase = 0;
  bool together = false;  // true: the owner or an earlier borrower is on the borrower's IPU group, in the same phase
};
// Returns the tie of GraphFacts::tied[tied].
Tie place_tie(const Plan& plan, const GraphFacts& facts, std::size_t tied);
// Returns all ties whose borrower needs a copy of the weight of its own (Tie::together is false).
std::vector<Tie> ties(const Plan& plan, const GraphFacts& facts);
// Returns the bytes of gradients that one IPU of the borrower sends to the owner.
Bytes tied_gradients(const UnitTable& table, const Plan& plan, const Tie& tie);

// Returns the number of micro-batches whose stash entries a stage holds at once. The stash is a ring from the stage's
// forward to its backward.
inline std::int64_t stash_depth(Schedule schedule, std::int64_t from_end) {
  if (schedule == Schedule::sequential) return 1;
  return schedule == Schedule::interleaved ? from_end + 1 : 2 * from_end + 1;
}

// Returns the bytes of one of `degree` equal shards of `bytes`.
inline Bytes sharded(Bytes bytes, std::int64_t degree) { return share(bytes, degree); }

// Returns the shape of a mesh, the IPUs that share a stage's tensors. Each may hold the whole boundary between stages.
GroupShape mesh_of(const Plan& plan);

// The replicas of one IPU of a pipeline, `stride` IPUs apart, and the groups in which replicas share sharded tensors.
// Shard degrees divide the count.
struct Replicas {
  std::int64_t count = 1, stride = 1;
  ShardGroups groups = ShardGroups::consecutive;

  // Returns the group of `degree` replicas that hold one shard each of a tensor. If `part` is more than 1, the tensor
  // is cut into `part` shards, and each of these again, into `degree` shards in all. The group is then the replicas
  // that hold the parts of one larger shard. If degree = count, these are all replicas that hold the same of `part`
  // shards.
  GroupShape group(std::int64_t degree, std::int64_t part = 1) const;
  // Returns the shard that a replica holds, of `degree` shards.
  std::int64_t shard_of(std::int64_t replica, std::int64_t degree) const;
  // Returns the first replica that holds a shard, of `degree` shards.
  std::int64_t first_with(std::int64_t shard, std::int64_t degree) const;
  friend auto operator<=>(const Replicas&, const Replicas&) = default;
};
Replicas replicas_of(const Plan& plan);
// Returns the group of replicas that share a tensor in `degree` shards.
GroupShape shard_group(const Plan& plan, std::int64_t degree);

}  // namespace superstep
