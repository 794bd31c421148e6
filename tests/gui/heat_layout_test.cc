// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/heat_layout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "gui/paint/color_map.h"

namespace superstep::gui {
namespace {

// Two phases of eight tiles: the first with values 1 to 8, the second with 100 on tile 5 only.
HeatData small_data() {
  HeatData data;
  data.tiles = 8;
  data.phases = {{"L0/a forward", "forward", 0, 10, 1, 0, 8}, {"L0/b forward", "forward", 0, 10, 1, 8, 1}};
  for (std::int64_t tile = 0; tile < 8; ++tile) data.runs.push_back({tile, 1, tile + 1, 0, 0});
  data.runs.push_back({5, 1, 100, 0, 0});
  return data;
}

HeatLayout layout_with(int width, int height, const HeatWindow& window) {
  HeatLayout layout;
  layout.map = QRect(100, 50, width, height);
  layout.window = window;
  return layout;
}

TEST(HeatLayout, CellsAndPixelsMapBothWays) {
  const auto layout = HeatLayout::of(QRect(0, 0, 900, 600), HeatWindow::whole(30, 1472));
  for (const int phase : {0, 7, 29}) {
    const QRectF cell = layout.cell(phase, 700, 1);
    EXPECT_EQ(static_cast<int>(layout.phase_at(cell.center().x())), phase);
    EXPECT_EQ(static_cast<int>(layout.tile_at(cell.center().y())), 700);
  }
  EXPECT_DOUBLE_EQ(layout.x_of(0), layout.map.left());
  EXPECT_DOUBLE_EQ(layout.x_of(30), layout.map.left() + layout.map.width());
  EXPECT_TRUE(layout.tiles_share_pixels());
  EXPECT_FALSE(layout.phases_share_pixels());
  EXPECT_TRUE(QRect(0, 0, 900, 600).contains(layout.maxima));
  EXPECT_TRUE(QRect(0, 0, 900, 600).contains(layout.ticks));
}

TEST(HeatLayout, TheLargestValueUnderAPixelWins) {
  const HeatData data = small_data();
  const std::vector<int> phases{0, 1};
  // Two tiles per pixel row, five pixels per phase.
  const auto image = rasterized(data, phases, HeatQuantity::memory, layout_with(10, 4, HeatWindow::whole(2, 8)));
  EXPECT_EQ(image.at(0, 0), 2);
  EXPECT_EQ(image.at(4, 3), 8);
  EXPECT_EQ(image.at(5, 0), kNoValue) << "no tile of the second phase is used there";
  EXPECT_EQ(image.at(9, 2), 100);
  EXPECT_EQ(image.row_largest[2], 100);
  EXPECT_EQ(image.row_largest[0], 2);
}

TEST(HeatLayout, PhasesThatShareAPixelShowTheLargest) {
  const HeatData data = small_data();
  const std::vector<int> phases{0, 1};
  const auto image = rasterized(data, phases, HeatQuantity::memory, layout_with(1, 8, HeatWindow::whole(2, 8)));
  EXPECT_EQ(image.at(0, 5), 100);
  EXPECT_EQ(image.at(0, 4), 5);
}

TEST(HeatLayout, OnlyTheWindowIsSeen) {
  const HeatData data = small_data();
  const std::vector<int> phases{0, 1};
  const auto image = rasterized(data, phases, HeatQuantity::memory, layout_with(4, 4, {1, 2, 4, 8}));
  EXPECT_EQ(image.at(0, 0), kNoValue);
  EXPECT_EQ(image.at(0, 1), 100);
  EXPECT_EQ(image.at(3, 1), 100);
}

TEST(HeatLayout, NoSingleTileIsLostWhenManyShareAPixel) {
  HeatData data;
  data.tiles = 100'000;
  data.phases = {{"p", "", 0, 1, 1, 0, 3}};
  data.runs = {{0, 50'000, 10, 0, 0}, {50'000, 1, 999, 0, 0}, {50'001, 49'999, 10, 0, 0}};
  const std::vector<int> phases{0};
  const auto image = rasterized(data, phases, HeatQuantity::memory, layout_with(3, 77, HeatWindow::whole(1, 100'000)));
  EXPECT_EQ(*std::max_element(image.pixels.begin(), image.pixels.end()), 999);
}

// Phases in runs of random classes, some tiles without a value.
HeatData many_phases(int count) {
  HeatData data;
  data.tiles = 1472;
  std::uint64_t random = 1;
  const auto next = [&](std::int64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>(random >> 33) % below;
  };
  for (int p = 0; p < count; ++p) {
    HeatPhase phase;
    phase.first_run = data.runs.size();
    for (std::int64_t tile = next(100); tile < data.tiles; tile += 1 + next(700)) {
      const std::int64_t tiles = std::min(data.tiles - tile, 1 + next(500));
      data.runs.push_back({tile, tiles, next(600'000), next(1000), next(1000)});
      tile += tiles;
      ++phase.runs;
    }
    data.phases.push_back(phase);
  }
  return data;
}

TEST(HeatLayout, APyramidShowsWhatThePhasesShow) {
  const HeatData data = many_phases(4096 + 100);
  std::vector<int> phases(data.phases.size());
  std::iota(phases.begin(), phases.end(), 0);
  const HeatPyramid pyramid = HeatPyramid::of(data, phases, HeatQuantity::memory);
  // 130 pixels are strips beside the map. A phase has a pixel and more: the same picture.
  for (const auto& [width, to] : {std::pair{1024, 1024}, {1024, 300}}) {
    HeatLayout layout = HeatLayout::of(QRect(0, 0, width + 130, 500), {0, double(to), 0, 1472});
    ASSERT_EQ(layout.map.width(), width);
    const HeatImage plain = rasterized(data, phases, HeatQuantity::memory, layout);
    const HeatImage quick = rasterized(data, phases, HeatQuantity::memory, layout, &pyramid);
    EXPECT_EQ(plain.pixels, quick.pixels) << width << " " << to;
    EXPECT_EQ(plain.row_largest, quick.row_largest);
  }
  std::int64_t most = 0;
  for (const int p : phases) most = std::max(most, data.largest(p, HeatQuantity::memory));
  EXPECT_EQ(pyramid.largest(), most);
}

// Groups are rounded to pixels as phases are: a value is where it should be or a pixel beside.
TEST(HeatLayout, APyramidLosesNoValue) {
  const HeatData data = many_phases(3001);
  std::vector<int> phases(data.phases.size());
  std::iota(phases.begin(), phases.end(), 0);
  const HeatPyramid pyramid = HeatPyramid::of(data, phases, HeatQuantity::memory);
  const HeatLayout layout = HeatLayout::of(QRect(0, 0, 830, 400), {17.3, 2900.1, 3, 1400});
  const HeatImage plain = rasterized(data, phases, HeatQuantity::memory, layout);
  const HeatImage quick = rasterized(data, phases, HeatQuantity::memory, layout, &pyramid);
  for (int y = 0; y < plain.height; ++y) {
    for (int x = 1; x + 1 < plain.width; ++x) {
      EXPECT_LE(plain.at(x, y), std::max({quick.at(x - 1, y), quick.at(x, y), quick.at(x + 1, y)}));
      EXPECT_LE(quick.at(x, y), std::max({plain.at(x - 1, y), plain.at(x, y), plain.at(x + 1, y)}));
    }
  }
}

TEST(HeatLayout, ZoomKeepsThePointAndStaysInside) {
  const HeatWindow whole = HeatWindow::whole(30, 1472);
  const HeatWindow near = whole.zoomed(0.5, 10, 1000, 30, 1472);
  EXPECT_DOUBLE_EQ(near.phase_to - near.phase_from, 15);
  EXPECT_DOUBLE_EQ((10 - near.phase_from) / 15, 10.0 / 30);
  EXPECT_DOUBLE_EQ((1000 - near.tile_from) / 736, 1000.0 / 1472);
  EXPECT_EQ(near.zoomed(100, 10, 1000, 30, 1472), whole);
  const HeatWindow nearest = whole.zoomed(1e-6, 29.9, 1471, 30, 1472);
  EXPECT_DOUBLE_EQ(nearest.phase_to - nearest.phase_from, 2);
  EXPECT_DOUBLE_EQ(nearest.tile_to - nearest.tile_from, 8);
  EXPECT_LE(nearest.phase_to, 30);
  EXPECT_LE(nearest.tile_to, 1472);
}

TEST(HeatLayout, PanningStopsAtTheEdges) {
  const HeatWindow part{10, 20, 100, 200};
  EXPECT_EQ(part.moved(-100, 5, 30, 1472), (HeatWindow{0, 10, 105, 205}));
  EXPECT_EQ(part.moved(100, 1e9, 30, 1472), (HeatWindow{20, 30, 1372, 1472}));
}

TEST(HeatLayout, TheMemoryScaleHasItsKnee) {
  const HeatScale scale = HeatScale::of_memory(624 * 1024);
  EXPECT_DOUBLE_EQ(scale.share(0), 0);
  EXPECT_DOUBLE_EQ(scale.share(312 * 1024), 0.22);
  EXPECT_DOUBLE_EQ(scale.share(468 * 1024), 0.61);
  EXPECT_DOUBLE_EQ(scale.share(624 * 1024), 1);
  EXPECT_FALSE(scale.over(624 * 1024));
  EXPECT_TRUE(scale.over(624 * 1024 + 1));
  EXPECT_FALSE(HeatScale::linear(10).over(11));
}

TEST(HeatLayout, ViridisRunsFromPurpleToYellow) {
  EXPECT_EQ(color_map("viridis").at(0), QColor(68, 1, 84));
  EXPECT_EQ(color_map("viridis").at(1), QColor(253, 231, 37));
  EXPECT_EQ(color_map("viridis").at(2), color_map("viridis").at(1));
}

TEST(HeatLayout, NeighboursOfOneNameAreOneSpan) {
  const HeatData data = small_data();
  const std::vector<int> phases{0, 1};
  const auto names = name_spans(data, phases);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].text, "L0");
  EXPECT_EQ(names[0].to, 2);
  EXPECT_EQ(group_spans(data, phases).front().text, "forward");
}

}  // namespace
}  // namespace superstep::gui
