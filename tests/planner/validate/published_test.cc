// SPDX-License-Identifier: Apache-2.0
// Predicted against published. The tables of docs/explanation/validation.md and docs/explanation/calibration.md are
// written from here:
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter=Published.*
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/cost/calibration.h"
#include "model/machine/load_machine.h"
#include "planner/validate/calibrate.h"
#include "planner/validate/validate.h"
#include "tests/planner/page.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

using test::expect_on_page;
using test::published;

constexpr const char* kValidationPage = SUPERSTEP_SOURCE "/docs/explanation/validation.md";

const Validation& validation() {
  static const Validation v = validate(published().points, published().points, {});
  return v;
}

// Vision transformers are too fast, EfficientNet is too slow: docs/explanation/known-gaps.md.
TEST(Published, EveryPointIsPredictedWithin15Percent) {
  const std::map<std::string, double> wider = {{"vit", 0.35}, {"efficientnet", 0.2}};
  EXPECT_EQ(validation().points.size(), 38u);
  for (const ValidatedPoint& v : validation().points) {
    ASSERT_EQ(v.failure, "") << v.point.id;
    const auto own = wider.find(v.point.family);
    EXPECT_LT(std::abs(v.error), own == wider.end() ? 0.15 : own->second) << v.point.id;
  }
}

TEST(Published, TheModelBeatsConstantUtilisation) {
  for (const ErrorGroup& g : validation().groups) {
    if (!g.family.empty()) continue;
    EXPECT_LT(g.model.median_abs, g.null_model.median_abs) << g.use;
    EXPECT_LT(g.model.p90_abs, g.null_model.p90_abs) << g.use;
  }
}

// The two points of a run, a time and a rate, say the same.
TEST(Published, PointsOfOneRunAgree) {
  std::map<std::string, double> errors;
  for (const ValidatedPoint& v : validation().points)
    EXPECT_NEAR(errors.try_emplace(v.point.run, v.error).first->second, v.error, 0.005) << v.point.id;
}

// Every published plan did run: its tiles hold what is counted, within the stated band of memory.
TEST(Published, PlansFit) {
  for (const ValidatedPoint& v : validation().points)
    EXPECT_LE(v.prediction->tile_peak - v.prediction->tile_limit, load_calibration().memory_band_bytes) << v.point.id;
}

// What two jobs differ in, as JSON pointers. The global batch follows from the plan.
std::set<std::string> differences(const nlohmann::json& a, const nlohmann::json& b) {
  std::set<std::string> keys;
  const nlohmann::json x = a.flatten(), y = b.flatten();
  for (const auto* job : {&x, &y}) {
    for (const auto& [key, value] : job->items()) {
      if (key == "/description" || key == "/$schema" || key == "/batch/global") continue;
      if (!x.contains(key) || !y.contains(key) || x.at(key) != y.at(key)) keys.insert(key);
    }
  }
  return keys;
}

// A longer accumulation, a larger micro-batch, more replicas on a larger pod: whatever is measured to be faster is
// predicted to be.
TEST(Published, DifferencesOfOneFieldHaveTheRightSign) {
  int pairs = 0;
  for (const ValidatedPoint& a : validation().points) {
    for (const ValidatedPoint& b : validation().points) {
      if (!(a.point.id < b.point.id) || a.point.measured.metric != b.point.measured.metric) continue;
      const std::set<std::string> keys = differences(a.point.job, b.point.job);
      const bool one = keys.size() == 1 || keys == std::set<std::string>{"/machine", "/plan/replicas"} ||
                       keys == std::set<std::string>{"/model/statistics_group", "/plan/micro_batch"};
      if (!one) continue;
      const auto rate = [](const ValidatedPoint& v) {
        return v.point.measured.samples_per_second(v.prediction->global_batch);
      };
      const double measured = std::log(rate(b) / rate(a));
      if (std::abs(measured) < 0.01) continue;
      const double predicted = std::log(b.prediction->samples_per_second / a.prediction->samples_per_second);
      EXPECT_GT(measured * predicted, 0) << a.point.id << " and " << b.point.id;
      ++pairs;
    }
  }
  EXPECT_GE(pairs, 12);
}

// The same plan on Bow has a faster clock and nothing else.
TEST(Published, BowIsFasterByItsClockAtMost) {
  const double clocks = load_machine("bow-pod16").chip.clock.value / load_machine("ipu-pod16").chip.clock.value;
  int jobs = 0;
  for (const ValidatedPoint& v : validation().points) {
    if (v.point.job.at("machine") != "ipu-pod16") continue;
    PublishedPoint faster = v.point;
    faster.job["machine"] = "bow-pod16";
    const double ratio = predict(faster, nullptr).samples_per_second / v.prediction->samples_per_second;
    EXPECT_LE(ratio, clocks) << v.point.id;
    EXPECT_GT(ratio, 1.1) << v.point.id;
    ++jobs;
  }
  EXPECT_GE(jobs, 5);
}

std::string signed_percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", fraction * 100);
  return text;
}

