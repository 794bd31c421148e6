// SPDX-License-Identifier: Apache-2.0
// Fit of the cost model's constants to measured step times. docs/explanation/calibration.md describes the objective.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/cost/calibration.h"
#include "planner/validate/validate.h"

namespace superstep {

// A published run, with a measured step time that the estimate should match.
struct MeasuredRun {
  std::string name, family;
  double seconds = 0;                                 // measured seconds of a step
  std::function<double(const Calibration&)> predict;  // returns the estimated seconds of a step; thread-safe
  std::int64_t ipus = 0;                              // of the machine or partition
};

// Returns the runs of the points whose use is "calibration".
std::vector<MeasuredRun> measured_runs(const std::vector<PublishedPoint>& points);

struct CalibratedConstant {
  double value = 0;
  double uncertainty = 0;                               // half of the 95 % interval
  double low = 0, high = 0;                             // smallest and largest value of the fits that leave one run out
  std::vector<std::pair<std::string, double>> held_by;  // runs that determine the constant, by share
};

// Runs that a fit leaves out together: those of a family of models, or of a number of IPUs.
struct LeftOutGroup {
  std::string name;            // "bert", "64"
  std::vector<double> values;  // the constants, fitted without the group
  ErrorStatistics errors;      // errors of the group's runs with these constants
};

struct CalibrationFit {
  Calibration calibration;                             // the start, with the fitted constants replaced
  std::vector<CalibratedConstant> constants;           // in the order of fitted_constants()
  std::vector<std::pair<std::string, double>> errors;  // by run, as fractions of the rate
  ErrorStatistics fitted, left_out_runs;               // with all runs; of each run when the run is left out
  std::vector<LeftOutGroup> families, sizes;           // by family and by number of IPUs; empty: there is but one
};

struct CalibrateOptions {
  int threads = 0;                                                      // 0: all cores
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// Fits the constants. `start` gives all other values of the calibration; the fit itself begins at the expected
// constants. Throws Error if `runs` is empty.
CalibrationFit calibrate(const std::vector<MeasuredRun>& runs, const Calibration& start,
                         const CalibrateOptions& options);

// Returns the file that load_calibration() reads.
nlohmann::ordered_json calibration_file(const CalibrationFit& fit);

}  // namespace superstep
