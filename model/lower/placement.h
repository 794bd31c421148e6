// SPDX-License-Identifier: Apache-2.0
// Where a plan puts what: stages in phases and IPU groups, shards on replicas, tied weights on two IPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower/program.h"
#include "model/lower/unit_table.h"

namespace superstep {

// The units [begin, end) of a stage, the phase it is in, and its place from the end of its pipeline.
struct StageSpan {
  std::int64_t begin = 0, end = 0;
  std::int64_t phase = 0;
  std::int64_t position = 0;  // in its phase's pipeline, from 0
  std::int64_t from_end = 0;  // 0: the last stage of its pipeline
  std::int64_t ipu = 0;
  Recompute recompute = Recompute::layer;
};
std::vector<StageSpan> stage_spans(const Plan& plan, std::int64_t units);
// The one that has the unit.
const StageSpan& span_of(const std::vector<StageSpan>& spans, UnitId unit);

// micro_batch_outer: weights and accumulators of a phase have left by the time of its update.
bool update_loads(const Plan& plan);
// Where remote memory is: IPU i uses that of IPU i + stride, the last ones that of the first, which is outside of i's
// own replica and, for remote_machine, of its IPU-Machine. The lender runs the same stage of another replica and lends
// as much as it borrows. 1 for memory that is not remote. Replicas are outermost.
std::int64_t lender_stride(const Plan& plan, Location location, std::int64_t per_machine);
// Whether there is such a lender, for each IPU of the machine; true for memory that is not remote. Other replicas are
// outside of an IPU's own machine where replicas are outermost.
bool has_lender(const Plan& plan, Location location, const Machine& machine);

// How accumulators are sharded, and where they are between micro-batches. Those of a phase that does all its
// micro-batches at once never leave their tiles.
std::int64_t gradient_shards(const Plan& plan);
Location accumulators_at(const Plan& plan);

// The stage that runs a unit.
std::size_t stage_of(const Plan& plan, std::int64_t unit);

// A weight used by two units, and where they are.
struct Tie {
  std::int64_t owner = 0, borrower = 0;  // units
  std::int64_t owner_ipu = 0, borrower_ipu = 0;
  bool same_phase = true;
  std::int64_t owner_phase = 0, borrower_phase = 0;
  bool together = false;  // the owner, or an earlier borrower, has it where this borrower is, and in its phase
};
Tie place_tie(const Plan& plan, const GraphFacts& facts, std::size_t tied);
// Those that are not together: on another IPU group than all that have the weight before, or in another phase.
std::vector<Tie> ties(const Plan& plan, const GraphFacts& facts);
// Gradients that move from the borrower to the owner, of one IPU.
Bytes tied_gradients(const UnitTable& table, const Plan& plan, const Tie& tie);

// How many micro-batches a stage's stash holds at once: a ring from its forward to its backward.
inline std::int64_t stash_depth(Schedule schedule, std::int64_t from_end) {
  if (schedule == Schedule::sequential) return 1;
  return schedule == Schedule::interleaved ? from_end + 1 : 2 * from_end + 1;
}

// Bytes that the shards of `bytes` take on one holder.
inline Bytes sharded(Bytes bytes, std::int64_t degree) { return share(bytes, degree); }

// All IPUs of a mesh: what crosses from stage to stage they may hold alike.
GroupShape mesh_of(const Plan& plan);

// The replicas of one stage and rank, `stride` IPUs apart, and how they are divided where they share tensors. Degrees
// divide their count.
struct Replicas {
  std::int64_t count = 1, stride = 1;
  ShardGroups groups = ShardGroups::consecutive;

  // Those that share a tensor, one of `degree` shards each. Or, of a tensor that `part` replicas share already: those
  // that share what one of these has, where there are `degree` shards in all. With degree = count they are those that
  // hold the same shard of `part`.
  GroupShape group(std::int64_t degree, std::int64_t part = 1) const;
  // Which shard a replica has, and the first replica that has a shard.
  std::int64_t shard_of(std::int64_t replica, std::int64_t degree) const;
  std::int64_t first_with(std::int64_t shard, std::int64_t degree) const;
  friend auto operator<=>(const Replicas&, const Replicas&) = default;
};
Replicas replicas_of(const Plan& plan);
// Who takes part in a sharding of the given degree.
GroupShape shard_group(const Plan& plan, std::int64_t degree);

}  // namespace superstep
