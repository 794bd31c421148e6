// SPDX-License-Identifier: Apache-2.0
// Kinds of time in lanes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace superstep::trace {

// What a lane does, in the order of legends and tables. Those from ramp_up on are waiting.
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
  compute,  // of the steps of calls, when they are told apart
  exchange,
  sync,
  ramp_up,    // the first micro-batch has not come yet
  ramp_down,  // the last one has gone
  imbalance,  // another IPU takes longer
  memory,     // Streaming Memory takes longer
  no_part,    // the IPU has nothing to do in this part of the program
  idle,       // of a lane of streams: nothing to move
};
inline constexpr int kWorks = static_cast<int>(Work::idle) + 1;
std::string_view name_of(Work work);    // "ramp-up"
std::string_view kind_text(Work work);  // for fill_of_kind()
inline bool waits(Work work) { return work >= Work::ramp_up && work != Work::idle; }

struct WorkCycles {
  std::array<std::int64_t, kWorks> by{};
  std::int64_t& operator[](Work work) { return by[static_cast<std::size_t>(work)]; }
  std::int64_t operator[](Work work) const { return by[static_cast<std::size_t>(work)]; }
  std::int64_t total() const;
  std::int64_t waiting() const;
  Work most() const;  // the first of the largest
  WorkCycles& operator+=(const WorkCycles& o);
  friend bool operator==(const WorkCycles&, const WorkCycles&) = default;
};

}  // namespace superstep::trace
