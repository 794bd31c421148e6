// SPDX-License-Identifier: Apache-2.0
#include "gui/views/compare.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QTest>
#include <QToolButton>

#include "gui/widgets/compare_chart.h"
#include "gui/widgets/compare_headline.h"
#include "gui/widgets/compare_pipelines.h"
#include "gui/widgets/difference_map.h"
#include "tests/gui/program_example.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class Comparing : public ::testing::Test {
 protected:
  void open(Example which) {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(which, folder_.path).string())));
  }
  std::unique_ptr<CompareView> shown() {
    auto view = std::make_unique<CompareView>(session_);
    view->resize(1292, 809);
    view->show();
    QCoreApplication::processEvents();
    return view;
  }
  void click(CompareView& view, const char* button) {
    QTest::mouseClick(view.findChild<QAbstractButton*>(button), Qt::LeftButton);
    QCoreApplication::processEvents();
  }
  TemporaryFolder folder_;
  Session session_;
};

TEST_F(Comparing, OneReportSaysHowToGetAnother) {
  open(Example::tight);
  const auto view = shown();
  EXPECT_THAT(view->findChild<CompareHeadline*>()->detail().toStdString(), HasSubstr("superstep view A.ssr B.ssr"));
  EXPECT_EQ(view->findChild<CompareChart*>()->layoutNow().rows(), 0);
  open(Example::deeper);
  EXPECT_EQ(view->compared().size(), 2) << "a report that opens joins";
}

TEST_F(Comparing, TheHeadlineIsTheCommandLines) {
  open(Example::tight);
  open(Example::deeper);
  const auto view = shown();
  const std::vector<const report::Index*> both{&session_.reportAt(0)->index(), &session_.reportAt(1)->index()};
  const std::vector<std::string> names{"bert-large-tight", "bert-large-deeper"};
  const Comparison c = compare(both, names);
  EXPECT_EQ(view->findChild<CompareHeadline*>()->text(), for_viewer(c.headline));
  EXPECT_THAT(view->findChild<CompareHeadline*>()->detail().toStdString(),
              HasSubstr("bubble: ramp up and down +121.6"));
  EXPECT_EQ(view->findChild<CompareHeadline*>()->certainty(), "") << "the examples were drawn in no worlds";
}

TEST_F(Comparing, BelowNineInTenItIsATie) {
  for (const Example which : {Example::tight, Example::deeper}) {
    ExampleReport example = example_report(which);
    auto& plan = *example.index.mutable_plan();
    const bool target = which == Example::deeper;
    for (int i = 0; i < 100; ++i) plan.add_step_time_in_worlds_s(plan.step_time_s() * (target && i < 30 ? 0.5 : 1));
    const auto path = folder_.path / (target ? "target.ssr" : "source.ssr");
    example.columns.finish(example.index, path);
    ASSERT_TRUE(session_.open(QString::fromStdString(path.string())));
  }
  const auto view = shown();
  const auto* headline = view->findChild<CompareHeadline*>();
  EXPECT_EQ(headline->certainty(), "P(slower) = 0.70");
  EXPECT_THAT(headline->text().toStdString(), HasSubstr("a tie: probability 0.70"));
  EXPECT_THAT(headline->detail().toStdString(), HasSubstr("95 % band 5.8 % slower to 88.3 % faster."));
}

TEST_F(Comparing, ThePaintedBarsAreTheTables) {
  open(Example::tight);
  open(Example::deeper);
  const auto view = shown();
  const CompareLayout layout = view->findChild<CompareChart*>()->layoutNow();
  const QAbstractItemModel* table = view->tables()[0].model;
  const TermColumns at{2};
  ASSERT_EQ(layout.rows(), table->rowCount());
  for (int row = 0; row < layout.rows(); ++row) {
    for (int r = 0; r < 2; ++r) {
      EXPECT_EQ(layout.input.seconds[static_cast<std::size_t>(r)][static_cast<std::size_t>(row)],
                table->index(row, at.seconds(r)).data(kExactRole).toDouble());
    }
    EXPECT_NEAR(layout.difference(1, row) * 1e3, table->index(row, at.difference(1)).data(kExactRole).toDouble(), 1e-9);
  }
}

