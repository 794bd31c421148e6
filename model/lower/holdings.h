// SPDX-License-Identifier: Apache-2.0
// What the IPU groups of a plan hold, as sums over their units: bytes of one IPU, or of one tile where the name says
// so. phase -1: all phases. For lower() alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/graph/autodiff.h"
#include "model/lower/placement.h"

namespace superstep {

// Of a stash entry.
struct StashPart {
  enum class What { input, kept, feed };  // crosses into the unit, what its forward keeps, what the host feeds it
  std::int64_t unit;
  What what;
  Bytes bytes;
};

struct Holdings {
  Holdings(const UnitTable& unit_table, const Plan& lowered, const OptimizerSpec& optimizer);

  const UnitTable& table;
  const Plan& plan;
  std::vector<StageSpan> spans;
  std::int64_t state_bytes;  // of the optimiser, per parameter

  // Calls f(unit) for the units of an IPU group.
  template <class F>
  void for_units(std::int64_t ipu, std::int64_t phase, F f) const {
    for (const StageSpan& s : spans) {
      if (s.ipu != ipu || (phase >= 0 && s.phase != phase)) continue;
      for (std::int64_t u = s.begin; u < s.end; ++u) f(static_cast<std::size_t>(u));
    }
  }
  std::vector<UnitId> units_on(std::int64_t ipu, std::int64_t phase) const;

  // With weights that the units borrow from another IPU group or phase.
  Bytes weights_of(std::int64_t ipu, std::int64_t phase) const;
  Bytes weights_tile(std::int64_t ipu, std::int64_t phase) const;
  Bytes new_weights_of(std::int64_t ipu, std::int64_t phase) const;
  std::int64_t parameters_of(std::int64_t ipu, std::int64_t phase, bool with_borrowed) const;
  // Code alone.
  Residents code_of(std::int64_t ipu, std::int64_t phase) const;

  // Runs of a stage's units that are recomputed together before their backward passes.
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks(const StageSpan& s) const;
  // One stash entry of a stage: what its recompute mode stores for one micro-batch; per tile or per IPU.
  Bytes stash_entry(const StageSpan& s, bool tile) const;
  std::vector<StashPart> stash_parts(const StageSpan& s, bool tile) const;
  // What crosses into a unit as a phase stores it.
  Bytes stored_boundary(std::int64_t unit) const;
  Bytes accumulator_bytes(std::int64_t unit) const;
  // Whether a unit brings weights that it borrows, and no unit before it has them there.
  bool borrows(std::size_t unit, std::int64_t ipu, std::int64_t phase) const;

 private:
  bool same_checkpoint(std::int64_t a, std::int64_t b) const;
  Bytes stash_boundary(std::int64_t unit, bool tile) const;
  // Of the units there; of borrowed weights once, where their owner is elsewhere. Null: none borrowed.
  Bytes sum_of(std::int64_t ipu, std::int64_t phase, Bytes UnitRow::*own, Bytes UnitRow::*borrowed) const;
};

}  // namespace superstep
