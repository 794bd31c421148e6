// SPDX-License-Identifier: Apache-2.0
#include "traces/compare_detail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/example_report.h"

namespace superstep {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

report::Index with_worlds(Example which, int worlds, double factor) {
  report::Index index = example_report(which).index;
  for (int i = 0; i < worlds; ++i) {
    index.mutable_plan()->add_step_time_in_worlds_s(index.plan().step_time_s() * (1 + factor * i / (worlds - 1)));
  }
  return index;
}

TEST(CompareDetail, TheSpeedChangeHasABandOverTheWorlds) {
  const auto source = with_worlds(Example::tight, 201, 0);
  const auto target = with_worlds(Example::deeper, 201, 1);  // up to twice as slow as estimated
  const double change = target.plan().samples_per_second() / source.plan().samples_per_second() - 1;
  const auto speed = speed_change(target, source);
  ASSERT_TRUE(speed && speed->band);
  EXPECT_DOUBLE_EQ(speed->change, change);
  // Ranks 5 and 195 of 0 to 200: factors of 1 / 1.975 and 1 / 1.025 on the speed.
  EXPECT_THAT(speed->band->low, DoubleNear((1 + change) / 1.975 - 1, 1e-12));
  EXPECT_THAT(speed->band->high, DoubleNear((1 + change) / 1.025 - 1, 1e-12));
  const auto step = step_difference_band(target, source);
  ASSERT_TRUE(step);
  EXPECT_THAT(step->low, DoubleNear(target.plan().step_time_s() * 1.025 - source.plan().step_time_s(), 1e-12));
}

TEST(CompareDetail, WithoutCommonWorldsThereIsNoBand) {
  const auto source = with_worlds(Example::tight, 10, 0), target = with_worlds(Example::deeper, 20, 0);
  EXPECT_FALSE(speed_change(target, source)->band);
  EXPECT_FALSE(step_difference_band(target, source));
  EXPECT_FALSE(speed_change(target, example_report(Example::infeasible).index));
}

TEST(CompareDetail, TheLargestDifferencesComeFirst) {
  const report::Index source = example_report(Example::tight).index;
  report::Index target = example_report(Example::deeper).index;  // 2.6 times the bubble of 76 ms
  target.mutable_waterfall(3)->set_seconds(source.waterfall(3).seconds() - 0.0125);
  const std::vector<const report::Index*> both{&source, &target};
  const std::vector<std::string> names{"a", "b"};
  const Comparison c = compare(both, names);
  EXPECT_EQ(differences_sentence(c, 1),
            "Largest differences: bubble: ramp up and down +121.6 ms, matmul padding, odd shares -12.5 ms.");
  EXPECT_EQ(differences_sentence(c, 1, 1), "Largest differences: bubble: ramp up and down +121.6 ms.");
  EXPECT_EQ(differences_sentence(c, 0), "");
}

TEST(CompareDetail, NamesAreMatchedAndTheRestStandsBelow) {
  const std::vector<std::vector<NamedCycles>> reports{{{"load", 5}, {"a", 1}, {"b", 2}, {"a", 10}},
                                                      {{"b", 7}, {"a", 3}, {"c", 4}}};
  const auto rows = match_cycles(reports);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "a");
  EXPECT_THAT(rows[0].cycles, ElementsAre(11, 3));
  EXPECT_TRUE(rows[1].matched());
  EXPECT_EQ(rows[2].name, "load");
  EXPECT_THAT(rows[2].cycles, ElementsAre(5, std::nullopt));
  EXPECT_THAT(rows[3].cycles, ElementsAre(std::nullopt, 4));
}

}  // namespace
}  // namespace superstep
