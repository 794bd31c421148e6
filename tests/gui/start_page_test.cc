// SPDX-License-Identifier: Apache-2.0
// Reports that were open before, demos, and what the window keeps over restarts.
#include "gui/widgets/start_page.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <filesystem>
#include <fstream>

#include "gui/base/theme.h"
#include "gui/main_window.h"
#include "gui/session/view.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

constexpr int kLongEnough = 120'000;  // ms, of a search in a build for tests

class Start : public ::testing::Test {
 protected:
  void TearDown() override { apply_theme(*qApp, light_theme()); }
  QString path(const char* name) const { return QString::fromStdString((folder_.path / name).string()); }
  Preferences preferences() const { return Preferences(path("window.ini")); }

  TemporaryFolder folder_;
  Session session_;
};

TEST_F(Start, RecentReportsAreThereAfterARestart) {
  const QString tight = QString::fromStdString(write_example(Example::tight, folder_.path).string());
  {
    MainWindow window(session_, preferences());
    EXPECT_FALSE(window.findChild<QMenu*>("recentMenu")->isEnabled());
    window.openFiles({tight});
    EXPECT_EQ(window.findChild<QMenu*>("recentMenu")->actions()[0]->text(), tight);
  }
  Session fresh;
  MainWindow window(fresh, preferences());
  window.show();
  auto* recent = window.findChild<QPushButton*>("recentReport");
  ASSERT_NE(recent, nullptr);
  EXPECT_EQ(recent->toolTip(), tight);
  QTest::mouseClick(recent, Qt::LeftButton);
  QCoreApplication::processEvents();
  EXPECT_EQ(fresh.paths(), QStringList{tight});
  // What is gone is not offered.
  std::filesystem::remove(tight.toStdString());
  EXPECT_TRUE(preferences().recent().isEmpty());
}

TEST_F(Start, TheLast64AreKeptLastFirst) {
  Preferences kept = preferences();
  for (int i = 0; i < 70; ++i) {
    std::ofstream(folder_.path / std::to_string(i)).put('x');
    kept.addRecent(path(std::to_string(i).c_str()));
  }
  kept.addRecent(path("5"));
  const QStringList recent = kept.recent();
  ASSERT_EQ(recent.size(), Preferences::kMostRecent);
  EXPECT_EQ(recent[0], path("5"));
  EXPECT_EQ(recent[1], path("69"));
  EXPECT_EQ(recent.count(path("5")), 1);
  kept.clearRecent();
  EXPECT_TRUE(kept.recent().isEmpty());
}

TEST_F(Start, TheMenuHasEightAtOnceAndTheOthersBelowMore) {
  Preferences kept = preferences();
  for (int i = 0; i < 11; ++i) {
    std::ofstream(folder_.path / std::to_string(i)).put('x');
    kept.addRecent(path(std::to_string(i).c_str()));
  }
  const MainWindow window(session_, preferences());
  const auto* more = window.findChild<QMenu*>("moreRecentMenu");
  ASSERT_NE(more, nullptr);
  EXPECT_EQ(more->actions().size(), 3);
  EXPECT_EQ(more->actions().back()->text(), path("0"));
  EXPECT_EQ(window.findChildren<QPushButton*>("recentReport").size(), 8);
}

TEST_F(Start, UnitsAndThemeAreKept) {
  {
    MainWindow window(session_, preferences());
    window.findChild<QAction*>("bytes")->trigger();
    window.findChild<QAction*>("dark")->trigger();
  }
  EXPECT_EQ(preferences().theme().toStdString(), "dark");
  Session fresh;
  MainWindow window(fresh, preferences());
  EXPECT_EQ(fresh.units(), Units::bytes);
  EXPECT_TRUE(window.findChild<QAction*>("bytes")->isChecked());
  // Without a file nothing is.
  EXPECT_EQ(Preferences().units(), Units::kib);
}

TEST_F(Start, ADemoIsMadeAndShownSideBySide) {
  MainWindow window(session_, preferences(), path("demo"));
  window.show();
  window.demoMaker().setProgram(SUPERSTEP, {});
  QSignalSpy made(&window.demoMaker(), &DemoMaker::made);
  auto* button = window.findChild<QPushButton*>("demo_bert");
  QTest::mouseClick(button, Qt::LeftButton);
  QTest::mouseClick(button, Qt::LeftButton);  // once is enough
  ASSERT_TRUE(made.wait(kLongEnough));
  EXPECT_EQ(session_.paths(), (QStringList{path("demo/bert-large-p4.ssr"), path("demo/bert-large-p8.ssr")}));
  EXPECT_EQ(session_.current(), 0);
  EXPECT_STREQ(all_views()[static_cast<std::size_t>(window.currentView())].id, "compare");
  EXPECT_EQ(session_.reportAt(0)->index().plan().label(), "t=1 p=4 r=4 m=2 g=192");
  EXPECT_EQ(session_.reportAt(1)->index().plan().label(), "t=1 p=8 r=2 m=2 g=384");
}

// Each demo's jobs are there, and its view.
TEST_F(Start, EachDemoCanBeMade) {
  MainWindow window(session_);
  for (const Demo& demo : demos()) {
    EXPECT_NE(find_view(demo.view), nullptr) << demo.id;
    for (const Demo::Job& job : demo.jobs)
      EXPECT_TRUE(QFile::exists(QString(":/demo/%1.json").arg(job.name))) << job.name;
  }
}

TEST_F(Start, ADemoThatCannotBeMadeSaysWhy) {
  MainWindow window(session_, preferences(), path("demo"));
  QSignalSpy failed(&window.demoMaker(), &DemoMaker::failed);
  window.demoMaker().setProgram("/nowhere/superstep", {});
  window.findChild<QAction*>("openDemo_over")->trigger();
  ASSERT_TRUE(failed.count() == 1 || failed.wait(kLongEnough));
  EXPECT_THAT(window.message().toStdString(), HasSubstr("/nowhere/superstep cannot be started"));
  window.demoMaker().setProgram("/bin/sh", {"-c", "echo 'superstep: no such machine' >&2; exit 2", "sh"});
  window.findChild<QAction*>("openDemo_over")->trigger();
  ASSERT_TRUE(failed.count() == 2 || failed.wait(kLongEnough));
  EXPECT_THAT(window.message().toStdString(), HasSubstr("no such machine"));
}

}  // namespace
}  // namespace superstep::gui
