// SPDX-License-Identifier: Apache-2.0
// A job as several, each searched by itself: fewer IPUs than the machine has, and fields that are one value in all of a
// search's tables.
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

// Where a job has lists of values that are searched one by one: formats, serialisation (lists and ranges), cuts.
std::vector<nlohmann::json::json_pointer> lists_of(const nlohmann::json& job);

// The sizes of the job's machine and its partitions that its limits allow, the largest first. Throws Error where none
// is.
std::vector<std::int64_t> partition_sizes(const Job& job);

// The same job on so many IPUs of its machine, one of its partition_sizes().
Job on_partition(const Job& job, std::int64_t ipus);

// One job for each choice of
// * one of the partition_sizes();
// * a value of each list in plan.precision and plan.serialisation, and of each list of cuts, the last list changing
//   first; of a range in plan.serialisation those that cut the model's products into equal parts, or else the least.
//   Cuts whose lengths differ are left out if others are left.
// Those without a legal cell are left out; where all are, the first is given, whose search says why.
std::vector<Job> job_parts(const Job& job);

// What was searched of two parts.
SearchStats operator+(const SearchStats& a, const SearchStats& b);

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
  // The best plans of the next parts; what is in the way of several is not explained.
  void search(const std::vector<Tables*>& parts);
  // The rest of all that were searched. `done` is given the result of each by its number, by any thread; not null.
  void finish(const std::function<void(std::size_t part, SearchResult)>& done);
  // When no part has a plan: what is in the way of one.
  SearchResult explain(Tables& tables);
  SearchStats stats() const;  // of all parts that are finished

 private:
  const std::size_t parts_;
  const bool shares_, explains_;
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
