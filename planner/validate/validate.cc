// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/validate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "model/error.h"
#include "model/parallel.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/evaluated.h"

namespace superstep {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += v;
  return values.empty() ? kNone : sum / static_cast<double>(values.size());
}

// The estimate of a job, or the reason why there is none.
struct Attempt {
  std::optional<Prediction> prediction;
  std::string failure;
  bool unsupported = false;
};

Attempt attempt(const PublishedPoint& point) {
  Attempt a;
  try {
    a.prediction = predict(point, nullptr);
  } catch (const Error& e) {
    a.failure = point.placed(e.what());
    a.unsupported = dynamic_cast<const Unsupported*>(&e) != nullptr;
  }
  return a;
}

// Estimates each different job of the points once.
class Attempts {
 public:
  void add(const std::vector<PublishedPoint>& points) {
    for (const PublishedPoint& p : points) {
      if (of_.try_emplace(key(p), jobs_.size()).second) jobs_.push_back(&p);
    }
  }
  void run(const ValidateOptions& options) {
    attempts_.resize(jobs_.size());
    std::mutex mutex;
    std::size_t done = 0;
    parallel_for(jobs_.size(), options.threads, [&](std::size_t i) {
      attempts_[i] = attempt(*jobs_[i]);
      const std::lock_guard lock(mutex);
      ++done;
      if (options.progress)
        options.progress(static_cast<double>(done) / static_cast<double>(jobs_.size()), jobs_[i]->run);
    });
  }
  const Attempt& at(const PublishedPoint& p) const { return attempts_[of_.at(key(p))]; }

 private:
  // File and job. The file counts too, because a path of an ONNX model may be relative to the file.
  using Key = std::pair<std::string, nlohmann::json>;
  static Key key(const PublishedPoint& p) { return {p.job_file, p.job}; }

  std::vector<const PublishedPoint*> jobs_;
  std::vector<Attempt> attempts_;
  std::map<Key, std::size_t> of_;
};

std::vector<PublishedPoint> calibration_points(std::vector<PublishedPoint> points) {
  std::erase_if(points, [](const PublishedPoint& p) { return p.use != "calibration"; });
  return points;
}

std::optional<NullModel> fit_to(const std::vector<PublishedPoint>& points, const Attempts& attempts) {
  std::map<std::string, std::pair<FittedRun, int>> runs;  // by run: sums over points, and their number
  for (const PublishedPoint& point : points) {
    const std::optional<Prediction>& p = attempts.at(point).prediction;
    if (!p) continue;
    auto& [run, count] = runs[point.run];
    run.ideal_seconds = p->ideal_seconds;
    run.busy = p->busy;
    run.measured_seconds += static_cast<double>(p->global_batch) / point.measured.samples_per_second(p->global_batch);
    ++count;
  }
  std::vector<FittedRun> list;
  for (auto& [name, entry] : runs) {
    entry.first.measured_seconds /= entry.second;
    list.push_back(entry.first);
  }
  return fit_null_model(list);
}

ValidatedPoint validated(const PublishedPoint& point, const Attempt& a, const std::optional<NullModel>& null_model) {
  ValidatedPoint v;
  v.point = point;
  v.prediction = a.prediction;
  v.failure = a.failure;
  v.unsupported = a.unsupported;
  if (!a.prediction) return v;
  const Prediction& p = *a.prediction;
  const Measured& m = point.measured;
  const double measured = m.samples_per_second(p.global_batch);
  v.predicted = m.in_unit(p.samples_per_second, p.global_batch);
  v.error = p.samples_per_second / measured - 1;
  const auto at = [&](double seconds) {
    return m.in_unit(static_cast<double>(p.global_batch) / seconds, p.global_batch);
  };
  v.band = {at(p.step_band->low), at(p.step_band->high)};
  if (v.band.low > v.band.high) std::swap(v.band.low, v.band.high);
  v.in_band = m.value >= v.band.low && m.value <= v.band.high;
  if (null_model) {
    const double rate = null_model->samples_per_second(p);
    v.null_predicted = m.in_unit(rate, p.global_batch);
    v.null_error = rate / measured - 1;
  }
  return v;
}