TEST_F(Comparing, HiddenRowsLeaveTheOthersWhereTheyAre) {
  open(Example::tight);
  open(Example::deeper);
  const auto view = shown();
  const auto* chart = view->findChild<CompareChart*>();
  const double start = chart->layoutNow().input.starts[0][14];
  EXPECT_GT(start, 1);
  click(*view, "hideEqual");
  ASSERT_EQ(chart->layoutNow().rows(), 2);
  EXPECT_TRUE(session_.compareState().hide_equal);
  EXPECT_EQ(chart->layoutNow().input.starts[0][0], start);
}

TEST_F(Comparing, SidesSwapAndAreChosen) {
  open(Example::tight);
  open(Example::deeper);
  open(Example::does_not_fit);
  const auto view = shown();
  EXPECT_EQ(session_.compareState().reports, (std::vector<int>{0, 1, 2}));
  click(*view, "swapSides");
  EXPECT_EQ(session_.compareState().reports, (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(view->compared().label(0), "p=8 r=2 m=2 g=384");
  auto* side = view->findChild<QComboBox*>("side2");
  side->setFocus();
  QTest::keyClick(side, Qt::Key_Down);  // the entry after the last report: leave it out
  QCoreApplication::processEvents();
  EXPECT_EQ(session_.compareState().reports, (std::vector<int>{1, 0}));
  EXPECT_EQ(view->compared().size(), 2);
  click(*view, "addPlan");
  EXPECT_EQ(session_.compareState().reports, (std::vector<int>{1, 0, 2}));
  click(*view, "differencePercent");
  EXPECT_TRUE(session_.compareState().percent);
}

TEST_F(Comparing, NoMoreThanFitSideBySideJoinByThemselves) {
  for (int i = 0; i < 6; ++i) {
    ExampleReport example = example_report(Example::tight);
    const auto path = folder_.path / ("copy" + std::to_string(i) + ".ssr");
    example.columns.finish(example.index, path);
    ASSERT_TRUE(session_.open(QString::fromStdString(path.string())));
  }
  EXPECT_EQ(session_.compareState().reports, (std::vector<int>{0, 1, 2, 3}));
  const auto view = shown();
  EXPECT_EQ(view->compared().size(), 4);
  EXPECT_TRUE(view->findChild<QToolButton*>("addPlan")->isEnabled()) << "more may be added";
  CompareState all = session_.compareState();
  all.reports = {0, 1, 2, 3, 4, 5};
  session_.setCompareState(all);
  EXPECT_EQ(view->compared().size(), 6);
  EXPECT_FALSE(view->findChild<QToolButton*>("addPlan")->isEnabled()) << "all are there";
  EXPECT_FALSE(view->grab().isNull());
  all.reports = {0, 1, 2, 3};
  session_.setCompareState(all);
  ASSERT_TRUE(session_.reload());
  EXPECT_EQ(session_.compareState().reports.size(), 4u) << "the same report does not join twice";
  view->resize(1132, 630);
  EXPECT_FALSE(view->grab().isNull());
}

TEST_F(Comparing, AClickAndTheArrowsSelectATerm) {
  open(Example::tight);
  open(Example::deeper);
  const auto view = shown();
  auto* chart = view->findChild<CompareChart*>();
  QTest::mouseClick(chart, Qt::LeftButton, {}, chart->layoutNow().row(8).center().toPoint());
  EXPECT_EQ(session_.selection().term, "operand exchange");
  QTest::keyClick(chart, Qt::Key_Down);
  EXPECT_EQ(session_.selection().term, "partials exchange");
  EXPECT_TRUE(chart->tipText(9).contains("0.124 s"));
}

TEST_F(Comparing, TheMapOfDifferencesHasEachPhase) {
  open(Example::tight);
  open(Example::deeper);
  const auto view = shown();
  auto* map = view->findChild<DifferenceMap*>();
  const GridLayout layout = map->layoutNow();
  ASSERT_EQ(layout.rows, map->grid().rows.size());
  const int row = static_cast<int>(map->grid().rows.indexOf("ffn backward"));
  const int column = static_cast<int>(map->grid().columns.indexOf("L7"));
  ASSERT_TRUE(row >= 0 && column >= 0);
  const QPoint at = layout.cell(row, column).center().toPoint();
  QTest::mouseClick(map, Qt::LeftButton, {}, at);
  EXPECT_EQ(session_.selection().op, "L7/ffn backward");
  EXPECT_TRUE(map->tipText(row, column).contains("cycles a step"));
  // Blue where the target takes less, orange where more.
  const auto& phase = view->compared().phases[static_cast<std::size_t>(
      map->grid().phases[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)])];
  const QColor color = map->grab().toImage().pixelColor(at);
  EXPECT_EQ(color.blue() > color.red(), *phase.cycles[1] < *phase.cycles[0]);
}

TEST_F(Comparing, ReportsWithoutAPlanAreComparedToo) {
  open(Example::infeasible);
  open(Example::tight);
  const auto view = shown();
  EXPECT_THAT(view->findChild<CompareHeadline*>()->text().toStdString(), HasSubstr("has no plan"));
  EXPECT_FALSE(view->grab().isNull());
  open(Example::empty);
  click(*view, "swapSides");
  EXPECT_FALSE(view->grab().isNull());
}

// One step takes 340 cycles, the other is the same at twice the clock.
TEST_F(Comparing, PipelinesStandOnOneTimeScale) {
  const auto path = write_program_example(folder_.path);
  ASSERT_TRUE(session_.open(QString::fromStdString(path.string())));
  ExampleReport example = example_report(Example::deeper);
  *example.index.mutable_program() = session_.report()->index().program();
  example.index.set_clock_hz(2 * session_.report()->index().clock_hz());
  example.columns.finish(example.index, folder_.path / "faster.ssr");
  ASSERT_TRUE(session_.open(QString::fromStdString((folder_.path / "faster.ssr").string())));
  const auto view = shown();
  auto* chart = view->findChild<ComparePipelines*>();
  ASSERT_EQ(chart->timelines().size(), 2u);
  QTest::mouseClick(view->findChild<QAbstractButton*>("compareShownPipelines"), Qt::LeftButton);
  QCoreApplication::processEvents();
  ASSERT_TRUE(chart->isVisible());
  const auto& timelines = chart->timelines();
  const auto end_of = [&](std::size_t side) {
    return chart->timeNow().axis_of(timelines[side].clock_hz).x_of(timelines[side].cycles);
  };
  const double left = chart->timeNow().left;
  EXPECT_NEAR((end_of(0) - left) / (end_of(1) - left), 2, 0.01);
  QTest::keyClick(chart, Qt::Key_W);
  EXPECT_NEAR((end_of(0) - left) - 2 * (end_of(1) - left) + (chart->axisNow().x_of(0) - left), 0, 2) << "both zoom";
  QTest::keyClick(chart, Qt::Key_F);
  QTest::keyClick(chart, Qt::Key_Period);
  QTest::keyClick(chart, Qt::Key_BracketRight);
  EXPECT_FALSE(view->grab().isNull());

  TableModel table;
  QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::Fatal);
  table.setContents(chart->table());
  EXPECT_EQ(table.rowCount(), view->tables().back().model->rowCount());
  EXPECT_GT(table.rowCount(), 0);
  for (int row = 0; row < table.rowCount(); ++row) {
    const auto cycles = [&](int column) { return table.index(row, column).data(kExactRole).toLongLong(); };
    EXPECT_EQ(cycles(7), 340);
    EXPECT_EQ(cycles(5) + cycles(6), 340) << "an IPU works or waits";
  }
}

}  // namespace
}  // namespace superstep::gui
