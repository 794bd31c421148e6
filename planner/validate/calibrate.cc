// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/calibrate.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/error.h"
#include "model/parallel.h"

namespace superstep {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Standard deviation of the logarithm of a step time that the model leaves unexplained with any constants. The value
// weighs measurements against the expected constants, and tells outliers from other errors.
constexpr double kResidual = 0.04;
constexpr int kRounds = 8;         // of linearisation
constexpr double kSettled = 1e-4;  // largest change of a constant, in units of its spread

// Converts a constant to the form in which step times are linear, apart from maxima over IPUs and tile plans. Rates
// enter as 1 / rate.
double to_linear(const FittedConstant& c, double value) { return c.is_rate ? 1 / value : value; }
double from_linear(const FittedConstant& c, double linear) {
  if (c.is_rate) linear = std::clamp(linear, 1 / c.most, 1 / c.least);
  return std::clamp(c.is_rate ? 1 / linear : linear, c.least, c.most);
}

struct Parameters {
  VectorXd expected, spread, least, most;

  Parameters() {
    const auto all = fitted_constants();
    const auto n = static_cast<Eigen::Index>(all.size());
    expected = spread = least = most = VectorXd(n);
    for (Eigen::Index k = 0; k < n; ++k) {
      const FittedConstant& c = all[static_cast<std::size_t>(k)];
      expected[k] = to_linear(c, c.expected);
      spread[k] = c.spread * expected[k];
      least[k] = std::min(to_linear(c, c.least), to_linear(c, c.most));
      most[k] = std::max(to_linear(c, c.least), to_linear(c, c.most));
    }
  }
  Eigen::Index count() const { return expected.size(); }
  Calibration applied(Calibration to, const VectorXd& at) const {
    for (Eigen::Index k = 0; k < count(); ++k) {
      const FittedConstant& c = fitted_constants()[static_cast<std::size_t>(k)];
      c.set(to, from_linear(c, at[k]));
    }
    return to;
  }
};

// Step times of all runs near a point: seconds + slopes (x - point).
struct Linearised {
  VectorXd point, seconds;
  MatrixXd slopes;
  VectorXd at(const VectorXd& x) const { return seconds + slopes * (x - point); }
};

class Fit {
 public:
  Fit(const std::vector<MeasuredRun>& runs, const Calibration& start, const CalibrateOptions& options)
      : runs_(runs), start_(start), options_(options), measured_(static_cast<Eigen::Index>(runs.size())) {
    for (std::size_t i = 0; i < runs.size(); ++i) measured_[static_cast<Eigen::Index>(i)] = runs[i].seconds;
  }

  CalibrationFit run() {
    VectorXd x = parameters_.expected;
    for (int round = 0; round < kRounds; ++round) {
      tell(static_cast<double>(round) / kRounds, "round " + std::to_string(round + 1));
      near_ = linearised(x);
      const VectorXd next = solved(all());
      const double change = ((next - x).array() / parameters_.spread.array()).abs().maxCoeff();
      x = next;
      if (change < kSettled) break;
    }
    near_ = linearised(x);
    return described(x);
  }

 private:
  const std::vector<MeasuredRun>& runs_;
  const Calibration& start_;
  const CalibrateOptions& options_;
  const Parameters parameters_;
  VectorXd measured_;
  Linearised near_;

  void tell(double share, const std::string& what) const {
    if (options_.progress) options_.progress(share, what);
  }

  // Returns the step times of all runs under each calibration.
  std::vector<VectorXd> predicted(const std::vector<Calibration>& calibrations) const {
    const std::size_t n = runs_.size();
    std::vector<VectorXd> out(calibrations.size(), VectorXd(static_cast<Eigen::Index>(n)));
    parallel_for(n * calibrations.size(), options_.threads, [&](std::size_t i) {
      out[i / n][static_cast<Eigen::Index>(i % n)] = runs_[i % n].predict(calibrations[i / n]);
    });
    return out;
  }

