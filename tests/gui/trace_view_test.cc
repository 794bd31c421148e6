// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QTest>
#include <QToolButton>

#include "gui/models/table_model.h"
#include "gui/models/trace_tables.h"
#include "gui/session/view.h"
#include "gui/widgets/pipeline_chart.h"
#include "gui/widgets/proportion_bars.h"
#include "gui/widgets/trace_chart.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class TraceViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::tight, folder_.path).string())));
    view_.reset(find_view("trace")->make(session_, nullptr));
    view_->resize(1292, 809);
    view_->show();
    QCoreApplication::processEvents();
    chart_ = view_->findChild<TraceChart*>();
    trace_ = session_.trace();
  }
  TraceRow row(TraceRow::Kind kind) const {
    for (const TraceRow& r : chart_->rowsNow()) {
      if (r.kind == kind) return r;
    }
    return {};
  }
  QPoint at(const TraceRow& r, std::int64_t time) const {
    return QPointF(chart_->axisNow().x_of(time), r.rect.center().y()).toPoint();
  }

  TemporaryFolder folder_;
  Session session_;
  std::unique_ptr<View> view_;
  TraceChart* chart_ = nullptr;
  std::shared_ptr<const Timeline> trace_;
};

TEST_F(TraceViewTest, TheStepsOfACallSumToItsCycles) {
  const auto timeline = session_.timeline();
  for (std::size_t i = 0; i < trace_->lanes.size(); ++i) {
    const WorkCycles by_step = trace_->lanes[i].sums(0, trace_->cycles);
    const WorkCycles by_work = timeline->lanes[i].sums(0, trace_->cycles);
    EXPECT_EQ(by_step.total(), trace_->cycles);
    EXPECT_EQ(by_step.waiting(), by_work.waiting());
    EXPECT_EQ(by_step[Work::compute] + by_step[Work::exchange] + by_step[Work::sync],
              by_work[Work::forward] + by_work[Work::recompute] + by_work[Work::backward] + by_work[Work::update]);
  }
}

TEST_F(TraceViewTest, StepsOfAStretchSumToItsSums) {
  const Lane& lane = trace_->lanes[1];
  const std::int64_t from = trace_->sections[1].from + 12345, to = from + 7'654'321;
  std::int64_t cycles = 0, last = -1;
  lane.visit(from, to, 1, Lane::Depth::steps, [&](const Slice& s) {
    EXPECT_TRUE(last < 0 || s.from == last);
    last = s.to;
    cycles += std::min(to, s.to) - std::max(from, s.from);
  });
  EXPECT_EQ(cycles, to - from);
  EXPECT_EQ(lane.sums(from, to).total(), to - from);
}

TEST_F(TraceViewTest, TheSummaryIsTheSumsOfTheLanes) {
  const QAbstractItemModel* summary = view_->tables()[1].model;
  QAbstractItemModelTester tester(const_cast<QAbstractItemModel*>(summary),
                                  QAbstractItemModelTester::FailureReportingMode::Fatal);
  const int parts = static_cast<int>(proportions().size());
  for (int ipu = 0; ipu < 4; ++ipu) {
    qint64 sum = 0;
    for (int part = 0; part < parts; ++part) {
      sum += summary->index(parts + 7 + part, 1 + ipu).data(kExactRole).toLongLong();
    }
    EXPECT_EQ(sum, trace_->cycles);
    EXPECT_EQ(summary->index(parts, 1 + ipu).data(kExactRole).toLongLong(), trace_->cycles);
    const double balance = summary->index(parts + 1, 1 + ipu).data(kExactRole).toDouble();
    EXPECT_GT(balance, 50);
    EXPECT_LT(balance, 100);
  }
  EXPECT_EQ(view_->findChild<ProportionBars*>()->bars(), 4);
}

TEST_F(TraceViewTest, TileUseIsTheMeanOverTheSlowest) {
  HeatData heat;
  heat.tiles = 4;
  heat.phases = {{"a", "", 0, 100, 10, 0, 2}};
  heat.runs = {{0, 2, 0, 80, 0}, {2, 2, 0, 40, 0}};  // mean 60 of 80
  const TileUse use = tile_use(heat, 0, 2000);
  EXPECT_DOUBLE_EQ(use.balance, 0.75);
  EXPECT_DOUBLE_EQ(use.parallel_efficiency, 60.0 * 10 / 2000);
}

TEST_F(TraceViewTest, TheTableListsTheStepsShown) {
  const QAbstractItemModel* steps = view_->tables()[0].model;
  ASSERT_GT(steps->rowCount(), 20);
  qint64 sum = 0;
  for (int r = 0; r < steps->rowCount(); ++r) {
    sum += steps->index(r, 5).data(kExactRole).toLongLong();
    const qint64 parts = steps->index(r, 6).data(kExactRole).toLongLong() +
                         steps->index(r, 7).data(kExactRole).toLongLong() +
                         steps->index(r, 8).data(kExactRole).toLongLong();
    EXPECT_LE(parts, steps->index(r, 5).data(kExactRole).toLongLong());
  }
  EXPECT_GE(sum, trace_->sections[1].cycle);
}

TEST_F(TraceViewTest, EachModeShowsRowsForEachIpu) {
  for (const char* mode : {"Flame", "Flat", "BSP"}) {
    QTest::mouseClick(view_->findChild<QToolButton*>(QString("traceMode") + mode), Qt::LeftButton);
    const auto rows = chart_->rowsNow();
    EXPECT_GE(rows.size(), 4u) << mode;
    for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_GE(rows[i].rect.top(), rows[i - 1].rect.bottom());
    EXPECT_FALSE(chart_->grab().isNull());
    EXPECT_GT(chart_->slicesPainted(), 0);
  }
}

