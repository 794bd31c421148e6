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

// A time limit that several searches share, one after the other.
class TimeLeft {
 public:
  explicit TimeLeft(double limit) : limit_(limit) {}
  // Returns the seconds that are left, for SearchOptions::time_limit: 0 without a limit, and never 0 with one.
  double seconds() const;
  double used() const;  // seconds since this was made

 private:
  const double limit_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Searches the parts of a job one after the other, for the best plan and then for runners-up. A part knows what the
// others found, unless the front needs the best plan of every partition. A part has the time and the work that the
// others left, and half of that time while no plan is known. The fronts of all parts are traced side by side. The job
// must outlive the search.
class PartSearch {
 public:
  PartSearch(const Job& job, std::size_t parts, SearchOptions options);
  // Finds the best plans of the next parts. Of several parts, none is explained that has no plan.
  void search(const std::vector<Tables*>& parts);
  // Completes the parts that were searched. `done` receives the result of each with its number, from any thread.
  void finish(const std::function<void(std::size_t part, SearchResult)>& done);
  // Explains why no part has a plan, by the part with these tables.
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
  std::int64_t work_left() const;  // for SearchOptions::work_limit: 0 without a limit, and never 0 with one
  void add_known(std::span<const Candidate> found);
  void note_proof();
  void report(std::size_t part, double share, const std::string& what);
};

}  // namespace superstep
