// SPDX-License-Identifier: Apache-2.0
// The few constants that are fitted to measured systems rather than read from a source. Each stands in
// data/calibration/default.json with the measurements behind the fit.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/units.h"

namespace superstep {

// Factors multiply the number that the comment names; 1 leaves the number as modelled.
struct Calibration {
  double vector_factor = 1;     // vertex cycles of vector, reduction and re-layout work
  Cycles micro_batch_fixed;     // per micro-batch: host stream and loop overhead, small supersteps not modelled
  Cycles pipeline_cycle_fixed;  // added per pipeline cycle if there are several stages
  // Added per pass of a micro-batch through a phase: as a pipeline's cycle it moves boundaries, syncs and switches
  // programs. A cycle of training has two passes.
  Cycles pass_fixed(bool training) const { return Cycles(pipeline_cycle_fixed.value / (training ? 2 : 1)); }
  double streaming_factor = 1;  // rate of Streaming Memory
  double gateway_factor = 1;    // rate of collectives between racks
  double host_copy_factor = 1;  // rate of host programs that copy a step's inputs before the step
  // Half of the 95 % band of a step's time that nothing explains, as a share. Mechanisms that no measured point covers
  // have bands of their own (model/software/evidence.h).
  double relative_band = 0.08;
  // Half of the 95 % band of the fullest tile's bytes: of code and what is not modelled, in bytes, and of temporaries,
  // as a share of the bound on them.
  std::int64_t memory_band_bytes = 0;
  double temporary_band = 0;
  // Returns half of the whole band, in bytes, for a plan with this bound on temporary memory.
  std::int64_t memory_band(Bytes temporary_cap) const;
  // One value of the file, as `superstep explain` prints it.
  struct Row {
    std::string name, text, source, fitted_to;
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::vector<Row> rows;
  // Uncertainty of the fit: half widths of 95 % bands in the order of fitted_constants(), and the matrix of
  // correlations row by row. Both are empty if not known.
  std::vector<double> uncertainty, correlation;
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

// A constant that is fitted to measured step times. One value serves for all models and pods.
struct FittedConstant {
  std::string_view name;  // key in the file
  std::string_view unit;  // "cycles"; empty: a factor
  std::string_view meaning;
  double least, most;  // range that a fit may find
  double expected;     // value expected from the meaning alone, without measured steps
  double spread;       // relative uncertainty of `expected`, which weighs against the measurements
  bool is_rate;        // true: times are proportional to the inverse of the constant
  double (*get)(const Calibration&);
  void (*set)(Calibration&, double);
};
// Returns all fitted constants, in the order of Calibration::uncertainty.
std::span<const FittedConstant> fitted_constants();

// Reads the JSON of a calibration file. Throws Error on a missing, unknown or invalid value; `name` is for messages.
Calibration read_calibration(const nlohmann::json& json, const std::string& name);
// Reads a file, a name that ends in ".json", or else data/calibration/<name>.json. Throws Error as read_calibration()
// does, or if the file cannot be read.
Calibration load_calibration(const std::string& name = "default");

}  // namespace superstep
