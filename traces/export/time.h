// SPDX-License-Identifier: Apache-2.0
// Cycles as times of formats that know only nanoseconds. A cycle is shorter than one, so real times join neighbours;
// written as one each, cycles stay whole and shares of time are the same.
#pragma once

#include <cmath>

#include "traces/export/walk.h"

namespace superstep::exports {

inline std::int64_t nanoseconds(const Trace& trace, const Options& options, std::int64_t cycles) {
  return options.real_time ? std::llround(trace.timeline.seconds(cycles) * 1e9) : cycles;
}
inline std::string time_note(const Trace& trace, const Options& options) {
  if (options.real_time) return "times are rounded to nanoseconds";
  return "1 ns stands for 1 cycle of " + std::to_string(std::llround(trace.timeline.clock_hz / 1e3)) + " kHz";
}
inline double microseconds(const Trace& trace, std::int64_t cycles) { return trace.timeline.seconds(cycles) * 1e6; }

}  // namespace superstep::exports
