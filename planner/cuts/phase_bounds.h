// SPDX-License-Identifier: Apache-2.0
// What bounds on phases were found, for the same question asked again: by another branch of a search, or where a later
// job differs in a pin that leaves a setting as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "planner/cuts/cuts.h"
#include "planner/job/job.h"

namespace superstep {

// Of tables that live as long. Safe to share between threads.
class PhaseBounds {
 public:
  // bound_phases(), of which only what has no pinned stages is kept.
  std::int64_t bound(const Setting& setting, const CutRules& rules, const CutLimits& limits);

 private:
  struct Question {
    Setting setting;
    std::vector<Recompute> modes;
    std::optional<IntegerPin> phase_count;
    std::int64_t tile = 0, executable = 0, io_tile = 0, ddr = 0;
    friend bool operator==(const Question&, const Question&) = default;
  };
  struct Known {
    Question question;
    std::int64_t cycles = -1;     // the bound; -1: none is known
    std::int64_t none_below = 0;  // cycles
  };
  static constexpr std::size_t kMost = 8192;  // of some 4 KiB each

  Known* find(std::size_t hash, const Question& question);

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, Known> known_;
};

}  // namespace superstep
