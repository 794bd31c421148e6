// SPDX-License-Identifier: Apache-2.0
#include "gui/views/graph.h"

#include <gmock/gmock.h>

#include <QCheckBox>
#include <QComboBox>
#include <QTest>
#include <QToolButton>

#include "gui/widgets/data_table.h"
#include "gui/widgets/graph_chart.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/phase_slider.h"
#include "gui/widgets/player.h"
#include "tests/gui/graph_example.h"

namespace superstep::gui {
namespace {

class GraphViewTest : public ::testing::Test {
 protected:
  void show(const std::filesystem::path& path) {
    ASSERT_TRUE(session_.open(QString::fromStdString(path.string())));
    view_ = std::make_unique<GraphView>(session_);
    view_->resize(1292, 809);
    view_->show();
    QCoreApplication::processEvents();
    chart_ = view_->findChild<GraphChart*>();
    slider_ = view_->findChild<PhaseSlider*>();
  }
  const QAbstractItemModel& table(std::size_t which) const { return *view_->tables()[which].model; }
  QPoint middle(int unit) const {
    return chart_->layoutNow().blocks[static_cast<std::size_t>(unit)].rect.center().toPoint();
  }

  TemporaryFolder folder_;
  Session session_;
  std::unique_ptr<GraphView> view_;
  GraphChart* chart_ = nullptr;
  PhaseSlider* slider_ = nullptr;
};

constexpr int kStem = 0, kOut0 = 2, kHead = 13;

TEST_F(GraphViewTest, PhasesAreAsWideAsTheCyclesOfTheTable) {
  show(write_graph_example(folder_.path));
  const QAbstractItemModel& phases = table(2);
  ASSERT_EQ(phases.rowCount(), 3);
  const double per_cycle = slider_->phaseRect(1).width() / 140;
  for (int row = 0; row < phases.rowCount(); ++row) {
    const auto cycles = phases.index(row, kPhaseCycles).data(kExactRole).toDouble();
    EXPECT_NEAR(slider_->phaseRect(row).width(), cycles * per_cycle, 1e-6);
    EXPECT_TRUE(slider_->tipText(row).contains(phases.index(row, kPhaseCycles).data().toString() + " cycles"));
  }
  EXPECT_EQ(view_->phase(), 1) << "the longest at first";
}

TEST_F(GraphViewTest, BlocksSayTheNumbersOfTheTable) {
  show(write_graph_example(folder_.path));
  for (int unit = 0; unit < table(0).rowCount(); ++unit) {
    EXPECT_TRUE(chart_->tipText(unit).contains("weights " + table(0).index(unit, 8).data().toString() + " bytes"));
  }
  for (int edge = 0; edge < table(1).rowCount(); ++edge) {
    EXPECT_TRUE(chart_->tipText(edge + 1).contains("takes " + table(1).index(edge, 3).data().toString() + " bytes"));
  }
}

TEST_F(GraphViewTest, ACallOpensToItsOps) {
  show(write_graph_example(folder_.path));
  auto* open = view_->findChild<QToolButton*>("openCall");
  auto* ops = view_->findChild<DataTable*>("callOps");
  EXPECT_FALSE(ops->isVisible());
  QTest::mouseClick(open, Qt::LeftButton);
  EXPECT_TRUE(ops->isVisible());
  EXPECT_GT(table(5).rowCount(), 0);
  const Steps& steps = *session_.steps();
  const auto& names = steps.name;
  EXPECT_EQ(table(5).index(0, 0).data(kExactRole).toString().toStdString(), names[0]) << "stem forward calls the first";
  QTest::keyClick(open, Qt::Key_O);
  EXPECT_FALSE(ops->isVisible());
  EXPECT_FALSE(view_->grab().isNull());
  ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::empty, folder_.path).string())));
  EXPECT_EQ(table(5).rowCount(), 0);
}

TEST_F(GraphViewTest, AClickOnABlockGoesToItsNextPhaseAndSelectsTheCall) {
  show(write_graph_example(folder_.path));
  QTest::mouseClick(chart_, Qt::LeftButton, {}, middle(kHead));
  EXPECT_EQ(view_->phase(), 2);
  EXPECT_EQ(session_.selection().op, "head backward");
  EXPECT_EQ(session_.selection().ipu_class, 1);
  EXPECT_EQ(table(0).index(kHead, kUnitState).data().toString(), "runs");
  QTest::mouseClick(chart_, Qt::LeftButton, {}, middle(kOut0));
  EXPECT_EQ(view_->phase(), 1);
  EXPECT_EQ(session_.selection().op, "a0/out forward");
  session_.goBack();
  EXPECT_EQ(view_->phase(), 2) << "the selection leads";
}

