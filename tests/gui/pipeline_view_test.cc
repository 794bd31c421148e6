// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QCheckBox>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "gui/models/table_model.h"
#include "gui/session/view.h"
#include "gui/widgets/lost_time_bar.h"
#include "gui/widgets/pipeline_chart.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class PipelineViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::tight, folder_.path).string())));
    view_.reset(find_view("pipeline")->make(session_, nullptr));
    view_->resize(1292, 809);
    view_->show();
    QCoreApplication::processEvents();
    chart_ = view_->findChild<PipelineChart*>();
    timeline_ = session_.timeline();
  }
  // The middle of what lane `ipu` does at `time`.
  QPoint at(int ipu, std::int64_t time) const {
    const auto* row = chart_->layoutNow().row_of(timeline_->lane_of(ipu));
    return QPointF(chart_->axisNow().x_of(time), row->rect.center().y()).toPoint();
  }
  std::int64_t cycle() const { return timeline_->sections[0].cycle; }

  TemporaryFolder folder_;
  Session session_;
  std::unique_ptr<View> view_;
  PipelineChart* chart_ = nullptr;
  std::shared_ptr<const Timeline> timeline_;
};

TEST_F(PipelineViewTest, TheTableOfWorkHasEveryCycleOfTheStep) {
  const QAbstractItemModel* work = view_->tables()[0].model;
  const int total = work->rowCount() - 1;
  EXPECT_EQ(work->index(total, 3).data(kExactRole).toLongLong(), 4 * timeline_->cycles);
  qint64 sum = 0;
  for (int row = 0; row < total; ++row) sum += work->index(row, 3).data(kExactRole).toLongLong();
  EXPECT_EQ(sum, 4 * timeline_->cycles);
  for (int ipu = 0; ipu < 4; ++ipu) {
    EXPECT_EQ(work->index(total, 4 + ipu).data(kExactRole).toLongLong(), timeline_->cycles);
  }
}

TEST_F(PipelineViewTest, TheBarChargesWhatTheTableSays) {
  const QAbstractItemModel* work = view_->tables()[0].model;
  const auto* bar = view_->findChild<LostTimeBar*>();
  ASSERT_FALSE(bar->causes().empty());
  for (const LostTime& lost : bar->causes()) {
    for (int row = 0; row < work->rowCount(); ++row) {
      if (work->index(row, 0).data(kSourceRole).toInt() != static_cast<int>(lost.work)) continue;
      EXPECT_EQ(work->index(row, 3).data(kExactRole).toLongLong(), lost.cycles);
      EXPECT_TRUE(bar->textOf(lost).endsWith(work->index(row, 2).data().toString() + " %"));
    }
  }
}

TEST_F(PipelineViewTest, EveryPaintedNumberIsInTheTables) {
  chart_->grab();
  EXPECT_GT(chart_->paintedTexts().size(), 20u);
  const Section& ramp = timeline_->sections[0];
  const Section& full = timeline_->sections[1];
  for (const QString& text : chart_->paintedTexts()) {
    bool numeric = false;
    const qint64 number = QString(text).remove(QChar(0x202F)).toLongLong(&numeric);
    if (numeric) {
      EXPECT_LE(number, ramp.count + full.count + ramp.count) << "a cycle or a micro-batch";
    } else {
      EXPECT_TRUE(text.contains("equal cycles") || text.startsWith("weight update") || text.startsWith("before"))
          << text.toStdString();
    }
  }
}

TEST_F(PipelineViewTest, TheLegendHidesAndShowsWithTheKeyboard) {
  const QImage before = chart_->grab().toImage();
  auto* box = view_->findChild<QCheckBox*>("legendbackward");
  ASSERT_TRUE(box);
  EXPECT_EQ(box->accessibleName(), "Show backward");
  QTest::keyClick(box, Qt::Key_Space);
  EXPECT_FALSE(box->isChecked());
  EXPECT_NE(chart_->grab().toImage(), before);
  QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(6, 9));
  EXPECT_EQ(chart_->grab().toImage(), before);
}

