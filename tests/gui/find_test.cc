// SPDX-License-Identifier: Apache-2.0
// One search over all views.
#include "gui/session/find.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QLineEdit>
#include <QListWidget>
#include <QTest>
#include <map>

#include "gui/main_window.h"
#include "gui/session/view.h"
#include "gui/widgets/command_palette.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class Find : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::tight, folder_.path).string())));
  }
  std::vector<Found> of_kind(const QString& text, const QString& kind) {
    std::vector<Found> out;
    for (const Found& found : find_everywhere(session_, text)) {
      if (found.kind == kind) out.push_back(found);
    }
    return out;
  }

  TemporaryFolder folder_;
  Session session_;
};

TEST_F(Find, ANameIsFoundInEveryViewThatHasIt) {
  EXPECT_FALSE(of_kind("attention", "phase").empty());
  EXPECT_FALSE(of_kind("recompute", "term").empty());
  EXPECT_FALSE(of_kind("weights", "variable").empty());
  EXPECT_FALSE(of_kind("p=8", "plan").empty());
  EXPECT_FALSE(of_kind("samples/s", "message").empty());
}

TEST_F(Find, EveryHitHasAViewAndItsText) {
  for (const Found& found : find_everywhere(session_, "e")) {
    EXPECT_NE(find_view(found.view.toStdString()), nullptr) << found.view.toStdString();
    EXPECT_TRUE(found.name.contains('e', Qt::CaseInsensitive)) << found.name.toStdString();
  }
}

TEST_F(Find, ANumberFindsTheTile) {
  for (const char* text : {"17", "tile 17"}) {
    const auto tiles = of_kind(text, "tile");
    ASSERT_EQ(tiles.size(), 1u) << text;
    EXPECT_EQ(tiles[0].selection.tile, 17);
  }
  EXPECT_TRUE(of_kind("99999999", "tile").empty()) << "there is no such tile";
}

TEST_F(Find, APatternIsARegularExpression) {
  for (const Found& found : of_kind("^layer1[0-9]/", "phase")) EXPECT_TRUE(found.name.startsWith("layer1"));
}

TEST_F(Find, NothingFindsNothing) {
  EXPECT_TRUE(find_everywhere(session_, " ").empty());
  EXPECT_TRUE(find_everywhere(session_, "no such thing at all").empty());
  Session empty;
  EXPECT_TRUE(find_everywhere(empty, "layer").empty());
}

TEST_F(Find, ThereAreNoMoreThanAskedForAndOfEveryKindSome) {
  EXPECT_LE(find_everywhere(session_, "e", 7).size(), 7U);
  std::map<QString, int> kinds;
  for (const Found& found : find_everywhere(session_, "e", 50)) ++kinds[found.kind];
  EXPECT_GE(kinds.size(), 4U);
  for (const auto& [kind, count] : kinds) EXPECT_LE(count, 10) << kind.toStdString();
}

TEST_F(Find, APhaseOfAnotherIpuShowsThatIpu) {
  for (const Found& found : of_kind("layer", "phase")) {
    go_to(session_, found);
    EXPECT_EQ(session_.heatState().ipu_class, found.selection.ipu_class);
    EXPECT_EQ(session_.selection().phase, found.selection.phase);
  }
}

class FindWindow : public Find {
 protected:
  void SetUp() override {
    Find::SetUp();
    window_ = std::make_unique<MainWindow>(session_);
    window_->resize(1440, 900);
    window_->show();
    QCoreApplication::processEvents();
  }
  void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) const {
    QTest::keyClick(window_.get(), key, modifiers);
    QCoreApplication::processEvents();
  }
  CommandPalette* palette() const { return window_->findChild<CommandPalette*>("commandPalette"); }

  std::unique_ptr<MainWindow> window_;
};

TEST_F(FindWindow, EnterGoesToTheHitAndF3ToTheNext) {
  press(Qt::Key_F, Qt::ControlModifier);
  ASSERT_NE(palette(), nullptr);
  QTest::keyClicks(palette()->field(), "ffn");
  const auto hits = find_everywhere(session_, "ffn");
  ASSERT_GT(hits.size(), 2u);
  ASSERT_EQ(palette()->list()->count(), static_cast<int>(hits.size()));
  QTest::keyClick(palette()->field(), Qt::Key_Return);
  const auto shows = [&](const Found& found) {
    const auto& view = all_views()[static_cast<std::size_t>(window_->currentView())];
    return found.view == view.id && session_.selection() == found.selection;
  };
  EXPECT_TRUE(shows(hits[0]));
  EXPECT_EQ(window_->findChild<QAction*>("findNext")->shortcut(), QKeySequence(Qt::Key_F3));
  window_->findChild<QAction*>("findNext")->trigger();
  EXPECT_EQ(session_.selection().op, hits[1].selection.op);
  EXPECT_EQ(session_.selection().phase, hits[1].selection.phase);
  window_->findChild<QAction*>("findPrevious")->trigger();
  EXPECT_TRUE(shows(hits[0]));
}

TEST_F(FindWindow, SlashFindsWhereTheViewHasNoFieldOfItsOwn) {
  window_->showView(0);
  press(Qt::Key_Slash);
  EXPECT_NE(palette(), nullptr);
}

TEST_F(FindWindow, WhatIsNotThereIsSaid) {
  press(Qt::Key_F, Qt::ControlModifier);
  QTest::keyClicks(palette()->field(), "no such thing");
  EXPECT_EQ(palette()->list()->count(), 0);
  EXPECT_FALSE(palette()->grab().isNull());
}

}  // namespace
}  // namespace superstep::gui
