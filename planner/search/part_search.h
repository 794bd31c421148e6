// SPDX-License-Identifier: Apache-2.0
// The search of a job that is divided into parts (space/job_parts.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "planner/search/front_board.h"
#include "planner/search/search.h"

namespace superstep {

// Of searches one after the other that share a time limit.
class TimeLeft {
 public:
  explicit TimeLeft(double limit) : limit_(limit) {}
  // For SearchOptions::time_limit: where nothing is left next to nothing, as 0 is no limit.
  double seconds() const;
  double used() const;

 private:
  const double limit_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Searches one part after the other, for the best plan and then for runners-up: each knows what others found, unless
// the front needs the best of every partition, and has the time that they left; half of that while nothing is found.
// The job lives as long.
// What else is asked of them, their fronts first of all, is done side by side.
class PartSearch {
 public:
  PartSearch(const Job& job, std::size_t parts, SearchOptions options);
  // The best plans of the next parts; why several have none is not explained.
  void search(const std::vector<Tables*>& parts);
  // The rest of all that were searched. `done` is given the result of each by its number, by any thread; not null.
  void finish(const std::function<void(std::size_t part, SearchResult)>& done);
  // When no part has a plan: what is in the way of one.
  SearchResult explain(Tables& tables);
  SearchStats stats() const;  // of all parts that are finished

 private:
  const std::size_t parts_;
  const bool shares_;
  const ExplainInfeasible explain_;
  const TimeLeft left_;
  SearchOptions options_;
  std::atomic<bool> given_up_ = false;
  std::mutex progress_mutex_;
  std::vector<double> progress_;  // of each part
  std::vector<Candidate> known_;
  FrontBoard board_;
  double proof_seconds_ = 0;
  std::vector<std::unique_ptr<SearchSteps>> steps_;  // of each part; null: finished
  std::vector<SearchStats> stats_;

  SearchOptions options_of(std::size_t part);
  void add_known(std::span<const Candidate> found);
  void note_proof();
  void report(std::size_t part, double share, const std::string& what);
};

}  // namespace superstep
