// SPDX-License-Identifier: Apache-2.0
// Real windows on a real screen (Xvfb): each view by its key, seen as the screen shows it.
#include <gtest/gtest.h>

#include <QApplication>
#include <QDir>
#include <QPushButton>
#include <QScreen>
#include <QTest>

#include "gui/main_window.h"
#include "gui/session/view.h"
#include "tests/gui/walk/reports.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

QImage on_screen(const QWidget& window) {
  return window.screen()->grabWindow(window.winId()).toImage().convertToFormat(QImage::Format_RGB32);
}

// The screen shows what the window paints, but for a rim of a caret or a focus that blinks.
bool shows(const QImage& seen, const QImage& painted) {
  if (seen.size() != painted.size()) return false;
  int equal = 0, all = 0;
  for (int y = 0; y < seen.height(); y += 3) {
    for (int x = 0; x < seen.width(); x += 3, ++all) equal += seen.pixel(x, y) == painted.pixel(x, y);
  }
  return equal >= all * 0.995;
}

class Screen : public ::testing::TestWithParam<std::string> {};

TEST_P(Screen, EachViewComesByItsKeyAndIsSeen) {
  ASSERT_NE(QGuiApplication::platformName(), "offscreen");
  Session session;
  MainWindow window(session);
  for (const QString& path : walk_reports(GetParam())) ASSERT_TRUE(session.open(path)) << path.toStdString();
  window.resize(1280, 720);
  window.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&window));
  window.activateWindow();  // there is no window manager
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
  for (int view = static_cast<int>(all_views().size()) - 1; view >= 0; --view) {
    const ViewDef& def = all_views()[static_cast<std::size_t>(view)];
    QTest::keyClick(&window, static_cast<Qt::Key>(def.shortcut));
    EXPECT_EQ(window.currentView(), view) << def.id;
    QImage seen;
    const auto whole = [&] {
      seen = on_screen(window);
      return shows(seen, window.grab().toImage().convertToFormat(QImage::Format_RGB32));
    };
    EXPECT_TRUE(QTest::qWaitFor(whole, 5000)) << def.id << " is not on the screen";
    const QString folder = QStringLiteral(WALK_PICTURES "/screen");
    QDir().mkpath(folder);
    seen.save(folder + '/' + def.id + '-' + QString::fromStdString(GetParam()) + ".png", "PNG", 90);
  }
}

// As a window manager would end it.
TEST(ScreenEmpty, WithoutAReportItSaysWhatToDoAndCloses) {
  const TemporaryFolder folder;
  Preferences preferences(QString::fromStdString((folder.path / "window.ini").string()));
  for (const QString& path : walk_reports("bert")) preferences.addRecent(path);
  Session session;
  MainWindow window(session, preferences);
  window.resize(1280, 720);
  window.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&window));
  EXPECT_TRUE(window.findChild<QPushButton*>("emptyOpen")->isVisible());
  EXPECT_TRUE(window.findChild<QPushButton*>("recentReport")->isVisible());
  QDir().mkpath(WALK_PICTURES "/screen");
  on_screen(window).save(WALK_PICTURES "/screen/start.png", "PNG", 90);
  window.close();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window.isVisible(); }));
}

INSTANTIATE_TEST_SUITE_P(Reports, Screen, ::testing::Values("bert", "gpt3", "resnet", "infeasible", "empty"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace superstep::gui
