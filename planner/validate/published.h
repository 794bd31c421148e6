// SPDX-License-Identifier: Apache-2.0
// Published runs: jobs with the plan that was run, and what was measured of them, or whether they fitted in memory.
// docs/explanation/validation.md describes the file format.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "planner/job/job.h"

namespace superstep {

enum class Metric : std::uint8_t { throughput, step_time };

struct Measured {
  Metric metric = Metric::throughput;
  std::string name;          // the metric as given: "samples_per_second"
  double value = 0;          // above 0
  std::string unit, source;  // "packs/s", "ms"
  double unit_seconds = 1;   // seconds per unit, for a time
  // Converts between samples per second and the measurement's unit, for steps of `global_batch` samples. The first
  // function returns the measured rate, the second a given rate in this unit.
  double samples_per_second(std::int64_t global_batch) const;
  double in_unit(double samples_per_second, std::int64_t global_batch) const;
};

// A job with the plan that was run.
struct PublishedJob {
  nlohmann::json job;
  // File of the job, and the job's place in the file: "#/points/3/job". An empty place means that the whole file is the
  // job.
  std::string job_file, job_place;
  std::string framework, release;    // empty: unknown
  std::vector<std::string> assumed;  // assumptions of the job that the source does not state

  // Returns a message about the job with the job's place in its file.
  std::string placed(std::string message) const;
};

struct PublishedPoint : PublishedJob {
  std::string id;
  std::string run;     // points of one run count once together
  std::string use;     // "calibration": constants may be fitted to the point; any other word: they may not
  std::string family;  // family of models
  Measured measured;
};

// A job that is known to have run, or to have run out of memory.
struct MemoryCase : PublishedJob {
  std::string id;
  bool ran = false;
  std::string source;
  std::string miss;  // why the model says otherwise; empty: it does not
};

// A figure as announced, of any kind: unit "x" for a ratio, "h" for a time to train.
struct Stated {
  std::string metric, unit, source;
  double value = 0;  // above 0
};

// A published figure that cannot become a point.
struct LeftOut {
  std::string id, use, model, machine, why;
  std::optional<Stated> stated;
};

struct PublishedPoints {
  std::vector<PublishedPoint> points;
  std::vector<MemoryCase> memory_cases;
  std::vector<LeftOut> left_out;
};

// Returns `paths` with each folder replaced by its .json files in the order of their names. Throws Error for a folder
// without such files; `expected` names the expected contents in the message.
std::vector<std::string> json_files(const std::vector<std::string>& paths, const std::string& expected);

// Reads files, and the .json files of folders in the order of their names. Jobs are not checked. Throws Error with file
// and JSON pointer. Ids must differ, and points of one run must agree in use, family and job.
PublishedPoints load_published(const std::vector<std::string>& paths);
// Returns the repository's own folder: data/published.
std::string published_folder();

// Returns the highest rate that was measured of the same question: model and its numbers, machine, task and batch. In
// samples per second; 0: nobody published one.
double best_published_rate(const Job& job);

}  // namespace superstep
