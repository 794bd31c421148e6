// SPDX-License-Identifier: Apache-2.0
// What a comparison says beyond its tables: how sure the difference in speed is, what makes most of it, and the
// phases of the reports side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/band.h"
#include "traces/compare.h"

namespace superstep {

// Samples/s of the target against the source: 0.12 is 12 % more. No band: the reports have no common worlds.
struct SpeedChange {
  double change = 0;
  std::optional<Band> band;
};
std::optional<SpeedChange> speed_change(const report::Index& target, const report::Index& source);  // none: no plan

// Of the step time itself, in seconds. None: the report has no worlds.
std::optional<Band> step_time_band(const report::Index& index);

// Of the step time of the target less that of the source, in seconds. None: no common worlds.
std::optional<Band> step_difference_band(const report::Index& target, const report::Index& source);

// "Largest differences: fixed cost +182.1 ms, weight update -14.2 ms." Empty where nothing differs.
std::string differences_sentence(const Comparison& comparison, std::size_t target, std::size_t count = 3);

// Cycles of a step by the name of a layer and phase, or of anything else that has a name.
struct NamedCycles {
  std::string name;
  std::int64_t cycles = 0;
};
struct ComparedCycles {
  std::string name;
  std::vector<std::optional<std::int64_t>> cycles;  // one per report; none: it has nothing of that name
  bool matched() const;                             // every report has it
};
// Equal names of a report are added up. First what all reports have, then the rest, each in order of appearance.
std::vector<ComparedCycles> match_cycles(std::span<const std::vector<NamedCycles>> reports);

}  // namespace superstep
