// SPDX-License-Identifier: Apache-2.0
#include "model/error.h"

#include <gtest/gtest.h>

#include <vector>

namespace superstep {
namespace {

const std::vector<std::string> kNames{"ipu-pod16", "ipu-pod64", "bow-pod16", "toy"};

TEST(NearestName, FindsSlipsOfOneOrTwoLetters) {
  EXPECT_EQ(nearest_name("bow-pdo16", kNames), "bow-pod16");  // swapped
  EXPECT_EQ(nearest_name("ipupod16", kNames), "ipu-pod16");
  EXPECT_EQ(nearest_name("tou", kNames), "toy");
}

TEST(NearestName, FindsANameByAPartOfIt) { EXPECT_EQ(nearest_name("pod64", kNames), "ipu-pod64"); }

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("gpu", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'x'), kNames), "");
}

TEST(NameHint, OffersTheNearestOrAll) {
  EXPECT_EQ(name_hint("ipu-pod61", kNames), " (did you mean \"ipu-pod16\"?)");
  EXPECT_EQ(name_hint("gpu", kNames), " (expected one of: ipu-pod16, ipu-pod64, bow-pod16, toy)");
  EXPECT_EQ(name_hint("gpu", {}), "");
}

TEST(Check, ThrowsAnInternalErrorThatNamesTheCondition) {
  try {
    SUPERSTEP_CHECK(1 > 2, "order of numbers");
    FAIL() << "nothing was thrown";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("order of numbers (1 > 2)"), std::string::npos);
  }
}

}  // namespace
}  // namespace superstep
