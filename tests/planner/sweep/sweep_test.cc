// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "model/error.h"
#include "planner/sweep/sweep_item.h"
#include "planner/sweep/sweep_table.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::small_gpt;
using testing::AllOf;
using testing::HasSubstr;

// 32 samples on four IPUs, each of which has the whole model: micro-batches of up to 8 make legal plans, and all fit.
json base() { return small_gpt({{"tensor_parallel", 1}, {"pipeline_stages", 1}}); }
json sweep_json(const json& grid) { return {{"base", base()}, {"grid", grid}}; }

std::string sweep_error(const json& sweep) {
  try {
    read_sweep(sweep, "sweep.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

class SweepFiles : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    path_ = (std::filesystem::path(testing::TempDir()) / (test.name() + std::to_string(getpid()) + ".sqlite")).string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

// How many items a run planned, by its progress.
std::vector<SweepRow> run(const Sweep& sweep, const std::string& path, std::size_t* planned = nullptr,
                          int threads = 1) {
  SweepStore store(path);
  const std::size_t before = store.rows().size();
  run_sweep(sweep, store, {.time_limit = 0, .threads = threads, .progress = {}});
  if (planned) *planned = store.rows().size() - before;
  return store.rows();
}

json without_seconds(const std::vector<SweepRow>& rows) { return to_json(rows); }

TEST(Sweep, ItemsAreTheProductWithTheLastPointerFastest) {
  const Sweep s = read_sweep(sweep_json({{"/plan/replicas", {1, 2}}, {"/batch/global", {32, 64, 96}}}), "sweep.json");
  ASSERT_EQ(s.size(), 6u);
  EXPECT_EQ(s.values(0), (std::vector<json>{32, 1}));  // "/batch" comes before "/plan"
  EXPECT_EQ(s.values(1), (std::vector<json>{32, 2}));
  EXPECT_EQ(s.values(2), (std::vector<json>{64, 1}));
  json expected = base();
  expected["batch"]["global"] = 96;
  expected["plan"]["replicas"] = 2;
  EXPECT_EQ(s.job(5), expected);
}

TEST(Sweep, AMachineByNameTakesOverridesAndAPointerBelowAnotherComesAfterIt) {
  json grid;
  grid["/machine"] = {"ipu-pod4", {{"base", "bow-pod4"}}};
  grid["/machine/override/links/rate"] = {"8 GB/s"};
  const Sweep s = read_sweep(sweep_json(grid), "sweep.json");
  const json rate = {{"links", {{"rate", "8 GB/s"}}}};
  EXPECT_EQ(s.job(0)["machine"], (json{{"base", "ipu-pod4"}, {"override", rate}}));
  EXPECT_EQ(s.job(1)["machine"], (json{{"base", "bow-pod4"}, {"override", rate}}));
}

TEST(Sweep, PointersAreUnescaped) {
  const Sweep s{"sweep.json", "sweep.json", {{"a/b", {{"c~d", json::array({1, 2})}}}}, {{"/a~1b/c~0d/1", {7}}}};
  EXPECT_EQ(s.job(0), (json{{"a/b", {{"c~d", json::array({1, 7})}}}}));
}

TEST(Sweep, WhatIsNoSweepIsRefusedWithThePlaceWhatWasFoundAndTheNearestName) {
  EXPECT_THAT(sweep_error(sweep_json({{"/plan/replcas", {1}}})),
              AllOf(HasSubstr("sweep.json#/grid/~1plan~1replcas: "), HasSubstr("did you mean \"replicas\"?")));
  EXPECT_THAT(sweep_error(sweep_json({{"/machine/override/links/rat", {"8 GB/s"}}})),
              AllOf(HasSubstr("sweep.json#/grid/~1machine~1override~1links~1rat: "), HasSubstr("/links/rate?")));
  EXPECT_THAT(sweep_error(sweep_json({{"/plan/tensor_parallel/x", {1}}})), HasSubstr("leads to \"x\" in 1, expected"));
  EXPECT_THAT(sweep_error(sweep_json({{"/plan/replicas", {1, 2, 1}}})),
              HasSubstr("sweep.json#/grid/~1plan~1replicas/2: found 1 again"));
  EXPECT_THAT(sweep_error(sweep_json({{"/plan", {{{"replicas", 1}}, {{"replicas", 2}}}}, {"/plan/replicas", {4}}})),
              HasSubstr("item 1 is the same job as another"));
  json grid;
  for (const char* pointer : {"/plan/replicas", "/plan/micro_batch", "/batch/global", "/plan/gradient_accumulation"})
    for (int i = 1; i <= 30; ++i) grid[pointer].push_back(i);
  EXPECT_THAT(sweep_error(sweep_json(grid)), HasSubstr("makes more than 100000 items"));
}

TEST(Sweep, WhereNoItemIsAJobTheFirstOnesErrorIsThatOfTheSweep) {
  EXPECT_THAT(sweep_error(sweep_json({{"/machine", {"ipu-pd4", "ipu-pod5"}}})),
              HasSubstr("did you mean \"ipu-pod4\"?"));
  EXPECT_EQ(sweep_error(sweep_json({{"/machine", {"ipu-pd4", "ipu-pod4"}}})), "no error");
}

// A row is what the search finds for its job, whatever the number of threads.
TEST_F(SweepFiles, RowsAreTheBestPlansOfTheirJobs) {
  const Sweep s = read_sweep(sweep_json({{"/plan/micro_batch", {2, 4, 8}}}), "sweep.json");
  const std::vector<SweepRow> rows = run(s, path_, nullptr, 2);
  ASSERT_EQ(rows.size(), 3u);
  for (const SweepRow& row : rows) {
    SearchOptions options;
    options.pareto = false;
    const PlannedJob alone = plan_job(read_job(s.job(static_cast<std::size_t>(row.item)), "sweep.json"), options);
    EXPECT_EQ(row.plan, to_json(alone.plan));
    EXPECT_EQ(row.plan.at("micro_batch"), row.grid.at("/plan/micro_batch"));
    EXPECT_EQ(row.samples_per_second, alone.samples_per_second);
    EXPECT_EQ(row.tile_peak, alone.tile_peak);
  }
  EXPECT_EQ(without_seconds(rows), without_seconds(run(s, "")));
}

// Over a message in the form that ranks use, to the last bit.
TEST(SweepItem, APlannedItemIsTheSameRowInAnotherProcess) {
  json grid;
  grid["/plan/micro_batch"] = {8, 64};
  const Sweep s = read_sweep(sweep_json(grid), "sweep.json");
  SweepStore store("");
  const SweepOptions options{.time_limit = 0, .threads = 1, .progress = {}};
  const SweepWork work = begin_sweep(s, store, options);
  const std::vector<SweepRow> rows = run(s, "");
  ASSERT_EQ(work.left.size(), rows.size());
  const auto sent = [](const json& message) { return json::from_msgpack(json::to_msgpack(message)); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepItem there = item_from(sent(to_json(item_of(s, work, i, options))));
    json row = to_json(row_from(sent(to_json(plan_item(there, [](double, const std::string&) {})))));
    row["seconds"] = rows[i].seconds;
    EXPECT_EQ(row, to_json(rows[i]));
  }
}

TEST(SweepItem, AnotherComputerWithOtherNumbersIsRefused) {
  const Sweep s = read_sweep(sweep_json({{"/plan/micro_batch", {8}}}), "sweep.json");
  SweepStore store("");
  const SweepOptions options{.time_limit = 0, .threads = 1, .progress = {}};
  SweepItem item = item_of(s, begin_sweep(s, store, options), 0, options);
  item.key = "of other numbers";
  try {
    plan_item(item, [](double, const std::string&) {});
    FAIL() << "not refused";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("item 0 has other numbers here"));
  }
}

// A micro-batch above the batch has no legal plan; 16 KiB on a tile hold no plan at all.
TEST_F(SweepFiles, AnItemWithoutAPlanIsARowThatSaysWhy) {
  json grid;
  grid["/plan/micro_batch"] = {8, 64};
  grid["/machine/override/chip"] = {{{"clock", "1 GHz"}}, {{"tile_memory", "16 KiB"}, {"executable_memory", "16 KiB"}}};
  const std::vector<SweepRow> rows = run(read_sweep(sweep_json(grid), "sweep.json"), path_);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].status, PlanStatus::planned);
  EXPECT_EQ(rows[1].status, PlanStatus::failed);
  EXPECT_THAT(rows[1].reason, testing::StartsWith("/plan"));
  EXPECT_EQ(rows[2].status, PlanStatus::infeasible);
  EXPECT_THAT(rows[2].reason, HasSubstr("tile memory"));
  EXPECT_EQ(rows[3].status, PlanStatus::failed);
}

