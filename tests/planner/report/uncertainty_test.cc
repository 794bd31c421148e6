// SPDX-License-Identifier: Apache-2.0
#include "planner/report/uncertainty.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/evaluated.h"
#include "planner/report/make_report.h"
#include "planner/report/waterfall.h"
#include "tests/planner/world.h"
#include "traces/band.h"
#include "traces/compare.h"
#include "traces/report_io.h"

namespace superstep::test {
namespace {

nlohmann::json bert(std::int64_t replicas, std::int64_t stages) {
  nlohmann::json job = small_job("bert-base", {{"layers", 4}, {"vocabulary", 512}}, "ipu-pod4");
  job["batch"] = {{"global", 64}};
  job["plan"] = {{"tensor_parallel", 1},
                 {"pipeline_stages", stages},
                 {"replicas", replicas},
                 {"micro_batch", 1},
                 {"recompute", "layer"}};
  return job;
}

struct Estimated {
  World world;
  Evaluated e;
  explicit Estimated(const nlohmann::json& job, const std::string& calibration = "default")
      : world(job, load_calibration(calibration)), e(evaluate_pinned(world.tables, 1)) {}
  std::vector<double> worlds(const Calibration& c, std::vector<Mechanism> unmeasured = {}) const {
    return step_seconds_in_worlds(e.program, world.tables.model().with(world.tables.model().machine(), c),
                                  {"bert", label(e.plan), std::move(unmeasured)});
  }
};

double deviation(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (double v : values) sum += std::log(v), squares += std::log(v) * std::log(v);
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / n - sum * sum / n / n);
}

TEST(Uncertainty, WithoutAnyEveryWorldIsTheEstimate) {
  nlohmann::json job = small_job("gpt2-small",
                                 {{"layers", 1},
                                  {"hidden", 16},
                                  {"heads", 2},
                                  {"ffn", 32},
                                  {"vocabulary", 32},
                                  {"sequence_length", 4},
                                  {"positions", 4}},
                                 {{"base", "toy"}, {"partition", 1}});  // whose numbers are invented, not estimated
  job["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 1}, {"micro_batch", 1}};
  const Estimated plan(job, "none");
  for (double seconds : step_seconds_in_worlds(plan.e.program, plan.world.tables.model(), {"gpt", "a plan"}))
    ASSERT_DOUBLE_EQ(seconds, plan.e.step_seconds);
}

// Nobody measured replicas that are each other's neighbours.
TEST(Uncertainty, AnotherPlacementIsNotValidated) {
  nlohmann::json job = bert(2, 2);
  EXPECT_EQ(Estimated(job).e.not_validated(), std::vector<std::string>{});
  job["plan"]["placement"] = "t-r-p";
  EXPECT_EQ(Estimated(job).e.not_validated(), std::vector<std::string>{"another placement than t-p-r"});
}

// Where all replicas share the state, there is one group.
TEST(Uncertainty, OrthogonalGroupsAreNotValidated) {
  nlohmann::json job = bert(4, 1);
  const auto not_validated = [&](int degree) {
    job["plan"]["replicated_tensor_sharding"] = {{"optimizer_state", degree}, {"groups", "orthogonal"}};
    return Estimated(job).e.not_validated();
  };
  EXPECT_EQ(not_validated(4), std::vector<std::string>{});
  EXPECT_EQ(not_validated(2), std::vector<std::string>{"orthogonal groups of shards"});
}

TEST(Uncertainty, TheResidualBandIsWhatTheCalibrationSays) {
  const Estimated plan(bert(2, 2));
  Calibration c = plan.world.tables.model().calibration();
  c.uncertainty.clear(), c.correlation.clear();
  c.relative_band = 0.1;
  EXPECT_NEAR(1.96 * deviation(plan.worlds(c)), 0.1, 0.02);
  // A mechanism that nobody measured has a band of its own, which is independent: sqrt(0.1^2 + 0.28^2).
  EXPECT_NEAR(1.96 * deviation(plan.worlds(c, {{"a mechanism", "assumed", 0.28, ""}})), 0.297, 0.05);
  const Band band = band_of(plan.worlds(c));
  EXPECT_NEAR(band.low / plan.e.step_seconds, 0.9, 0.025);
  EXPECT_NEAR(band.high / plan.e.step_seconds, 1.1, 0.025);
}

// A constant that is unsure by so much moves the step as its share of it.
TEST(Uncertainty, ConstantsMoveTheStepByTheirShare) {
  const Estimated plan(bert(2, 2));
  const CostModel& model = plan.world.tables.model();
  Calibration c = model.calibration();
  c.relative_band = 0;
  c.uncertainty.assign(fitted_constants().size(), 0);
  c.correlation.assign(c.uncertainty.size() * c.uncertainty.size(), 0);
  for (std::size_t i = 0; i < c.uncertainty.size(); ++i) c.correlation[i * c.uncertainty.size() + i] = 1;
  const double base = deviation(plan.worlds(c));  // of machine numbers alone
  c.uncertainty[0] = 0.4 * c.vector_factor;
  Calibration more = c;
  more.vector_factor *= 1.4;
  const CostModel slower = model.with(model.machine(), more);
  const double change = slower.seconds(cost(plan.e.program, slower).step.total()).value / plan.e.step_seconds - 1;
  const double both = deviation(plan.worlds(c));
  EXPECT_GT(change, 0.02);
  EXPECT_NEAR(1.96 * std::sqrt(both * both - base * base), change, 0.25 * change);
}

// The parts are drawn in the worlds of the step: they sum to it in each.
TEST(Uncertainty, PartsSumToTheStepInEveryWorld) {
  const Estimated plan(bert(2, 2));
  const CostModel& model = plan.world.tables.model();
  const std::vector<double> step = plan.worlds(model.calibration());
  const PartsInWorlds parts = parts_in_worlds(plan.e.program, model, {"bert", label(plan.e.plan)});
  for (std::size_t world = 0; world < step.size(); ++world) {
    double sum = 0;
    for (const auto& term : parts.terms) sum += term[world];
    ASSERT_NEAR(sum, step[world], 1e-9 * step[world]);
  }
  ASSERT_EQ(parts.functions.size(), plan.e.program.functions.size());
}

TEST(Uncertainty, TheReportHasBandsOfTermsAndFunctions) {
  Estimated plan(bert(2, 2));
  draw_worlds(plan.world.tables, plan.e);
  const std::string path = testing::TempDir() + "uncertainty_bands_" + std::to_string(getpid()) + ".ssr";
  ReportParts parts;
  parts.shown = &plan.e;
  write_report(plan.world.tables, parts, path);
  const report::Index index = ReportFile::open(path).index();
  std::remove(path.c_str());
  EXPECT_FALSE(index.waterfall(0).has_low_s());  // the ideal is no estimate
  for (int i = 1; i < index.waterfall_size(); ++i) {
    const report::WaterfallTerm& row = index.waterfall(i);
    ASSERT_TRUE(row.has_low_s() && row.has_high_s()) << row.name();
    EXPECT_LT(row.low_s(), row.high_s()) << row.name();
    const double width = row.high_s() - row.low_s();
    EXPECT_LT(row.low_s(), row.seconds() + 0.1 * width) << row.name();
    EXPECT_GT(row.high_s(), row.seconds() - 0.1 * width) << row.name();
  }
  for (const report::IpuClass& c : index.ipu_classes()) EXPECT_EQ(c.tile_peak_error_bytes(), plan.e.tile_peak_band);
  ASSERT_GT(index.functions_size(), 0);
  for (const report::Function& f : index.functions()) {
    EXPECT_GE(f.relative_error(), 0.5 * plan.world.tables.model().calibration().relative_band) << f.name();
    EXPECT_LT(f.relative_error(), 1) << f.name();
  }
}

// What two plans share cancels: a difference far below the band is sure when only constants are unsure.
TEST(Uncertainty, WhatPlansHaveInCommonCancels) {
  const Estimated one(bert(4, 1)), same(bert(4, 1));
  Calibration c = one.world.tables.model().calibration();
  c.relative_band = 0;
  std::vector<double> a = one.worlds(c), b = same.worlds(c);
  EXPECT_EQ(a, b);
  EXPECT_EQ(probability_faster(a, b), 0.5);
  for (double& seconds : b) seconds *= 1.01;
  EXPECT_EQ(probability_faster(a, b), 1);
}

TEST(Uncertainty, ProbabilityCountsWorlds) {
  EXPECT_EQ(probability_faster(std::vector<double>{1, 2, 3, 4}, std::vector<double>{2, 2, 2, 2}), 0.375);
  const Band band = band_of({5, 1, 2, 3, 4});
  EXPECT_EQ(band.low, 1);
  EXPECT_EQ(band.high, 5);
}

}  // namespace
}  // namespace superstep::test
