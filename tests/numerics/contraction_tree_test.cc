// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/contraction_tree.h"

#include <gmock/gmock.h>

namespace superstep::numerics {

void PrintTo(const StepRange& range, std::ostream* out) { *out << "[" << range.begin << ", " << range.end << ")"; }

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ContractionTree, HalvesTheNumberOfChunks) {
  const ContractionTree tree(48 * 16, 16);
  // 48 chunks over 2, 4, 8 and 16 shards: 24, 12, 6 and 3 chunks each.
  for (const std::int64_t shards : {2, 4, 8, 16}) {
    const std::int64_t share = tree.extent() / shards;
    for (std::int64_t i = 0; i < shards; ++i) EXPECT_TRUE(tree.is_node({i * share, (i + 1) * share})) << shards;
  }
  // Three chunks are two and one.
  EXPECT_TRUE(tree.is_node({0, 32}));
  EXPECT_TRUE(tree.is_node({32, 48}));
  EXPECT_FALSE(tree.is_node({16, 48}));
  // Neither thirds, nor parts of chunks, nor two nodes that are not siblings, nor what is outside.
  EXPECT_FALSE(tree.is_node({0, 256}));
  EXPECT_FALSE(tree.is_node({0, 24}));
  EXPECT_FALSE(tree.is_node({192, 576}));
  EXPECT_FALSE(tree.is_node({0, 784}));
  EXPECT_FALSE(tree.is_node({-16, 16}));
  EXPECT_FALSE(tree.is_node({16, 16}));
}

TEST(ContractionTree, PadsTheExtentToWholeChunks) {
  const ContractionTree tree(37, 16);
  EXPECT_EQ(tree.chunks(), 3);
  EXPECT_TRUE(tree.is_node({0, 37}));
  EXPECT_TRUE(tree.is_node({0, 48}));  // the padding adds nothing
  EXPECT_TRUE(tree.is_node({32, 37}));
  EXPECT_TRUE(tree.is_node({32, 48}));
  EXPECT_FALSE(tree.is_node({32, 49}));
  EXPECT_FALSE(tree.is_node({0, 19}));
  const ContractionTree empty(0, 16);
  EXPECT_EQ(empty.chunks(), 1);
  EXPECT_TRUE(empty.is_node({0, 0}));
}

TEST(ContractionTree, CutsARangeIntoTheFewestNodes) {
  const ContractionTree tree(12 * 4, 4);  // 12 chunks: 6 and 6, each 3 and 3, each 2 and 1
  EXPECT_THAT(tree.nodes_of({0, 48}), ElementsAre(StepRange{0, 48}));
  EXPECT_THAT(tree.nodes_of({0, 16}), ElementsAre(StepRange{0, 12}, StepRange{12, 16}));
  EXPECT_THAT(tree.nodes_of({16, 32}), ElementsAre(StepRange{16, 20}, StepRange{20, 24}, StepRange{24, 32}));
  EXPECT_THAT(tree.nodes_of({12, 40}), ElementsAre(StepRange{12, 24}, StepRange{24, 36}, StepRange{36, 40}));
  EXPECT_THAT(tree.nodes_of({2, 16}), IsEmpty());
  EXPECT_THAT(tree.nodes_of({40, 52}), IsEmpty());
  EXPECT_THAT(tree.nodes_of({8, 8}), IsEmpty());
}

// For many extents: the nodes of any range on borders of chunks are nodes, make it up, and one is enough exactly where
// the range is a node.
TEST(ContractionTree, NodesOfARangeMakeItUp) {
  for (std::int64_t extent = 0; extent < 130; extent += 7) {
    for (const std::int64_t chunk : {1, 4, 16}) {
      const ContractionTree tree(extent, chunk);
      for (std::int64_t begin = 0; begin < tree.chunks(); ++begin) {
        for (std::int64_t end = begin + 1; end <= tree.chunks(); ++end) {
          const StepRange range{begin * chunk, end * chunk};
          const auto nodes = tree.nodes_of(range);
          ASSERT_FALSE(nodes.empty());
          std::int64_t at = range.begin;
          for (const StepRange& node : nodes) {
            ASSERT_EQ(node.begin, at);
            ASSERT_TRUE(tree.is_node(node));
            at = node.end;
          }
          ASSERT_EQ(at, std::min(range.end, extent));
          ASSERT_EQ(nodes.size() == 1, tree.is_node(range));
        }
      }
    }
  }
}

TEST(ContractionTree, StepsOfANodeAreJoinedToOneSum) {
  const ContractionTree tree(48 * 16, 16);
  std::vector<std::pair<StepRange, int>> found;
  for (const NodeStep& step : in_steps(tree, {0, 192}, 64)) found.emplace_back(step.range, step.joins);
  // 12 chunks: 3 + 3, 3 + 3 of 48 steps.
  EXPECT_THAT(found, ElementsAre(std::pair(StepRange{0, 48}, 0), std::pair(StepRange{48, 96}, 1),
                                 std::pair(StepRange{96, 144}, 0), std::pair(StepRange{144, 192}, 2)));
  int waiting = 0;
  for (const NodeStep& step : in_steps(tree, tree.root(), 0)) waiting += 1 - step.joins;
  EXPECT_EQ(waiting, 1);
}

}  // namespace
}  // namespace superstep::numerics