TEST_F(PipelineViewTest, AMicroBatchGoesThroughAllIpusAndBack) {
  const std::vector<PathBox> path = path_of(*timeline_, 7, 9 * cycle());
  ASSERT_EQ(path.size(), 8U) << "forward on four IPUs, backward on four";
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(path[i].lane, static_cast<int>(i));
    EXPECT_EQ(path[i].slice.work, Work::forward);
    EXPECT_EQ(path[7 - i].lane, static_cast<int>(i));
    EXPECT_EQ(path[7 - i].slice.work, Work::backward);
  }
  const std::vector<CopyArrow> copies = copies_along(*timeline_, path);
  ASSERT_EQ(copies.size(), 6U);
  EXPECT_EQ(copies[0].to_lane, 1);
  EXPECT_GE(copies[0].from, path[0].slice.to);
  EXPECT_LE(copies[0].to, path[1].slice.from);
  EXPECT_EQ(copies[0].to - copies[0].from, 515'371);
  EXPECT_EQ(copies[5].from_lane, 1);
  EXPECT_EQ(copies[5].work, Work::backward);
  EXPECT_TRUE(path_of(*timeline_, 999, 9 * cycle()).empty());
  EXPECT_TRUE(path_of(*timeline_, -1, 9 * cycle()).empty());
}

TEST_F(PipelineViewTest, ArrowsAreThoseOfTheTableAndCanBeLeftOut) {
  chart_->grab();
  EXPECT_TRUE(chart_->paintedCopies().empty()) << "too small to be told apart";
  const Slice box = timeline_->lanes[2].at(9 * cycle() + 1000, Lane::Depth::boxes);
  Selection chosen;
  chosen.ipu_class = 2;
  chosen.micro_batch = box.micro_batch;
  chosen.time = box.from;
  session_.select(chosen);
  chart_->grab();
  EXPECT_FALSE(chart_->paintedCopies().empty()) << "of the selected micro-batch all the same";
  const QAbstractItemModel& path = *view_->tables()[4].model;
  EXPECT_EQ(path.rowCount(), 14);
  TimeState state = session_.timeState();
  state.fold = false;
  state.pipeline = {static_cast<double>(9 * cycle()), static_cast<double>(11 * cycle())};
  session_.setTimeState(state);
  chart_->grab();
  const QAbstractItemModel& copies = *view_->tables()[3].model;
  ASSERT_GT(copies.rowCount(), 0);
  EXPECT_GE(chart_->paintedCopies().size(), static_cast<std::size_t>(copies.rowCount()));
  for (int row = 0; row < copies.rowCount(); ++row) {
    const auto same = [&](const CopyArrow& c) {
      return c.micro_batch == copies.index(row, 3).data(kExactRole).toLongLong() &&
             c.to - c.from == copies.index(row, 6).data(kExactRole).toLongLong() &&
             lane_name(*timeline_, timeline_->lanes[std::size_t(c.to_lane)]) == copies.index(row, 1).data().toString();
    };
    EXPECT_TRUE(std::any_of(chart_->paintedCopies().begin(), chart_->paintedCopies().end(), same)) << row;
  }
  view_->findChild<QCheckBox*>("copies")->click();
  EXPECT_FALSE(session_.timeState().copies);
  chart_->grab();
  EXPECT_TRUE(chart_->paintedCopies().empty());
  const QImage with = chart_->grab().toImage();
  view_->findChild<QCheckBox*>("critical")->click();
  EXPECT_NE(chart_->grab().toImage(), with);
}

TEST_F(PipelineViewTest, AClickSelectsMicroBatchAndIpu) {
  const Slice box = timeline_->lanes[2].at(9 * cycle() + 1000, Lane::Depth::boxes);
  ASSERT_EQ(box.micro_batch, 7);
  QTest::mouseClick(chart_, Qt::LeftButton, {}, at(2, (box.from + box.to) / 2));
  EXPECT_EQ(session_.selection().ipu_class, 2);
  EXPECT_EQ(session_.selection().micro_batch, 7);
  EXPECT_EQ(session_.selection().time, box.from);
  const QAbstractItemModel* boxes = view_->tables()[2].model;
  bool found = false;
  for (int row = 0; row < boxes->rowCount(); ++row) {
    found = found || (boxes->index(row, 0).data().toString() == "IPU 2" &&
                      boxes->index(row, 2).data(kExactRole).toLongLong() == 7 &&
                      boxes->index(row, 5).data(kExactRole).toLongLong() == box.to - box.from);
  }
  EXPECT_TRUE(found);
}

