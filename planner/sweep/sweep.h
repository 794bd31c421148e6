// SPDX-License-Identifier: Apache-2.0
// A sweep: a job with lists of values for some fields. All combinations are planned and kept in a file.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/sweep/plan_job.h"
#include "planner/sweep/sweep_store.h"

namespace superstep {

// A field that varies, with its JSON pointer in the job: "/plan/replicas".
struct SweepAxis {
  std::string pointer;
  std::vector<nlohmann::json> values;
};

// The items of a sweep are the product of its axes. Axes are in the order of their pointers; the last axis varies
// fastest. If a pointer leads below another pointer, the upper field is set first.
struct Sweep {
  std::string source;      // the sweep's file
  std::string job_source;  // file of the base job; paths in the base are relative to the file
  nlohmann::json base;     // a job; fields that the axes set may be absent
  std::vector<SweepAxis> grid;

  std::size_t size() const;
  std::vector<nlohmann::json> values(std::size_t item) const;  // one per axis
  // Returns the base with the values of an item. Missing objects on the way to a field are made. A machine given by
  // name alone becomes {"base": name}.
  nlohmann::json job(std::size_t item) const;
};

// Sets one field of a job, like Sweep::job(). Throws Error(where) if the pointer leads below a value without fields.
void set_field(nlohmann::json& job, const std::string& pointer, const nlohmann::json& value, const std::string& where);

// Reads {"base": a job or its path, "grid": {pointer: [values], ...}}; see data/sweeps/schema.json. Throws Error for
// any other JSON, a pointer that names no field of a job, and two items that are the same job. Throws Error too if no
// item is a readable job.
Sweep load_sweep(const std::string& path);
Sweep read_sweep(const nlohmann::json& json, const std::string& name);

struct SweepOptions {
  double time_limit = 0;  // seconds per item; 0: searches end by their work (kBudget.whole_work)
  int threads = 0;        // 0: all cores
  std::function<void(const ManyProgress&)> progress;  // may be empty
  // May be empty. Called with each row after the row is stored, by one thread at a time. If items are left to plan,
  // rows that were stored before come first.
  std::function<void(const SweepRow&)> row;
};

// The state of a sweep before planning.
struct SweepWork {
  std::vector<std::string> keys;           // of all items
  std::vector<std::size_t> left;           // items without a row
  std::size_t done = 0, without_plan = 0;  // rows that were stored before, and the number of such rows without a plan
};
// Compares the sweep with the store and returns the work that is left. Throws Error if the store holds results of
// another sweep, or items planned with other numbers; the message says what differs.
SweepWork begin_sweep(const Sweep& sweep, SweepStore& store, const SweepOptions& options);

// Plans the items that the store does not hold yet. Appends each item to the store when the item is done. Throws the
// same errors as begin_sweep().
void run_sweep(const Sweep& sweep, SweepStore& store, const SweepOptions& options);

// Returns the values of an item by pointer.
nlohmann::json grid_of(const Sweep& sweep, std::size_t item);
// Returns the options with which an item is searched, by this process or any other.
ManyOptions item_options(double time_limit, int threads);

// Returns a hash of all inputs of an item's result: the job, the machine's and the calibration's numbers, and the
// model's file.
std::string key_of(const nlohmann::json& job, const std::string& source);

}  // namespace superstep
