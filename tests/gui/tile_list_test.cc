// SPDX-License-Identifier: Apache-2.0
#include "gui/models/tile_list.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>

#include "gui/session/session.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TileList, RangesAndSinglesInOrderEachOnce) {
  EXPECT_THAT(tiles_of_list("40, 0-3,2", 1472), ElementsAre(0, 1, 2, 3, 40));
  EXPECT_THAT(tiles_of_list("7", 1472), ElementsAre(7));
  EXPECT_THAT(tiles_of_list(QString::fromUtf8("0–2"), 1472), ElementsAre(0, 1, 2)) << "as it is written";
}

TEST(TileList, WhatIsNoListOrHasTilesThatDoNotExistIsNone) {
  for (const char* text : {"", "x", "1-", "-3", "3-1", "1472", "0-1472", "1,,2", "0-64"})
    EXPECT_THAT(tiles_of_list(text, 1472), IsEmpty()) << text;
  EXPECT_EQ(tiles_of_list("0-63", 1472).size(), kMostTilesListed);
}

TEST(TileList, IsWrittenWithRanges) {
  EXPECT_EQ(list_of_tiles({0, 1, 2, 40}), QString::fromUtf8("0–2, 40"));
  EXPECT_EQ(tiles_of_list(list_of_tiles({3, 5, 6}), 10), (std::vector<std::int64_t>{3, 5, 6}));
}

TEST(TileList, AColumnIsTheTilesLiveness) {
  const TemporaryFolder folder;
  Session session;
  ASSERT_TRUE(session.open(QString::fromStdString(write_example(Example::tight, folder.path).string())));
  TileLiveness tiles;
  for (const std::int64_t tile : {0, 40}) {
    tiles.push_back(std::make_shared<const Liveness>(
        liveness_of(session.report()->index(), *session.steps(), *session.heat(), 1, nullptr, tile)));
  }
  TableModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  for (const int point : {-1, 3}) {
    model.setContents(tiles_side_by_side(session.report(), tiles, point, Units::kib));
    ASSERT_EQ(model.columnCount(), 3);
    for (int c = 1; c < 3; ++c) {
      const Liveness& of = *tiles[static_cast<std::size_t>(c - 1)];
      const LivenessPoint& p = of.points[static_cast<std::size_t>(point < 0 ? of.peak : point)];
      const auto bytes = [&](int row) { return model.index(row, c).data(kExactRole).toLongLong(); };
      EXPECT_EQ(bytes(4), p.total());
      EXPECT_EQ(bytes(0) + bytes(1), p.total());
      EXPECT_EQ(bytes(2) + bytes(3), bytes(1));
      EXPECT_EQ(bytes(5), of.limit - p.total());
    }
  }
}

}  // namespace
}  // namespace superstep::gui
