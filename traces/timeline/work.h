// SPDX-License-Identifier: Apache-2.0
// Kinds of work in the lanes of a timeline.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace superstep::trace {

// Kind of work of a lane, in the order of legends and tables. Kinds from ramp_up to no_part are waiting.
enum class Work : std::uint8_t {
  forward,
  recompute,
  backward,
  update,
  copy,
  collective,
  load,
  store,
  host,
  fixed,
  compute,  // compute, exchange, sync: parts of calls, where the steps of calls are known
  exchange,
  sync,
  ramp_up,    // before the first micro-batch
  ramp_down,  // after the last micro-batch
  imbalance,  // another IPU takes longer
  memory,     // Streaming Memory takes longer
  no_part,    // the IPU has no work in this part of the program
  idle,       // lane of transfers: nothing to move
};
inline constexpr int kWorks = static_cast<int>(Work::idle) + 1;
std::string_view name_of(Work work);    // "ramp-up"
std::string_view kind_text(Work work);  // name of the drawing style, for fill_of_kind()
inline bool waits(Work work) { return work >= Work::ramp_up && work != Work::idle; }

struct WorkCycles {
  std::array<std::int64_t, kWorks> by{};
  std::int64_t& operator[](Work work) { return by[static_cast<std::size_t>(work)]; }
  std::int64_t operator[](Work work) const { return by[static_cast<std::size_t>(work)]; }
  std::int64_t total() const;
  std::int64_t waiting() const;
  Work most() const;  // the kind with most cycles; of several, the first
  WorkCycles& operator+=(const WorkCycles& o);
  friend bool operator==(const WorkCycles&, const WorkCycles&) = default;
};

}  // namespace superstep::trace
