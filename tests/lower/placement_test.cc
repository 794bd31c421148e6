// SPDX-License-Identifier: Apache-2.0
// Where t, p and r lie on the links.
#include "model/lower/placement.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/lower/toy.h"

namespace superstep {
namespace {

using test::Lowered;
using test::nothing_fitted;
using test::toy;

TEST(Placement, CountsFromTheInnermost) {
  using enum Placement;
  EXPECT_EQ(strides(t_p_r, 2, 3, 4), (Strides{1, 2, 6}));
  EXPECT_EQ(strides(p_t_r, 2, 3, 4), (Strides{3, 1, 6}));
  EXPECT_EQ(strides(t_r_p, 2, 3, 4), (Strides{1, 8, 2}));
  EXPECT_EQ(strides(p_r_t, 2, 3, 4), (Strides{12, 1, 3}));
  EXPECT_EQ(strides(r_t_p, 2, 3, 4), (Strides{4, 8, 1}));
  EXPECT_EQ(strides(r_p_t, 2, 3, 4), (Strides{12, 4, 1}));
}

TEST(Placement, GivesEachIpuOneRankStageAndReplica) {
  for (const Placement placement : kPlacements) {
    const Strides s = strides(placement, 3, 4, 5);
    std::vector<std::int64_t> ipus;
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      for (std::int64_t stage = 0; stage < 4; ++stage) {
        for (std::int64_t r = 0; r < 5; ++r) ipus.push_back(rank * s.rank + stage * s.stage + r * s.replica);
      }
    }
    std::vector<std::int64_t> all(60);
    std::iota(all.begin(), all.end(), 0);
    std::sort(ipus.begin(), ipus.end());
    EXPECT_EQ(ipus, all) << name_of(placement);
  }
}

TEST(Placement, DegreesOfOneHaveNoPlace) {
  using enum Placement;
  EXPECT_EQ(placements(1, 8, 1), std::vector{t_p_r});
  EXPECT_EQ(placements(1, 2, 4), (std::vector{t_p_r, t_r_p}));
  EXPECT_EQ(placements(2, 1, 4), (std::vector{t_p_r, p_r_t}));
  EXPECT_EQ(placements(2, 2, 1), (std::vector{t_p_r, p_t_r}));
  EXPECT_EQ(placements(2, 2, 2), std::vector(kPlacements.begin(), kPlacements.end()));
}

TEST(Placement, KeepsAReplicaTogether) {
  using enum Placement;
  EXPECT_TRUE(lies_within(64, t_p_r, 8, 16, 2));  // has limits of its own for t, and for t x p
  EXPECT_TRUE(lies_within(64, p_t_r, 8, 8, 4));
  EXPECT_FALSE(lies_within(64, p_t_r, 8, 16, 2));
  EXPECT_TRUE(lies_within(64, t_r_p, 2, 4, 8));
  EXPECT_FALSE(lies_within(64, t_r_p, 8, 8, 4));  // 256 IPUs
}

// Eight IPUs in four rows; a byte per cycle on a rail.
TEST(Placement, FurtherCopiesShareRails) {
  const CostModel model(toy(8), nothing_fitted());
  // Stages four apart, two rows: 0 to 4 and 2 to 6 share the rail between the rows in the middle. 1000 B at half a byte
  // per cycle, 40 cycles of latency and sync.
  EXPECT_EQ(model.copy(Bytes(1000), 4, {1, 1}), Cycles(2040));
  EXPECT_EQ(model.copy(Bytes(1000), 4, {1, 4}), Cycles(2040));
  // Two that hold the same, side by side: half of it each, then joined over the rung, 500 B at two bytes per cycle, 10
  // cycles and 20.
  EXPECT_EQ(model.copy(Bytes(1000), 4, {2, 1}), Cycles(1000 + 40 + 250 + 30));
  // Copies between neighbours, whose holders are four apart: whole over rung and rail, 1000 + 40. In slices the way
  // back together would take 500 B at half a byte per cycle.
  EXPECT_EQ(model.copy(Bytes(1000), 1, {2, 4}), Cycles(1040));
  EXPECT_TRUE(model.is_no_faster(4, 1));
  EXPECT_FALSE(model.is_no_faster(1, 4));
  EXPECT_TRUE(model.is_no_faster(GroupShape{2, 4}, GroupShape{2, 1}));
  EXPECT_FALSE(model.is_no_faster(GroupShape{2, 1}, GroupShape{2, 4}));
}

// Twelve replicas two IPUs apart.
TEST(Replicas, AreDividedIntoGroups) {
  const Replicas near{12, 2, ShardGroups::consecutive}, far{12, 2, ShardGroups::orthogonal};
  EXPECT_EQ(near.group(4), (GroupShape{4, 2}));  // 0 to 3
  EXPECT_EQ(far.group(4), (GroupShape{4, 6}));   // 0, 3, 6 and 9
  // Those that hold the same shard.
  EXPECT_EQ(near.group(12, 4), (GroupShape{3, 8}));  // 0, 4 and 8
  EXPECT_EQ(far.group(12, 4), (GroupShape{3, 2}));   // 0 to 2
  // Shards over six within those over two.
  EXPECT_EQ(near.group(6, 2), (GroupShape{3, 4}));  // 0, 2 and 4
  EXPECT_EQ(far.group(6, 2), (GroupShape{3, 4}));   // 0, 2 and 4: of 0, 2, 4, 6, 8, 10 the first half
}

TEST(Replicas, HaveShardsByTheirPlaceInTheGroup) {
  for (const ShardGroups groups : {ShardGroups::consecutive, ShardGroups::orthogonal}) {
    const Replicas all{12, 1, groups};
    for (const std::int64_t degree : {1, 2, 3, 4, 6, 12}) {
      const GroupShape group = all.group(degree);
      for (std::int64_t r = 0; r < all.count; ++r) {
        EXPECT_EQ(all.shard_of(r, degree), r / group.stride % group.size) << name_of(groups) << " " << degree;
        // A shard of the whole is a part of one shard of each degree.
        const std::int64_t first = all.first_with(all.shard_of(r, degree), degree);
        EXPECT_EQ(all.shard_of(first, degree), all.shard_of(r, degree));
        EXPECT_LE(first, r);
      }
    }
  }
}

void collect(const Node& node, const Program& program, std::vector<Step>& out) {
  if (node.kind == Node::Kind::step) out.push_back(node.step);
  if (node.kind == Node::Kind::call) {
    const std::vector<Step>& steps = program.functions[node.function].steps;
    out.insert(out.end(), steps.begin(), steps.end());
  }
  for (const Node& child : node.children) collect(child, program, out);
}

TEST(Placement, DecidesWhoExchangesWhat) {
  Plan plan;
  plan.tensor_parallel = {2, 1};
  plan.pipeline_stages = plan.replicas = 2;
  plan.gradient_accumulation = 4;
  plan.stages = {0, 4};
  plan.stage_ipu = {0, 1};
  for (const Placement placement : kPlacements) {
    plan.placement = placement;
    const Strides s = plan.strides();
    TableKey key = Lowered::key(plan.tensor_parallel);
    key.rank_stride = s.rank;
    const Lowered l(test::small_gpt(2, 256, 32, 512), 8, plan.tensor_parallel, true);
    SharedCosts shared(l.model, l.model.machine().chip.tiles);
    const UnitTable table(l.facts, l.sharding, l.model, shared, key, true);
    const Program program = lower(table, plan, OptimizerSpec{.kind = "adam"});
    std::vector<Step> steps;
    collect(program.root, program, steps);
    std::int64_t joined = 0, copied = 0, reduced = 0;
    for (const Step& step : steps) {
      if (step.kind == StepKind::copy) {
        EXPECT_EQ(step.group.stride, s.stage);
        EXPECT_EQ(step.holders, (GroupShape{2, s.rank}));
        ++copied;
      }
      if (step.kind != StepKind::collective) continue;
      const bool of_mesh = step.term == Term::tensor_collective;
      EXPECT_EQ(step.group, (GroupShape{2, of_mesh ? s.rank : s.replica}));
      ++(of_mesh ? joined : reduced);
    }
    EXPECT_GT(joined, 0) << name_of(placement);
    EXPECT_GT(copied, 0) << name_of(placement);
    EXPECT_GT(reduced, 0) << name_of(placement);
  }
}

}  // namespace
}  // namespace superstep
