// SPDX-License-Identifier: Apache-2.0
// Collectives over replicas by their bytes, against the cost model's own for the transfers that an update is made of.
#include "planner/cost/shard_costs.h"

#include <gtest/gtest.h>

#include "model/cost/calibration.h"
#include "model/machine/load_machine.h"

namespace superstep {
namespace {

constexpr std::int64_t kReplicas = 12, kReplicaIpus = 16, kBytes = 3 << 28;

class ShardCostsTest : public testing::Test {
 protected:
  const Machine machine_ = load_machine("ipu-pod256");
  const CostModel model_{machine_, load_calibration("none")};
  const ShardCosts costs_{model_, {kReplicas, kReplicaIpus}, {1, 2, 3, 4, 6, 12}};
  const ShardCosts orthogonal_{model_, {kReplicas, kReplicaIpus, ShardGroups::orthogonal}, {1, 2, 3, 4, 6, 12}};

  std::int64_t cycles(CollectiveKind kind, std::int64_t size, std::int64_t stride, std::int64_t bytes) const {
    return model_.collective(kind, GroupShape{size, stride * kReplicaIpus}, Bytes(bytes)).value;
  }
  // Rates are of the model's whole cycles for a gibibyte, and each transfer is rounded.
  static void expect_equal(const LinearCycles& cost, std::int64_t cycles) {
    EXPECT_NEAR(static_cast<double>(cost.of(kBytes)), static_cast<double>(cycles), 4);
  }
};

TEST_F(ShardCostsTest, GathersAndScattersShardsOfNeighbours) {
  expect_equal(costs_.gather(costs_.of(4)), cycles(CollectiveKind::all_gather, 4, 1, kBytes));
  expect_equal(costs_.scatter(costs_.of(6)), cycles(CollectiveKind::reduce_scatter, 6, 1, kBytes));
  EXPECT_EQ(costs_.gather(costs_.of(1)).of(kBytes), 0);
}

TEST_F(ShardCostsTest, ReducesOverAllReplicasHoweverStatesAreSharded) {
  using enum CollectiveKind;
  expect_equal(costs_.reduce(costs_.of(1), costs_.of(1)), cycles(all_reduce, 12, 1, kBytes));
  expect_equal(costs_.reduce(costs_.of(4), costs_.of(1)),
               cycles(reduce_scatter, 4, 1, kBytes) + cycles(all_reduce, 3, 4, kBytes / 4));
  // Scattered before, micro-batch by micro-batch.
  expect_equal(costs_.reduce(costs_.of(4), costs_.of(4)), cycles(all_reduce, 3, 4, kBytes / 4));
  // Each replica updates all of it.
  expect_equal(costs_.reduce(costs_.of(1), costs_.of(4)),
               cycles(all_reduce, 3, 4, kBytes / 4) + cycles(all_gather, 4, 1, kBytes));
}

TEST_F(ShardCostsTest, JoinsNewWeightsUpToTheirOwnDegree) {
  expect_equal(costs_.join(costs_.of(12), costs_.of(4)), cycles(CollectiveKind::all_gather, 3, 4, kBytes / 4));
  EXPECT_EQ(costs_.join(costs_.of(4), costs_.of(4)).of(kBytes), 0);
  EXPECT_EQ(costs_.join(costs_.of(3), costs_.of(12)).of(kBytes), 0);
}

// Four IPU-Link domains of four replicas each, of which twelve are there.
TEST_F(ShardCostsTest, OrthogonalGroupsAreAsFarApartAsThereAreReplicas) {
  using enum CollectiveKind;
  expect_equal(orthogonal_.gather(costs_.of(4)), cycles(all_gather, 4, 3, kBytes));
  expect_equal(orthogonal_.scatter(costs_.of(6)), cycles(reduce_scatter, 6, 2, kBytes));
  expect_equal(orthogonal_.reduce(costs_.of(4), costs_.of(1)),
               cycles(reduce_scatter, 4, 3, kBytes) + cycles(all_reduce, 3, 1, kBytes / 4));
  expect_equal(orthogonal_.join(costs_.of(12), costs_.of(4)), cycles(all_gather, 3, 1, kBytes / 4));
  expect_equal(orthogonal_.join(costs_.of(4), costs_.of(2)), cycles(all_gather, 2, 3, kBytes / 2));
}

TEST_F(ShardCostsTest, GroupsOfAllReplicasAndOfOneAreAlike) {
  for (const std::int64_t d : {1, 12}) {
    expect_equal(orthogonal_.gather(costs_.of(d)), costs_.gather(costs_.of(d)).of(kBytes));
    expect_equal(orthogonal_.reduce(costs_.of(d), 0), costs_.reduce(costs_.of(d), 0).of(kBytes));
  }
}

}  // namespace
}  // namespace superstep
