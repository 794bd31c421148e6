// SPDX-License-Identifier: Apache-2.0
#include "gui/models/tile_fill.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>

#include "gui/models/tile_tables.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

constexpr std::int64_t kKib = 1024;

report::Index two_ipus() {
  report::Index index;
  for (const int alike : {4, 1}) {
    auto& ipu = *index.add_ipu_classes();
    ipu.set_count(alike), ipu.set_tile_limit_bytes(624 * kKib);
  }
  return index;
}

HeatPhase phase(int ipu_class, std::size_t first_run, std::size_t runs) {
  HeatPhase out;
  out.name = "phase " + std::to_string(first_run), out.ipu_class = ipu_class;
  out.first_run = first_run, out.runs = runs;
  return out;
}

// On the first IPU tiles 0 to 9 and 10 to 15, then 0 to 11; on the second two tiles.
HeatData example() {
  HeatData heat;
  heat.tiles = 16;
  heat.phases = {phase(0, 0, 2), phase(0, 2, 1), phase(1, 3, 1)};
  heat.runs = {{0, 10, 600 * kKib}, {10, 6, 100 * kKib}, {0, 12, 580 * kKib}, {3, 2, 630 * kKib}};
  return heat;
}

TEST(TileFill, ATileHasThePeakOfAllItsPhases) {
  const auto peaks = tile_peaks(example(), two_ipus());
  ASSERT_EQ(peaks.size(), 4u);
  const auto is = [&](std::size_t i, int ipu, std::int64_t first, std::int64_t count, std::int64_t kib, int at) {
    const TilePeak& p = peaks[i];
    return p.ipu_class == ipu && p.first == first && p.count == count && p.bytes == kib * kKib && p.phase == at;
  };
  EXPECT_TRUE(is(0, 0, 0, 10, 600, 0));
  EXPECT_TRUE(is(1, 0, 10, 2, 580, 1)) << "100 in the first phase, 580 in the second";
  EXPECT_TRUE(is(2, 0, 12, 4, 100, 0));
  EXPECT_TRUE(is(3, 1, 3, 2, 630, 2));
}

TEST(TileFill, EveryTileOfEveryIpuIsInOneBin) {
  const TileFill fill = tile_fill(example(), two_ipus());
  std::int64_t tiles = 0;
  for (std::size_t i = 0; i < fill.bins.size(); ++i) {
    tiles += fill.bins[i].tiles;
    EXPECT_TRUE(i == 0 || fill.bins[i].from == fill.bins[i - 1].to);
  }
  EXPECT_EQ(tiles, 16 * 4 + 2);
  EXPECT_LE(fill.bins.size(), 28u);
}

TEST(TileFill, TheLimitIsABound) {
  const TileFill fill = tile_fill(example(), two_ipus());
  const auto& over = fill.bins[static_cast<std::size_t>(fill.bin_of(630 * kKib))];
  EXPECT_TRUE(fill.is_over(over));
  const auto& at_limit = fill.bins[static_cast<std::size_t>(fill.bin_of(624 * kKib))];
  EXPECT_FALSE(fill.is_over(at_limit)) << "a tile that is just full fits";
  EXPECT_TRUE(fill.is_tight(fill.bins[static_cast<std::size_t>(fill.bin_of(600 * kKib))]));
  EXPECT_FALSE(fill.is_tight(fill.bins[static_cast<std::size_t>(fill.bin_of(100 * kKib))]));
}

TEST(TileFill, EmptyTilesAreCountedToo) {
  HeatData heat = example();
  heat.runs[1].memory_bytes = 0;
  heat.runs[2].count = 10;
  const TileFill fill = tile_fill(heat, two_ipus());
  EXPECT_EQ(fill.bins[static_cast<std::size_t>(fill.bin_of(0))].tiles, 6 * 4);
}

TEST(TileFill, TheFullestRunOfTheExampleIsItsFullestTile) {
  const TemporaryFolder folder;
  const auto report = std::make_shared<const ReportFile>(ReportFile::open(write_example(Example::tight, folder.path)));
  const auto heat = std::make_shared<const HeatData>(load_heat(*report));
  const auto fill = std::make_shared<const TileFill>(tile_fill(*heat, report->index()));
  TableModel bins, fullest;
  const QAbstractItemModelTester bins_tester(&bins, QAbstractItemModelTester::FailureReportingMode::Fatal);
  const QAbstractItemModelTester fullest_tester(&fullest, QAbstractItemModelTester::FailureReportingMode::Fatal);
  bins.setContents(tile_fill_table(report, fill, Units::kib));
  fullest.setContents(fullest_tiles_table(report, fill, heat, Units::kib));
  ASSERT_GT(fullest.rowCount(), 0);
  EXPECT_EQ(fullest.index(0, 3).data(kExactRole).toLongLong(), report->index().plan().tile_peak_bytes());
  EXPECT_GT(bins.rowCount(), 1);
  EXPECT_TRUE(fullest_sentence(*fill, report->index()).startsWith("fullest: "));
}

TEST(TileFill, AReportWithoutAPlanHasNoBins) {
  const TileFill fill = tile_fill(HeatData{}, report::Index{});
  EXPECT_TRUE(fill.bins.empty());
  EXPECT_EQ(fill.bin_of(0), -1);
  EXPECT_TRUE(fullest_sentence(fill, report::Index{}).isEmpty());
}

}  // namespace
}  // namespace superstep::gui
