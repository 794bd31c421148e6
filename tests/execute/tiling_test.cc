// SPDX-License-Identifier: Apache-2.0
#include "model/execute/tiling.h"

#include <gtest/gtest.h>

namespace superstep {
namespace {

// Positions of a 3 x 4 x 5 block that the boxes of [begin, end) hold.
std::vector<int> covered(Range range) {
  const Block block = {{10, 13}, {0, 4}, {2, 7}};
  std::vector<int> hits(60);
  for (const Block& box : boxes_of(block, {0, 1, 2}, range)) {
    for (std::int64_t i = box[0].begin; i < box[0].end; ++i) {
      for (std::int64_t j = box[1].begin; j < box[1].end; ++j) {
        for (std::int64_t k = box[2].begin; k < box[2].end; ++k)
          ++hits[static_cast<std::size_t>(((i - 10) * 4 + j) * 5 + k - 2)];
      }
    }
  }
  return hits;
}

TEST(Tiling, BoxesHoldAContiguousShareOnce) {
  for (std::int64_t begin = 0; begin <= 60; ++begin) {
    for (std::int64_t end = begin; end <= 60; ++end) {
      const std::vector<int> hits = covered({begin, end});
      for (std::int64_t i = 0; i < 60; ++i) {
        ASSERT_EQ(hits[static_cast<std::size_t>(i)], i >= begin && i < end ? 1 : 0) << begin << " " << end << " " << i;
      }
    }
  }
}

TEST(Tiling, AxesLeftOutAreWhole) {
  const std::vector<Block> boxes = boxes_of({{0, 2}, {0, 3}, {0, 4}}, {0, 2}, {3, 5});
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0], (Block{{0, 1}, {0, 3}, {3, 4}}));
  EXPECT_EQ(boxes[1], (Block{{1, 2}, {0, 3}, {0, 1}}));
}

TEST(Tiling, AScalarIsOneBox) { EXPECT_EQ(boxes_of({}, {}, {0, 1}).size(), 1U); }

}  // namespace
}  // namespace superstep
