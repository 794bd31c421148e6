// SPDX-License-Identifier: Apache-2.0
// A sweep's item on its way to another process, and its row on the way back.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "planner/sweep/sweep.h"

namespace superstep {

struct SweepItem {
  std::int64_t item = 0;
  std::string key;      // see key_of()
  nlohmann::json grid;  // by JSON pointer
  nlohmann::json job;
  std::string source;     // file to which paths in the job are relative
  double time_limit = 0;  // seconds; 0: no limit
  int threads = 1;
};
SweepItem item_of(const Sweep& sweep, const SweepWork& work, std::size_t item, const SweepOptions& options);

// Plans the item as run_sweep() does. Throws Error if the files that the job names have other numbers here than at the
// place where the item's key was made.
SweepRow plan_item(const SweepItem& item, const std::function<void(double share, const std::string& what)>& progress);

nlohmann::json to_json(const SweepItem& item);
SweepItem item_from(const nlohmann::json& json);
nlohmann::json to_json(const SweepRow& row);  // all fields; a binary form of JSON keeps numbers to the last bit
SweepRow row_from(const nlohmann::json& json);

}  // namespace superstep