  Linearised linearised(const VectorXd& x) const {
    constexpr double kStep = 0.05;  // of the spread, towards the inside of the range
    std::vector<Calibration> calibrations = {parameters_.applied(start_, x)};
    VectorXd steps(parameters_.count());
    for (Eigen::Index k = 0; k < parameters_.count(); ++k) {
      steps[k] = kStep * parameters_.spread[k] * (x[k] + kStep * parameters_.spread[k] > parameters_.most[k] ? -1 : 1);
      VectorXd moved = x;
      moved[k] += steps[k];
      calibrations.push_back(parameters_.applied(start_, moved));
    }
    const std::vector<VectorXd> times = predicted(calibrations);
    Linearised l{x, times.front(), MatrixXd(measured_.size(), parameters_.count())};
    for (Eigen::Index k = 0; k < parameters_.count(); ++k)
      l.slopes.col(k) = (times[static_cast<std::size_t>(k) + 1] - l.seconds) / steps[k];
    return l;
  }

  VectorXd all() const { return VectorXd::Ones(measured_.size()); }

  // Errors and their slopes in units of kResidual. The weights turn the square loss into Huber's loss, which is linear
  // beyond two residuals.
  struct Equations {
    VectorXd errors, weights;
    MatrixXd slopes;
  };
  Equations equations(const VectorXd& x, const VectorXd& counted) const {
    constexpr double kOutlier = 2;
    const VectorXd times = near_.at(x).cwiseMax(1e-3 * measured_);
    Equations e{(times.array() / measured_.array()).log() / kResidual, counted,
                (near_.slopes.array().colwise() / times.array()) / kResidual};
    for (Eigen::Index i = 0; i < e.errors.size(); ++i) e.weights[i] *= std::min(1.0, kOutlier / std::abs(e.errors[i]));
    return e;
  }

  MatrixXd information(const Equations& e) const {
    MatrixXd sum = e.slopes.transpose() * e.weights.asDiagonal() * e.slopes;
    sum.diagonal().array() += parameters_.spread.array().square().inverse();
    return sum;
  }

  // Returns the constants that fit the runs in `counted`, with linear step times. Constants that would leave their
  // range stay at its end.
  VectorXd solved(const VectorXd& counted) const {
    VectorXd x = near_.point;
    for (int i = 0; i < 100; ++i) {
      const Equations e = equations(x, counted);
      MatrixXd a = information(e);
      VectorXd b = e.slopes.transpose() * e.weights.asDiagonal() * e.errors +
                   ((x - parameters_.expected).array() / parameters_.spread.array().square()).matrix();
      for (Eigen::Index k = 0; k < x.size(); ++k) {
        const bool ends = (x[k] <= parameters_.least[k] && b[k] > 0) || (x[k] >= parameters_.most[k] && b[k] < 0);
        if (!ends) continue;
        a.row(k).setZero(), a.col(k).setZero(), a(k, k) = 1, b[k] = 0;
      }
      const VectorXd next = (x - a.ldlt().solve(b)).cwiseMax(parameters_.least).cwiseMin(parameters_.most);
      const double change = ((next - x).array() / parameters_.spread.array()).abs().maxCoeff();
      x = next;
      if (change < kSettled / 10) break;
    }
    return x;
  }

  // Returns errors as fractions of the rate of samples.
  VectorXd errors_at(const VectorXd& times) const { return (measured_.array() / times.array() - 1).matrix(); }

  CalibrationFit described(const VectorXd& x) const {
    CalibrationFit fit;
    fit.calibration = parameters_.applied(start_, x);
    const Equations e = equations(x, all());
    const MatrixXd covariance = information(e).inverse();
    const VectorXd errors = errors_at(near_.seconds);
    for (std::size_t i = 0; i < runs_.size(); ++i)
      fit.errors.emplace_back(runs_[i].name, errors[static_cast<Eigen::Index>(i)]);
    fit.fitted = statistics_of({errors.begin(), errors.end()});
    fit.calibration.uncertainty.clear();
    for (Eigen::Index k = 0; k < x.size(); ++k) {
      fit.constants.push_back(constant(k, x, covariance, e));
      fit.calibration.uncertainty.push_back(fit.constants.back().uncertainty);
    }
    fit.calibration.correlation = correlation(covariance);
    fit.calibration.relative_band = 2 * residual();
    leave_runs_out(fit);
    tell(0.9, "leaving families and sizes out");
    fit.families = left_out_by([](const MeasuredRun& r) { return r.family; });
    fit.sizes = left_out_by([](const MeasuredRun& r) { return r.ipus; });
    return fit;
  }

