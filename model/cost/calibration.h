// SPDX-License-Identifier: Apache-2.0
// The few constants that were fitted to measured systems rather than read from a source; each stands
// in data/calibration/default.json with what it was fitted to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/units.h"

namespace superstep {

struct Calibration {
  double vector_factor = 1;            // on vertex cycles of vector, reduction and re-layout work
  Cycles micro_batch_fixed;            // per micro-batch: host stream and loop overhead, small supersteps not modelled
  Cycles pipeline_cycle_fixed;         // more per pipeline cycle when there are several stages
  double streaming_factor = 1;         // on the rate of Streaming Memory
  double gateway_factor = 1;           // on the rate between racks, of collectives
  double host_copy_factor = 1;         // on the rate of host programs that copy a step's inputs first
  double relative_band = 0.08;         // 95 % band of step time for models like those fitted to
  double relative_band_other = 0.18;   // for model families and mechanisms never measured
  std::int64_t memory_band_bytes = 0;  // 95 % band of the fullest tile's bytes
  struct Row {
    std::string name, text, source, fitted_to;
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::vector<Row> rows;
  // How well the fit knows the constants of fitted_constants(): none, or 95 % bands in their order, and correlations
  // row by row.
  std::vector<double> uncertainty, correlation;
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

// A constant that measured times decide. Nothing in it is of one model or pod.
struct FittedConstant {
  std::string_view name;  // its key in the file
  std::string_view unit;  // "cycles"; empty: a factor
  std::string_view meaning;
  double least, most;  // what a fit may find
  double expected;     // from what it stands for, without measured steps
  double spread;       // how far off that may be, in parts of it: weighs against the measurements
  bool is_rate;        // times go with its inverse
  double (*get)(const Calibration&);
  void (*set)(Calibration&, double);
};
std::span<const FittedConstant> fitted_constants();

// `name` is for messages.
Calibration read_calibration(const nlohmann::json& json, const std::string& name);
// From data/calibration/<name>.json; throws Error as load_machine does.
Calibration load_calibration(const std::string& name = "default");

}  // namespace superstep
