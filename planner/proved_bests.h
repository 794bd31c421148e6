// SPDX-License-Identifier: Apache-2.0
// What earlier searches proved best, for a job whose plans are some of theirs: one that pins what the best plan has is
// answered without another search.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "planner/job.h"
#include "planner/search.h"
#include "planner/space.h"

namespace superstep {

// Of tables that live as long. Safe to share between threads.
class ProvedBests {
 public:
  // No plan of the job, with all its cells, is better; none: not known.
  std::optional<Candidate> find(const Job& job, const std::vector<Cell>& cells);
  void add(const Job& job, std::vector<Cell> cells, const Candidate& best);

 private:
  struct Proved {
    Job job;
    std::vector<Cell> cells;
    Candidate best;
  };
  static constexpr std::size_t kMost = 16;  // the oldest goes first

  std::mutex mutex_;
  std::vector<Proved> proved_;
};

// Whether every plan of `narrow` is one of `wide`, each with its cells: jobs of the same tables that ask for the same,
// whose pins may differ. Pins that are not told apart from wider ones count as outside.
bool is_within(const Job& narrow, const std::vector<Cell>& narrow_cells, const Job& wide,
               const std::vector<Cell>& wide_cells);

}  // namespace superstep
