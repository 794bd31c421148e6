// SPDX-License-Identifier: Apache-2.0
// Published measurements: the job with the plan that was run, and what was measured. docs/explanation/validation.md
// says how a file of them looks.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

enum class Metric : std::uint8_t { throughput, step_time };

struct Measured {
  Metric metric = Metric::throughput;
  std::string name;          // of the metric, as given: "samples_per_second"
  double value = 0;          // above 0
  std::string unit, source;  // "packs/s", "ms"
  double unit_seconds = 1;   // of a time
  // The same as a rate, and a rate in this unit, for steps of so many samples.
  double samples_per_second(std::int64_t global_batch) const;
  double in_unit(double samples_per_second, std::int64_t global_batch) const;
};

struct PublishedPoint {
  std::string id;
  std::string run;                   // points of one run count once together
  std::string use;                   // "calibration": constants may be fitted to it; any other word: they may not
  std::string family;                // of models
  std::string framework, release;    // empty: not known
  std::vector<std::string> assumed;  // of the job, where the source does not say
  Measured measured;
  nlohmann::json job;
  std::string job_file, job_place;  // the file it is in, and where there: "#/points/3/job"; empty: it is the file
};

// A figure as it was announced, whatever it counts: "x" for a ratio, "h" for a time to train.
struct Stated {
  std::string metric, unit, source;
  double value = 0;  // above 0
};

// What is published but no point can be made of.
struct LeftOut {
  std::string id, use, model, machine, why;
  std::optional<Stated> stated;
};

struct PublishedPoints {
  std::vector<PublishedPoint> points;
  std::vector<LeftOut> left_out;
};

// Files, and the .json files of folders in the order of their names. Throws Error for a folder that has none;
// `expected` says what of.
std::vector<std::string> json_files(const std::vector<std::string>& paths, const std::string& expected);

// Reads files, and the .json files of folders in the order of their names. Jobs are not looked into. Throws Error with
// file and JSON pointer, also for an id that comes twice, and for points of one run that do not belong together.
PublishedPoints load_published(const std::vector<std::string>& paths);
// The repository's own: data/published.
std::string published_folder();

}  // namespace superstep
