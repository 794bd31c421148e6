// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "gui/base/theme.h"
#include "gui/models/table_model.h"
#include "gui/session/view.h"
#include "gui/views/heatmap.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/fit_bars.h"
#include "gui/widgets/heat_map.h"
#include "gui/widgets/memory_columns.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/verdict_banner.h"
#include "gui/widgets/waterfall_chart.h"
#include "tests/traces/example_report.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

class Views : public ::testing::Test {
 protected:
  void open(Example which) {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(which, folder_.path).string())));
  }
  // The view, shown in the size it has in a window of 1440 x 900.
  std::unique_ptr<View> shown(const char* id) {
    std::unique_ptr<View> view(find_view(id)->make(session_, nullptr));
    view->resize(1292, 809);
    view->show();
    QCoreApplication::processEvents();
    return view;
  }
  // A point in the middle of a cell of the heat map.
  static QPoint middle(const HeatMap& map, int column, std::int64_t tile) {
    return map.layoutNow().cell(column, static_cast<double>(tile), 1).center().toPoint();
  }

  TemporaryFolder folder_;
  Session session_;
};

TEST_F(Views, EachOpensWithEachReportAndWithNone) {
  for (const ViewDef& def : all_views()) EXPECT_FALSE(shown(def.id)->grab().isNull());
  for (const Example which :
       {Example::tight, Example::does_not_fit, Example::deeper, Example::infeasible, Example::empty}) {
    open(which);
    for (const ViewDef& def : all_views()) {
      const auto view = shown(def.id);
      EXPECT_FALSE(view->grab().isNull());
      for (const QSize size : {QSize(1132, 630), QSize(500, 300), QSize(2400, 1500)}) {
        view->resize(size);
        QCoreApplication::processEvents();
      }
      for (Panel* panel : view->findChildren<Panel*>()) panel->showTable(true);
      session_.setUnits(Units::bytes);
      EXPECT_FALSE(view->grab().isNull());
      session_.setUnits(Units::kib);
    }
  }
}

TEST_F(Views, TheVerdictIsTheSentenceOfTheCommandLine) {
  open(Example::does_not_fit);
  const auto view = shown("summary");
  EXPECT_EQ(view->findChild<VerdictBanner*>()->text(), for_viewer(verdict_sentence(session_.report()->index())));
}

TEST_F(Views, TheWaterfallPaintsTheRowsOfItsTable) {
  open(Example::tight);
  const auto view = shown("summary");
  const auto* chart = view->findChild<WaterfallChart*>();
  const auto layout = chart->layoutNow();
  const QAbstractItemModel* table = view->tables()[0].model;
  ASSERT_EQ(layout.rows(), table->rowCount());
  for (int row = 0; row + 1 < layout.rows(); ++row) {
    EXPECT_EQ(layout.seconds[static_cast<std::size_t>(row)], table->index(row, 4).data(kExactRole).toDouble());
  }
  EXPECT_EQ(layout.total(), table->index(layout.rows() - 1, 4).data(kExactRole).toDouble());
}

TEST_F(Views, AClickOnATermSelectsItAndASecondClearsIt) {
  open(Example::tight);
  const auto view = shown("summary");
  auto* chart = view->findChild<WaterfallChart*>();
  const QPoint at = chart->layoutNow().row(8).center().toPoint();
  QTest::mouseClick(chart, Qt::LeftButton, {}, at);
  EXPECT_EQ(session_.selection().term, "operand exchange");
  QTest::mouseClick(chart, Qt::LeftButton, {}, at);
  EXPECT_EQ(session_.selection().term, "");
}

TEST_F(Views, AClickOnTheHeatMapSelectsTileAndPhase) {
  open(Example::tight);
  const auto view = shown("heatmap");
  auto* map = view->findChild<HeatMap*>();
  QTest::mouseClick(map, Qt::LeftButton, {}, middle(*map, 5, 1000));
  const Selection selection = session_.selection();
  EXPECT_EQ(selection.phase, map->phases()[5]);
  EXPECT_NEAR(static_cast<double>(selection.tile), 1000, 2) << "a pixel holds more than one tile";
  EXPECT_EQ(selection.ipu_class, 3);
}

TEST_F(Views, TheTipHasTheExactValues) {
  open(Example::tight);
  const auto view = shown("heatmap");
  auto* map = view->findChild<HeatMap*>();
  const auto heat = session_.heat();
  const TileRun* run = heat->run_at(map->phases()[5], 1000);
  const QString tip = map->tipText({5, 1000});
  EXPECT_TRUE(tip.contains("Bytes\t" + grouped(run->memory_bytes)));
  EXPECT_TRUE(tip.contains("Compute\t" + grouped(run->compute_cycles)));
  EXPECT_TRUE(tip.contains("Exchange\t" + grouped(run->exchange_bytes)));
}

