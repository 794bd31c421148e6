// SPDX-License-Identifier: Apache-2.0
// The jobs of issue 2 that name an outcome, as they lie in data/jobs.
#include <gtest/gtest.h>

#include "planner/make_report.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

SearchResult run(const std::string& name, std::string* fits, std::int64_t* peak) {
  const Job job = load_job(SUPERSTEP_SOURCE "/data/jobs/" + name + ".json");
  const CostModel model(job.machine, load_calibration());
  Tables tables(job, model);
  SearchOptions options;
  options.top = 1;
  options.pareto = options.find_fix = false;
  SearchResult r = search(tables, options);
  if (!r.best.empty()) {
    const Evaluated e = evaluate_in_full(tables, r.best[0].plan);
    *fits = e.fits;
    *peak = e.tile_peak;
  }
  return r;
}

TEST(BertLargeOnPod16, FourStagesWithUnshardedStateDoNotFit) {
  std::string fits;
  std::int64_t peak = 0;
  const SearchResult r = run("bert-large-pod16-p4-unsharded", &fits, &peak);
  EXPECT_TRUE(r.best.empty()) << "fits with a peak of " << peak;
  ASSERT_FALSE(r.overflows.empty());
  EXPECT_EQ(r.overflows[0].constraint, "tile memory");
  EXPECT_GT(r.overflows[0].over, Bytes(0));
}

TEST(BertLargeOnPod16, EightStagesWithShardedStateFitTightly) {
  std::string fits;
  std::int64_t peak = 0;
  const SearchResult r = run("bert-large-pod16-p8-sharded", &fits, &peak);
  ASSERT_FALSE(r.best.empty());
  EXPECT_EQ(fits, "tight") << peak;  // as Graphcore describes it
  EXPECT_LE(peak, 624 * 1024);
  std::printf("p=8 r=2, state sharded over 2: %s, %lld KiB to spare\n", fits.c_str(),
              static_cast<long long>((624 * 1024 - peak) / 1024));
}

TEST(BertLargeOnPod16, MainJobHasABestPlan) {
  std::string fits;
  std::int64_t peak = 0;
  const SearchResult r = run("bert-large-pod16", &fits, &peak);
  ASSERT_FALSE(r.best.empty());
  EXPECT_NE(fits, "does_not_fit");
  EXPECT_EQ(r.best[0].plan.global_batch(), 1536);
  std::printf("best: %s, %.0f packs/s, %.0f explored, %.0f pruned, %.1f s\n", label(r.best[0].plan).c_str(),
              r.best[0].samples_per_second, r.stats.explored, r.stats.pruned, r.stats.seconds);
}

// Cells are searched in parallel: who finishes first must not show in the plans.
TEST(BertLargeOnPod16, GivesTheSamePlansEachTime) {
  std::vector<std::string> first;
  for (int i = 0; i < 4; ++i) {
    const Job job = load_job(SUPERSTEP_SOURCE "/data/jobs/bert-large-pod16.json");
    const CostModel model(job.machine, load_calibration());
    Tables tables(job, model);
    SearchOptions options;
    options.pareto = i == 0 || i == 1;
    std::vector<std::string> plans;
    const SearchResult r = search(tables, options);
    for (const Candidate& c : r.best) plans.push_back(to_json(c.plan).dump());
    if (i == 0) first = plans;
    EXPECT_EQ(plans, first) << "run " << i;
  }
}

}  // namespace
}  // namespace superstep
