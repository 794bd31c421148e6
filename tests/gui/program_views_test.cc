// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTest>
#include <QToolButton>

#include "gui/views/operations.h"
#include "gui/views/program.h"
#include "gui/widgets/column_menu.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/program_view.h"
#include "tests/gui/program_example.h"

namespace superstep::gui {
namespace {

class ProgramViews : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_program_example(folder_.path).string())));
  }
  template <class V>
  std::unique_ptr<V> shown() {
    auto view = std::make_unique<V>(session_);
    view->resize(1292, 809);
    view->show();
    QCoreApplication::processEvents();
    return view;
  }
  TemporaryFolder folder_;
  Session session_;
};

TEST_F(ProgramViews, OperationsStartWithTheLongest) {
  session_.select({.ipu_class = 0});
  const auto view = shown<OperationsView>();
  const auto* table = view->findChild<DataTable*>("operationsTable");
  ASSERT_EQ(table->model()->rowCount(), 21);
  for (int row = 1; row < 21; ++row) {
    EXPECT_GE(table->model()->index(row - 1, kOperationShare).data(kExactRole).toDouble(),
              table->model()->index(row, kOperationShare).data(kExactRole).toDouble());
  }
  const auto* steps = view->findChild<DataTable*>("operationSteps");
  EXPECT_EQ(steps->model()->rowCount(), 3) << "the supersteps of the longest";
}

TEST_F(ProgramViews, ARowSelectsItsOperationAndShowsItsSupersteps) {
  session_.select({.ipu_class = 0});
  const auto view = shown<OperationsView>();
  auto* table = view->findChild<DataTable*>("operationsTable");
  table->setFocus();
  table->setCurrentIndex(table->model()->index(0, 0));
  QTest::keyClick(table, Qt::Key_Down);
  const QString op = table->model()->index(1, 0).data().toString();
  EXPECT_EQ(session_.selection().op, op);
  EXPECT_EQ(view->findChild<DataTable*>("operationSteps")->model()->index(0, 0).data().toString(), op);
  session_.goBack();
  EXPECT_EQ(table->currentIndex().data().toString(), session_.selection().op);
  QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().contains(session_.selection().op));
}

TEST_F(ProgramViews, FiltersTakePatternsAndSayHowManyRowsAreLeft) {
  session_.select({.ipu_class = 0});
  const auto view = shown<OperationsView>();
  const auto* table = view->findChild<DataTable*>("operationsTable");
  auto* filter = view->findChild<QLineEdit*>("operationsFilter");
  EXPECT_EQ(filter->accessibleDescription(), "");
  QTest::keyClicks(filter, "(forward|backward)/soft");
  const int left = table->model()->rowCount();
  EXPECT_GT(left, 0);
  EXPECT_LT(left, 21);
  EXPECT_EQ(filter->accessibleDescription(), QString("%1 of 21").arg(left));
  filter->clear();
  QTest::keyClicks(filter, "(forward");  // no pattern: a text
  EXPECT_EQ(filter->accessibleDescription(), "0 of 21");
}

TEST_F(ProgramViews, FilterColumnsAndCopyGoTogether) {
  session_.select({.ipu_class = 0});
  const auto view = shown<OperationsView>();
  const auto* table = view->findChild<DataTable*>("operationsTable");
  QTest::keyClick(view.get(), Qt::Key_Slash);
  auto* filter = view->findChild<QLineEdit*>("operationsFilter");
  QTest::keyClicks(filter, "backward/soft");
  EXPECT_EQ(session_.filter(), "backward/soft");
  EXPECT_EQ(table->model()->rowCount(), 1);
  auto* columns = view->findChild<QToolButton*>("columns");
  emit columns->menu()->aboutToShow();
  ASSERT_EQ(columns->menu()->actions().size(), table->model()->columnCount() - 1);
  EXPECT_TRUE(table->isColumnHidden(1));
  columns->menu()->actions()[0]->trigger();
  EXPECT_FALSE(table->isColumnHidden(1));
  for (int i = 2; i < columns->menu()->actions().size(); ++i) {
    if (columns->menu()->actions()[i]->isChecked()) columns->menu()->actions()[i]->trigger();
  }
  QTest::mouseClick(view->findChild<QToolButton*>("copyTable"), Qt::LeftButton);
  EXPECT_EQ(QApplication::clipboard()->text(),
            "Operation\tIn\tCalls\nlayer/attention backward/softmax\tlayer/attention backward\t192\n");
}

TEST_F(ProgramViews, GroupsAndIpusChange) {
  const auto view = shown<OperationsView>();
  const auto* table = view->findChild<DataTable*>("operationsTable");
  session_.select({.ipu_class = 0});
  QTest::mouseClick(view->findChild<QToolButton*>("byKind"), Qt::LeftButton);
  EXPECT_EQ(table->model()->rowCount(), 7);
  QTest::mouseClick(view->findChild<QToolButton*>("byLayer"), Qt::LeftButton);
  EXPECT_GT(table->model()->rowCount(), 20) << "every phase of the IPU";
  QTest::mouseClick(view->findChild<QToolButton*>("byOperation"), Qt::LeftButton);
  session_.select({.ipu_class = 1});
  EXPECT_EQ(table->model()->rowCount(), 14);
}

TEST_F(ProgramViews, SearchOpensTheTreeAndSelects) {
  const auto view = shown<ProgramView>();
  auto* tree = view->findChild<ProgramTree*>();
  QTest::keyClick(view.get(), Qt::Key_Slash);
  auto* search = view->findChild<QLineEdit*>("programSearch");
  QTest::keyClicks(search, "backward/soft");
  QTest::keyClick(search, Qt::Key_Return);
  EXPECT_EQ(tree->currentIndex().data().toString(), "layer/attention backward/softmax");
  EXPECT_TRUE(tree->isExpanded(tree->currentIndex().parent()));
  EXPECT_EQ(session_.selection().op, "layer/attention backward/softmax");
  const int row = tree->currentIndex().row();
  QTest::mouseClick(view->findChild<QToolButton*>("searchNext"), Qt::LeftButton);
  EXPECT_EQ(tree->currentIndex().row(), row + 1);
  QTest::mouseClick(view->findChild<QToolButton*>("searchPrevious"), Qt::LeftButton);
  EXPECT_EQ(tree->currentIndex().row(), row);
  search->setText("nothing like it");
  QTest::keyClick(search, Qt::Key_Return);
  EXPECT_TRUE(view->findChild<QLabel*>("searchFound")->text().contains("is not in the program"));
  QTest::keyClick(tree, Qt::Key_C, Qt::ControlModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith("Program\tKind"));
}

TEST_F(ProgramViews, TheSelectionLinksBoth) {
  session_.select({.ipu_class = 0});
  const auto operations = shown<OperationsView>();
  const auto program = shown<ProgramView>();
  auto* table = operations->findChild<DataTable*>("operationsTable");
  table->setCurrentIndex(table->model()->index(3, 0));
  EXPECT_EQ(program->findChild<ProgramTree*>()->currentIndex().data().toString(), session_.selection().op);
}

}  // namespace
}  // namespace superstep::gui