TEST_F(SweepFiles, ASweepThatStoppedGoesOnWhereItWas) {
  const Sweep s = read_sweep(sweep_json({{"/plan/micro_batch", {2, 4, 8}}}), "sweep.json");
  const std::vector<SweepRow> whole = run(s, "");
  {
    SweepStore store(path_);
    ManyProgress last;
    const auto stop = [&](const ManyProgress& p) {
      last = p;
      if (p.done == 1) throw std::runtime_error("stopped");
    };
    EXPECT_THROW(run_sweep(s, store, {.time_limit = 0, .threads = 1, .progress = stop}), std::runtime_error);
    EXPECT_EQ(store.rows().size(), 1u);
  }
  std::size_t planned = 0;
  EXPECT_EQ(without_seconds(run(s, path_, &planned)), without_seconds(whole));
  EXPECT_EQ(planned, 2u);
  EXPECT_EQ(without_seconds(run(s, path_, &planned)), without_seconds(whole));
  EXPECT_EQ(planned, 0u);
}

TEST_F(SweepFiles, AnotherSweepIsRefusedWithWhatDiffers) {
  run(read_sweep(sweep_json({{"/plan/replicas", {1, 2}}}), "sweep.json"), path_);
  try {
    run(read_sweep(sweep_json({{"/plan/replicas", {1, 4}}}), "sweep.json"), path_);
    FAIL() << "not refused";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr(path_ + ": holds results of another sweep"),
                                HasSubstr("found 2 for /grid/~1plan~1replicas/1, expected 4")));
  }
}