void write_points(std::ostream& out) {
  out << "| point | use | model | machine | plan | measured | predicted | error | 95 % band | null model | fit |\n"
         "|---|---|---|---|---|---:|---:|---:|---:|---:|---|\n";
  for (const ValidatedPoint& v : validation().points) {
    const Prediction& p = *v.prediction;
    const std::string unit = v.point.measured.metric == Metric::step_time ? " " + v.point.measured.unit : " /s";
    out << "| " << v.point.id << " | " << v.point.use << " | " << p.model << " | " << p.machine << " | " << p.plan
        << " | " << figure(v.point.measured.value) << unit << " | " << figure(v.predicted) << unit << " | "
        << signed_percent(v.error) << " | " << figure(v.band.low) << " to " << figure(v.band.high)
        << (v.in_band ? "" : " !") << " | " << signed_percent(v.null_error.value()) << " | " << p.fits << " |\n";
  }
}

void write_groups(std::ostream& out) {
  out << "| runs of | runs | median | p90 | worst | bias | in band | null model: median | p90 | worst | bias |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const ErrorGroup& g : validation().groups) {
    out << "| " << (g.use.empty() && g.family.empty() ? "all" : g.family)
        << (g.use.empty() || g.family.empty() ? "" : ", ") << g.use << " | " << g.model.runs;
    for (const ErrorStatistics* s : {&g.model, &g.null_model}) {
      if (s == &g.null_model) out << " | " << percent(g.in_band_share);
      out << " | " << percent(s->median_abs) << " | " << percent(s->p90_abs) << " | " << percent(s->max_abs) << " | "
          << signed_percent(s->bias);
    }
    out << " |\n";
  }
}

void write_left_out(std::ostream& out) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const LeftOut& l : published().left_out) reasons[l.why].push_back(l.id);
  out << "| left out because | | |\n|---|---:|---|\n";
  for (const auto& [why, ids] : reasons) {
    out << "| " << why << " | " << ids.size() << " |";
    for (const std::string& id : ids) out << " " << id;
    out << " |\n";
  }
}

std::string validation_tables() {
  std::ostringstream out;
  write_points(out);
  out << "\nThe null model uses " << percent(validation().null_model->utilisation) << " of the peak, fitted to "
      << validation().null_model->runs << " runs.\n\n";
  write_groups(out);
  out << "\n";
  write_left_out(out);
  return out.str();
}

TEST(Published, IsOnThePageAsItIsPredicted) {
  expect_on_page(kValidationPage, "<!-- tables: begin -->\n", "<!-- tables: end -->\n", validation_tables());
}

TEST(Published, MostMeasuredRunsLieInTheirBands) {
  const ErrorGroup& all = validation().groups.front();
  EXPECT_GE(all.in_band_share, 0.85);
}

const CalibrationFit& fit() {
  static const CalibrationFit f = calibrate(measured_runs(published().points), load_calibration(), {});
  return f;
}

TEST(Published, RefittingReproducesTheCalibration) {
  std::ostringstream found;
  found << calibration_file(fit()).dump(2) << "\n";
  std::ifstream in(SUPERSTEP_SOURCE "/data/calibration/default.json", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), found.str());
}

TEST(Published, FamiliesThatWereLeftOutArePredicted) {
  std::vector<double> errors;
  for (const LeftOutGroup& f : fit().families) errors.push_back(f.errors.median_abs);
  EXPECT_LE(quantile(errors, 0.5), 0.08);
}

std::string constants_page() {
  std::ostringstream out;
  const auto all = fitted_constants();
  const auto with_unit = [](const FittedConstant& c, double value) {
    return figure(value) + (c.unit.empty() ? "" : " " + std::string(c.unit));
  };
  out << "| constant | fitted | ± | leaving one run out | held by |\n|---|---:|---:|---:|---|\n";
  for (std::size_t k = 0; k < all.size(); ++k) {
    const CalibratedConstant& c = fit().constants[k];
    out << "| `" << all[k].name << "` | " << with_unit(all[k], c.value) << " | " << figure(c.uncertainty) << " | "
        << figure(c.low) << " to " << figure(c.high) << " |";
    for (const auto& [run, share] : c.held_by) out << " " << run << " " << percent(share);
    out << " |\n";
  }
  out << "\n| errors of | runs | median | p90 | worst | bias |\n|---|---:|---:|---:|---:|---:|\n";
  const auto add = [&](const std::string& name, const ErrorStatistics& s) {
    out << "| " << name << " | " << s.runs << " | " << percent(s.median_abs) << " | " << percent(s.p90_abs) << " | "
        << percent(s.max_abs) << " | " << signed_percent(s.bias) << " |\n";
  };
  add("all runs fitted to", fit().fitted);
  add("each run, left out", fit().left_out_runs);
  for (const LeftOutGroup& f : fit().families) add(f.name + ", left out", f.errors);
  return out.str();
}

TEST(Published, TheConstantsAreOnTheirPage) {
  expect_on_page(SUPERSTEP_SOURCE "/docs/explanation/calibration.md", "<!-- constants: begin -->\n",
                 "<!-- constants: end -->\n", constants_page());
}

}  // namespace
}  // namespace superstep