  CalibratedConstant constant(Eigen::Index k, const VectorXd& x, const MatrixXd& covariance, const Equations& e) const {
    const FittedConstant& c = fitted_constants()[static_cast<std::size_t>(k)];
    CalibratedConstant out;
    out.value = out.low = out.high = from_linear(c, x[k]);
    const double deviation = std::sqrt(covariance(k, k));
    out.uncertainty = 1.96 * (c.is_rate ? deviation * out.value * out.value : deviation);
    // Effect of this constant on each run, after removing the effect that the other constants can explain.
    const VectorXd own = e.weights.cwiseSqrt().asDiagonal() * (e.slopes * covariance.col(k));
    const double sum = own.squaredNorm();
    for (std::size_t i = 0; sum > 0 && i < runs_.size(); ++i) {
      const double share = own[static_cast<Eigen::Index>(i)] * own[static_cast<Eigen::Index>(i)] / sum;
      if (share >= 0.1) out.held_by.emplace_back(runs_[i].name, share);
    }
    std::sort(out.held_by.begin(), out.held_by.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    return out;
  }

  static std::vector<double> correlation(const MatrixXd& covariance) {
    std::vector<double> rows;
    const auto all = fitted_constants();
    for (Eigen::Index i = 0; i < covariance.rows(); ++i) {
      for (Eigen::Index j = 0; j < covariance.cols(); ++j) {
        // A rate and its inverse move against each other.
        const bool turns = all[static_cast<std::size_t>(i)].is_rate != all[static_cast<std::size_t>(j)].is_rate;
        rows.push_back((turns ? -1 : 1) * covariance(i, j) / std::sqrt(covariance(i, i) * covariance(j, j)));
      }
    }
    return rows;
  }

  // Returns the standard deviation of the logarithms of errors that remain with the fitted constants.
  double residual() const {
    const double squares = (near_.seconds.array() / measured_.array()).log().square().sum();
    return std::sqrt(squares / static_cast<double>(std::max<Eigen::Index>(1, measured_.size() - parameters_.count())));
  }

  void leave_runs_out(CalibrationFit& fit) const {
    std::vector<double> errors;
    for (Eigen::Index i = 0; i < measured_.size(); ++i) {
      VectorXd counted = all();
      counted[i] = 0;
      const VectorXd x = solved(counted);
      const double seconds = near_.at(x)[i];
      errors.push_back(measured_[i] / seconds - 1);
      for (Eigen::Index k = 0; k < x.size(); ++k) {
        CalibratedConstant& c = fit.constants[static_cast<std::size_t>(k)];
        const double value = from_linear(fitted_constants()[static_cast<std::size_t>(k)], x[k]);
        c.low = std::min(c.low, value), c.high = std::max(c.high, value);
      }
    }
    fit.left_out_runs = statistics_of(errors);
  }

  static const std::string& text_of(const std::string& name) { return name; }
  static std::string text_of(std::int64_t ipus) { return std::to_string(ipus); }

  // Fits without each group of runs with one key. Constants are fitted with linear times; errors are computed with true
  // times. Returns nothing if all runs are of one group.
  template <typename KeyOf>
  std::vector<LeftOutGroup> left_out_by(const KeyOf& key_of) const {
    std::map<decltype(key_of(runs_[0])), std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < runs_.size(); ++i) groups[key_of(runs_[i])].push_back(i);
    if (groups.size() < 2) return {};
    std::vector<Calibration> calibrations;
    for (const auto& [key, its] : groups) {
      VectorXd counted = all();
      for (std::size_t i : its) counted[static_cast<Eigen::Index>(i)] = 0;
      calibrations.push_back(parameters_.applied(start_, solved(counted)));
    }
    const std::vector<VectorXd> times = predicted(calibrations);
    std::vector<LeftOutGroup> out;
    for (const auto& [key, its] : groups) {
      const std::size_t at = out.size();
      const VectorXd all_errors = errors_at(times[at]);
      std::vector<double> errors, values;
      for (std::size_t i : its) errors.push_back(all_errors[static_cast<Eigen::Index>(i)]);
      for (const FittedConstant& c : fitted_constants()) values.push_back(c.get(calibrations[at]));
      out.push_back({text_of(key), values, statistics_of(errors)});
    }
    return out;
  }
};

// Returns the value with three digits: 1.27, 618000.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return std::strtod(text, nullptr);
}

