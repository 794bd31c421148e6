// SPDX-License-Identifier: Apache-2.0
// Keeps the results of bound_phases() for questions that are asked again: by another branch of a search, or by a later
// job whose pins leave the setting unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "planner/cuts/cuts.h"
#include "planner/job/job.h"

namespace superstep {

// A memo of bound_phases(). The tables of all settings asked about must outlive the memo. Safe to share between
// threads.
class PhaseBounds {
 public:
  // Returns bound_phases(). Results are kept only where no stages, modes of stages or cuts into phases are pinned.
  std::int64_t bound(const Setting& setting, const CutRules& rules, const CutLimits& limits);

 private:
  // Everything that the bound depends on, apart from limits.best and the budget.
  struct Question {
    Setting setting;
    std::vector<Recompute> modes;
    std::optional<IntegerPin> phase_count;
    std::int64_t tile = 0, executable = 0, io_tile = 0, ddr = 0;
    friend bool operator==(const Question&, const Question&) = default;
  };
  struct Known {
    Question question;
    std::int64_t cycles = -1;     // the exact bound; -1: not known
    std::int64_t none_below = 0;  // lower bound on the cycles of all cuts, from searches below some limits.best
  };
  static constexpr std::size_t kMost = 8192;  // entries of some 4 KiB each; later questions are not kept

  // Returns the entry of a question; null: there is none. The caller holds mutex_.
  Known* find(std::size_t hash, const Question& question);

  std::mutex mutex_;
  std::unordered_multimap<std::size_t, Known> known_;
};

}  // namespace superstep
