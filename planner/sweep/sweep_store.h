// SPDX-License-Identifier: Apache-2.0
// Storage of a sweep's results in an SQLite file. A stored row is complete, whenever the writer was killed.
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
  nlohmann::json grid;  // by JSON pointer
  PlanStatus status = PlanStatus::planned;
  std::string reason;  // empty with `planned`; otherwise the fields below are empty
  std::string label, fits;
  nlohmann::json plan;
  std::int64_t global_batch = 0;
  double samples_per_second = 0, step_seconds = 0;
  Band step_band;                               // seconds, 95 %
  std::int64_t tile_peak = 0, ddr_per_ipu = 0;  // bytes on the fullest tile, on the IPU that holds most
  double gap = 0;                               // gap of the search; 0: proved the best plan by the tables
  double seconds = 0;                           // time to plan the item; the only number that differs between runs
};
SweepRow row_of(std::int64_t item, std::string key, nlohmann::json grid, const PlannedJob& planned, double seconds);

// The results of one sweep. One process at a time may write: a second writer is refused, readers with any tool are not.
// Each row is a transaction, so a row is stored whole or not at all.
class SweepStore {
 public:
  // Opens or makes the file; an empty path stores in memory. Throws Error if the file is in use, or is no store of
  // sweep results.
  explicit SweepStore(const std::string& path);
  ~SweepStore();
  SweepStore(const SweepStore&) = delete;
  SweepStore& operator=(const SweepStore&) = delete;

  const std::string& path() const { return path_; }
  // Returns the stored question of the sweep. A new store stores and returns `asked`.
  nlohmann::json question_or(const nlohmann::json& asked);
  void append(const SweepRow& row);    // throws Error if the row cannot be written
  std::vector<SweepRow> rows() const;  // in the order of items

 private:
  struct Database;
  std::string path_;
  std::unique_ptr<Database> database_;
};

}  // namespace superstep
