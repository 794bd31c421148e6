// SPDX-License-Identifier: Apache-2.0
// An item of a sweep on its way to another process, and its row on the way back.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "planner/sweep/sweep.h"

namespace superstep {

struct SweepItem {
  std::int64_t item = 0;
  std::string key;      // see key_of()
  nlohmann::json grid;  // pointer: value
  nlohmann::json job;
  std::string source;     // where paths in the job count from
  double time_limit = 0;  // seconds; 0: none
  int threads = 1;
};
SweepItem item_of(const Sweep& sweep, const SweepWork& work, std::size_t item, const SweepOptions& options);

// As run_sweep() plans it. Throws Error where the files that the job names have other numbers here than where its key
// was made.
SweepRow plan_item(const SweepItem& item, const std::function<void(double share, const std::string& what)>& progress);

nlohmann::json to_json(const SweepItem& item);
SweepItem item_from(const nlohmann::json& json);
nlohmann::json to_json(const SweepRow& row);  // all of it; numbers to the last bit in a binary form of JSON
SweepRow row_from(const nlohmann::json& json);

}  // namespace superstep