TEST_F(Views, TheHeatMapSaysWhenTilesShareAPixel) {
  open(Example::tight);
  const auto view = shown("heatmap");
  auto* map = view->findChild<HeatMap*>();
  EXPECT_TRUE(map->sharingText().startsWith("largest of "));
  const QPointF at = map->layoutNow().map.center();
  for (int i = 0; i < 12; ++i) {
    QWheelEvent wheel(at, map->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(map, &wheel);
  }
  EXPECT_EQ(map->sharingText(), "") << "zoomed in, every tile has its pixels";
  EXPECT_NE(session_.heatState().window, HeatWindow{});
  QTest::keyClick(map, Qt::Key_F);
  EXPECT_EQ(session_.heatState().window, HeatWindow{});
}

TEST_F(Views, DraggingPansAndSelectsNothing) {
  open(Example::tight);
  const auto view = shown("heatmap");
  auto* map = view->findChild<HeatMap*>();
  for (int i = 0; i < 3; ++i) QTest::keyClick(map, Qt::Key_Plus);
  const HeatWindow before = session_.heatState().window;
  const QPoint from = map->layoutNow().map.center();
  QTest::mousePress(map, Qt::LeftButton, {}, from);
  QMouseEvent move(QEvent::MouseMove, QPointF(from - QPoint(60, 40)), map->mapToGlobal(QPointF(from)), Qt::NoButton,
                   Qt::LeftButton, {});
  QCoreApplication::sendEvent(map, &move);
  QTest::mouseRelease(map, Qt::LeftButton, {}, from - QPoint(60, 40));
  EXPECT_GT(session_.heatState().window.phase_from, before.phase_from);
  EXPECT_GT(session_.heatState().window.tile_from, before.tile_from);
  EXPECT_EQ(session_.selection(), Selection{});
}

TEST_F(Views, CellsOverTheLimitHaveTheLimitsColour) {
  open(Example::does_not_fit);
  const auto view = shown("heatmap");
  auto* map = view->findChild<HeatMap*>();
  const auto heat = session_.heat();
  int seen = 0;
  const QImage picture = map->grab().toImage();
  for (int column = 0; column < static_cast<int>(map->phases().size()); ++column) {
    const int phase = map->phases()[static_cast<std::size_t>(column)];
    for (const std::int64_t tile : {5, 300, 1110, 1465}) {
      const TileRun* run = heat->run_at(phase, tile);
      const bool over = run->memory_bytes > 624 * 1024;
      seen += over;
      EXPECT_EQ(picture.pixelColor(middle(*map, column, tile)) == light_theme().limit, over) << column << " " << tile;
    }
  }
  EXPECT_GT(seen, 0);
}

TEST_F(Views, AClickOnAMemoryColumnShowsThatIpu) {
  open(Example::tight);
  const auto view = shown("memory");
  QTest::mouseClick(view->findChild<QToolButton*>("showTotals"), Qt::LeftButton);
  QCoreApplication::processEvents();
  auto* columns = view->findChild<MemoryColumns*>();
  const auto layout = columns->layoutNow();
  const MemoryStack stack = memory_stack(session_.report()->index().ipu_classes(1));
  QTest::mouseClick(columns, Qt::LeftButton, {}, layout.segment(1, stack.segments[0]).center().toPoint());
  EXPECT_EQ(session_.selection().ipu_class, 1);
  EXPECT_EQ(session_.selection().category, "weights");
  const QAbstractItemModel* variables = view->tables()[1].model;
  for (int row = 0; row < variables->rowCount(); ++row) EXPECT_EQ(variables->index(row, 2).data().toString(), "IPU 1");
}

TEST_F(Views, TheFilterIsTheSessions) {
  open(Example::tight);
  const auto view = shown("memory");
  QTest::keyClicks(view->findChild<QLineEdit*>("variableFilter"), "stash");
  EXPECT_EQ(session_.filter(), "stash");
}

TEST_F(Views, EachChartHasATableBehindIt) {
  open(Example::tight);
  for (const ViewDef& def : all_views()) {
    const auto view = shown(def.id);
    EXPECT_FALSE(view->tables().empty()) << def.id;
    const auto buttons = view->findChildren<QToolButton*>("tableTwin");
    const bool is_a_table = std::string(def.id) == "operations" || std::string(def.id) == "batch";
    ASSERT_EQ(buttons.empty(), is_a_table) << def.id;
    for (QToolButton* button : buttons) {
      button->click();  // also on a page that is not in front
      EXPECT_TRUE(qobject_cast<Panel*>(button->parentWidget())->showsTable());
    }
  }
}

TEST_F(Views, CopiedRowsAreExact) {
  open(Example::tight);
  TableModel model;
  model.setContents(memory_table(session_.report(), 0, Units::kib));
  DataTable table(&model);
  table.selectRow(1);
  EXPECT_TRUE(table.copiedText().contains("weights\t"));
  EXPECT_TRUE(table.copiedText().contains("\t117764\n"));
}

}  // namespace
}  // namespace superstep::gui
