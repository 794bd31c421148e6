// SPDX-License-Identifier: Apache-2.0
#include "gui/models/heat_data.h"

#include <gmock/gmock.h>

#include "model/error.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

struct Columns {
  std::vector<std::int64_t> phase{0, 0}, first{0, 4}, count{4, 4};
  std::vector<std::int64_t> ipu_class{0};
  std::int64_t tiles = 8;
};

// What loading a report with these columns complains about; empty: nothing.
std::string complaint(const Columns& c) {
  TemporaryFolder folder;
  ReportWriter writer;
  const std::vector<std::int64_t> ones(c.phase.size(), 1);
  const std::vector<std::int64_t> one{1};
  writer.add_texts("heat.phase", std::vector<std::string>{"forward"});
  writer.add_integers("heat.phase_ipu_class", "index", c.ipu_class);
  writer.add_integers("heat.phase_cycles", "cycles", one);
  writer.add_integers("heat.phase_repeats", "index", one);
  writer.add_integers("tile.phase", "index", c.phase);
  writer.add_integers("tile.first", "index", c.first);
  writer.add_integers("tile.count", "index", c.count);
  for (const char* name : {"tile.compute_cycles", "tile.exchange_bytes", "tile.memory_bytes"}) {
    writer.add_integers(name, "index", ones);
  }
  report::Index index;
  index.set_tiles_per_ipu(c.tiles);
  index.add_ipu_classes();
  writer.finish(index, folder.path / "heat.ssr");
  try {
    load_heat(ReportFile::open(folder.path / "heat.ssr"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(HeatData, EveryTileOfTheExampleIsFound) {
  TemporaryFolder folder;
  const auto report = ReportFile::open(write_example(Example::tight, folder.path));
  const HeatData data = load_heat(report);
  EXPECT_EQ(data.tiles, 1472);
  for (const int phase : data.phases_of(-1)) {
    for (const std::int64_t tile : {0, 1, 735, 1471}) {
      const TileRun* run = data.run_at(phase, tile);
      ASSERT_NE(run, nullptr);
      EXPECT_LE(run->first, tile);
      EXPECT_LT(tile, run->first + run->count);
    }
    EXPECT_EQ(data.run_at(phase, 1472), nullptr);
    EXPECT_EQ(data.run_at(phase, -1), nullptr);
  }
  EXPECT_EQ(data.run_at(-1, 0), nullptr);
}

TEST(HeatData, TheFullestRunOfAnIpuHasItsPeak) {
  TemporaryFolder folder;
  const auto report = ReportFile::open(write_example(Example::does_not_fit, folder.path));
  const HeatData data = load_heat(report);
  for (int ipu = 0; ipu < report.index().ipu_classes_size(); ++ipu) {
    std::int64_t most = 0;
    for (const int phase : data.phases_of(ipu)) most = std::max(most, data.largest(phase, HeatQuantity::memory));
    EXPECT_EQ(most, report.index().ipu_classes(ipu).tile_peak_bytes());
  }
}

TEST(HeatData, AReportWithoutTilesHasNoPhases) {
  TemporaryFolder folder;
  EXPECT_TRUE(load_heat(ReportFile::open(write_example(Example::infeasible, folder.path))).phases.empty());
}

TEST(HeatData, ColumnsThatContradictEachOtherAreErrors) {
  EXPECT_EQ(complaint({}), "");
  EXPECT_THAT(complaint({.first = {0, 3}}),
              HasSubstr("tiles 3 and 4 more in phase \"forward\" overlap or do not exist"));
  EXPECT_THAT(complaint({.count = {4, 5}}), HasSubstr("overlap or do not exist"));
  EXPECT_THAT(complaint({.count = {0, 4}}), HasSubstr("overlap or do not exist"));
  EXPECT_THAT(complaint({.first = {-1, 4}}), HasSubstr("overlap or do not exist"));
  EXPECT_THAT(complaint({.phase = {0, 1}}), HasSubstr("tiles of phase 1 of 1"));
  EXPECT_THAT(complaint({.ipu_class = {1}}), HasSubstr("is on IPU class 1 of 1"));
  EXPECT_THAT(complaint({.ipu_class = {0, 0}}), HasSubstr("differ in length"));
  EXPECT_THAT(complaint({.first = {0}}), HasSubstr("differ in length"));
  EXPECT_THAT(complaint({.tiles = -8}), HasSubstr("-8 tiles per IPU"));
  EXPECT_EQ(complaint({.phase = {0, 0}, .first = {4, 0}}), "") << "the order of runs does not matter";
}

}  // namespace
}  // namespace superstep::gui
