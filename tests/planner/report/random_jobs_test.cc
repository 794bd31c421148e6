// SPDX-License-Identifier: Apache-2.0
// Random small jobs from end to end: searched, explained, lowered and reported. Run under sanitizers by ./check.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/report/make_report.h"
#include "tests/planner/brute_force.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;

struct Seen {
  int planned = 0, phased = 0, infeasible = 0;
};

void plan_and_report(const json& job, const std::string& file, Seen& seen) {
  World world(job);
  SearchOptions options;
  options.explain = explain_infeasible;
  options.find_fix = false;
  options.threads = 2;
  const SearchResult found = search(world.tables, options);
  if (found.best.empty()) {
    ++seen.infeasible;
    EXPECT_FALSE(found.overflows.empty()) << "nothing says why";
    if (found.closest) {
      EXPECT_FALSE(evaluate_in_full(world.tables, *found.closest).overflows.empty());
    }
    return;
  }
  const Candidate& best = found.best[0];
  ++(best.plan.phased() ? seen.phased : seen.planned);
  const Evaluated e = evaluate_in_full(world.tables, best.plan);
  EXPECT_EQ(world.problem(best.plan), "");
  EXPECT_TRUE(e.overflows.empty());
  EXPECT_LE(e.tile_peak, best.estimate.tile_peak) << "the tables' memory is an upper bound";
  const double ratio = static_cast<double>(e.timeline.step.total().value) / static_cast<double>(best.estimate.cycles);
  EXPECT_NEAR(ratio, 1, 0.01);
  write_report(world.tables, {.shown = &e, .search = &found}, file);
  EXPECT_GT(std::filesystem::file_size(file), 0U);
}

TEST(RandomJobs, ArePlannedAndReported) {
  const std::string file = ::testing::TempDir() + "random_job.ssr";
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const json job = test::draw_small_job(seed, 30000);
    SCOPED_TRACE(std::to_string(seed) + ": " + job.dump());
    ASSERT_NO_THROW(plan_and_report(job, file, seen));
  }
  std::filesystem::remove(file);
  EXPECT_GE(seen.planned, 20);
  EXPECT_GE(seen.phased, 20);
  EXPECT_GE(seen.infeasible, 1);
}

}  // namespace
}  // namespace superstep