nlohmann::ordered_json quantity(const FittedConstant& c, double value) {
  if (c.unit.empty()) return rounded(value);
  return std::to_string(std::llround(rounded(value))) + " " + std::string(c.unit);
}

std::string held_by(const CalibratedConstant& c) {
  std::string text;
  for (const auto& [run, share] : c.held_by)
    text += (text.empty() ? "" : ", ") + run + " (" + std::to_string(std::lround(100 * share)) + " %)";
  return text.empty() ? "no run: what is expected" : text;
}

}  // namespace

std::vector<MeasuredRun> measured_runs(const std::vector<PublishedPoint>& points) {
  std::map<std::string, std::vector<const PublishedPoint*>> by_run;
  for (const PublishedPoint& p : points)
    if (p.use == "calibration") by_run[p.run].push_back(&p);
  std::vector<MeasuredRun> runs;
  for (const auto& [name, its] : by_run) {
    const Prediction now = predict(*its.front(), nullptr);
    double seconds = 0;
    for (const PublishedPoint* p : its)
      seconds += static_cast<double>(now.global_batch) / p->measured.samples_per_second(now.global_batch);
    runs.push_back({name, its.front()->family, seconds / static_cast<double>(its.size()),
                    [point = *its.front()](const Calibration& c) { return predict(point, &c).step_seconds; },
                    now.ipus});
  }
  return runs;
}

CalibrationFit calibrate(const std::vector<MeasuredRun>& runs, const Calibration& start,
                         const CalibrateOptions& options) {
  if (runs.empty()) throw Error("", "found no point whose use is \"calibration\", expected some to fit constants to");
  return Fit(runs, start, options).run();
}

nlohmann::ordered_json calibration_file(const CalibrationFit& fit) {
  nlohmann::ordered_json file;
  const auto all = fitted_constants();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const CalibratedConstant& c = fit.constants[k];
    const auto text = [&](double v) {
      const auto q = quantity(all[k], v);
      return q.is_string() ? q.get<std::string>() : q.dump();
    };
    file[std::string(all[k].name)] = {{"value", quantity(all[k], c.value)},
                                      {"uncertainty", quantity(all[k], c.uncertainty)},
                                      {"source", "fitted by superstep calibrate: " + std::string(all[k].meaning) +
                                                     "; leaving one run out " + text(c.low) + " to " + text(c.high)},
                                      {"fitted_to", held_by(c)}};
  }
  for (const Calibration::Row& row : fit.calibration.rows) {
    if (file.contains(row.name)) continue;
    file[row.name] = {{"value", nlohmann::json::accept(row.text) ? nlohmann::ordered_json::parse(row.text)
                                                                 : nlohmann::ordered_json(row.text)},
                      {"source", row.source},
                      {"fitted_to", row.fitted_to}};
  }
  file["relative_band"] = {
      {"value", rounded(fit.calibration.relative_band)},
      {"source", "two standard deviations of what the fit leaves unexplained (log of error), constants counted"},
      {"fitted_to", std::to_string(fit.errors.size()) + " calibration runs"}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    nlohmann::ordered_json row;
    for (std::size_t j = 0; j < all.size(); ++j)
      row.push_back(std::round(100 * fit.calibration.correlation[i * all.size() + j]) / 100);
    file["correlation"].push_back(row);
  }
  return file;
}

}  // namespace superstep
