// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/against.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/machine/load_machine.h"
#include "planner/report/evaluated.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// A file of one comparison with what is given, beside the repository's points.
std::vector<SystemComparison> comparison(const json& baselines, const json& ours,
                                         const std::string& item = "sequence") {
  // Tests run side by side: each has its own file.
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path = testing::TempDir() + "/comparison-" + test + ".json";
  std::ofstream(path) << json{
      {"baseline", "dgx-a100"},
      {"comparisons", {{{"title", "a test"}, {"item", item}, {"baselines", baselines}, {"ours", ours}}}}};
  return read_comparisons(path, load_published({published_folder()}), {.threads = 1});
}

std::string comparison_error(const json& baselines, const json& ours) {
  try {
    comparison(baselines, ours);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

json list(const json& entry) { return json::array({entry}); }

// MLPerf v1.1: 2,307.5 sequences/s on eight A100 of 6.5 kW, 2,396.1 packs of two on 28 kW.
TEST(Against, PublishedFiguresAreSetBesideEachOther) {
  const auto all = comparison({{{"id", "a100-mlperf11-bert-8"}}, {{"id", "a100-mlperf11-bert-8"}, {"systems", 3}}},
                              list({{"point", "mlperf11-bert-pod64-thr"}, {"samples", 0.5}}));
  ASSERT_EQ(all.size(), 1u);
  const ComparedSystem &one = all[0].baselines.at(0), &three = all[0].baselines.at(1), &pod = all[0].ours.at(0);
  EXPECT_EQ(one.system, "1 x dgx-a100");
  EXPECT_DOUBLE_EQ(one.joules_per_item().value(), 6500 / 2307.5);
  EXPECT_EQ(three.system, "3 x dgx-a100");
  EXPECT_EQ(three.basis, Basis::scaled);
  EXPECT_DOUBLE_EQ(three.items_per_second.value(), 3 * 2307.5);
  EXPECT_DOUBLE_EQ(three.speed.value(), 3);
  EXPECT_DOUBLE_EQ(three.thrift.value(), 1);
  EXPECT_NEAR(pod.items_per_second.value(), 2 * 2396.1, 0.1);
  EXPECT_NEAR(pod.speed.value(), 2 * 2396.1 / 2307.5, 1e-4);
  EXPECT_NEAR(pod.thrift.value(), 2 * 2396.1 / 2307.5 * 6.5 / 28, 1e-4);
  EXPECT_FALSE(one.source.empty() || pod.source.empty());
}

// 69.5 h for a run against 13.2 h.
TEST(Against, ARunIsATime) {
  const auto all = comparison(list({{"id", "press-bertL-dgxa100-ttt"}}),
                              list({{"announced", "press-bertL-pod64-ttt"}, {"machine", "ipu-pod64"}}), "run");
  const ComparedSystem& pod = all[0].ours.at(0);
  EXPECT_EQ(rate_text(pod, "run"), "13.2 h");
  EXPECT_EQ(energy_text(pod), "370 kWh") << "28 kW for 13.2 h";
  EXPECT_NEAR(pod.speed.value(), 69.5 / 13.2, 1e-9);
}

// An eighth of the system's power for one of eight accelerators; a ratio is one of speeds.
TEST(Against, AnAnnouncedRatioHasNoRate) {
  const auto all =
      comparison(list({{"id", "a100-nv-rn50-1"}}), list({{"announced", "press-ratio-rn50"}, {"machine", "ipu-m2000"}}));
  const ComparedSystem& m2000 = all[0].ours.at(0);
  EXPECT_EQ(all[0].baselines.at(0).power.value, 6500.0 / 8);
  EXPECT_EQ(m2000.basis, Basis::announced);
  EXPECT_FALSE(m2000.items_per_second);
  EXPECT_EQ(rate_text(m2000, "image"), "n/a");
  EXPECT_EQ(m2000.speed, 2.6);
  EXPECT_DOUBLE_EQ(m2000.thrift.value(), 2.6 * 6500 / 8 / 1500);
}

// What a search finds for the job now; two jobs one after another add their times.
TEST(Against, WhatIsModelledIsPlanned) {
  const json job = test::small_gpt({{"tensor_parallel", 1}, {"pipeline_stages", 1}});
  const auto all = comparison(
      json::array(),
      json::array({{{"jobs", list({{"job", job}})}}, {{"jobs", {{{"job", job}, {"samples", 3}}, {{"job", job}}}}}}));
  test::World world(job);
  const SearchResult found = search(world.tables, {.top = 1, .pareto = false, .find_fix = false});
  const double rate = evaluate_in_full(world.tables, found.best.at(0).plan).samples_per_second;
  const ComparedSystem &once = all[0].ours.at(0), &both = all[0].ours.at(1);
  EXPECT_EQ(once.basis, Basis::modelled);
  EXPECT_NEAR(once.items_per_second.value(), rate, rate * 1e-9);
  EXPECT_NEAR(both.items_per_second.value(), rate / 4, rate * 1e-9);
  EXPECT_LT(once.band->low, rate);
  EXPECT_GT(once.band->high, rate);
  EXPECT_EQ(once.system, "ipu-pod4");
  EXPECT_FALSE(once.speed) << "there is no rate to compare with";
}

TEST(Against, WhatCannotBeModelledSaysWhy) {
  const json job = {{"model", {{"zoo", "no-such-net"}}}, {"machine", "ipu-m2000"}, {"batch", {{"global", 8}}}};
  const auto all = comparison(json::array(), list({{"jobs", list({{"job", job}})}}));
  const ComparedSystem& s = all[0].ours.at(0);
  EXPECT_EQ(s.failure, "unknown name \"no-such-net\"");
  EXPECT_EQ(s.system, "ipu-m2000");
  EXPECT_FALSE(s.items_per_second);
  EXPECT_EQ(to_json(all)["comparisons"][0]["ours"][0]["failure"], s.failure);
}

TEST(Against, RefusesWhatIsNotPublished) {
  EXPECT_THAT(comparison_error(list({{"id", "no-such"}}), json::array()),
              HasSubstr("#/comparisons/0/baselines/0/id: found \"no-such\", expected a baseline of dgx-a100"));
  EXPECT_THAT(comparison_error(json::array(), list({{"point", "no-such"}})), HasSubstr("#/comparisons/0/ours/0/point"));
  EXPECT_THAT(comparison_error(json::array(), list({{"point", "mlperf11-bert-pod64-step"}})),
              HasSubstr("a time, expected a rate"));
  EXPECT_THAT(comparison_error(json::array(), list({{"announced", "cfg-gpt2m-pod16"}, {"machine", "ipu-pod16"}})),
              HasSubstr("#/comparisons/0/ours/0/announced"));
  EXPECT_THAT(comparison_error(json::array(), list({{"jbos", 1}})), HasSubstr("jobs"));
  EXPECT_THROW(compare_with("dgx-a10", load_published({published_folder()}), {}), Error);
}

}  // namespace
}  // namespace superstep
