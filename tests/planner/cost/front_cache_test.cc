// SPDX-License-Identifier: Apache-2.0
// Tile plans in a file: found again by the next run, worth nothing to another build or another chip.
#include "planner/cost/front_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "model/error.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using testing::HasSubstr;

class FrontCacheTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }

  // Everything that the search gives of a small job, and how many searches for tile plans that took.
  struct Found {
    std::string plan;
    std::int64_t searches = 0;
  };
  Found run(const std::string& machine = "ipu-pod4") const {
    const nlohmann::json pins = {{"tensor_parallel", 1}, {"micro_batch", 2}, {"available_memory_proportion", 0.25}};
    nlohmann::json given = test::small_gpt(pins);
    given["machine"] = machine;
    const Job job = read_job(given, "test job");
    const CostModel model(job.machine, load_calibration());
    const auto cache = std::make_shared<FrontCache>(path_);
    Tables tables(job, model, true, cache);
    const SearchResult result = search(tables, {});
    cache->save();
    Found out;
    for (const Candidate& c : result.best)
      out.plan += to_json(c.plan).dump() + " " + std::to_string(c.estimate.cycles) + "\n";
    out.searches = tables.searches();
    return out;
  }
  void sql(const char* text) const {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, text, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(handle);
  }
  std::string error() const {
    try {
      const FrontCache cache(path_);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  const std::string path_ =
      testing::TempDir() + "fronts-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
};

TEST_F(FrontCacheTest, ALaterRunSearchesNothingAndFindsTheSame) {
  const Found first = run(), again = run();
  EXPECT_GT(first.searches, 0);
  EXPECT_EQ(again.searches, 0);
  EXPECT_FALSE(first.plan.empty());
  EXPECT_EQ(again.plan, first.plan);
}

TEST_F(FrontCacheTest, AnotherChipHasPlansOfItsOwn) {
  const Found first = run(), bow = run("bow-pod4");
  EXPECT_EQ(run("bow-pod4").searches, 0);
  EXPECT_EQ(run().searches, 0);
  EXPECT_NE(first.plan, bow.plan);
}

TEST_F(FrontCacheTest, WhatAnotherBuildSearchedIsThrownAway) {
  const Found first = run();
  sql("UPDATE build SET id = 'another'");
  EXPECT_EQ(run().searches, first.searches);
  EXPECT_EQ(run().searches, 0);
}

// Two that begin at the same time search the same; the file has it once.
TEST_F(FrontCacheTest, IsSharedByProcesses) {
  const FrontCache other(path_);
  const Found first = run();
  EXPECT_EQ(run().searches, 0);
  EXPECT_GT(first.searches, 0);
}

TEST_F(FrontCacheTest, RefusesOtherFiles) {
  std::ofstream(path_) << std::string(4096, 'x');
  EXPECT_THAT(error(), HasSubstr("found another kind of file, expected a database of SQLite, or no file"));
  std::filesystem::remove(path_);
  sql("CREATE TABLE mine (x)");
  EXPECT_THAT(error(), HasSubstr("found another program's database, expected a cache of tile plans, or no file"));
}

}  // namespace
}  // namespace superstep
