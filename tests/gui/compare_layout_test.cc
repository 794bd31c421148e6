// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/compare_layout.h"

#include <gtest/gtest.h>

namespace superstep::gui {
namespace {

// Three terms and the whole: the second report takes 2 s less in the first term, has no second, and a negative third.
CompareLayout two() {
  CompareLayout::Input in;
  in.seconds = {{4, 2, 2, 8}, {2, 0, -1, 1}};
  in.starts = {{0, 4, 6, 0}, {0, 2, 2, 0}};
  in.width = 1000, in.height = 42 + 4 * 20;
  in.label = 100, in.number = 50, in.difference = 50;
  return CompareLayout::of(in);
}

TEST(CompareLayout, BarsOfBothHaveOneScale) {
  const CompareLayout layout = two();
  EXPECT_DOUBLE_EQ(layout.row_height, 20);
  EXPECT_DOUBLE_EQ(layout.bar(0, 0).width(), 2 * layout.bar(1, 0).width()) << "4 s and 2 s";
  EXPECT_DOUBLE_EQ(layout.bar(0, 3).width(), layout.bar(0, 0).width() * 2) << "8 s, to the end of the scale";
  EXPECT_DOUBLE_EQ(layout.bar(0, 1).left(), layout.bar(0, 0).right());
  EXPECT_EQ(layout.bar(1, 1).width(), 0) << "a term that is not there";
  EXPECT_DOUBLE_EQ(layout.bar(1, 2).right(), layout.bar(1, 0).right()) << "a negative term goes back";
}

TEST(CompareLayout, DifferencesStandAroundAZeroLine) {
  const CompareLayout layout = two();
  const SignedScale& scale = layout.differences[0].scale;
  for (int row = 0; row < 4; ++row) {
    EXPECT_LT(layout.difference(1, row), 0);
    EXPECT_DOUBLE_EQ(layout.difference_bar(1, row).right(), scale.at(0));
  }
  EXPECT_DOUBLE_EQ(scale.least, -7);
  EXPECT_GT(scale.most, 0) << "the other side has room too";
  EXPECT_DOUBLE_EQ(layout.difference_bar(1, 3).left(), scale.begin);
}

TEST(CompareLayout, NothingOverlapsAndNothingLeavesTheWidth) {
  for (const double width : {500.0, 900.0, 1300.0}) {
    for (const std::size_t reports : {2u, 3u, 4u}) {
      CompareLayout::Input in = two().input;
      in.width = width;
      in.seconds.resize(reports, in.seconds[1]);
      in.starts.resize(reports, in.starts[1]);
      const CompareLayout layout = CompareLayout::of(in);
      double right = layout.label_width;
      for (const auto& side : layout.waterfalls) {
        EXPECT_GT(side.left, right);
        right = side.number_right;
      }
      for (const auto& side : layout.differences) {
        EXPECT_GT(side.left, right);
        right = side.number_right;
      }
      if (width >= 900) {
        EXPECT_LE(right, width) << reports;
      }
    }
  }
}

TEST(CompareLayout, RowsAreFoundAndNoReportsAreNoRows) {
  const CompareLayout layout = two();
  EXPECT_EQ(layout.row_at(layout.row(2).center().y()), 2);
  EXPECT_EQ(layout.row_at(10), -1);
  EXPECT_EQ(layout.row_at(layout.height() + 1), -1);
  EXPECT_EQ(CompareLayout::of({}).rows(), 0);
}

}  // namespace
}  // namespace superstep::gui
