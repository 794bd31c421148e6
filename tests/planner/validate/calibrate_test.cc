// SPDX-License-Identifier: Apache-2.0
// Constants from made-up measurements whose constants are known.
#include "planner/validate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/error.h"

namespace superstep {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

Calibration truth() {
  Calibration c;
  c.vector_factor = 1.4;
  c.micro_batch_fixed = Cycles(600000);
  c.pipeline_cycle_fixed = Cycles(900000);
  c.streaming_factor = 0.8;
  c.gateway_factor = 0.05;
  c.host_copy_factor = 1.3;
  return c;
}

// Seconds of parts of a step by what they go with.
struct Parts {
  double fixed, vector, micro_batches, cycles, streamed, crossing, copied = 0;
  double seconds(const Calibration& c) const {
    constexpr double kClock = 1e9;
    return fixed + vector * c.vector_factor + micro_batches * static_cast<double>(c.micro_batch_fixed.value) / kClock +
           cycles * static_cast<double>(c.pipeline_cycle_fixed.value) / kClock + streamed / c.streaming_factor +
           crossing / c.gateway_factor + copied / c.host_copy_factor;
  }
};

MeasuredRun run(const std::string& name, const std::string& family, const Parts& parts, double error = 0) {
  return {name, family, parts.seconds(truth()) * (1 + error),
          [parts](const Calibration& c) { return parts.seconds(c); }};
}

// Each constant has runs of its own to hold it.
std::vector<MeasuredRun> runs(double error = 0) {
  return {
      run("plain", "a", {1, 0.1, 0, 0, 0, 0}, error),         run("vectors", "a", {0.5, 1, 10, 0, 0, 0}, -error),
      run("loops", "a", {0.1, 0.1, 1000, 0, 0, 0}, error),    run("cycles", "b", {0.1, 0.1, 100, 1000, 0, 0}, -error),
      run("streams", "b", {0.2, 0.1, 10, 10, 1, 0}, error),   run("crosses", "b", {0.2, 0.1, 10, 10, 0, 0.1}, -error),
      run("copies", "b", {0.2, 0.1, 10, 10, 0, 0, 1}, error), run("mixed", "c", {1, 0.3, 300, 100, 0.1, 0.01}, error)};
}

TEST(Calibrate, FindsTheConstantsThatMadeTheTimes) {
  const CalibrationFit fit = calibrate(runs(), Calibration{}, {});
  const Calibration wanted = truth();
  for (std::size_t k = 0; k < fitted_constants().size(); ++k) {
    const FittedConstant& c = fitted_constants()[k];
    // What is expected of them pulls a little.
    EXPECT_NEAR(fit.constants[k].value, c.get(wanted), 0.03 * c.get(wanted)) << c.name;
    EXPECT_LT(std::abs(fit.constants[k].value - c.get(wanted)), fit.constants[k].uncertainty) << c.name;
    EXPECT_LE(fit.constants[k].low, fit.constants[k].value);
    EXPECT_GE(fit.constants[k].high, fit.constants[k].value);
  }
  EXPECT_LT(fit.fitted.max_abs, 0.005);
}

TEST(Calibrate, TellsWhichRunsHoldAConstant) {
  const CalibrationFit fit = calibrate(runs(), Calibration{}, {});
  for (const auto& [k, run] : std::vector<std::pair<std::size_t, std::string>>{
           {0, "vectors"}, {1, "loops"}, {2, "cycles"}, {3, "streams"}, {4, "crosses"}}) {
    ASSERT_FALSE(fit.constants[k].held_by.empty());
    EXPECT_EQ(fit.constants[k].held_by.front().first, run);
    EXPECT_GT(fit.constants[k].held_by.front().second, 0.5);
  }
}

// Without its run a constant is what is expected of it, and says so by its uncertainty.
TEST(Calibrate, AConstantThatNoRunHoldsStaysAsExpected) {
  std::vector<MeasuredRun> some = runs();
  std::erase_if(some, [](const MeasuredRun& r) { return r.name == "crosses" || r.name == "mixed"; });
  const CalibrationFit fit = calibrate(some, Calibration{}, {});
  EXPECT_NEAR(fit.constants[4].value, fitted_constants()[4].expected, 1e-6);
  EXPECT_GT(fit.constants[4].uncertainty, 0.5 * fit.constants[4].value);
  EXPECT_TRUE(fit.constants[4].held_by.empty());
}

TEST(Calibrate, AnOutlierPullsLittle) {
  std::vector<MeasuredRun> all = runs();
  for (MeasuredRun& r : all)
    if (r.name == "mixed") r.seconds *= 3;
  const CalibrationFit fit = calibrate(all, Calibration{}, {});
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(fit.constants[k].value, fitted_constants()[k].get(truth()), 0.15 * fitted_constants()[k].get(truth()));
  EXPECT_THAT(fit.errors, Contains(Pair("mixed", testing::Gt(1.5))));
}

TEST(Calibrate, StaysWithinTheRangesOfTheConstants) {
  const auto too_fast = [](const Parts& p) {
    return MeasuredRun{"r", "a", p.fixed / 2, [p](const Calibration& c) { return p.seconds(c); }};
  };
  const CalibrationFit fit = calibrate({too_fast({1, 1, 1000, 1000, 1, 0.1})}, Calibration{}, {});
  for (std::size_t k = 0; k < fitted_constants().size(); ++k) {
    EXPECT_GE(fit.constants[k].value, fitted_constants()[k].least);
    EXPECT_LE(fit.constants[k].value, fitted_constants()[k].most);
  }
}

// A family that is left out is predicted from the others alone.
TEST(Calibrate, LeavesFamiliesOut) {
  std::vector<MeasuredRun> all = runs();
  for (MeasuredRun& r : all)
    if (r.family == "c") r.seconds *= 1.25;
  const CalibrationFit fit = calibrate(all, Calibration{}, {});
  ASSERT_EQ(fit.families.size(), 3u);
  EXPECT_EQ(fit.families[2].name, "c");
  EXPECT_NEAR(fit.families[2].errors.bias, 0.25, 0.02);
  EXPECT_GT(fit.families[2].errors.bias, fit.errors.back().second);
}

TEST(Calibrate, LeavesSizesOut) {
  std::vector<MeasuredRun> all = runs();
  for (MeasuredRun& r : all) r.ipus = r.family == "c" ? 64 : 16;
  EXPECT_EQ(calibrate({all.begin(), all.begin() + 2}, Calibration{}, {}).sizes.size(), 0u);
  for (MeasuredRun& r : all)
    if (r.ipus == 64) r.seconds *= 1.25;
  const CalibrationFit fit = calibrate(all, Calibration{}, {});
  ASSERT_EQ(fit.sizes.size(), 2u);
  EXPECT_EQ(fit.sizes[0].name, "16");
  EXPECT_EQ(fit.sizes[1].name, "64");
  EXPECT_EQ(fit.sizes[1].errors.runs, 1);
  EXPECT_NEAR(fit.sizes[1].errors.bias, 0.25, 0.02);
}

TEST(Calibrate, WhatItWritesIsWhatIsRead) {
  Calibration start;
  start.rows = {{"memory_band", "22 KiB", "a test", "nothing"}, {"temporary_band", "0.5", "a test", "nothing"}};
  const CalibrationFit fit = calibrate(runs(0.01), start, {});
  const Calibration read = read_calibration(nlohmann::json::parse(calibration_file(fit).dump()), "a file");
  for (std::size_t k = 0; k < fitted_constants().size(); ++k) {
    const FittedConstant& c = fitted_constants()[k];
    EXPECT_NEAR(c.get(read), fit.constants[k].value, 0.006 * fit.constants[k].value) << c.name;
    EXPECT_NEAR(read.uncertainty[k], fit.constants[k].uncertainty, 0.006 * fit.constants[k].uncertainty) << c.name;
  }
  EXPECT_EQ(read.correlation.size(), fitted_constants().size() * fitted_constants().size());
  EXPECT_EQ(read.correlation[0], 1);
  EXPECT_EQ(read.correlation[1], read.correlation[fitted_constants().size()]);
  EXPECT_NEAR(read.relative_band, fit.calibration.relative_band, 0.01 * read.relative_band);
}

TEST(Calibrate, RefusesWhatItCannotUse) {
  EXPECT_THROW(calibrate({}, Calibration{}, {}), Error);
  nlohmann::json file = nlohmann::json::parse(R"({"correlation": [[1, 0], [0, 1]]})");
  Calibration start;
  start.rows = {{"memory_band", "22 KiB", "a test", "nothing"}, {"temporary_band", "0.5", "a test", "nothing"}};
  nlohmann::json whole = nlohmann::json::parse(calibration_file(calibrate(runs(), start, {})).dump());
  whole["correlation"] = file["correlation"];
  try {
    read_calibration(whole, "a file");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("found 6 uncertainties and 4 correlations"));
  }
}

}  // namespace
}  // namespace superstep
