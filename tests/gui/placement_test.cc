// SPDX-License-Identifier: Apache-2.0
#include "gui/models/placement.h"

#include <gmock/gmock.h>

#include <random>

namespace superstep::gui {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Lifetimes lifetimes(int points, const std::vector<Lifetime>& rows) {
  Lifetimes out;
  out.points = points;
  out.rows = rows;
  return out;
}

TEST(Placement, OfNothing) {
  const Placement p = place(Lifetimes{});
  EXPECT_THAT(p.address, IsEmpty());
  EXPECT_EQ(p.total(), 0);
}

TEST(Placement, WhatAlwaysStandsIsBelow) {
  const Placement p = place(lifetimes(2, {{"large", "", 100, 0, 0}, {"always", "", 12, 0, 1}, {"too", "", 8, 0, 1}}));
  EXPECT_THAT(p.address, ElementsAre(24, 0, 16));  // words of 8 bytes
  EXPECT_THAT(p.top, ElementsAre(24 + 104, 24));
  EXPECT_EQ(p.total(), 128);
}

TEST(Placement, WhatIsGoneLeavesItsRoom) {
  const Placement p = place(lifetimes(3, {{"a", "", 64, 0, 0}, {"b", "", 48, 1, 1}, {"c", "", 16, 1, 2}}));
  EXPECT_THAT(p.address, ElementsAre(0, 0, 48));
  EXPECT_THAT(p.top, ElementsAre(64, 64, 64));  // nothing lies below c at the end
}

TEST(Placement, LongerOnesComeFirstAmongEquals) {
  const Placement p =
      place(lifetimes(4, {{"a", "", 16, 0, 1}, {"b", "", 8, 1, 2}, {"c", "", 16, 3, 3}, {"d", "", 16, 2, 3}}));
  EXPECT_THAT(p.address, ElementsAre(0, 16, 16, 0));
}

TEST(Placement, AGapBelowWhatStandsOn) {
  const Placement p = place(lifetimes(3, {{"a", "", 16, 0, 0}, {"b", "", 8, 0, 1}, {"c", "", 24, 1, 2}}));
  EXPECT_THAT(p.address, ElementsAre(0, 24, 0));  // c comes first, and b above it
  EXPECT_THAT(p.top, ElementsAre(32, 32, 24));    // of 24 live bytes at the first step
}

TEST(Placement, KeepsApartWhatStandsTogether) {
  std::mt19937 random(7);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 50; ++round) {
    const int points = 1 + draw(200), rows = draw(120);
    Lifetimes all = lifetimes(points, {});
    for (int i = 0; i < rows; ++i) {
      const int first = draw(points), last = std::min(points - 1, first + draw(1 + points / (1 + draw(8))));
      all.rows.push_back({"", "", 1 + draw(1000), first, last});
    }
    const Placement p = place(all);
    ASSERT_EQ(p.address.size(), all.rows.size());
    std::vector<std::int64_t> live(static_cast<std::size_t>(points)), top = live;
    std::int64_t always = 0;
    for (std::size_t i = 0; i < all.rows.size(); ++i) {
      const Lifetime& a = all.rows[i];
      EXPECT_EQ(p.address[i] % 8, 0);
      EXPECT_GE(p.address[i], 0);
      if (a.first == 0 && a.last == points - 1) always += (a.bytes + 7) / 8 * 8;
      for (int point = a.first; point <= a.last; ++point) {
        live[static_cast<std::size_t>(point)] += a.bytes;
        auto& highest = top[static_cast<std::size_t>(point)];
        highest = std::max(highest, p.address[i] + (a.bytes + 7) / 8 * 8);
      }
      for (std::size_t k = 0; k < i; ++k) {
        const Lifetime& b = all.rows[k];
        const bool together = a.first <= b.last && b.first <= a.last;
        const bool apart = p.address[i] + a.bytes <= p.address[k] || p.address[k] + b.bytes <= p.address[i];
        EXPECT_TRUE(!together || apart) << i << " and " << k << " of round " << round;
      }
    }
    for (std::size_t point = 0; point < live.size(); ++point) {
      EXPECT_EQ(p.top[point], std::max(always, top[point]));
      EXPECT_GE(p.top[point], live[point]);
    }
  }
}

}  // namespace
}  // namespace superstep::gui
