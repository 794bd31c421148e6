// SPDX-License-Identifier: Apache-2.0
// The search against all plans there are, on small jobs drawn at random.
#include "tests/planner/brute_force.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "planner/space/space.h"
#include "tests/planner/world.h"

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

// Within the rules of a software, of which each plan there is was asked by itself.
TEST(BruteForce, AgreesWithTheSearchWithinTheRulesOfSoftware) {
  const Agreements seen = expect_agreement(1, 40, 3000, "popart");
  EXPECT_GE(seen.plans, 1000);
  EXPECT_GE(seen.infeasible, 5);
  EXPECT_GE(seen.pruned, 10);
}

// Cells were bounded once by fixed costs that phases of few stages do not have.
TEST(BruteForce, AgreesWithTheSearchOnSmallBatchesOfManyStages) {
  for (std::uint64_t seed : {173, 257, 374, 657}) expect_agreement(seed, 1, 30000);
}

// Two layers on so many IPUs of the toy machine, with tiles of `tile_memory`.
nlohmann::json two_layers(int hidden, int ffn, int vocabulary, const char* tile_memory, int ipus) {
  const nlohmann::json chip = {{"tile_memory", tile_memory}, {"executable_memory", tile_memory}};
  return {{"model",
           {{"zoo", "gpt2-small"},
            {"layers", 2},
            {"hidden", hidden},
            {"heads", 4},
            {"ffn", ffn},
            {"vocabulary", vocabulary},
            {"sequence_length", 8},
            {"positions", 8}}},
          {"machine", {{"base", "toy"}, {"override", {{"chip", chip}}}, {"partition", ipus}}}};
}

void expect_agreement(const nlohmann::json& job) {
  const Agreement a = compare_search(job);
  EXPECT_EQ(a.differences, "");
  EXPECT_FALSE(a.all.fitting.empty());
}

// Two shares of temporary memory whose tables differ in the update alone are two settings.
TEST(BruteForce, AgreesWithTheSearchWhereUpdatesAloneDiffer) {
  nlohmann::json job = two_layers(16, 64, 32, "32 KiB", 2);
  job["optimizer"] = {{"kind", "sgd_momentum"}};
  job["batch"] = {{"global", 4}};
  job["plan"] = {{"available_memory_proportion", {0.08, 0.4}}, {"io_tiles", 0}, {"recompute", "layer"}};
  expect_agreement(job);
}

// Checkpoints that t shares are joined again for the backward pass: recomputing a whole stage may take less time.
TEST(BruteForce, AgreesWithTheSearchWhereStashesAreJoined) {
  nlohmann::json job = two_layers(24, 48, 64, "40 KiB", 4);
  job["optimizer"] = {{"kind", "sgd"}};
  job["batch"] = {{"global", 16}};
  job["plan"] = {{"tensor_parallel", 2},
                 {"pipeline_stages", 2},
                 {"micro_batch", 2},
                 {"schedule", "grouped"},
                 {"phases", 1},
                 {"activation_sharding", "stored"},
                 {"available_memory_proportion", 0.05}};
  expect_agreement(job);
}

// Where a bound on temporary memory alone has to be tight for layers that have much live beside it.
TEST(BruteForce, AgreesWithTheSearchWhereBoundsCountWhatIsLive) {
  int faster = 0;
  for (const int kib : {32, 34}) {
    SCOPED_TRACE(kib);
    nlohmann::json job = two_layers(32, 192, 64, (std::to_string(kib) + " KiB").c_str(), 1);
    job["optimizer"] = {{"kind", "sgd_momentum"}};
    job["batch"] = {{"global", 4}};
    job["plan"] = {{"io_tiles", 0}, {"placement", "t-p-r"}, {"load", "on_demand"}, {"prefetch_depth", 1}};
    const auto best = [&](const nlohmann::json& bounds) {
      job["plan"].erase("available_memory_proportion");
      if (!bounds.is_null()) job["plan"]["available_memory_proportion"] = bounds;
      World world(job);
      const SearchStats found = searched(world, false).stats;
      EXPECT_TRUE(found.optimal);
      return found.best;
    };
    const double all = best({}), none = best({{"live", "none"}});
    EXPECT_EQ(all, std::max({none, best({{"live", "unit"}}), best({{"live", "layer"}})}));
    if (all > none) ++faster;
    expect_agreement(job);
  }
  EXPECT_GT(faster, 0);
}

// Boundaries between phases of inference stay on the tiles, which takes less time and no more room.
TEST(BruteForce, AgreesWithTheSearchWhereBoundariesOfPhasesStay) {
  int stay = 0;
  for (const int kib : {24, 30, 34}) {
    SCOPED_TRACE(kib);
    nlohmann::json job = two_layers(32, 128, 64, (std::to_string(kib) + " KiB").c_str(), 2);
    job["task"] = "inference";
    job["batch"] = {{"global", 8}};
    job["plan"] = {{"io_tiles", 0},       {"placement", "t-p-r"}, {"tensor_parallel", 1},
                   {"prefetch_depth", 1}, {"load", "on_demand"},  {"available_memory_proportion", 0.1}};
    World world(job);
    const SearchResult found = searched(world, false);
    if (!found.best.empty() && found.best[0].plan.boundaries_stay()) ++stay;
    expect_agreement(job);
  }
  EXPECT_GT(stay, 0);
}

// What other IPUs' tiles hold for phases, and these for them, takes room beside every phase.
TEST(BruteForce, AgreesWithTheSearchWhereOtherIpusHoldWeights) {
  int fit = 0, none = 0;
  for (const int stages : {1, 2}) {
    for (int kib = 37; kib < 47; kib += stages) {
      nlohmann::json job = two_layers(16, 64, 32, (std::to_string(kib) + " KiB").c_str(), 2 * stages);
      job["optimizer"] = {{"kind", "sgd_momentum"}};
      job["batch"] = {{"global", 4}};
      job["plan"] = {{"pipeline_stages", stages},
                     {"replicas", 2},
                     {"available_memory_proportion", 0.2},
                     {"io_tiles", 0},
                     {"recompute", "layer"},
                     {"load", "on_demand"},
                     {"placement", "t-p-r"},
                     {"location",
                      {{"weights", "remote_ipu"},
                       {"code", "in_processor"},
                       {"optimizer_state", "streaming"},
                       {"activations", {"streaming", "remote_ipu"}}}}};
      const BruteForce all = try_all(job);
      World world(job);
      const SearchStats found = searched(world, false).stats;
      EXPECT_DOUBLE_EQ(found.best, all.best()) << kib << " KiB, " << stages;
      EXPECT_TRUE(found.optimal) << kib << " KiB, " << stages;
      double settings = 0;  // also of those that are cut twice
      for (const Cell& cell : cells(world.job)) settings += cell.all_settings();
      EXPECT_EQ(found.explored + found.pruned, settings) << kib << " KiB, " << stages;
      (all.best() == 0 ? none : fit) += 1;
    }
  }
  EXPECT_GE(none, 1);
  EXPECT_GE(fit, 4);
}

}  // namespace
}  // namespace superstep::test
