// SPDX-License-Identifier: Apache-2.0
#include "gui/session/marks.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QAction>
#include <QDockWidget>
#include <QLineEdit>
#include <QMenu>
#include <QTest>
#include <fstream>

#include "gui/main_window.h"
#include "gui/session/export.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/marks_panel.h"
#include "model/error.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class Marks : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = QString::fromStdString(write_example(Example::tight, folder_.path).string());
    window_.resize(1440, 900);
    window_.show();
    ASSERT_TRUE(session_.open(path_));
    QCoreApplication::processEvents();
  }
  QAbstractItemView* table() { return window_.findChild<DataTable*>("marks"); }
  QLineEdit* field() { return window_.findChild<QLineEdit*>("markNote"); }
  void mark(const QString& note) {
    QTest::keyClick(&window_, Qt::Key_M);
    QTest::keyClicks(field(), note);
    QTest::keyClick(field(), Qt::Key_Return);
  }
  QString settings() const { return QString::fromStdString((folder_.path / "window.ini").string()); }

  TemporaryFolder folder_;
  Session session_;
  MainWindow window_{session_, Preferences(settings())};
  QString path_;
};

TEST_F(Marks, AMarkIsWrittenKeptAndFoundAgain) {
  window_.showView(1);
  const Selection selection{.ipu_class = 1, .tile = 17, .phase = session_.heat()->phases_of(1).front()};
  session_.select(selection);
  mark("why so full?");
  session_.select({});
  window_.showView(0);
  ASSERT_EQ(table()->model()->rowCount(), 1);
  EXPECT_THAT(table()->model()->index(0, 0).data().toString().toStdString(), HasSubstr("tile 17"));
  EXPECT_EQ(table()->model()->index(0, 1).data().toString(), "why so full?");
  table()->setCurrentIndex(table()->model()->index(0, 0));
  emit table()->activated(table()->currentIndex());
  EXPECT_EQ(session_.selection(), selection);
  EXPECT_EQ(window_.currentView(), 1);

  Session other;
  MainWindow second(other);
  ASSERT_TRUE(other.open(path_));
  EXPECT_EQ(second.findChild<DataTable*>("marks")->model()->rowCount(), 1) << "kept beside the report";
}

TEST_F(Marks, DelRemovesAndTheLastOneTakesTheFileAlong) {
  session_.select({.term = "operand exchange"});
  mark("one");
  mark("two");
  EXPECT_TRUE(QFile::exists(marks_file(path_)));
  for (int left = 1; left >= 0; --left) {
    table()->setCurrentIndex(table()->model()->index(0, 0));
    QTest::keyClick(table(), Qt::Key_Delete);
    EXPECT_EQ(table()->model()->rowCount(), left);
  }
  EXPECT_FALSE(QFile::exists(marks_file(path_)));
}

TEST_F(Marks, WithoutASelectionThereIsNothingToMark) {
  QTest::keyClick(&window_, Qt::Key_M);
  EXPECT_TRUE(window_.findChild<QDockWidget*>("marksDock")->isVisible());
  EXPECT_FALSE(field()->isEnabled());
}

TEST_F(Marks, ADamagedFileIsAMessage) {
  std::ofstream(marks_file(path_).toStdString()) << "no marks";
  session_.reload();
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("expected {\"marks\": [...]}"));
  EXPECT_EQ(table()->model()->rowCount(), 0);
}

TEST_F(Marks, AFolderThatCannotBeWrittenIsAMessage) {
  EXPECT_THROW(save_marks("/no/such/folder/a.ssr", {Mark{.term = "x"}}), Error);
}

TEST_F(Marks, TheTableIsAModelAndExportsAsCsv) {
  auto marks = std::make_shared<std::vector<Mark>>();
  marks->push_back({.ipu = "IPU 3", .tile = 1471, .view = "heatmap", .note = "a, \"b\""});
  TableModel model;
  model.setContents(marks_table(marks));
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  EXPECT_EQ(
      tables_csv({{"Marks", &model}}).toStdString(),
      QString::fromUtf8("# Marks\nMark,Note,View\nIPU 3 · tile 1\u202F471,\"a, \"\"b\"\"\",heatmap\n").toStdString());
  for (int c = 0; c < model.columnCount(); ++c)
    EXPECT_FALSE(model.index(0, c).data(kExplanationRole).value<Explanation>().isEmpty());
}

TEST_F(Marks, LayoutsAreSavedRestoredDeletedAndReset) {
  auto* dock = window_.findChild<QDockWidget*>("marksDock");
  dock->show();
  window_.addDockWidget(Qt::BottomDockWidgetArea, dock);
  window_.saveLayout("notes below & more");
  EXPECT_EQ(Preferences(settings()).layouts(), QStringList{"notes below & more"});
  dock->hide();
  window_.addDockWidget(Qt::RightDockWidgetArea, dock);
  window_.findChild<QAction*>("layout_notes below & more")->trigger();
  EXPECT_TRUE(dock->isVisible());
  EXPECT_EQ(window_.dockWidgetArea(dock), Qt::BottomDockWidgetArea);
  window_.findChild<QAction*>("resetLayout")->trigger();
  EXPECT_FALSE(dock->isVisible());
  window_.findChild<QAction*>("deleteLayout_notes below & more")->trigger();
  QCoreApplication::processEvents();
  EXPECT_TRUE(Preferences(settings()).layouts().isEmpty());
  EXPECT_EQ(window_.findChild<QAction*>("layout_notes below & more"), nullptr);
}

}  // namespace
}  // namespace superstep::gui
