// SPDX-License-Identifier: Apache-2.0
// Inference may leave its batch free: how many micro-batches go through the pipeline is searched like all else.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "planner/search/search.h"
#include "planner/space/space.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::searched;
using test::World;

double best_with(const nlohmann::json& accumulation) {
  nlohmann::json job = test::small_inference();
  job["plan"]["pipeline_stages"] = 2;  // which fill and drain
  if (!accumulation.is_null()) job["plan"]["gradient_accumulation"] = accumulation;
  World world(job);
  return searched(world, false).best.at(0).samples_per_second;
}

TEST(FreeBatch, TakesTheBestNumberOfMicroBatches) {
  double best = 0;
  for (std::int64_t g = 1; g <= 1024; g *= 2) best = std::max(best, best_with(g));
  EXPECT_GT(best, 1.05 * best_with(1));
  EXPECT_EQ(best_with({}), best);
  EXPECT_EQ(best_with({{"min", 1}}), best);
  EXPECT_LT(best_with({{"max", 2}}), best);
}

TEST(FreeBatch, OfLeastLatencyIsOneMicroBatch) {
  nlohmann::json job = test::small_inference();
  job["objective"] = "latency";
  World world(job);
  EXPECT_EQ(searched(world, false).best.at(0).plan.gradient_accumulation, 1);
}

TEST(FreeBatch, IsOneMicroBatchByDefault) {
  const World world(test::small_inference());
  for (const Cell& cell : cells(world.job, 0, true)) EXPECT_EQ(cell.accumulation, 1);
}

}  // namespace
}  // namespace superstep
