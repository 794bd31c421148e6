// SPDX-License-Identifier: Apache-2.0
// Predicted against measured, beside what a model knows that has one constant only. Errors are fractions of the rate
// of samples: +0.1 means predicted 10 % too fast, also where a time was measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/report/evaluated.h"
#include "planner/validate/published.h"
#include "traces/band.h"

namespace superstep {

// What `estimate` says of a job.
struct Prediction {
  std::string model, machine, plan, fits;
  std::int64_t global_batch = 0;
  std::int64_t tile_peak = 0, tile_limit = 0;
  double samples_per_second = 0, step_seconds = 0;
  double ideal_seconds = 0;  // model FLOPs of a step at the FP16.16 peak of all IPUs
  double busy = 1;           // see busy_share()
  std::vector<std::string> not_validated;
  std::optional<Band> step_band;  // seconds, 95 %; none under a calibration of the caller's
};

// `calibration`: instead of the one that the job's machine names; null: that one. Throws Error as reading the job does.
Prediction predict(const PublishedPoint& point, const Calibration* calibration);

// The share of a step in which an IPU of the pipeline has work: g / (g + 2 (S - 1)) for g micro-batches through S
// forward stages and back, without the way back for inference; 1 / p where p groups of IPUs work one after another.
// S counts stages, not IPUs: a pipeline that ends on its first IPU has one more.
double busy_share(const Plan& plan, bool training);

// Constant utilisation: a step takes ideal_seconds / (utilisation x busy).
struct NullModel {
  double utilisation = 0;
  std::int64_t runs = 0;  // it was fitted to
  double samples_per_second(const Prediction& p) const;
};
struct FittedRun {
  double ideal_seconds = 0, busy = 1, measured_seconds = 0;
};
// The utilisation that makes the mean absolute error of the logarithms least: their median; of an even number of runs
// the geometric mean of the middle two. None for no runs.
std::optional<NullModel> fit_null_model(const std::vector<FittedRun>& runs);

// Over runs. Quantiles lie on the line between the two nearest values, the least at 0 and the greatest at 1; all is NaN
// when there are none.
double quantile(std::vector<double> values, double share);
struct ErrorStatistics {
  std::int64_t runs = 0;
  double median_abs, p90_abs, max_abs;
  double bias;  // mean of the signed errors
};
ErrorStatistics statistics_of(const std::vector<double>& errors);

nlohmann::json to_json(const ErrorStatistics& statistics);

struct ValidatedPoint {
  PublishedPoint point;
  std::optional<Prediction> prediction;  // none: `failure` says why
  std::string failure;
  bool unsupported = false;  // for an op that we do not have, not for bad input
  double predicted = 0;      // in the unit of what was measured
  double error = 0;
  Band band;             // 95 %, in the unit of what was measured
  bool in_band = false;  // what was measured is
  std::optional<double> null_predicted, null_error;
};

// All runs, those of one use, of one family, or of both.
struct ErrorGroup {
  std::string use, family;  // empty: all
  ErrorStatistics model, null_model;
  double covered = 0;  // share of the runs whose measured points lie in their bands
};

struct Validation {
  std::vector<ValidatedPoint> points;  // as given
  std::vector<ErrorGroup> groups;      // all first; then uses, families, and both where a family has several uses
  std::optional<NullModel> null_model;
};

struct ValidateOptions {
  int threads = 0;                                                      // 0: all cores
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// Estimates every point's job. The null model is fitted to the calibration points of `fitted`: it may see what our
// constants may be fitted to, nothing else. A job that cannot be estimated is a failure of its point.
Validation validate(const std::vector<PublishedPoint>& points, const std::vector<PublishedPoint>& fitted,
                    const ValidateOptions& options);

}  // namespace superstep
