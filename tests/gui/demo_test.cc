// SPDX-License-Identifier: Apache-2.0
// The demo of GPT-3, whose first plan is searched: a click on the start page until both plans stand side by side.
#include <gtest/gtest.h>

#include <QApplication>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "gui/main_window.h"
#include "gui/session/view.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

constexpr int kLongEnough = 240'000;  // ms, of a search in a build for tests

TEST(Demo, Gpt3IsSearchedAndShownSideBySide) {
  TemporaryFolder folder;
  Session session;
  MainWindow window(session, Preferences(), QString::fromStdString(folder.path.string()));
  window.show();
  window.demoMaker().setProgram(SUPERSTEP, {});
  QSignalSpy made(&window.demoMaker(), &DemoMaker::made);
  QTest::mouseClick(window.findChild<QPushButton*>("demo_gpt3"), Qt::LeftButton);
  ASSERT_TRUE(made.wait(kLongEnough)) << window.message().toStdString();
  ASSERT_EQ(session.paths().size(), 2);
  EXPECT_STREQ(all_views()[static_cast<std::size_t>(window.currentView())].id, "compare");
  EXPECT_TRUE(session.reportAt(0)->index().plan().label().starts_with("t=8 p=8 r=4"))
      << session.reportAt(0)->index().plan().label();
  EXPECT_TRUE(session.reportAt(1)->index().plan().label().starts_with("t=8x8"))
      << session.reportAt(1)->index().plan().label();
}

}  // namespace
}  // namespace superstep::gui
