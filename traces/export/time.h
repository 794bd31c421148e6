// SPDX-License-Identifier: Apache-2.0
// Conversion of cycles to times, for formats that have whole nanoseconds only. A cycle is shorter than a nanosecond, so
// real times make neighbouring slices equal. If a cycle is written as 1 ns, nothing is rounded and shares of time stay.
#pragma once

#include <cmath>

#include "traces/export/walk.h"

namespace superstep::exports {

// Returns the time to write for a number of cycles: nanoseconds if options.real_time, else the number itself.
inline std::int64_t nanoseconds(const Trace& trace, const Options& options, std::int64_t cycles) {
  return options.real_time ? std::llround(trace.timeline.seconds(cycles) * 1e9) : cycles;
}
// Returns a note for readers of the file on the unit of its times.
inline std::string time_note(const Trace& trace, const Options& options) {
  if (options.real_time) return "times are rounded to nanoseconds";
  return "1 ns stands for 1 cycle of " + std::to_string(std::llround(trace.timeline.clock_hz / 1e3)) + " kHz";
}
inline double microseconds(const Trace& trace, std::int64_t cycles) { return trace.timeline.seconds(cycles) * 1e6; }

}  // namespace superstep::exports
