// SPDX-License-Identifier: Apache-2.0
// Sums over the units of an IPU group: weights, accumulators, code and stash that one IPU holds. Bytes are per IPU, or
// per tile where the name says so. A phase of -1 stands for all phases. For lower() alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/graph/autodiff.h"
#include "model/lower/placement.h"

namespace superstep {

// Kind of tensors in a stash entry.
enum class StashKind : std::uint8_t {
  input,  // the boundary into a unit
  kept,   // results that a unit keeps for its backward pass
  feed    // host inputs of a unit
};

// One unit's share of a stash entry.
struct StashPart {
  std::int64_t unit;
  StashKind kind;
  Bytes bytes;
};

struct Holdings {
  Holdings(const UnitTable& unit_table, const Plan& lowered, const OptimizerSpec& optimizer);

  const UnitTable& table;
  const Plan& plan;
  std::vector<StageSpan> spans;
  std::int64_t state_bytes;  // bytes of optimiser state per parameter

  // Calls f(unit) for the units of an IPU group in a phase, in order.
  template <class F>
  void for_units(std::int64_t ipu, std::int64_t phase, F f) const {
    for (const StageSpan& s : spans) {
      if (s.ipu != ipu || (phase >= 0 && s.phase != phase)) continue;
      for (std::int64_t u = s.begin; u < s.end; ++u) f(static_cast<std::size_t>(u));
    }
  }
  std::vector<UnitId> units_on(std::int64_t ipu, std::int64_t phase) const;

  // Bytes of weights, per IPU and per tile. Weights that units borrow from another IPU group or phase count too.
  Bytes weights_of(std::int64_t ipu, std::int64_t phase) const;
  Bytes weights_tile(std::int64_t ipu, std::int64_t phase) const;
  // Bytes of weights for which the update makes new values. Borrowed weights do not count.
  Bytes new_weights_of(std::int64_t ipu, std::int64_t phase) const;
  // Number of trained parameters, with or without those borrowed from another IPU group or phase.
  std::int64_t parameters_of(std::int64_t ipu, std::int64_t phase, bool with_borrowed) const;
  // Bytes of code per tile. All other fields of the result are 0.
  Residents code_of(std::int64_t ipu, std::int64_t phase) const;

  // Runs [begin, end) of a stage's units that are recomputed together before their backward passes.
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks(const StageSpan& s) const;
  // Bytes that a stage stores for one micro-batch between its forward and backward pass, given its recompute mode.
  // `tile`: bytes per tile; else per IPU.
  Bytes stash_entry(const StageSpan& s, bool tile) const;
  std::vector<StashPart> stash_parts(const StageSpan& s, bool tile) const;
  // Bytes of the boundary into a unit as a phase stores it: a shard if the plan shards activations, else whole.
  Bytes stored_boundary(std::int64_t unit) const;
  // Bytes of the unit's accumulators, unsharded, borrowed weights included.
  Bytes accumulator_bytes(std::int64_t unit) const;
  // True if the unit borrows weights and no earlier owner or borrower of these is on the IPU group and in the phase.
  bool borrows(std::size_t unit, std::int64_t ipu, std::int64_t phase) const;

 private:
  bool same_checkpoint(std::int64_t a, std::int64_t b) const;
  Bytes stash_boundary(std::int64_t unit, bool tile) const;
  // Sum of a field of UnitRow over the units of an IPU group in a phase. `borrowed` is the field of borrowed weights,
  // which counts where borrows() is true; null: no such field.
  Bytes sum_of(std::int64_t ipu, std::int64_t phase, Bytes UnitRow::*own, Bytes UnitRow::*borrowed) const;
};

}  // namespace superstep
