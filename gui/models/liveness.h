// SPDX-License-Identifier: Apache-2.0
// Live memory of the fullest tile of an IPU over its program steps: every phase in program order, each superstep of
// its function once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gui/models/heat_data.h"
#include "gui/models/timeline.h"
#include "gui/models/variables.h"
#include "traces/report_io.h"

namespace superstep::gui {

struct LivenessPoint {
  int phase = 0;           // row of heat.phase
  std::int64_t step = -1;  // row of the step columns; -1: the report lists no supersteps of this phase
  std::int64_t resident_bytes =
      0;  // what stands there all the while the phase runs: always live, and kept by earlier calls
  std::int64_t live_bytes = 0;        // of this superstep on top
  std::int64_t temporary_bytes = -1;  // of live_bytes, what only this superstep needs; -1: not known
  std::int64_t total() const { return resident_bytes + live_bytes; }
};

struct Liveness {
  int ipu_class = -1;
  std::int64_t tile = -1;        // -1: the fullest
  std::int64_t always_live = 0;  // of the IPU class
  std::int64_t limit = 0;
  std::vector<LivenessPoint> points;
  int peak = -1;  // the first of the highest
  // What stands during a phase by category, in stack order, what earlier calls keep (activations) included; by row of
  // heat.phase. Empty where the report does not say, and for a tile other than the fullest.
  std::vector<std::string> categories;
  std::vector<std::vector<std::int64_t>> stands;
  const std::vector<std::int64_t>* stands_at(int point) const;  // null: not known
  // What a point has beyond the always-live: kept by earlier calls. 0 where a phase holds less than the always-live
  // of the fullest phase.
  std::int64_t kept(int point) const;
};

// Null variables: what stands is not told apart.
Liveness liveness_of(const report::Index& index, const Steps& steps, const HeatData& heat, int ipu_class,
                     const Variables* variables = nullptr, std::int64_t tile = -1);
// The rows of the step columns that a function has, [first, end).
std::pair<std::int64_t, std::int64_t> steps_of_function(const report::Index& index, const Steps& steps, int function);

}  // namespace superstep::gui