TEST_F(TraceViewTest, AClickOnAnOpSelectsIt) {
  const Section& full = trace_->sections[1];
  const TraceRow ops = row(TraceRow::Kind::op);
  session_.setTimeState([&] {
    TimeState state = session_.timeState();
    state.trace = {static_cast<double>(full.from), static_cast<double>(full.from + 400'000)};
    return state;
  }());
  QTest::mouseClick(chart_, Qt::LeftButton, {}, at(ops, full.from + 100'000));
  const Selection selection = session_.selection();
  EXPECT_EQ(selection.ipu_class, 0);
  EXPECT_FALSE(selection.op.isEmpty());
  EXPECT_LE(selection.time, full.from + 100'000);
  const auto hit = chart_->sliceAt(at(ops, full.from + 100'000));
  ASSERT_TRUE(hit.has_value());
  EXPECT_TRUE(chart_->tipText(*hit).startsWith(selection.op));
  EXPECT_TRUE(chart_->tipText(*hit).contains(grouped(hit->slice.to - hit->slice.from) + " cycles"));
}

TEST_F(TraceViewTest, FullStopAndCommaGoFromStepToStep) {
  QTest::keyClick(chart_, Qt::Key_Period);
  const std::int64_t first = session_.selection().time;
  QTest::keyClick(chart_, Qt::Key_Period);
  EXPECT_GT(session_.selection().time, first);
  QTest::keyClick(chart_, Qt::Key_Comma);
  EXPECT_EQ(session_.selection().time, first);
}

TEST_F(TraceViewTest, BracketsGoFromCycleToCycle) {
  const double before = session_.timeState().trace.from;
  QTest::keyClick(chart_, Qt::Key_BracketRight);
  EXPECT_NEAR(session_.timeState().trace.from, before + static_cast<double>(trace_->sections[1].cycle), 1);
  QTest::keyClick(chart_, Qt::Key_BracketLeft);
  EXPECT_NEAR(session_.timeState().trace.from, before, 1);
  QTest::keyClick(chart_, Qt::Key_F);
  EXPECT_TRUE(session_.timeState().trace.whole());
  EXPECT_FALSE(chart_->grab().isNull());
}

TEST_F(TraceViewTest, ItFollowsTheSelectionOfThePipeline) {
  const std::int64_t time = trace_->sections[0].cycle * 50 + 1000;
  session_.select({.ipu_class = 2, .time = time});
  EXPECT_LE(session_.timeState().trace.from, static_cast<double>(time));
  EXPECT_GT(session_.timeState().trace.to, static_cast<double>(time));
  EXPECT_EQ(view_->findChild<QComboBox*>("traceIpu")->currentIndex(), 2);
}

TEST_F(TraceViewTest, NoMoreSlicesThanPixelsArePainted) {
  for (int i = 0; i < 12; ++i) {
    QTest::keyClick(chart_, Qt::Key_S);
    chart_->grab();
    EXPECT_LT(chart_->slicesPainted(), 8 * chart_->width());
  }
}

TEST_F(TraceViewTest, ThePipelineAboveHasTheAxisOfTheTrace) {
  auto* pipeline = view_->findChild<PipelineChart*>("tracePipeline");
  ASSERT_NE(pipeline, nullptr);
  EXPECT_TRUE(pipeline->isVisible());
  const auto same = [&] {
    const TimeAxis above = pipeline->axisNow(), below = chart_->axisNow();
    return above.window == below.window && above.left == below.left && above.right == below.right;
  };
  EXPECT_TRUE(same());
  QTest::keyClick(chart_, Qt::Key_W);
  EXPECT_TRUE(same());
  view_->resize(1100, 500);  // too low for one of them
  QCoreApplication::processEvents();
  EXPECT_TRUE(same());
  QTest::keyClick(pipeline, Qt::Key_D);
  EXPECT_TRUE(same());
  QTest::mouseClick(view_->findChild<QCheckBox*>("withPipeline"), Qt::LeftButton, {}, QPoint(8, 8));
  EXPECT_FALSE(pipeline->isVisible());
  EXPECT_FALSE(session_.timeState().with_pipeline);
}

TEST_F(TraceViewTest, TheLaneOfActiveTilesHasThoseOfTheSteps) {
  const Lane& lane = trace_->lanes[static_cast<std::size_t>(chart_->shownLane())];
  const auto [from, to] = trace_->round_at(trace_->typical_time());
  std::int64_t looked = 0;
  lane.visit(from, to, 1, Lane::Depth::steps, [&](const Slice& s) {
    const bool tells = s.step >= 0 && !lane.steps->tiles.empty();
    const std::int64_t said = tells ? lane.steps->tiles[static_cast<std::size_t>(s.step)] : 0;
    const std::int64_t all = tells ? session_.report()->index().tiles_per_ipu() : 0;
    EXPECT_EQ(chart_->activeTiles(s.from, s.from + 1), said > 0 ? said : all);
    ++looked;
  });
  EXPECT_GT(looked, 0);
  EXPECT_EQ(chart_->rowsNow().back().kind, TraceRow::Kind::active);
}

}  // namespace
}  // namespace superstep::gui
