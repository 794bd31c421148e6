// SPDX-License-Identifier: Apache-2.0
// Predicted against published: the BERT runs of data/published.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>

#include "model/json_reader.h"
#include "model/machine/load_machine.h"
#include "planner/make_report.h"
#include "planner/space.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::World;

nlohmann::json job_of(const nlohmann::json& point) {
  return parse_json_file(data_folder() + "/published/" + point.at("job").get<std::string>());
}

// The plan whose every field the job pins; what it leaves out takes its default.
Plan pinned_plan(World& world) {
  const std::vector<Cell> list = cells(world.job);
  EXPECT_EQ(list.size(), 1u);
  Plan plan = settings(world.job, list.at(0), true).at(0);
  plan.stages = pinned_stages(world.job, world.tables.facts(plan.micro_batch).graph);
  plan.stage_ipu = *world.job.pins.stage_ipu;
  plan.recompute = world.job.pins.recompute.at(0);
  return plan;
}

TEST(Published, BertIsPredictedWithin15Percent) {
  const nlohmann::json file = parse_json_file(data_folder() + "/published/bert.json");
  std::printf("%-28s %11s %11s %7s  %s\n", "run", "measured/s", "predicted/s", "error", "tile peak KiB");
  std::set<std::string> runs;
  for (const nlohmann::json& point : file.at("points")) {
    const std::string run = point.at("run");
    SCOPED_TRACE(run);
    World world(job_of(point));
    const Plan plan = pinned_plan(world);
    ASSERT_EQ(world.problem(plan), "");
    const Evaluated e = evaluate_in_full(world.tables, plan);
    const double value = point.at("measured").at("value");
    const bool time = point.at("measured").at("metric") == "step_time_s";
    const double measured = time ? static_cast<double>(plan.global_batch()) / value : value;
    const double error = e.samples_per_second / measured - 1;  // + means too fast
    std::printf("%-28s %11.1f %11.1f %+6.1f%%  %lld\n", point.at("id").get<std::string>().c_str(), measured,
                e.samples_per_second, 100 * error, static_cast<long long>(e.tile_peak / 1024));
    EXPECT_LT(std::abs(error), 0.15);
    runs.insert(run);
  }
  EXPECT_EQ(runs.size(), 11u);
}

// The two rows of a run, a time and a rate, say the same.
TEST(Published, RowsOfOneRunAgree) {
  const nlohmann::json file = parse_json_file(data_folder() + "/published/bert.json");
  std::map<std::string, std::vector<double>> rates;
  for (const nlohmann::json& point : file.at("points")) {
    const double value = point.at("measured").at("value");
    const double batch = job_of(point).at("batch").at("global");
    rates[point.at("run")].push_back(point.at("measured").at("metric") == "step_time_s" ? batch / value : value);
  }
  for (const auto& [run, list] : rates) {
    for (double rate : list) EXPECT_NEAR(rate / list[0], 1, 0.005) << run;
  }
}

// Every published plan did run: its tiles hold what is counted, within the stated band of memory.
TEST(Published, BertPlansFit) {
  const nlohmann::json file = parse_json_file(data_folder() + "/published/bert.json");
  std::set<std::string> runs;
  for (const nlohmann::json& point : file.at("points")) {
    if (!runs.insert(point.at("run")).second) continue;
    World world(job_of(point));
    const Evaluated e = evaluate_in_full(world.tables, pinned_plan(world));
    EXPECT_LE(e.tile_peak, world.job.machine.chip.tile_memory.value + world.model.calibration().memory_band_bytes)
        << point.at("run");
  }
}

}  // namespace
}  // namespace superstep
