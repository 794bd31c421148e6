// SPDX-License-Identifier: Apache-2.0
#include "gui/session/explain.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QHelpEvent>
#include <QMenu>
#include <QTest>
#include <QToolTip>

#include "gui/base/theme.h"
#include "gui/main_window.h"
#include "gui/widgets/chips.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/explain_panel.h"
#include "gui/widgets/fit_bars.h"
#include "gui/widgets/heat_map.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/waterfall_chart.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Explain : public ::testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1440, 900);
    window_.show();
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::tight, folder_.path).string())));
    QCoreApplication::processEvents();
  }
  std::string text() const {
    EXPECT_TRUE(window_.findChild<QDockWidget*>("explainDock")->isVisible());
    return window_.findChild<ExplainPanel*>()->toPlainText().toStdString();
  }
  // As the mouse at a place of a widget of the current view.
  void explain_at(const QWidget& widget, const QPointF& at) {
    QWidget* view = nullptr;
    for (QWidget* w = const_cast<QWidget*>(&widget); w; w = w->parentWidget()) {
      if (qobject_cast<View*>(w)) view = w;
    }
    window_.explainAt(widget.mapTo(view, at.toPoint()));
  }

  TemporaryFolder folder_;
  Session session_;
  MainWindow window_{session_};
};

TEST_F(Explain, ABarOfTheWaterfall) {
  const auto* chart = window_.findChild<WaterfallChart*>();
  explain_at(*chart, chart->layoutNow().bar(1).center());
  EXPECT_THAT(text(), AllOf(HasSubstr("time of a term"), HasSubstr("ms"), HasSubstr("docs/explanation/cost-model.md")));
}

TEST_F(Explain, TheKeyExplainsTheCellWithTheFocus) {
  auto* panel = window_.findChild<WaterfallChart*>()->parentWidget();
  while (!qobject_cast<Panel*>(panel)) panel = panel->parentWidget();
  static_cast<Panel*>(panel)->showTable(true);
  auto* table = panel->findChild<DataTable*>();
  table->setFocus();
  const int last = table->model()->rowCount() - 1;
  table->setCurrentIndex(table->model()->index(last, 4));
  QTest::keyClick(table, Qt::Key_E);
  EXPECT_THAT(text(), AllOf(HasSubstr("Predicted step time"), HasSubstr("predicted time of an optimizer step"),
                            HasSubstr(table->currentIndex().data(kExactRole).toString().left(6).toStdString())));
}

TEST_F(Explain, SumsListTheirParts) {
  window_.showView(3);
  TableModel model;
  model.setContents(memory_table(session_.report(), -1, Units::kib));
  for (int row = 0; row < model.rowCount(); ++row) {
    std::int64_t sum = 0;
    const auto of = model.index(row, 2).data(kExplanationRole).value<Explanation>();
    for (const Part& part : of.parts) sum += QString(part.value).remove(QRegularExpression("[^0-9-]")).toLongLong();
    if (of.parts.empty()) continue;
    EXPECT_EQ(sum, model.index(row, 2).data(kExactRole).toLongLong()) << row;
  }
}

// What a tip says after the mouse has stood at a place.
std::string tip_at(QWidget& widget, const QPoint& at) {
  QToolTip::hideText();
  QHelpEvent help(QEvent::ToolTip, at, widget.mapToGlobal(at));
  QApplication::sendEvent(&widget, &help);
  QTest::qWait(20);
  const std::string text = QToolTip::text().toStdString();
  QToolTip::hideText();
  return text;
}

TEST_F(Explain, ATipSaysNameExactValueAndWhatItIs) {
  auto* panel = window_.findChild<WaterfallChart*>()->parentWidget();
  while (!qobject_cast<Panel*>(panel)) panel = panel->parentWidget();
  static_cast<Panel*>(panel)->showTable(true);
  auto* table = panel->findChild<DataTable*>();
  QCoreApplication::processEvents();
  const QModelIndex cell = table->model()->index(1, 2);
  const ExplainedCell known = explained(cell);
  EXPECT_THAT(tip_at(*table->viewport(), table->visualRect(cell).center()),
              AllOf(HasSubstr(known.row.toStdString()), HasSubstr(exact_text(known).toStdString()),
                    HasSubstr(known.explanation.what.toStdString()), HasSubstr("E for more")));
}

TEST_F(Explain, ATipOfTheWidgetsOwnGetsWhatItIs) {
  auto* bars = window_.findChild<FitBars*>();
  std::string tip;
  for (int y = 4; y < bars->height() && tip.empty(); y += 6) tip = tip_at(*bars, QPoint(bars->width() / 2, y));
  EXPECT_THAT(tip, HasSubstr("E for more"));
}

