// SPDX-License-Identifier: Apache-2.0
// The search against all plans there are, on small jobs drawn at random.
#include "tests/planner/brute_force.h"

#include <gtest/gtest.h>

namespace superstep::test {
namespace {

TEST(BruteForce, AgreesWithTheSearch) {
  const Agreements seen = expect_agreement(1, 60, 30000);
  EXPECT_GE(seen.plans, 200000);
  EXPECT_GE(seen.infeasible, 5);
  EXPECT_GE(seen.tight, 10);
  EXPECT_GE(seen.phased, 5);
  EXPECT_GE(seen.pruned, 30);
}

// Cells were bounded once by fixed costs that phases of few stages do not have.
TEST(BruteForce, AgreesWithTheSearchOnSmallBatchesOfManyStages) {
  for (std::uint64_t seed : {173, 257, 374, 657}) expect_agreement(seed, 1, 30000);
}

// Two shares of temporary memory whose tables differ in the update alone are two settings.
TEST(BruteForce, AgreesWithTheSearchWhereUpdatesAloneDiffer) {
  const nlohmann::json job = {
      {"model",
       {{"zoo", "gpt2-small"},
        {"layers", 2},
        {"hidden", 16},
        {"heads", 4},
        {"ffn", 64},
        {"vocabulary", 32},
        {"sequence_length", 8},
        {"positions", 8}}},
      {"machine",
       {{"base", "toy"},
        {"override", {{"chip", {{"tile_memory", "32 KiB"}, {"executable_memory", "32 KiB"}}}}},
        {"partition", 2}}},
      {"optimizer", {{"kind", "sgd_momentum"}}},
      {"batch", {{"global", 4}}},
      {"plan", {{"available_memory_proportion", {0.08, 0.4}}, {"io_tiles", 0}, {"recompute", "layer"}}}};
  const Agreement a = compare_search(job);
  EXPECT_EQ(a.differences, "");
  EXPECT_GT(a.all.fitting, 0);
}

// Checkpoints that t shares are joined again for the backward pass: recomputing a whole stage may take less time.
TEST(BruteForce, AgreesWithTheSearchWhereStashesAreJoined) {
  const nlohmann::json job = {{"model",
                               {{"zoo", "gpt2-small"},
                                {"layers", 2},
                                {"hidden", 24},
                                {"heads", 4},
                                {"ffn", 48},
                                {"vocabulary", 64},
                                {"sequence_length", 8},
                                {"positions", 8}}},
                              {"machine",
                               {{"base", "toy"},
                                {"override", {{"chip", {{"tile_memory", "40 KiB"}, {"executable_memory", "40 KiB"}}}}},
                                {"partition", 4}}},
                              {"optimizer", {{"kind", "sgd"}}},
                              {"batch", {{"global", 16}}},
                              {"plan",
                               {{"tensor_parallel", 2},
                                {"pipeline_stages", 2},
                                {"micro_batch", 2},
                                {"schedule", "grouped"},
                                {"phases", 1},
                                {"activation_sharding", "stored"},
                                {"available_memory_proportion", 0.05}}}};
  const Agreement a = compare_search(job);
  EXPECT_EQ(a.differences, "");
  EXPECT_GT(a.all.fitting, 0);
}

}  // namespace
}  // namespace superstep::test
