// SPDX-License-Identifier: Apache-2.0
#include "planner/report/regret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace superstep {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pair;

// A plan of batch 1 whose steps take these seconds.
Evaluated plan(const std::string& label, std::vector<double> worlds) {
  Evaluated e;
  e.label = label;
  e.plan.gradient_accumulation = 1;
  e.worlds = std::move(worlds);
  return e;
}

// In worlds 1 and 2 another plan is twice, in world 3 four times as fast: half and three quarters are lost.
TEST(Regret, IsWhatTheBestOfEachWorldGains) {
  const Evaluated chosen = plan("chosen", {1, 2, 2, 4}), other = plan("other", {2, 1, 1, 1}),
                  slow = plan("slow", {9, 9, 9, 9});
  const std::vector<const Evaluated*> all = {&chosen, &other, &slow};
  const Regret r = regret_of(Goal{}, all);
  EXPECT_DOUBLE_EQ(r.mean, (0 + 0.5 + 0.5 + 0.75) / 4);
  EXPECT_DOUBLE_EQ(r.p95, 0.75);
  EXPECT_THAT(r.best_in, ElementsAre(Pair("other", DoubleNear(0.75, 1e-12)), Pair("chosen", DoubleNear(0.25, 1e-12))));
}

TEST(Regret, OfOnePlanIsNone) {
  const Evaluated chosen = plan("chosen", {1, 2});
  const std::vector<const Evaluated*> all = {&chosen};
  EXPECT_EQ(regret_of(Goal{}, all).mean, 0);
}

}  // namespace
}  // namespace superstep
