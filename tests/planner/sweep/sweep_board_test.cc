// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace superstep {

static bool operator==(const SweepOrder& a, const SweepOrder& b) {
  return a.rank == b.rank && a.item == b.item && a.threads == b.threads;
}
static void PrintTo(const SweepOrder& o, std::ostream* out) {
  *out << "{" << o.rank << ", " << o.item << ", " << o.threads << "}";
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Orders = std::vector<SweepOrder>;

std::vector<std::size_t> first(std::size_t n) {
  std::vector<std::size_t> items(n);
  std::iota(items.begin(), items.end(), std::size_t{0});
  return items;
}

TEST(SweepBoard, WhoeverIsFreeGetsTheNextItem) {
  SweepBoard board(first(4), 2);
  board.join(0, 1);
  board.join(1, 1);
  EXPECT_EQ(board.hand_out(), (Orders{{0, 0, 1}, {1, 1, 1}}));
  EXPECT_THAT(board.hand_out(), IsEmpty());
  EXPECT_TRUE(board.finish(1, 1));
  EXPECT_EQ(board.hand_out(), (Orders{{1, 2, 1}}));
  EXPECT_TRUE(board.finish(1, 2));
  EXPECT_EQ(board.hand_out(), (Orders{{1, 3, 1}}));
  EXPECT_TRUE(board.finish(0, 0));
  EXPECT_FALSE(board.done());
  EXPECT_TRUE(board.finish(1, 3));
  EXPECT_TRUE(board.done());
  EXPECT_TRUE(board.idle());
}

// Five items on threads 1 + 4: all get one. Two items left: the rank of four has both, on two threads each, because the
// other is busy; the last item takes all four.
TEST(SweepBoard, ItemsShareTheThreadsOnlyWhereFewerAreLeftThanThreads) {
  SweepBoard board(first(8), 2);
  board.join(0, 1);
  board.join(1, 4);
  EXPECT_EQ(board.hand_out(), (Orders{{1, 0, 1}, {1, 1, 1}, {1, 2, 1}, {0, 3, 1}, {1, 4, 1}}));
  for (std::size_t item : {0, 1, 2, 4}) board.finish(1, item);
  EXPECT_EQ(board.hand_out(), (Orders{{1, 5, 1}, {1, 6, 1}, {1, 7, 2}}));
  SweepBoard one({7}, 2);
  one.join(1, 4);
  EXPECT_EQ(one.hand_out(), (Orders{{1, 7, 4}}));
}

TEST(SweepBoard, ALostRankCostsWhatItHeldAndOthersPlanItFirst) {
  SweepBoard board(first(5), 3);
  for (int r : {0, 1, 2}) board.join(r, 1);
  board.hand_out();
  EXPECT_THAT(board.lose(1), ElementsAre(1));
  board.finish(2, 2);
  EXPECT_EQ(board.hand_out(), (Orders{{2, 1, 1}}));
  board.finish(0, 0);
  EXPECT_EQ(board.hand_out(), (Orders{{0, 3, 1}}));
  board.finish(2, 1);
  EXPECT_EQ(board.hand_out(), (Orders{{2, 4, 1}}));
  board.finish(2, 4);
  board.finish(0, 3);
  EXPECT_TRUE(board.done());
  EXPECT_THAT(board.given_up(), IsEmpty());
}

// What it died of may be the item: with rank 0 all would end.
TEST(SweepBoard, RankZeroPlansALostItemOnlyWhereItIsAlone) {
  SweepBoard board(first(3), 3);
  for (int r : {0, 1, 2}) board.join(r, 1);
  board.hand_out();
  board.lose(1);
  board.finish(0, 0);
  EXPECT_THAT(board.hand_out(), IsEmpty());  // waits for rank 2
  board.lose(2);
  EXPECT_EQ(board.hand_out(), (Orders{{0, 2, 1}}));
  board.finish(0, 2);
  EXPECT_EQ(board.hand_out(), (Orders{{0, 1, 1}}));
}

TEST(SweepBoard, AnItemThatIsLostTwiceIsGivenUp) {
  SweepBoard board(first(1), 3);
  board.join(1, 1);
  board.join(2, 1);
  EXPECT_EQ(board.hand_out(), (Orders{{1, 0, 1}}));
  board.lose(1);
  EXPECT_EQ(board.hand_out(), (Orders{{2, 0, 1}}));
  EXPECT_FALSE(board.done());
  board.lose(2);
  EXPECT_TRUE(board.done());
  EXPECT_THAT(board.given_up(), ElementsAre(0));
}

TEST(SweepBoard, ARankThatWasOnlySlowFinishesItsItemOnce) {
  SweepBoard board(first(2), 3);
  board.join(1, 1);
  board.join(2, 1);
  board.hand_out();
  board.lose(1);
  board.finish(2, 1);
  EXPECT_EQ(board.hand_out(), (Orders{{2, 0, 1}}));
  EXPECT_TRUE(board.finish(1, 0));  // after all, and first
  EXPECT_TRUE(board.done());
  EXPECT_FALSE(board.idle());  // rank 2 does not know
  EXPECT_FALSE(board.finish(2, 0));
  EXPECT_TRUE(board.idle());
}

// Ranks that die and come back at any time: every item is finished exactly once or given up.
TEST(SweepBoard, NothingIsLostOrDoubledWhoeverDies) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const int ranks = 1 + below(5), items = below(30);
    SweepBoard board(first(static_cast<std::size_t>(items)), ranks);
    std::vector<std::pair<int, std::size_t>> under_way;
    std::vector<int> rows(static_cast<std::size_t>(items), 0);
    board.join(0, 1 + below(3));
    for (int step = 0; !board.done(); ++step) {
      ASSERT_LT(step, 10'000);
      for (const SweepOrder& order : board.hand_out()) under_way.emplace_back(order.rank, order.item);
      const int other = ranks > 1 ? 1 + below(ranks - 1) : 0;
      if (other > 0 && below(4) == 0) {
        board.lose(other);
        if (below(2) == 0) std::erase_if(under_way, [&](const auto& u) { return u.first == other; });  // dead, not slow
      } else if (other > 0 &&
                 std::none_of(under_way.begin(), under_way.end(), [&](auto& u) { return u.first == other; })) {
        board.join(other, 1 + below(3));
      }
      if (under_way.empty()) continue;
      const auto ends = under_way.begin() + below(static_cast<int>(under_way.size()));
      if (board.finish(ends->first, ends->second)) ++rows[ends->second];
      under_way.erase(ends);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], board.given_up().contains(i) ? 0 : 1) << seed;
  }
}

}  // namespace
}  // namespace superstep
