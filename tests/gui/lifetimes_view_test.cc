// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include "gui/widgets/data_table.h"
#include "gui/widgets/streaming_chart.h"
#include "tests/gui/lifetime_example.h"
#include "tests/gui/memory_view.h"

namespace superstep::gui {
namespace {

class LifetimesView : public MemoryViewTest {
 protected:
  void SetUp() override { show(write_lifetime_example(folder_.path)); }
  const QAbstractItemModel& table(const QString& title) const {
    for (const NamedTable& named : view_->tables()) {
      if (named.name == title) return *named.model;
    }
    ADD_FAILURE() << title.toStdString();
    return *view_->tables()[0].model;
  }
};

TEST_F(LifetimesView, TheVariablesAreThoseAtTheCursor) {
  const auto sum = [&] {
    std::int64_t bytes = 0;
    for (int row = 0; row < table("Variables").rowCount(); ++row)
      bytes += table("Variables").index(row, 3).data(kExactRole).toLongLong();
    return bytes;
  };
  EXPECT_EQ(sum(), 172) << "at the peak";
  QTest::keyClick(chart_, Qt::Key_Home);
  EXPECT_EQ(sum(), 110);
  QTest::keyClick(chart_, Qt::Key_Right);
  EXPECT_EQ(sum(), 130);
  auto* which = view_->findChild<QComboBox*>("whichVariables");
  which->setFocus();
  QTest::keyClick(which, Qt::Key_Down);
  EXPECT_EQ(sum(), 30) << "beside the weights, which always stand";
  QTest::keyClick(which, Qt::Key_Down);
  EXPECT_EQ(table("Variables").rowCount(), 10) << "of all steps";
  EXPECT_FALSE(view_->grab().isNull());
}

TEST_F(LifetimesView, SelectedRowsAreDrawnOverTheCurve) {
  const QImage before = chart_->grab().toImage();
  for (auto* list : view_->findChildren<DataTable*>()) {
    if (list->model()->headerData(0, Qt::Horizontal).toString() == "Variable") list->selectRow(0);
  }
  EXPECT_NE(chart_->grab().toImage(), before);
}

TEST_F(LifetimesView, GapsAreThoseOfAPlacement) {
  const auto column = [&](const QString& in, const QString& title) {
    const QAbstractItemModel& model = table(in);
    for (int c = 0; c < model.columnCount(); ++c) {
      if (model.headerData(c, Qt::Horizontal).toString().startsWith(title)) return c;
    }
    return -1;
  };
  auto* gaps = view_->findChild<QCheckBox*>("includeGaps");
  EXPECT_FALSE(gaps->isChecked());
  EXPECT_EQ(column("Liveness", "Gaps"), -1);
  const QImage before = chart_->grab().toImage();
  gaps->setFocus();
  QTest::keyClick(gaps, Qt::Key_Space);
  EXPECT_NE(chart_->grab().toImage(), before);
  const int top = column("Liveness", "Highest address"), of_gaps = column("Liveness", "Gaps");
  ASSERT_GE(top, 0);
  ASSERT_GE(of_gaps, 0);
  const auto bytes = [&](int row, int c) { return table("Liveness").index(row, c).data(kExactRole).toLongLong(); };
  for (int row = 0; row < table("Liveness").rowCount(); ++row) {
    EXPECT_EQ(bytes(row, top) - bytes(row, 6), bytes(row, of_gaps));
    EXPECT_GE(bytes(row, of_gaps), 0);
  }
  EXPECT_GE(column("Variables", "Address"), 0);
  auto* tile = view_->findChild<QLineEdit*>("memoryTile");
  tile->setText("7");
  EXPECT_FALSE(gaps->isEnabled()) << "addresses are those of the fullest tile";
  EXPECT_EQ(column("Liveness", "Gaps"), -1);
  tile->clear();
  EXPECT_TRUE(gaps->isEnabled());
  EXPECT_GE(column("Liveness", "Gaps"), 0);
  QTest::keyClick(gaps, Qt::Key_Space);
  EXPECT_EQ(column("Liveness", "Gaps"), -1);
  EXPECT_EQ(column("Variables", "Address"), -1);

  auto* view = qobject_cast<View*>(view_.get());
  ASSERT_EQ(view->pages().back(), "gaps");
  view->showPage(3);
  EXPECT_EQ(view->page(), 3);
  EXPECT_GE(column("Liveness", "Gaps"), 0);
  view->showPage(1);
  EXPECT_FALSE(gaps->isEnabled()) << "nothing here has gaps";
  view->showPage(0);
  EXPECT_EQ(view->page(), 0);
  EXPECT_TRUE(gaps->isEnabled());
  EXPECT_FALSE(view_->findChild<QCheckBox*>("showMax")->isEnabled()) << "the fullest tile is shown";
  EXPECT_EQ(column("Liveness", "Gaps"), -1);
}

TEST_F(LifetimesView, ATileIsChosenByItsNumber) {
  auto* tile = view_->findChild<QLineEdit*>("memoryTile");
  tile->setFocus();
  QTest::keyClicks(tile, "7");
  EXPECT_EQ(session_.selection().tile, 7);
  EXPECT_EQ(table("Liveness").index(1, 6).data(kExactRole).toLongLong(), 100) << "takes no part";
  EXPECT_FALSE(view_->grab().isNull());
  QTest::keyClicks(tile, "77");
  EXPECT_EQ(session_.selection().tile, 7) << "no such tile";
  tile->clear();
  EXPECT_EQ(session_.selection().tile, -1);
  EXPECT_EQ(table("Liveness").index(1, 6).data(kExactRole).toLongLong(), 130);
}

TEST_F(LifetimesView, StreamingMemoryIsDrawnWithItsTables) {
  QTest::mouseClick(view_->findChild<QToolButton*>("showStreaming"), Qt::LeftButton);
  QCoreApplication::processEvents();
  auto* chart = view_->findChild<StreamingChart*>();
  ASSERT_TRUE(chart->isVisible());
  const StreamingLayout layout = chart->layoutNow();
  EXPECT_EQ(chart->stretchAt(layout.time.at(50)), 0);
  EXPECT_EQ(chart->stretchAt(layout.time.at(250)), 1);
  EXPECT_TRUE(chart->tipText(0).contains("200 bytes ahead, for phase 1"));
  EXPECT_EQ(table("Streaming Memory").rowCount(), 2);
  EXPECT_EQ(table("Held in Streaming Memory").rowCount(), 2);
  EXPECT_FALSE(view_->grab().isNull());
  session_.select({.ipu_class = 1});
  EXPECT_EQ(table("Held in Streaming Memory").rowCount(), 1);
}

TEST_F(LifetimesView, SeveralTilesStandSideBySide) {
  auto* field = view_->findChild<QLineEdit*>("memoryTile");
  field->setText("0-2,5");
  auto* columns = view_->findChild<DataTable*>("listedTiles");
  ASSERT_NE(columns, nullptr);
  EXPECT_TRUE(columns->isVisible());
  EXPECT_EQ(columns->model()->columnCount(), 1 + 4);
  EXPECT_EQ(view_->tables().back().model->columnCount(), 1 + 4) << "the table twin has them too";
  const std::int64_t drawn = session_.selection().tile;
  EXPECT_TRUE(drawn <= 2 || drawn == 5) << "one of them";
  field->setText("0-2,");  // half typed: as it was
  EXPECT_EQ(columns->model()->columnCount(), 1 + 4);
  field->setText("");
  EXPECT_FALSE(columns->isVisible());
  EXPECT_EQ(session_.selection().tile, -1);
  field->setText("0-2,5");
  Selection other = session_.selection();
  other.tile = 9;
  session_.select(other);
  EXPECT_FALSE(columns->isVisible()) << "another tile was chosen elsewhere";
}

}  // namespace
}  // namespace superstep::gui
