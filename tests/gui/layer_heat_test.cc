// SPDX-License-Identifier: Apache-2.0
#include "gui/models/layer_heat.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "gui/models/table_model.h"
#include "gui/paint/heat_layout.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

// Two layers of two phases, and a head; the head runs twice under one name.
std::shared_ptr<const HeatData> heat() {
  auto out = std::make_shared<HeatData>();
  out->tiles = 8;
  const auto add = [&](const char* name, std::int64_t cycles, std::int64_t repeats, std::int64_t memory, double error) {
    HeatPhase phase;
    phase.name = name, phase.cycles = cycles, phase.repeats = repeats, phase.error = error;
    phase.first_run = out->runs.size(), phase.runs = 2;
    out->runs.push_back({0, 4, memory, cycles / 2, 7, cycles / 2});
    out->runs.push_back({4, 4, memory / 2, cycles, 3, 0});
    out->phases.push_back(phase);
  };
  add("layer1/attention forward", 100, 2, 1000, 0.08);
  add("layer0/attention forward", 300, 1, 2000, 0.08);
  add("head forward", 50, 1, 500, 0.10);
  add("layer0/attention backward", 400, 1, 2500, 0.12);
  add("head forward", 70, 1, 400, 0.09);
  return out;
}

TEST(LayerHeat, PhasesStandInTheirLayersColumn) {
  const LayerHeat layers = layer_heat(heat(), {0, 1, 2, 3, 4});
  EXPECT_EQ(layers.grid.columns, (QStringList{"L0", "L1", "head"}));
  EXPECT_EQ(layers.grid.rows, (QStringList{"attention forward", "forward", "attention backward"}));
  ASSERT_NE(layers.at(0, 0), nullptr);
  EXPECT_EQ(*layers.at(0, 0), std::vector<int>{1});
  EXPECT_EQ(*layers.at(1, 2), (std::vector<int>{2, 4}));
  EXPECT_EQ(layers.at(2, 1), nullptr);
  EXPECT_EQ(layers.at(-1, 0), nullptr);
  EXPECT_EQ(layers.at(0, 3), nullptr);
}

TEST(LayerHeat, ValuesAreTheLargest) {
  const LayerHeat layers = layer_heat(heat(), {0, 1, 2, 3, 4});
  EXPECT_EQ(layers.value(*layers.at(1, 2), HeatQuantity::memory), 500);
  EXPECT_EQ(layers.largest_phase(*layers.at(1, 2), HeatQuantity::memory), 2);
  EXPECT_EQ(layers.value(*layers.at(1, 2), HeatQuantity::compute), 70);
  EXPECT_EQ(layers.value(*layers.at(1, 2), HeatQuantity::error), 100'000);
  EXPECT_EQ(layers.cycles(*layers.at(0, 1)), 200);
  EXPECT_EQ(layers.column_cycles(0), 700);
}

TEST(LayerHeat, TheTableHasARowPerCell) {
  TemporaryFolder folder;
  const auto report = std::make_shared<const ReportFile>(ReportFile::open(write_example(Example::tight, folder.path)));
  const auto layers = std::make_shared<const LayerHeat>(layer_heat(heat(), {0, 1, 2, 3, 4}));
  TableModel model;
  QAbstractItemModelTester tester(&model);
  model.setContents(layers_table(report, layers));
  ASSERT_EQ(model.rowCount(), 4);
  const int row = layers_table_row(*layers, 1, 2);
  EXPECT_EQ(model.index(row, 0).data().toString(), "head");
  EXPECT_EQ(model.index(row, kLayerQuantity).data(kExactRole).toLongLong(), 500);
  EXPECT_DOUBLE_EQ(model.index(row, kLayerQuantity + 4).data(kExactRole).toDouble(), 10);
  EXPECT_EQ(layers_table_row(*layers, 2, 1), -1);
}

TEST(LayerHeat, ColumnsMayBeAsWideAsTheyTakeTime) {
  const auto data = heat();
  const std::vector<int> phases{0, 1, 2, 3, 4};
  const ColumnEdges edges = edges_by_cycles(*data, phases);
  const HeatLayout layout = HeatLayout::of({0, 0, 1000, 400}, HeatWindow::whole(5, 8), edges);
  const double all = 200 + 300 + 50 + 400 + 70;
  EXPECT_NEAR(layout.x_of(1) - layout.x_of(0), layout.map.width() * 200 / all, 1e-6);
  EXPECT_NEAR(layout.x_of(5), layout.map.left() + layout.map.width(), 1e-6);
  for (double phase = 0; phase < 5; phase += 0.25) EXPECT_NEAR(layout.phase_at(layout.x_of(phase)), phase, 1e-9);
  const HeatImage image = rasterized(*data, phases, HeatQuantity::memory, layout);
  for (int column = 0; column < 5; ++column) {
    const int x = static_cast<int>((layout.x_of(column) + layout.x_of(column + 1)) / 2) - layout.map.left();
    EXPECT_EQ(image.at(x, 1), data->largest(column, HeatQuantity::memory)) << column;
  }
}

}  // namespace
}  // namespace superstep::gui
