// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/graph_layout.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace superstep::gui {
namespace {

std::vector<LayoutUnit> transformer(int layers, int layers_of_phase) {
  std::vector<LayoutUnit> units{{"embedding", -1, 0}};
  for (int layer = 0; layer < layers; ++layer) {
    for (const char* kind : {"attention", "ffn_up", "ffn_down"}) {
      units.push_back({"layer" + std::to_string(layer) + "/" + kind, layer, layer / layers_of_phase});
    }
  }
  units.push_back({"head", -1, (layers - 1) / layers_of_phase});
  return units;
}

std::vector<LayoutUnit> resnet() {
  std::vector<LayoutUnit> units{{"stem", -1, 0}};
  for (int stage = 1, layer = 0; stage <= 4; ++stage) {
    for (int block = 0; block < std::vector{3, 4, 6, 3}[static_cast<std::size_t>(stage - 1)]; ++block, ++layer) {
      units.push_back({"stage" + std::to_string(stage) + "/block" + std::to_string(block), layer, stage / 2});
    }
  }
  units.push_back({"head", -1, 2});
  return units;
}

void expect_apart(const GraphLayout& layout) {
  for (std::size_t a = 0; a < layout.blocks.size(); ++a) {
    EXPECT_GT(layout.blocks[a].rect.width(), 4);
    EXPECT_GT(layout.blocks[a].rect.height(), 4);
    EXPECT_LE(layout.blocks[a].rect.bottom(), layout.height);
    for (std::size_t b = a + 1; b < layout.blocks.size(); ++b) {
      EXPECT_FALSE(layout.blocks[a].rect.intersects(layout.blocks[b].rect)) << a << " " << b;
    }
    for (const auto& fold : layout.folds) EXPECT_FALSE(fold.rect.intersects(layout.blocks[a].rect));
  }
}

TEST(GraphLayout, RowsAreBlockGroups) {
  const GraphLayout layout = GraphLayout::of(resnet(), 800, 420);
  ASSERT_EQ(layout.rows.size(), 4u);
  EXPECT_EQ(layout.rows[0].title, "stem, stage1");
  EXPECT_EQ(layout.rows[3].title, "stage4, head");
  EXPECT_TRUE(layout.folds.empty());
  EXPECT_EQ(layout.blocks[5].name, "block1");
  expect_apart(layout);
  EXPECT_LE(layout.height, 420);
}

TEST(GraphLayout, LayersThatRepeatFoldIntoOneRowAboveAMap) {
  const auto units = transformer(24, 7);
  EXPECT_EQ(repeated_layers(units).first, 1);
  EXPECT_EQ(repeated_layers(units).end, 73);
  EXPECT_EQ(repeated_layers(units).kinds, 3);
  const GraphLayout layout = GraphLayout::of(units, 800, 420);
  ASSERT_EQ(layout.folds.size(), 3u);
  EXPECT_EQ(layout.folds[1].name, "ffn_up");
  EXPECT_EQ(layout.folds[1].units.size(), 24u);
  EXPECT_EQ(layout.folds[1].units[2], 8);
  EXPECT_FALSE(layout.blocks[0].cell);
  EXPECT_TRUE(layout.blocks[1].cell);
  expect_apart(layout);
}

TEST(GraphLayout, ManyLayersAndNarrowWindowsKeepUnitsApart) {
  for (const double width : {300.0, 640.0, 1200.0}) {
    expect_apart(GraphLayout::of(transformer(96, 4), width, 300));
    expect_apart(GraphLayout::of(resnet(), width, 200));
  }
  EXPECT_TRUE(GraphLayout::of({}, 800, 400).blocks.empty());
}

TEST(GraphLayout, FramesHoldTheUnitsOfTheirGroupAndNoOther) {
  const auto units = transformer(24, 7);
  const GraphLayout layout = GraphLayout::of(units, 800, 420);
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const auto& frame : layout.frames) {
      if (frame.group == units[i].group) continue;
      EXPECT_FALSE(frame.path.contains(layout.blocks[i].rect.center())) << i;
    }
    EXPECT_TRUE(std::any_of(layout.frames.begin(), layout.frames.end(),
                            [&](const auto& f) { return f.path.contains(layout.blocks[i].rect.center()); }));
  }
}

TEST(GraphLayout, APointFindsItsUnit) {
  const GraphLayout layout = GraphLayout::of(transformer(24, 7), 800, 420);
  EXPECT_EQ(layout.unit_at(layout.blocks[40].rect.center()), 40);
  EXPECT_EQ(layout.unit_at({1, 1}), -1);
  EXPECT_EQ(layout.fold_at(layout.folds[2].rect.center()), 2);
}

}  // namespace
}  // namespace superstep::gui
