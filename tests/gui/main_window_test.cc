// SPDX-License-Identifier: Apache-2.0
#include "gui/main_window.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QDialog>
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QTest>
#include <fstream>

#include "gui/base/theme.h"
#include "gui/session/view.h"
#include "gui/views/whatif.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/side_bar.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class Window : public ::testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1440, 900);
    window_.show();
    QCoreApplication::processEvents();
  }
  void TearDown() override { apply_theme(*qApp, light_theme()); }
  void open(Example which) {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(which, folder_.path).string())));
    QCoreApplication::processEvents();
  }
  std::string message() const { return window_.message().toStdString(); }

  TemporaryFolder folder_;
  Session session_;
  MainWindow window_{session_};
};

TEST_F(Window, WithoutAReportItSaysWhatToDo) {
  auto* page = window_.findChild<QWidget*>("emptyPage");
  EXPECT_TRUE(page->isVisible());
  EXPECT_THAT(window_.findChild<QLabel*>("emptyCommand")->text().toStdString(),
              HasSubstr("superstep plan JOB.json -o"));
  for (int key : {Qt::Key_1, Qt::Key_2, Qt::Key_3}) QTest::keyClick(&window_, static_cast<Qt::Key>(key));
  EXPECT_TRUE(page->isVisible());
  EXPECT_FALSE(window_.exportTo(QString::fromStdString((folder_.path / "a.png").string())));
  EXPECT_THAT(message(), HasSubstr("no report is open"));
}

TEST_F(Window, TheNumbersSwitchTheView) {
  open(Example::tight);
  for (int view = static_cast<int>(all_views().size()) - 1; view >= 0; --view) {
    QTest::keyClick(&window_, static_cast<Qt::Key>(all_views()[static_cast<std::size_t>(view)].shortcut));
    EXPECT_EQ(window_.currentView(), view);
    EXPECT_EQ(window_.findChild<ViewList*>()->currentRow(), view);
  }
}

TEST_F(Window, TheWhatIfStandsBesideAnotherViewOrIsOne) {
  open(Example::tight);
  QTest::keyClick(&window_, Qt::Key_5);
  const int pipeline = window_.currentView();
  QTest::keyClick(&window_, Qt::Key_0, Qt::ControlModifier);
  auto* whatif = window_.findChild<WhatIfView*>();
  auto* dock = window_.findChild<QDockWidget*>("whatifDock");
  ASSERT_TRUE(whatif);
  EXPECT_TRUE(dock->isAncestorOf(whatif));
  EXPECT_TRUE(whatif->isVisible());
  EXPECT_EQ(window_.currentView(), pipeline);
  EXPECT_EQ(window_.width(), 1440) << "the view gives way";
  window_.showView(0);
  EXPECT_TRUE(whatif->isVisible());
  QTest::keyClick(&window_, Qt::Key_0);  // the same one, as a view
  EXPECT_TRUE(whatif->isVisible());
  EXPECT_FALSE(dock->isVisible());
  EXPECT_FALSE(dock->isAncestorOf(whatif));
  EXPECT_EQ(window_.findChildren<WhatIfView*>().size(), 1);
  QTest::keyClick(&window_, Qt::Key_0, Qt::ControlModifier);  // and back, beside what was shown before it
  EXPECT_TRUE(dock->isAncestorOf(whatif));
  EXPECT_EQ(window_.currentView(), 0);
  dock->close();
  EXPECT_EQ(window_.currentView(), 0);
}

TEST(LastSession, ReportsViewAndDocksComeBack) {
  TemporaryFolder folder;
  const Preferences preferences(QString::fromStdString((folder.path / "window.ini").string()));
  const QString report = QString::fromStdString(write_example(Example::tight, folder.path).string());
  {
    Session session;
    MainWindow window(session, preferences);
    EXPECT_FALSE(window.findChild<QAction*>("reopenSession")->isEnabled()) << "there is none yet";
    window.show();
    window.openFiles({report});
    window.showView(3);
    window.findChild<QAction*>("showMarks")->trigger();
    window.close();
  }
  Session session;
  MainWindow window(session, preferences);
  window.show();
  EXPECT_FALSE(session.report());
  window.findChild<QAction*>("reopenSession")->trigger();
  ASSERT_TRUE(session.report());
  EXPECT_EQ(session.paths(), QStringList(report));
  EXPECT_EQ(window.currentView(), 3);
  EXPECT_TRUE(window.findChild<QDockWidget*>("marksDock")->isVisible());
}

