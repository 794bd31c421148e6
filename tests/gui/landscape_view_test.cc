// SPDX-License-Identifier: Apache-2.0
#include "gui/views/landscape.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "gui/widgets/data_table.h"
#include "gui/widgets/scatter_chart.h"
#include "tests/gui/search_example.h"

namespace superstep::gui {
namespace {

class LandscapeViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::tight, folder_.path).string())));
    view_ = std::make_unique<LandscapeView>(session_);
    view_->resize(1292, 809);
    view_->show();
    QCoreApplication::processEvents();
    chart_ = view_->findChild<ScatterChart*>();
    table_ = view_->findChild<DataTable*>("plansTable");
  }
  void open_searched() {
    ExampleReport example = example_report(Example::tight);
    add_search_example(example);
    example.index.set_job_json("{\"machine\": \"ipu-pod16\"}");
    example.columns.finish(example.index, folder_.path / "searched.ssr");
    ASSERT_TRUE(session_.open(QString::fromStdString((folder_.path / "searched.ssr").string())));
    QCoreApplication::processEvents();
  }
  void choose(const char* combo, int index) { view_->findChild<QComboBox*>(combo)->setCurrentIndex(index); }

  TemporaryFolder folder_;
  Session session_;
  std::unique_ptr<LandscapeView> view_;
  ScatterChart* chart_ = nullptr;
  DataTable* table_ = nullptr;
};

TEST_F(LandscapeViewTest, DotsStandAtTheNumbersOfTheTable) {
  const ScatterLayout layout = chart_->layoutNow();
  const QAbstractItemModel* table = view_->tables()[0].model;
  ASSERT_EQ(static_cast<int>(layout.dots.size()), table->rowCount());
  for (int row = 0; row < table->rowCount(); ++row) {
    const double kib = table->index(row, 5).data(kExactRole).toDouble() / 1024;
    const double throughput = table->index(row, kLandscapeThroughput).data(kExactRole).toDouble();
    EXPECT_DOUBLE_EQ(layout.dots[static_cast<std::size_t>(row)].x(), layout.x.at(kib));
    EXPECT_DOUBLE_EQ(layout.dots[static_cast<std::size_t>(row)].y(), layout.y.at(throughput));
  }
}

TEST_F(LandscapeViewTest, AClickSelectsThePlanInTheTableAndItsPinsAreCopied) {
  auto* pins = view_->findChild<QToolButton*>("copyPins");
  EXPECT_FALSE(pins->isEnabled());
  QTest::mouseClick(chart_, Qt::LeftButton, {}, chart_->layoutNow().dots[3].toPoint());
  EXPECT_EQ(chart_->selected(), 3);
  EXPECT_EQ(table_->currentIndex().siblingAtColumn(1).data().toString(), "t=1 p=2 r=8 m=1 g=192");
  QTest::mouseClick(pins, Qt::LeftButton);
  EXPECT_EQ(QApplication::clipboard()->text(), "{}");
  EXPECT_TRUE(chart_->tipText(3).contains("t=1 p=2 r=8"));
  EXPECT_FALSE(view_->grab().isNull());
}

TEST_F(LandscapeViewTest, ArrowsMoveAlongXAndRowsAlongTheTable) {
  chart_->setFocus();
  QTest::keyClick(chart_, Qt::Key_Right);
  const int first = chart_->selected();
  QTest::keyClick(chart_, Qt::Key_Right);
  const auto layout = chart_->layoutNow();
  EXPECT_GT(layout.dots[static_cast<std::size_t>(chart_->selected())].x(),
            layout.dots[static_cast<std::size_t>(first)].x());
  table_->setCurrentIndex(table_->model()->index(0, 0));
  EXPECT_EQ(chart_->selected(), 0) << "the fastest is the shown one";
}

TEST_F(LandscapeViewTest, EveryPairOfAxesCanBeDrawn) {
  for (int x = 0; x < static_cast<int>(landscape_axes().size()); ++x) {
    choose("axisX", x);
    choose("axisY", (x + 3) % static_cast<int>(landscape_axes().size()));
    choose("colorBy", x % static_cast<int>(landscape_colors().size()));
    EXPECT_EQ(chart_->axes().x, x);
    for (const QPointF& dot : chart_->layoutNow().dots) EXPECT_TRUE(chart_->layoutNow().plot.contains(dot)) << x;
    EXPECT_FALSE(chart_->grab().isNull());
  }
}

TEST_F(LandscapeViewTest, EveryFoundPlanIsADotWithARow) {
  const int before = view_->tables()[0].model->rowCount();
  open_searched();
  const QAbstractItemModel* table = view_->tables()[0].model;
  ASSERT_EQ(table->rowCount(), before + 40);
  const ScatterLayout layout = chart_->layoutNow();
  for (int row = 0; row < table->rowCount(); ++row) {
    const double kib = table->index(row, 5).data(kExactRole).toDouble() / 1024;
    EXPECT_DOUBLE_EQ(layout.dots[static_cast<std::size_t>(row)].x(), layout.x.at(kib));
  }
  EXPECT_TRUE(table->index(before, 2).data().toString() == "found");
  choose("axisX", 3);  // of the fullest IPU the tables know nothing
  EXPECT_FALSE(chart_->grab().isNull());
  for (int i = 0; i < 20; ++i) QTest::keyClick(chart_, Qt::Key_Right);
  EXPECT_LT(chart_->selected(), before);
}

TEST_F(LandscapeViewTest, AFoundPlanIsChosenWithItsCellAndItsPins) {
  open_searched();
  choose("listShown", 1);
  const auto layout = chart_->layoutNow();
  const int plan = static_cast<int>(layout.dots.size()) - 40 + 30;  // p=4 r=4 m=1
  QTest::mouseClick(chart_, Qt::LeftButton, {}, layout.dots[static_cast<std::size_t>(plan)].toPoint());
  ASSERT_EQ(chart_->selected(), plan);
  auto* cells = view_->findChild<DataTable*>("cellsTable");
  EXPECT_TRUE(cells->isVisible());
  EXPECT_EQ(cells->currentIndex().siblingAtColumn(kCellBound).data(kExactRole).toDouble(), 950.5);
  view_->findChild<QToolButton*>("copyPins")->click();
  EXPECT_TRUE(QApplication::clipboard()->text().contains("\"gradient_accumulation\": 384"));
  EXPECT_TRUE(view_->findChild<QLabel*>("account")->text().contains(grouped(5000)));
  QSignalSpy wanted(view_.get(), &View::viewWanted);
  view_->findChild<QToolButton*>("tryPlan")->click();
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_EQ(wanted[0][0].toString(), "whatif");
  EXPECT_EQ(session_.trial(), QApplication::clipboard()->text().toStdString());
}

}  // namespace
}  // namespace superstep::gui
