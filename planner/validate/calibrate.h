// SPDX-License-Identifier: Apache-2.0
// The constants of the calibration, from measured step times. docs/explanation/calibration.md says what is minimised.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/cost/calibration.h"
#include "planner/validate/validate.h"

namespace superstep {

// What a published run says: the estimate of its step is to be so long.
struct MeasuredRun {
  std::string name, family;
  double seconds = 0;
  std::function<double(const Calibration&)> predict;  // seconds; safe to call from several threads
};

// The runs of the points whose use is "calibration".
std::vector<MeasuredRun> measured_runs(const std::vector<PublishedPoint>& points);

struct CalibratedConstant {
  double value = 0;
  double uncertainty = 0;                               // 95 %
  double low = 0, high = 0;                             // of the fits that leave one run out
  std::vector<std::pair<std::string, double>> held_by;  // runs, and their shares of what is known of it; most first
};

struct LeftOutFamily {
  std::string family;
  std::vector<double> values;  // of the constants, fitted without it
  ErrorStatistics errors;      // of its runs then
};

struct CalibrationFit {
  Calibration calibration;                             // of the start, with what was fitted
  std::vector<CalibratedConstant> constants;           // as fitted_constants()
  std::vector<std::pair<std::string, double>> errors;  // of runs, as fractions of the rate
  ErrorStatistics fitted, left_out_runs;               // errors with all runs, and of each run when it is left out
  std::vector<LeftOutFamily> families;
};

struct CalibrateOptions {
  int threads = 0;                                                      // 0: all cores
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// `start` gives what is not fitted; where the fit begins does not matter. Throws Error where there is no run.
CalibrationFit calibrate(const std::vector<MeasuredRun>& runs, const Calibration& start,
                         const CalibrateOptions& options);

// The file that load_calibration() reads.
nlohmann::ordered_json calibration_file(const CalibrationFit& fit);

}  // namespace superstep