// Returns the statistics of a group. A run's error is the mean of its points' errors.
ErrorGroup group_of(const std::vector<ValidatedPoint>& points, const std::string& use, const std::string& family) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> runs;
  std::set<std::string> outside;
  for (const ValidatedPoint& v : points) {
    if (!v.prediction) continue;
    if ((!use.empty() && v.point.use != use) || (!family.empty() && v.point.family != family)) continue;
    auto& [errors, null_errors] = runs[v.point.run];
    errors.push_back(v.error);
    if (!v.in_band) outside.insert(v.point.run);
    if (v.null_error) null_errors.push_back(*v.null_error);
  }
  std::vector<double> errors, null_errors;
  for (const auto& [run, both] : runs) {
    errors.push_back(mean(both.first));
    if (!both.second.empty()) null_errors.push_back(mean(both.second));
  }
  const double in_band_share = 1 - static_cast<double>(outside.size()) / static_cast<double>(runs.size());
  return {use, family, statistics_of(errors), statistics_of(null_errors), in_band_share};
}

std::vector<ErrorGroup> groups_of(const std::vector<ValidatedPoint>& points) {
  std::set<std::string> uses;
  std::map<std::string, std::set<std::string>> families;
  for (const ValidatedPoint& v : points) {
    if (!v.prediction) continue;
    uses.insert(v.point.use);
    families[v.point.family].insert(v.point.use);
  }
  std::vector<ErrorGroup> groups = {group_of(points, "", "")};
  for (const std::string& use : uses) groups.push_back(group_of(points, use, ""));
  for (const auto& [family, its_uses] : families) groups.push_back(group_of(points, "", family));
  for (const auto& [family, its_uses] : families) {
    if (its_uses.size() < 2) continue;
    for (const std::string& use : its_uses) groups.push_back(group_of(points, use, family));
  }
  return groups;
}

}  // namespace

Prediction predict(const PublishedPoint& point, const Calibration* calibration) {
  const Job job = read_job(point.job, point.job_file);
  check_batch(job);
  const CostModel model(job.machine, calibration ? *calibration : load_calibration(job.machine.calibration));
  Tables tables(job, model);
  Evaluated e = evaluate_pinned(tables, 1);
  Prediction p;
  if (!calibration) {
    draw_worlds(tables, e);
    p.step_band = band_of(e.worlds);
  }
  p.model = job.model.name();
  p.machine = job.machine.name;
  p.plan = label(e.plan);
  p.ipus = job.machine.ipus;
  p.fits = e.fits;
  p.global_batch = e.plan.global_batch();
  p.tile_peak = e.tile_peak;
  p.tile_limit = job.machine.chip.tile_memory.value;
  p.samples_per_second = e.samples_per_second;
  p.step_seconds = e.step_seconds;
  p.ideal_seconds = e.flop_utilisation * e.step_seconds;
  p.busy = busy_share(e.plan, tables.training());
  p.not_validated = e.not_validated();
  return p;
}

double busy_share(const Plan& plan, bool training) {
  const auto stages = static_cast<double>(plan.phased() ? plan.pipeline_stages : plan.stages.size());
  if (plan.schedule == Schedule::sequential) return 1 / static_cast<double>(plan.pipeline_stages);
  const auto g = static_cast<double>(plan.gradient_accumulation);
  return g / (g + (training ? 2 : 1) * (stages - 1));
}

double NullModel::samples_per_second(const Prediction& p) const {
  return static_cast<double>(p.global_batch) * utilisation * p.busy / p.ideal_seconds;
}

std::optional<NullModel> fit_null_model(const std::vector<FittedRun>& runs) {
  if (runs.empty()) return std::nullopt;
  std::vector<double> logs;
  for (const FittedRun& r : runs) logs.push_back(std::log(r.ideal_seconds / (r.busy * r.measured_seconds)));
  return NullModel{std::exp(quantile(logs, 0.5)), static_cast<std::int64_t>(runs.size())};
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return kNone;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

ErrorStatistics statistics_of(const std::vector<double>& errors) {
  std::vector<double> sizes;
  for (double e : errors) sizes.push_back(std::abs(e));
  return {static_cast<std::int64_t>(errors.size()), quantile(sizes, 0.5), quantile(sizes, 0.9), quantile(sizes, 1),
          mean(errors)};
}

nlohmann::json to_json(const ErrorStatistics& s) {
  return {{"runs", s.runs},
          {"median_abs_error", s.median_abs},
          {"p90_abs_error", s.p90_abs},
          {"max_abs_error", s.max_abs},
          {"bias", s.bias}};
}

Validation validate(const std::vector<PublishedPoint>& points, const std::vector<PublishedPoint>& fitted,
                    const ValidateOptions& options) {
  const std::vector<PublishedPoint> calibration = calibration_points(fitted);
  Attempts attempts;
  attempts.add(points);
  attempts.add(calibration);
  attempts.run(options);
  Validation v;
  v.null_model = fit_to(calibration, attempts);
  for (const PublishedPoint& point : points) v.points.push_back(validated(point, attempts.at(point), v.null_model));
  v.groups = groups_of(v.points);
  return v;
}

}  // namespace superstep
