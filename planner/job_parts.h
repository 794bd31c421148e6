// SPDX-License-Identifier: Apache-2.0
// A job as several, each searched by itself: fewer IPUs than the machine has, and fields that are one value in all of a
// search's tables.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "planner/search.h"

namespace superstep {

// The sizes of the job's machine and its partitions that its limits allow, the largest first. Throws Error where none
// is.
std::vector<std::int64_t> partition_sizes(const Job& job);

// The same job on so many IPUs of its machine, one of its partition_sizes().
Job on_partition(const Job& job, std::int64_t ipus);

// One job for each choice of
// * one of the partition_sizes();
// * a value of each list in plan.precision and plan.serialisation, the last list changing first.
// Those without a legal cell are left out; where all are, the first is given, whose search says why.
std::vector<Job> job_parts(const Job& job);

// What the parts differ in, as further fields of the space.
std::vector<SpaceField> fields_of_parts(const Job& job, const std::vector<Job>& parts);

// What was searched of two parts.
SearchStats operator+(const SearchStats& a, const SearchStats& b);

// Searches one part after the other: each knows what those before it found, unless the front needs the best of every
// partition, and has the time that they left.
class PartSearch {
 public:
  PartSearch(const Job& job, std::size_t parts, SearchOptions options);
  // Of the next part.
  SearchResult search(Tables& tables);

 private:
  using Clock = std::chrono::steady_clock;
  const double parts_;
  const bool shares_;
  SearchOptions options_;
  const double time_limit_;
  const std::function<void(double, const std::string&)> progress_;
  const Clock::time_point start_ = Clock::now();
  double done_ = 0;
};

}  // namespace superstep
