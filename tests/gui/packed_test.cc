// SPDX-License-Identifier: Apache-2.0
#include "gui/models/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace superstep::gui {
namespace {

TEST(PackedIntegers, KeepsWhatItIsGivenInAsFewBytesAsTheLargestNeeds) {
  for (const std::int64_t large : {200L, 60'000L, 4'000'000'000L, 1'000'000'000'000L, -5L}) {
    PackedIntegers packed;
    packed.reserve(1000);
    std::vector<std::int64_t> plain;
    for (std::int64_t i = 0; i < 1000; ++i) plain.push_back(i == 700 ? large : i % 100);
    for (const std::int64_t value : plain) packed.push_back(value);
    ASSERT_EQ(packed.size(), plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(packed[i], plain[i]);
    const std::size_t width = large < 0 || large > 0xFFFFFFFF ? 8 : large > 0xFFFF ? 4 : large > 0xFF ? 2 : 1;
    EXPECT_EQ(packed.bytes(), 1000 * width);
  }
}

TEST(Sums, AreThoseOfAllRowsAheadAndAreFoundBySearch) {
  std::mt19937 random(3);
  for (const std::int64_t n : {0L, 1L, 63L, 64L, 65L, 1000L}) {
    Sums sums;
    std::vector<std::int64_t> before{0};
    for (std::int64_t i = 0; i < n; ++i) {
      sums.push_back(static_cast<std::int64_t>(random() % 3 == 0 ? 0 : random() % 1000));  // steps of no time too
      before.push_back(before.back() + sums.value(i));
    }
    for (std::int64_t i = 0; i <= n; ++i) EXPECT_EQ(sums.before(i), before[static_cast<std::size_t>(i)]);
    for (int k = 0; k < 200; ++k) {
      const std::int64_t from = static_cast<std::int64_t>(random()) % (n + 1);
      const std::int64_t end = from + static_cast<std::int64_t>(random()) % (n + 1 - from);
      const std::int64_t sum = static_cast<std::int64_t>(random()) % (before.back() + 2);
      const auto at = std::lower_bound(before.begin() + from, before.begin() + end, sum) - before.begin();
      EXPECT_EQ(sums.first_from(from, end, sum), at) << n << " " << from << " " << end << " " << sum;
    }
  }
}

TEST(PackedIntegers, CopiesShareUntilOneGrows) {
  PackedIntegers one;
  for (int i = 0; i < 300; ++i) one.push_back(i);
  PackedIntegers other = one;
  EXPECT_TRUE(other.shares(one));
  const Sums sums(one);
  EXPECT_TRUE(sums.values().shares(one));
  EXPECT_EQ(sums.before(300), 300 * 299 / 2);
  EXPECT_EQ(sums.first_above(0, 300, 10), 6) << "15 ahead of it";
  other.push_back(7);
  EXPECT_FALSE(other.shares(one));
  EXPECT_EQ(one.size(), 300U);
  EXPECT_EQ(other[300], 7);
  EXPECT_EQ(other[299], one[299]);
}

}  // namespace
}  // namespace superstep::gui
