// SPDX-License-Identifier: Apache-2.0
// The search against all plans there are, on many small jobs drawn at random.
#include <gtest/gtest.h>

#include "tests/planner/brute_force.h"

namespace superstep::test {
namespace {

TEST(BruteForceLong, AgreesWithTheSearch) {
  const Agreements seen = expect_agreement(1001, 500, 60000);
  EXPECT_EQ(seen.jobs, 500);
  EXPECT_GE(seen.plans, 3000000);
  EXPECT_GE(seen.infeasible, 50);
  EXPECT_GE(seen.tight, 100);
  EXPECT_GE(seen.phased, 50);
  EXPECT_GE(seen.pruned, 300);
}

}  // namespace
}  // namespace superstep::test
