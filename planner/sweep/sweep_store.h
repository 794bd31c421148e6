// SPDX-License-Identifier: Apache-2.0
// Results of a sweep in an SQLite file: what is in it has been computed, whenever the writer was killed.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/sweep/plan_job.h"

namespace superstep {

struct SweepRow {
  std::int64_t item = 0;
  std::string key;      // see key_of()
  nlohmann::json grid;  // pointer: value
  PlanStatus status = PlanStatus::planned;
  std::string reason;  // empty with `planned`; otherwise all below is empty
  std::string label, fits;
  nlohmann::json plan;
  std::int64_t global_batch = 0;
  double samples_per_second = 0, step_seconds = 0;
  Band step_band;                               // seconds, 95 %
  std::int64_t tile_peak = 0, ddr_per_ipu = 0;  // bytes
  double gap = 0;
  double seconds = 0;  // that planning took; the only number that is not the same in every run
};
SweepRow row_of(std::int64_t item, std::string key, nlohmann::json grid, const PlannedJob& planned, double seconds);

// One process at a time: a second one is refused, others may read the file with any tool. Each row is a transaction of
// its own, so a row is there whole or not at all.
class SweepStore {
 public:
  // Opens or makes the file; empty: in memory. Throws Error where it is in use, or is no results of a sweep.
  explicit SweepStore(const std::string& path);
  ~SweepStore();
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  const std::string& path() const { return path_; }
  // What the sweep asks, kept when the file is new; otherwise what the file was made for.
  nlohmann::json question_or(const nlohmann::json& asked);
  void append(const SweepRow& row);    // throws Error where it cannot be written
  std::vector<SweepRow> rows() const;  // by item

 private:
  struct Database;
  std::string path_;
  std::unique_ptr<Database> database_;
};

}  // namespace superstep
