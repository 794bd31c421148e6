// SPDX-License-Identifier: Apache-2.0
// Controls of the heat map, the tiles of a chip beside it, and the way from overflow to overflow.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "gui/models/table_model.h"
#include "gui/paint/color_map.h"
#include "gui/view.h"
#include "gui/views/heatmap.h"
#include "gui/widgets/chip_grid.h"
#include "gui/widgets/heat_map.h"
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
