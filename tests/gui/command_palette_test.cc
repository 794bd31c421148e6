// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/command_palette.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QCoreApplication>
#include <QFileInfo>
#include <QLineEdit>
#include <QListWidget>
#include <QMenuBar>
#include <QTest>
#include <set>

#include "gui/base/theme.h"
#include "gui/main_window.h"
#include "gui/session/view.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class Palette : public ::testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1440, 900);
    window_.show();
    path_ = QString::fromStdString(write_example(Example::tight, folder_.path).string());
    ASSERT_TRUE(session_.open(path_));
    QCoreApplication::processEvents();
  }
  CommandPalette* opened(Qt::KeyboardModifiers modifiers = Qt::ControlModifier, Qt::Key key = Qt::Key_K) {
    QTest::keyClick(&window_, key, modifiers);
    QCoreApplication::processEvents();
    return window_.findChild<CommandPalette*>();
  }

  TemporaryFolder folder_;
  Session session_;
  MainWindow window_{session_};
  QString path_;
};

TEST_F(Palette, WordsFindAViewAndEnterGoesThere) {
  CommandPalette* palette = opened();
  ASSERT_TRUE(palette);
  QTest::keyClicks(palette->field(), "TREE prog");
  ASSERT_EQ(palette->list()->count(), 1);
  QTest::keyClick(palette->field(), Qt::Key_Return);
  EXPECT_EQ(std::string(all_views()[static_cast<std::size_t>(window_.currentView())].id), "program");
}

TEST_F(Palette, ListsEveryActionOfTheWindowOnce) {
  const std::vector<Command> commands = commands_of(*window_.menuBar(), window_.actions());
  std::set<const QAction*> listed;
  for (const Command& command : commands)
    EXPECT_TRUE(listed.insert(command.action).second) << command.name.toStdString();
  for (const QAction* action : window_.actions()) EXPECT_TRUE(listed.contains(action)) << action->text().toStdString();
  for (const ViewDef& view : all_views()) EXPECT_TRUE(listed.contains(window_.findChild<QAction*>(view.id))) << view.id;
}

TEST_F(Palette, HasTheOpenReportsAndTheDemos) {
  ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::infeasible, folder_.path).string())));
  EXPECT_EQ(session_.current(), 1);
  CommandPalette* palette = opened(Qt::ControlModifier | Qt::ShiftModifier, Qt::Key_P);
  ASSERT_TRUE(palette);
  QTest::keyClicks(palette->field(), "demo bert");
  EXPECT_GE(palette->list()->count(), 2);
  palette->field()->setText("reports " + QFileInfo(path_).completeBaseName());
  ASSERT_GE(palette->list()->count(), 1);
  QTest::keyClick(palette->field(), Qt::Key_Return);
  EXPECT_EQ(session_.current(), 0);
}

TEST_F(Palette, ArrowsChooseAndEscLeaves) {
  CommandPalette* palette = opened();
  ASSERT_TRUE(palette);
  QTest::keyClick(palette->field(), Qt::Key_Down);
  EXPECT_EQ(palette->list()->currentRow(), 1);
  QTest::keyClicks(palette->field(), "no such command");
  EXPECT_EQ(palette->list()->count(), 0);
  QTest::keyClick(palette->field(), Qt::Key_Return);
  EXPECT_TRUE(palette->isVisible());
  QTest::keyClick(palette->field(), Qt::Key_Escape);
  EXPECT_FALSE(palette->isVisible());
}

}  // namespace
}  // namespace superstep::gui
