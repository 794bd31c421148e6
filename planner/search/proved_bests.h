// SPDX-License-Identifier: Apache-2.0
// What earlier searches proved, for a job whose plans are some of theirs: one that pins what the best plan has is
// answered without another search, others are done when they have found what nothing exceeds.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/job/job.h"
#include "planner/search/search.h"
#include "planner/space/space.h"

namespace superstep {

// The plans of a job, with all its cells.
class JobPlans {
 public:
  JobPlans(Job job, const std::vector<Cell>& cells);
  // Whether every one of them is one of `wide`: of jobs of the same tables that ask for the same, whose pins may
  // differ. Pins that are not told apart from wider ones count as outside.
  bool is_within(const JobPlans& wide) const;
  const Job& job() const { return job_; }

 private:
  using Degrees = std::tuple<TensorParallel, std::int64_t, std::int64_t, Placement, ShardGroups, bool>;
  Job job_;
  nlohmann::json question_, setting_pins_;
  std::map<Degrees, std::set<std::pair<std::int64_t, std::int64_t>>> batches_;  // micro-batch and accumulation
  std::vector<Cell> kinds_;  // one of all that have the same settings
};

// Of tables that live as long. Safe to share between threads.
class ProvedBests {
 public:
  struct Answer {
    std::optional<Candidate> best;  // no plan of the job is better; none: not known
    // Another job's best, which only its cuts may keep from being a plan of the job; may be none.
    std::optional<Plan> near;
    double ceiling = std::numeric_limits<double>::infinity();  // score that no plan of the job exceeds
  };
  Answer find(const JobPlans& plans);
  // `best`: none where a plan of another job, or none at all, is best.
  void add(JobPlans plans, double ceiling, std::optional<Candidate> best);

 private:
  struct Proved {
    JobPlans plans;
    double ceiling = 0;
    std::optional<Candidate> best;
  };
  static constexpr std::size_t kMost = 16;  // the one that has served nothing for longest goes first

  std::mutex mutex_;
  std::vector<Proved> proved_;
};

}  // namespace superstep