// The row keeps the hash of what it was planned from. A machine file that is changed afterwards gives another one.
TEST_F(SweepFiles, NumbersThatChangedAreRefused) {
  const std::string machine = path_ + ".machine.json";
  const auto write = [&](const char* clock) {
    std::ofstream(machine) << json{{"base", "ipu-pod4"}, {"chip", {{"clock", {{"value", clock}, {"source", "test"}}}}}};
  };
  json grid;
  grid["/machine"] = {machine};
  grid["/plan/replicas"] = {4};
  write("1 GHz");
  const Sweep s = read_sweep(sweep_json(grid), "sweep.json");
  run(s, path_);
  write("2 GHz");
  try {
    run(s, path_);
    FAIL() << "not refused";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("item 0 was planned with other numbers"));
  }
  std::filesystem::remove(machine);
}

TEST_F(SweepFiles, OneProcessAtATimeWrites) {
  const SweepStore first(path_);
  try {
    const SweepStore second(path_);
    FAIL() << "not refused";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("another process is writing to it"));
  }
}

TEST_F(SweepFiles, FilesOfOthersAreRefusedAndLeftAlone) {
  std::ofstream(path_) << "a letter to somebody, longer than the header of a database: " << std::string(200, 'x');
  const auto size = std::filesystem::file_size(path_);
  try {
    const SweepStore store(path_);
    FAIL() << "not refused";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("found another kind of file"));
  }
  EXPECT_EQ(std::filesystem::file_size(path_), size);
}

TEST(SweepTable, CsvQuotesAndMarkdownEscapes) {
  const Sweep s{
      "s", "s", json::object(), {{"/plan/phases", {json::array({0, 1}), "a|b"}}, {"/x/phases", {"say \"no\""}}}};
  SweepRow row;
  row.grid = {{"/plan/phases", json::array({0, 1})}, {"/x/phases", "say \"no\""}};
  row.status = PlanStatus::infeasible;
  row.reason = "IPU 1, tile 2";
  EXPECT_EQ(to_csv(s, {row}),
            "item,/plan/phases,/x/phases,status,reason,label,fits,global_batch,samples_per_second,step_time_s,"
            "step_time_low_s,step_time_high_s,tile_peak_bytes,ddr_bytes_per_ipu,gap,plan\r\n"
            "0,\"[0,1]\",\"say \"\"no\"\"\",infeasible,\"IPU 1, tile 2\",,,,,,,,,,,\r\n");
  row.grid["/plan/phases"] = "a|b";
  EXPECT_EQ(to_markdown(s, {row}),
            "| item | plan/phases | x/phases | samples/s | plan | fullest tile | DDR per IPU | fits |\n"
            "|---:|---:|---:|---:|---|---:|---:|---|\n"
            "| 0 | a\\|b | say \"no\" | | IPU 1, tile 2 | | | infeasible |\n");
}

}  // namespace
}  // namespace superstep