TEST_F(Explain, ChipsExplainThemselves) {
  auto* chips = window_.findChild<Chips*>();
  const ExplainedCell first = chips->explainedAt(QPoint(20, 12));
  EXPECT_FALSE(first.explanation.isEmpty());
  EXPECT_THAT(tip_at(*chips, QPoint(20, 12)),
              AllOf(HasSubstr(session_.report()->index().title()), HasSubstr("E for more")));
  EXPECT_TRUE(chips->explainedAt(QPoint(chips->width() - 1, 1)).explanation.isEmpty());
  // The fit is drawn with its sign, not as a text.
  QPoint fit(0, 12);
  while (fit.x() < chips->width() && chips->explainedAt(fit).row != "Fit") fit.rx() += 4;
  ASSERT_LT(fit.x(), chips->width());
  EXPECT_THAT(chips->explainedAt(fit).exact.toStdString(), HasSubstr("to spare"));
  const QImage drawn = chips->grab().toImage();
  EXPECT_EQ(drawn.pixelColor(fit + QPoint(6, -5)), theme_of(chips).tight_fill);
}

TEST_F(Explain, ChartsThatDrawTheirTipsAreLeftAlone) {
  window_.showView(1);
  QCoreApplication::processEvents();
  auto* map = window_.findChild<HeatMap*>();
  const Selection before = session_.selection();
  EXPECT_EQ(tip_at(*map, map->layoutNow().map.center()), "");
  EXPECT_EQ(session_.selection(), before);
}

TEST_F(Explain, ATileOfTheHeatMap) {
  window_.showView(1);
  QCoreApplication::processEvents();
  const auto* map = window_.findChild<HeatMap*>();
  const QPointF middle = map->layoutNow().map.center();
  const auto cell = map->cellAt(middle);
  ASSERT_TRUE(cell);
  explain_at(*map, middle);
  const TileRun* run = session_.heat()->run_at(map->phases()[static_cast<std::size_t>(cell->column)], cell->tile);
  EXPECT_THAT(text(), AllOf(HasSubstr(grouped(run->memory_bytes).replace(QChar(0x202F), ' ').toStdString() + " bytes"),
                            HasSubstr("7. Memory of a tile")));
}

TEST_F(Explain, ALabelIsFoundByItsText) {
  const QString throughput = fixed_decimals(session_.report()->index().plan().samples_per_second(), 1);
  auto* view = qobject_cast<View*>(window_.findChild<WaterfallChart*>()->window()->findChild<View*>());
  const auto cells = cells_of_text(view->tables(), throughput);
  ASSERT_FALSE(cells.empty());
  EXPECT_EQ(explained(cells[0]).explanation.unit, "samples/s");
}

TEST_F(Explain, TheMenuOfANumberExplainsIt) {
  auto* bars = window_.findChild<FitBars*>();
  const QPoint at(bars->width() / 2, 12);
  QContextMenuEvent event(QContextMenuEvent::Mouse, at, bars->mapToGlobal(at));
  QCoreApplication::sendEvent(bars, &event);
  auto* menu = window_.findChild<QMenu*>("numberMenu");
  ASSERT_TRUE(menu);
  menu->actions()[0]->trigger();
  menu->close();
  EXPECT_THAT(text(), HasSubstr("fullest tile"));
}

TEST_F(Explain, WhileItIsOpenItFollowsClicksAndArrows) {
  auto* bars = window_.findChild<FitBars*>();
  QTest::mouseClick(bars, Qt::LeftButton, {}, QPoint(bars->width() / 2, 12));
  EXPECT_FALSE(window_.findChild<QDockWidget*>("explainDock")->isVisible()) << "it does not come by itself";
  window_.explainAt({1, 1});
  QTest::mouseClick(bars, Qt::LeftButton, {}, QPoint(bars->width() / 2, 12));
  EXPECT_THAT(text(), HasSubstr("fullest tile"));
  window_.showView(6);
  QCoreApplication::processEvents();
  DataTable* table = nullptr;
  for (DataTable* each : window_.findChildren<DataTable*>()) table = !table && each->isVisible() ? each : table;
  ASSERT_TRUE(table);
  ASSERT_GT(table->model()->rowCount(), 1);
  table->setCurrentIndex(table->model()->index(0, 3));
  QTest::keyClick(table, Qt::Key_Down);
  EXPECT_THAT(text(), HasSubstr(table->currentIndex().siblingAtColumn(0).data().toString().toStdString()));
}

TEST_F(Explain, WhereThereIsNoNumberItSaysWhatToDo) {
  window_.explainAt({1, 1});
  EXPECT_THAT(text(), HasSubstr("press E"));
}

}  // namespace
}  // namespace superstep::gui
