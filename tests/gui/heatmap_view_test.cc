// SPDX-License-Identifier: Apache-2.0
// Controls of the heat map, the tiles of a chip beside it, and the way from overflow to overflow.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "gui/models/table_model.h"
#include "gui/paint/color_map.h"
#include "gui/session/view.h"
#include "gui/views/heatmap.h"
#include "gui/widgets/chip_grid.h"
#include "gui/widgets/heat_map.h"
#include "gui/widgets/layer_map.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class HeatmapTest : public ::testing::Test {
 protected:
  void open(Example which) {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(which, folder_.path).string())));
    view_.reset(find_view("heatmap")->make(session_, nullptr));
    view_->resize(1292, 809);
    view_->show();
    QCoreApplication::processEvents();
    chip_ = view_->findChild<ChipGrid*>();
    map_ = view_->findChild<HeatMap*>();
  }
  void choose(const char* box, int entry) const {
    auto* combo = view_->findChild<QComboBox*>(box);
    combo->setCurrentIndex(entry);
    emit combo->activated(entry);
    emit combo->textActivated(combo->currentText());
  }

  TemporaryFolder folder_;
  Session session_;
  std::unique_ptr<View> view_;
  ChipGrid* chip_ = nullptr;
  HeatMap* map_ = nullptr;
};

TEST_F(HeatmapTest, AClickOnATileOfTheChipSelectsItInThePhaseShown) {
  open(Example::tight);
  const int phase = chip_->phase();
  ASSERT_GE(phase, 0);
  QTest::mouseClick(chip_, Qt::LeftButton, {}, chip_->layoutNow().cell(100).center().toPoint());
  EXPECT_EQ(session_.selection().tile, 100);
  EXPECT_EQ(session_.selection().phase, phase);
  QTest::keyClick(chip_, Qt::Key_Down);
  EXPECT_EQ(session_.selection().tile, 100 + chip_->layoutNow().columns);
}

TEST_F(HeatmapTest, TheValueOfATileIsTheTables) {
  open(Example::tight);
  const QModelIndex cell = view_->valueAt(chip_, chip_->layoutNow().cell(7).center());
  ASSERT_TRUE(cell.isValid());
  EXPECT_EQ(cell.data(kExactRole).toLongLong(), session_.heat()->run_at(chip_->phase(), 7)->memory_bytes);
}

TEST_F(HeatmapTest, IdleIsWhatAPhaseHasBesideCompute) {
  open(Example::tight);
  choose("quantity", static_cast<int>(HeatQuantity::idle));
  EXPECT_EQ(session_.heatState().quantity, HeatQuantity::idle);
  const auto heat = session_.heat();
  const HeatPhase& phase = heat->phases[static_cast<std::size_t>(chip_->phase())];
  const TileRun* run = heat->run_at(chip_->phase(), 0);
  EXPECT_EQ(run->idle_cycles, std::max<std::int64_t>(0, phase.cycles - run->compute_cycles));
}

TEST_F(HeatmapTest, LimitsOfTheDataSpreadTheColours) {
  open(Example::tight);
  const HeatScale hardware = map_->scaleNow();
  choose("limits", 1);
  const HeatScale data = map_->scaleNow();
  EXPECT_EQ(hardware.full, hardware.limit);
  EXPECT_LT(data.full, hardware.full);
  EXPECT_EQ(data.share(data.full), 1);
  EXPECT_EQ(data.share(data.knee), 0);
  EXPECT_EQ(data.limit, hardware.limit) << "what is over it keeps its own colour";
}

TEST_F(HeatmapTest, LayersStandBesideTiles) {
  open(Example::tight);
  choose("rows", 1);
  auto* layers = view_->findChild<LayerMap*>();
  EXPECT_TRUE(layers->isVisible());
  EXPECT_FALSE(map_->isVisible());
  ASSERT_EQ(view_->tables().size(), 2u);
  EXPECT_EQ(view_->tables()[0].name, "Layers");
  const QPoint at = layers->layoutNow().cell(0, 1).center().toPoint();
  QTest::mouseClick(layers, Qt::LeftButton, {}, at);
  ASSERT_TRUE(layers->cellAt(at));
  const std::vector<int>& of = *layers->layers().at(0, 1);
  EXPECT_EQ(session_.selection().phase, of[0]);
  const QModelIndex cell = view_->valueAt(layers, at);
  ASSERT_TRUE(cell.isValid());
  EXPECT_EQ(cell.data(kExactRole).toLongLong(), session_.heat()->largest(of[0], HeatQuantity::memory));
  QTest::keyClick(layers, Qt::Key_Right);
  EXPECT_EQ(session_.selection().phase, (*layers->layers().at(0, 2))[0]);
  choose("columnWidth", 1);
  EXPECT_EQ(layers->layoutNow().edges.size(), static_cast<std::size_t>(layers->layers().grid.columns.size()) + 1);
  view_->showPage(0);
  EXPECT_TRUE(map_->isVisible());
}

TEST_F(HeatmapTest, ColumnsMayBeAsWideAsTheirCycles) {
  open(Example::tight);
  EXPECT_EQ(map_->layoutNow().edges, nullptr);
  choose("columnWidth", 1);
  const HeatLayout layout = map_->layoutNow();
  ASSERT_NE(layout.edges, nullptr);
  for (const int column : {0, 3}) {
    const QPointF at((layout.x_of(column) + layout.x_of(column + 1)) / 2, layout.map.center().y());
    ASSERT_TRUE(map_->cellAt(at));
    EXPECT_EQ(map_->cellAt(at)->column, column);
  }
  EXPECT_NEAR(layout.x_of(static_cast<double>(map_->phases().size())), layout.map.left() + layout.map.width(), 1e-6);
  choose("columnWidth", 0);
  EXPECT_EQ(map_->layoutNow().edges, nullptr);
}

TEST_F(HeatmapTest, TheColoursAreAPreferenceOfTheSession) {
  open(Example::tight);
  QSignalSpy changed(&session_, &Session::colorMapChanged);
  const QImage before = map_->grab().toImage();
  choose("colorMap", 1);
  EXPECT_EQ(session_.colorMap(), "cividis");
  EXPECT_EQ(changed.size(), 1);
  EXPECT_NE(map_->grab().toImage(), before);
}

TEST_F(HeatmapTest, ButtonsGoFromOverflowToOverflow) {
  open(Example::does_not_fit);
  const auto limit = session_.report()->index().plan().tile_limit_bytes();
  int last = -2;
  for (int i = 0; i < 3; ++i) {
    QTest::mouseClick(view_->findChild<QToolButton*>("nextOverflow"), Qt::LeftButton);
    const Selection& at = session_.selection();
    ASSERT_GE(at.phase, 0);
    EXPECT_GT(session_.heat()->run_at(at.phase, at.tile)->memory_bytes, limit);
    EXPECT_EQ(session_.heatState().ipu_class, at.ipu_class);
    last = at.phase;
  }
  QTest::mouseClick(view_->findChild<QToolButton*>("previousOverflow"), Qt::LeftButton);
  QTest::mouseClick(view_->findChild<QToolButton*>("nextOverflow"), Qt::LeftButton);
  EXPECT_EQ(session_.selection().phase, last);
}

TEST_F(HeatmapTest, WithoutAnOverflowThereAreNoButtons) {
  open(Example::tight);
  EXPECT_FALSE(view_->findChild<QToolButton*>("nextOverflow")->isVisible());
}

}  // namespace
}  // namespace superstep::gui