TEST_F(Window, EveryActionHasANameAndWorks) {
  open(Example::tight);
  for (const QAction* action : window_.actions()) EXPECT_FALSE(action->objectName().isEmpty());
  window_.findChild<QAction*>("bytes")->trigger();
  EXPECT_EQ(session_.units(), Units::bytes);
  window_.findChild<QAction*>("reload")->trigger();
  session_.select({.ipu_class = 1});
  QTest::keyClick(&window_, Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(session_.selection(), Selection{});
  QTest::keyClick(&window_, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(session_.selection().ipu_class, 1);
  QTest::keyClick(&window_, Qt::Key_Escape);
  EXPECT_EQ(session_.selection(), Selection{});
  window_.findChild<QAction*>("keys")->trigger();
  EXPECT_NE(window_.findChild<QDialog*>("keySheet"), nullptr);
}

TEST_F(Window, TheDarkThemeRepaintsEveryView) {
  open(Example::tight);
  for (int view = 0; view < static_cast<int>(all_views().size()); ++view) {
    window_.showView(view);
    QCoreApplication::processEvents();
    window_.findChild<QAction*>("dark")->setChecked(true);
    QCoreApplication::processEvents();
    // The margin between panels and the head of the first panel: both dark.
    const QImage dark = window_.grab().toImage();
    EXPECT_LT(dark.pixelColor(162, 400).lightness(), 80) << view;
    EXPECT_LT(dark.pixelColor(700, 880).lightness(), 80) << view;
    window_.findChild<QAction*>("dark")->setChecked(false);
    QCoreApplication::processEvents();
    EXPECT_GT(window_.grab().toImage().pixelColor(162, 400).lightness(), 200) << view;
  }
}

TEST_F(Window, BadFilesAreMessagesAndTheReportStays) {
  open(Example::tight);
  const auto path = folder_.path / "bad.ssr";
  const auto open_bytes = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_FALSE(session_.open(QString::fromStdString(path.string())));
  };
  open_bytes("{}");
  EXPECT_THAT(message(), HasSubstr("not a Superstep report"));
  open_bytes("SSREPORT and then nothing");
  EXPECT_THAT(message(), HasSubstr("truncated"));
  open_bytes("");
  EXPECT_THAT(message(), HasSubstr("an empty file"));
  EXPECT_TRUE(window_.findChild<QWidget*>("messageBar")->isVisible());
  EXPECT_EQ(session_.report()->index().ipu_classes_size(), 4);
  EXPECT_FALSE(window_.grab().isNull());
  open(Example::deeper);
  EXPECT_EQ(message(), "") << "a report that opens takes the message away";
}

TEST_F(Window, AClickOnTheSelectionCardClearsTheEntry) {
  open(Example::tight);
  session_.select({.ipu_class = 2, .tile = 40});
  auto* card = window_.findChild<SelectionCard*>();
  ASSERT_EQ(card->entries().size(), 2u);
  QTest::mouseClick(card, Qt::LeftButton, {}, QPoint(30, 34 + 20 + 10));
  EXPECT_EQ(session_.selection().tile, -1);
  EXPECT_EQ(session_.selection().ipu_class, 2);
}

// Labels that wrap have the height they need; heads of tables have their width.
TEST_F(Window, NoTextIsCutInTheUsualSizes) {
  for (const Example which : {Example::tight, Example::does_not_fit, Example::infeasible}) {
    open(which);
    for (const QSize size : {QSize(1280, 720), QSize(1440, 900)}) {
      window_.resize(size);
      for (int view = 0; view < static_cast<int>(all_views().size()); ++view) {
        window_.showView(view);
        QCoreApplication::processEvents();
        for (const QLabel* label : window_.findChildren<QLabel*>()) {
          if (!label->isVisible() || !label->wordWrap()) continue;
          EXPECT_LE(label->heightForWidth(label->width()), label->height()) << label->text().toStdString();
        }
        for (const DataTable* table : window_.findChildren<DataTable*>()) {
          for (int column = 0; table->isVisible() && column < table->model()->columnCount(); ++column) {
            if (table->isColumnHidden(column)) continue;
            const QString head = table->model()->headerData(column, Qt::Horizontal).toString();
            const int needed = table->horizontalHeader()->sectionSizeHint(column);
            if (!head.isEmpty()) {
              EXPECT_GE(table->columnWidth(column), needed) << head.toStdString();
            }
          }
        }
      }
    }
  }
}

TEST_F(Window, SeveralReportsAreChosenFromTheList) {
  open(Example::tight);
  open(Example::deeper);
  session_.setCurrent(0);
  EXPECT_TRUE(window_.windowTitle().startsWith("bert-large-tight.ssr"));
}

}  // namespace
}  // namespace superstep::gui
