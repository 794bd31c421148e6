// SPDX-License-Identifier: Apache-2.0
// Comparison of predicted with measured figures, beside a null model with a single constant. Errors are fractions of
// the rate of samples. So +0.1 means predicted 10 % too fast, also for a measured time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/report/evaluated.h"
#include "planner/validate/published.h"
#include "traces/band.h"

namespace superstep {

// The estimate of a job.
struct Prediction {
  std::string model, machine, plan, fits;
  std::int64_t global_batch = 0, ipus = 0;
  std::int64_t tile_peak = 0, tile_limit = 0;
  double samples_per_second = 0, step_seconds = 0;
  double ideal_seconds = 0;  // seconds of a step: model FLOPs at the FP16.16 peak of all IPUs
  double busy = 1;           // busy_share() of the plan
  std::vector<std::string> not_validated;
  std::optional<Band> step_band;  // seconds, 95 %; empty if predict() got a calibration
};

// Estimates a point's job. `calibration` replaces the calibration that the job's machine names; null: no replacement.
// Throws Error for an invalid job.
Prediction predict(const PublishedPoint& point, const Calibration* calibration);

// Returns the share of a step in which an IPU of the pipeline has work. Training: g / (g + 2 (S - 1)) for g
// micro-batches through S forward stages and back. Inference has no way back: g / (g + S - 1). A sequential schedule of
// p groups gives 1 / p. S counts stages, not IPUs: a pipeline that ends on its first IPU has one stage more than IPUs.
double busy_share(const Plan& plan, bool training);

// The null model: constant utilisation. A step takes ideal_seconds / (utilisation x busy).
struct NullModel {
  double utilisation = 0;
  std::int64_t runs = 0;  // number of runs in the fit
  double samples_per_second(const Prediction& p) const;
};
struct FittedRun {
  double ideal_seconds = 0, busy = 1, measured_seconds = 0;
};
// Returns the utilisation with the least mean absolute error of the logarithms: the median of the runs' utilisations.
// For an even number of runs the median is the geometric mean of the middle two. Returns nothing for no runs.
std::optional<NullModel> fit_null_model(const std::vector<FittedRun>& runs);

// Returns the quantile `share` of the values: 0 gives the least value, 1 the greatest. Between two values quantiles are
// interpolated linearly. Returns NaN for no values.
double quantile(std::vector<double> values, double share);
// Statistics of errors over runs; all NaN for no runs.
struct ErrorStatistics {
  std::int64_t runs = 0;
  double median_abs, p90_abs, max_abs;
  double bias;  // mean of the signed errors
};
ErrorStatistics statistics_of(const std::vector<double>& errors);

nlohmann::json to_json(const ErrorStatistics& statistics);

struct ValidatedPoint {
  PublishedPoint point;
  std::optional<Prediction> prediction;  // empty: `failure` says why
  std::string failure;
  bool unsupported = false;  // the failure is an unsupported op, not bad input
  double predicted = 0;      // in the unit of the measured figure
  double error = 0;
  Band band;             // 95 %, in the unit of the measured figure
  bool in_band = false;  // the measured figure lies in the band
  std::optional<double> null_predicted, null_error;
};

// Statistics of all runs, or of the runs with one use, one family, or both.
struct ErrorGroup {
  std::string use, family;  // empty: any
  ErrorStatistics model, null_model;
  double in_band_share = 0;  // share of runs whose measured points all lie in their bands
};

struct Validation {
  std::vector<ValidatedPoint> points;  // in the order given
  std::vector<ErrorGroup> groups;      // all runs; then uses, families, and both for families with several uses
  std::optional<NullModel> null_model;
};

struct ValidateOptions {
  int threads = 0;                                                      // 0: all cores
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// Estimates every point's job. The null model is fitted to the calibration points of `fitted`, the same points to which
// the cost model's constants may be fitted. A job that cannot be estimated is a failure of its point alone.
Validation validate(const std::vector<PublishedPoint>& points, const std::vector<PublishedPoint>& fitted,
                    const ValidateOptions& options);

}  // namespace superstep
