// SPDX-License-Identifier: Apache-2.0
// A job with lists of values for some of its fields: all combinations, planned and kept in a file.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/sweep/plan_job.h"
#include "planner/sweep/sweep_store.h"

namespace superstep {

// One field that varies, by its JSON pointer in the job: "/plan/replicas".
struct SweepAxis {
  std::string pointer;
  std::vector<nlohmann::json> values;
};

// The items are the product of the axes, which stand in the order of their pointers; the last varies fastest. A pointer
// may lead below another one, which is then set first.
struct Sweep {
  std::string source;      // the sweep's file
  std::string job_source;  // where the base stands; paths in it count from there
  nlohmann::json base;     // a job, perhaps without what the axes give
  std::vector<SweepAxis> grid;

  std::size_t size() const;
  std::vector<nlohmann::json> values(std::size_t item) const;  // one per axis
  // The base with the values of an item. Objects on the way to a field are made where there are none, and a machine
  // given by its name alone becomes {"base": name}.
  nlohmann::json job(std::size_t item) const;
};

// Sets one field of a job as above. Throws Error(where) where the pointer leads below a value that has no fields.
void set_field(nlohmann::json& job, const std::string& pointer, const nlohmann::json& value, const std::string& where);

// Reads {"base": a job or the path of one, "grid": {pointer: [values], ...}}; see data/sweeps/schema.json. Throws Error
// for what is no such thing, for a pointer that names no field of a job, for two items that are the same job, and where
// no item at all is a job that can be read.
Sweep load_sweep(const std::string& path);
Sweep read_sweep(const nlohmann::json& json, const std::string& name);

struct SweepOptions {
  double time_limit = 50;                             // seconds, of the search of each item; 0: none
  int threads = 0;                                    // 0: all cores
  std::function<void(const ManyProgress&)> progress;  // may be empty
  // May be empty. Each row once it is kept, one at a time; where there is something left to plan, those that were there
  // ahead.
  std::function<void(const SweepRow&)> row;
};

// What of a sweep is left to plan.
struct SweepWork {
  std::vector<std::string> keys;           // of all its items
  std::vector<std::size_t> left;           // items that have no row, by number
  std::size_t done = 0, without_plan = 0;  // rows that were there, and those of them that say why there is no plan
};
// Throws Error where the store holds results of another sweep, or items planned with other numbers, saying what
// differs.
SweepWork begin_sweep(const Sweep& sweep, SweepStore& store, const SweepOptions& options);

// Plans what the store does not hold yet, and appends each item as it is done. Throws what begin_sweep() does.
void run_sweep(const Sweep& sweep, SweepStore& store, const SweepOptions& options);

// The values of an item by their pointers.
nlohmann::json grid_of(const Sweep& sweep, std::size_t item);
// How an item is searched, by whomever.
ManyOptions item_options(double time_limit, int threads);

// A hash of all that an item's result depends on: its job, the machine's and the calibration's numbers, the model's
// file.
std::string key_of(const nlohmann::json& job, const std::string& source);

}  // namespace superstep
