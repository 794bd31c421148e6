// SPDX-License-Identifier: Apache-2.0
// Details of a comparison beyond its tables: bands of differences in speed, the largest differences between terms, and
// phases or layers matched by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/band.h"
#include "traces/compare.h"

namespace superstep {

// Relative change of samples/s from the source to the target: 0.12 is 12 % more.
struct SpeedChange {
  double change = 0;
  std::optional<Band> band;  // of the change; none: the reports have no common worlds
};
// Returns the change in speed; none: a report has no plan, or a plan has no finite speed.
std::optional<SpeedChange> speed_change(const report::Index& target, const report::Index& source);

// Returns the band of the step time in seconds; none: the report has no worlds.
std::optional<Band> step_time_band(const report::Index& index);

// Returns the band of the target's step time less the source's, in seconds; none: no common worlds.
std::optional<Band> step_difference_band(const report::Index& target, const report::Index& source);

// Returns "Largest differences: fixed cost +182.1 ms, weight update -14.2 ms." for report number `target` against
// report 0, with at most `count` terms. Empty: no term differs by 0.05 ms.
std::string differences_sentence(const Comparison& comparison, std::size_t target, std::size_t count = 3);

// Cycles per optimiser step of a named part of a report, such as a layer and phase.
struct NamedCycles {
  std::string name;
  std::int64_t cycles = 0;
};
struct ComparedCycles {
  std::string name;
  std::vector<std::optional<std::int64_t>> cycles;  // one per report; none: the report has no part of that name
  bool matched() const;                             // true if every report has a part of that name
};
// Matches parts by name. Cycles of equal names of a report are added up. Names that all reports have come first, then
// all other names; both in order of appearance.
std::vector<ComparedCycles> match_cycles(std::span<const std::vector<NamedCycles>> reports);

}  // namespace superstep