TEST_F(GraphViewTest, NothingMovesWhileTimePasses) {
  show(write_graph_example(folder_.path));
  const QRectF before = chart_->layoutNow().blocks[5].rect;
  for (int x = 100; x < slider_->width(); x += 50) {
    QTest::mouseClick(slider_, Qt::LeftButton, {}, QPoint(x, slider_->height() / 2));
    EXPECT_EQ(chart_->layoutNow().blocks[5].rect, before);
    EXPECT_EQ(view_->cursor(), slider_->cursor());
  }
  EXPECT_FALSE(view_->grab().isNull());
}

TEST_F(GraphViewTest, KeysAndButtonsStepPhases) {
  show(write_graph_example(folder_.path));
  view_->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(view_.get()));
  slider_->setFocus();
  QTest::keyClick(slider_, Qt::Key_Home);
  EXPECT_EQ(view_->phase(), 0);
  QTest::keyClick(slider_, Qt::Key_Right);
  EXPECT_EQ(session_.selection().op, "phase 0 forward");
  QTest::keyClick(slider_, Qt::Key_BracketRight);
  EXPECT_EQ(view_->phase(), 2);
  QTest::keyClick(slider_, Qt::Key_BracketLeft);
  EXPECT_EQ(view_->phase(), 1);
  QTest::mouseClick(view_->findChild<QToolButton*>("lastPhase"), Qt::LeftButton);
  EXPECT_EQ(view_->phase(), 2);
  chart_->setFocus();
  QTest::keyClick(chart_, Qt::Key_Right);
  QTest::keyClick(chart_, Qt::Key_Return);
  EXPECT_EQ(session_.selection().op, "stem forward");
}

TEST_F(GraphViewTest, PlayingMovesTheCursorAndSelectsNothing) {
  show(write_graph_example(folder_.path));
  auto* player = view_->findChild<Player*>();
  const Selection before = session_.selection();
  const std::int64_t from = view_->cursor();
  view_->findChild<QComboBox*>("speed")->setCurrentIndex(6);
  EXPECT_GT(player->advanced(0, 1e-4), 0);
  view_->findChild<QToolButton*>("play")->click();
  EXPECT_TRUE(player->isPlaying());
  EXPECT_TRUE(QTest::qWaitFor([&] { return view_->cursor() != from; }, 3000));
  EXPECT_EQ(session_.selection(), before);
  view_->hide();
  EXPECT_FALSE(player->isPlaying()) << "nobody looks";
}

TEST_F(GraphViewTest, AtTheEndPlayingBeginsAgainOrStops) {
  Player player;
  player.setLength(1000, 1e9);
  player.findChild<QComboBox*>("speed")->setCurrentIndex(2);
  EXPECT_EQ(player.advanced(900, 200e-9), 100);
  player.findChild<QCheckBox*>("loop")->setChecked(false);
  EXPECT_EQ(player.advanced(900, 200e-9), 999);
}

TEST_F(GraphViewTest, PipelinesShowCallsAndRowsOfTheTableSelectThem) {
  show(write_pipeline_graph(folder_.path));
  EXPECT_EQ(table(2).rowCount(), 8);
  EXPECT_EQ(view_->phase(), 4) << "head backward is longest";
  QTest::keyClick(slider_, Qt::Key_Left);
  EXPECT_EQ(session_.selection().op, "head forward");
  EXPECT_EQ(table(3).index(0, 1).data().toString(), "IPU 1");
  QTest::mouseClick(chart_, Qt::LeftButton, {}, middle(kStem));
  EXPECT_EQ(session_.selection().op, "stem update");
  auto* rows = view_->findChild<DataTable*>("phaseOperations");
  EXPECT_EQ(rows->currentIndex().data().toString(), "stem update");
  for (Panel* panel : view_->findChildren<Panel*>()) panel->showTable(true);
  EXPECT_FALSE(view_->grab().isNull());
}

TEST_F(GraphViewTest, ReportsWithoutAGraphSayWhatToDo) {
  for (const Example which : {Example::tight, Example::does_not_fit, Example::infeasible, Example::empty}) {
    show(write_example(which, folder_.path));
    EXPECT_EQ(view_->phase(), -1);
    EXPECT_TRUE(chart_->legend().empty());
    EXPECT_FALSE(view_->findChild<Player*>()->isEnabled());
    QTest::keyClick(slider_, Qt::Key_Right);
    QTest::mouseClick(chart_, Qt::LeftButton, {}, QPoint(200, 60));
    QTest::mouseClick(slider_, Qt::LeftButton, {}, QPoint(200, 60));
    EXPECT_FALSE(view_->grab().isNull());
  }
  show(write_graph_example(folder_.path));
  EXPECT_EQ(view_->phase(), 1);
}

}  // namespace
}  // namespace superstep::gui