TEST_F(PipelineViewTest, TheTipSaysWhatABoxIsMadeOf) {
  const auto hit = chart_->sliceAt(at(1, 8 * cycle() + cycle() / 2));
  ASSERT_TRUE(hit.has_value());
  const WorkCycles sums = timeline_->lanes[1].sums(hit->slice.from, hit->slice.to);
  const QString tip = chart_->tipText(*hit);
  EXPECT_TRUE(tip.contains(grouped(hit->slice.to - hit->slice.from) + " cycles")) << tip.toStdString();
  if (sums[Work::recompute] > 0) {
    EXPECT_TRUE(tip.contains("of which recompute\t"));
    EXPECT_TRUE(tip.contains(grouped(sums[Work::recompute])));
  }
}

TEST_F(PipelineViewTest, WaitingIsNamedByItsCause) {
  const auto hit = chart_->sliceAt(at(3, 1000));
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->slice.work, Work::ramp_up);
  EXPECT_TRUE(chart_->tipText(*hit).contains("waits: ramp-up"));
}

TEST_F(PipelineViewTest, KeysZoomPanAndShowEverything) {
  QTest::keyClick(chart_, Qt::Key_W);
  const TimeWindow zoomed = session_.timeState().pipeline;
  EXPECT_FALSE(zoomed.whole());
  QTest::keyClick(chart_, Qt::Key_D);
  EXPECT_GT(session_.timeState().pipeline.from, zoomed.from);
  QTest::keyClick(chart_, Qt::Key_A);
  EXPECT_NEAR(session_.timeState().pipeline.from, zoomed.from, 1);
  QTest::keyClick(chart_, Qt::Key_F);
  EXPECT_TRUE(session_.timeState().pipeline.whole());
  QTest::keyClick(chart_, Qt::Key_BracketRight);
  EXPECT_NEAR(session_.timeState().pipeline.to, static_cast<double>(timeline_->sections[0].to), 1);
}

TEST_F(PipelineViewTest, ControlAndWheelZoomAtTheCursor) {
  const QPointF at(400, 150);
  const double before = chart_->axisNow().position_at(at.x());
  QWheelEvent wheel(at, chart_->mapToGlobal(at), {}, {0, 120}, Qt::NoButton, Qt::ControlModifier, Qt::NoScrollPhase,
                    false);
  QCoreApplication::sendEvent(chart_, &wheel);
  EXPECT_FALSE(session_.timeState().pipeline.whole());
  EXPECT_NEAR(chart_->axisNow().position_at(at.x()), before, 10);
}

TEST_F(PipelineViewTest, FullStopAndCommaGoFromBoxToBox) {
  session_.select({.ipu_class = 1});
  QTest::keyClick(chart_, Qt::Key_Period);
  EXPECT_EQ(session_.selection().micro_batch, 0);
  const std::int64_t first = session_.selection().time;
  QTest::keyClick(chart_, Qt::Key_Period);
  EXPECT_GT(session_.selection().time, first);
  QTest::keyClick(chart_, Qt::Key_Comma);
  EXPECT_EQ(session_.selection().time, first);
}

TEST_F(PipelineViewTest, FoldOffDrawsTrueScale) {
  EXPECT_EQ(chart_->axisNow().pieces.size(), 3u);
  auto* fold = view_->findChild<QCheckBox*>("fold");
  QTest::mouseClick(fold, Qt::LeftButton, {}, QPoint(6, fold->height() / 2));
  EXPECT_EQ(chart_->axisNow().pieces.size(), 1u);
  EXPECT_FALSE(chart_->grab().isNull());
}

TEST_F(PipelineViewTest, CyclesInsteadOfMilliseconds) {
  QTest::mouseClick(view_->findChild<QToolButton*>("timeUnitcycles"), Qt::LeftButton);
  EXPECT_TRUE(session_.timeState().cycles);
  EXPECT_TRUE(view_->unitsText().contains("cycles"));
  QTest::mouseClick(view_->findChild<QToolButton*>("timeUnitms"), Qt::LeftButton);
  EXPECT_FALSE(session_.timeState().cycles);
}

}  // namespace
}  // namespace superstep::gui
