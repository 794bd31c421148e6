// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline/work.h"

#include <algorithm>
#include <numeric>

namespace superstep::trace {

std::string_view name_of(Work work) {
  static constexpr std::array<std::string_view, kWorks> kNames{
      "forward",   "recompute", "backward", "update",  "inter-IPU copy", "collective", "DDR load",
      "DDR store", "host",      "fixed",    "compute", "exchange",       "sync",       "ramp-up",
      "ramp-down", "imbalance", "DDR late", "no part", "nothing"};
  return kNames[static_cast<std::size_t>(work)];
}

std::string_view kind_text(Work work) {
  static constexpr std::array<std::string_view, kWorks> kKinds{
      "forward", "recompute", "compute", "update",  "links",     "collective", "load",     "store",   "host", "fixed",
      "compute", "exchange",  "sync",    "ramp-up", "ramp-down", "imbalance",  "DDR late", "no part", ""};
  return kKinds[static_cast<std::size_t>(work)];
}

std::int64_t WorkCycles::total() const { return std::accumulate(by.begin(), by.end(), std::int64_t{0}); }

std::int64_t WorkCycles::waiting() const {
  return (*this)[Work::ramp_up] + (*this)[Work::ramp_down] + (*this)[Work::imbalance] + (*this)[Work::memory] +
         (*this)[Work::no_part];
}

Work WorkCycles::most() const { return static_cast<Work>(std::max_element(by.begin(), by.end()) - by.begin()); }

WorkCycles& WorkCycles::operator+=(const WorkCycles& o) {
  for (std::size_t i = 0; i < by.size(); ++i) by[i] += o.by[i];
  return *this;
}

}  // namespace superstep::trace
