// SPDX-License-Identifier: Apache-2.0
#include "gui/models/lifetimes.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <numeric>

#include "gui/models/liveness_tables.h"
#include "gui/models/steps.h"
#include "gui/models/streaming_memory.h"
#include "gui/models/variables.h"
#include "gui/paint/streaming_layout.h"
#include "tests/gui/lifetime_example.h"

namespace superstep::gui {
namespace {

class LifetimesOfReport : public ::testing::Test {
 protected:
  void SetUp() override {
    report_ = std::make_shared<const ReportFile>(ReportFile::open(write_lifetime_example(folder_.path)));
    steps_ = load_steps(*report_);
    heat_ = load_heat(*report_);
    variables_ = load_variables(*report_);
  }
  Liveness liveness(int ipu, std::int64_t tile = -1) const {
    return liveness_of(report_->index(), steps_, heat_, ipu, &variables_, tile);
  }
  std::shared_ptr<const Lifetimes> lifetimes(int ipu) const {
    return std::make_shared<const Lifetimes>(
        lifetimes_of(report_->index(), liveness(ipu), steps_, heat_, variables_, load_results(*report_)));
  }
  static std::vector<std::int64_t> totals(const Liveness& of) {
    std::vector<std::int64_t> out;
    for (const LivenessPoint& p : of.points) out.push_back(p.total());
    return out;
  }

  TemporaryFolder folder_;
  ReportPointer report_;
  Steps steps_;
  HeatData heat_;
  Variables variables_;
};

TEST_F(LifetimesOfReport, SumAtEachStepToWhatIsLive) {
  EXPECT_THAT(totals(liveness(0)), testing::ElementsAre(110, 130, 124, 172, 170));
  for (const int ipu : {0, 1}) {
    const Liveness of = liveness(ipu);
    const auto rows = lifetimes(ipu);
    for (int point = 0; point < std::ssize(of.points); ++point) {
      std::int64_t sum = 0, stands = 0;
      for (const int row : rows->at(point)) sum += rows->rows[static_cast<std::size_t>(row)].bytes;
      EXPECT_EQ(sum, of.points[static_cast<std::size_t>(point)].total()) << "IPU " << ipu << " step " << point;
      for (const std::int64_t bytes : *of.stands_at(point)) stands += bytes;
      EXPECT_EQ(stands, of.points[static_cast<std::size_t>(point)].resident_bytes);
    }
    EXPECT_EQ(of.points[static_cast<std::size_t>(of.peak)].total(),
              report_->index().ipu_classes(ipu).tile_peak_bytes());
    EXPECT_EQ(of.points[static_cast<std::size_t>(of.peak)].phase, report_->index().ipu_classes(ipu).peak_phase());
    EXPECT_EQ(of.points[static_cast<std::size_t>(of.peak)].step, report_->index().ipu_classes(ipu).peak_step());
  }
}

TEST_F(LifetimesOfReport, SayFromWhenToWhenLargestFirst) {
  const auto rows = lifetimes(0);
  const auto find = [&](const std::string& name) {
    for (const Lifetime& row : rows->rows) {
      if (row.name == name) return std::tuple(row.bytes, row.first, row.last);
    }
    return std::tuple<std::int64_t, int, int>(-1, -1, -1);
  };
  EXPECT_EQ(rows->rows[0].name, "w");
  EXPECT_EQ(find("w"), std::tuple(100, 0, 4));
  EXPECT_EQ(find("A gradients"), std::tuple(50, 3, 4));
  EXPECT_EQ(find("A kept for backward"), std::tuple(14, 3, 4)) << "a call of another IPU lies between";
  EXPECT_EQ(find("A forward · softmax"), std::tuple(4, 1, 2)) << "stays, since the call keeps";
  EXPECT_EQ(find("A forward · scores"), std::tuple(11, 1, 1));
  EXPECT_EQ(find("A forward · scores needs"), std::tuple(5, 1, 1));
  EXPECT_EQ(find("A backward · out gradient"), std::tuple(6, 3, 4));
}

TEST_F(LifetimesOfReport, TheTableHasTheirNumbers) {
  const auto rows = lifetimes(0);
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setContents(lifetimes_table(rows, -1, false, 3, Units::kib));
  ASSERT_EQ(model.rowCount(), std::ssize(rows->rows));
  for (int row = 0; row < model.rowCount(); ++row) {
    const Lifetime& of = rows->rows[static_cast<std::size_t>(row)];
    EXPECT_EQ(model.index(row, 0).data().toString().toStdString(), of.name);
    EXPECT_EQ(model.index(row, 3).data(kExactRole).toLongLong(), of.bytes);
    EXPECT_EQ(model.index(row, 4).data().toString(), of.first == 0 && of.last == 4 ? "yes" : "");
    EXPECT_EQ(model.index(row, 5).data(kExactRole).toLongLong(), of.first);
    EXPECT_EQ(model.index(row, 6).data(kExactRole).toLongLong(), of.last);
    const auto span = model.index(row, 7).data(kSpanRole).value<Span>();
    EXPECT_DOUBLE_EQ(span.from, of.first / 5.0);
    EXPECT_DOUBLE_EQ(span.to, (of.last + 1) / 5.0);
    EXPECT_DOUBLE_EQ(span.mark, 0.7);
  }
  model.setContents(lifetimes_table(rows, 0, true, 0, Units::bytes));
  ASSERT_EQ(model.rowCount(), 1) << "beside the weights the query alone";
  EXPECT_EQ(model.index(0, 0).data().toString(), "A forward · query");
}

TEST_F(LifetimesOfReport, ATileHasTheStepsThatItTakesPartIn) {
  const Liveness out = liveness(0, 7);
  EXPECT_THAT(totals(out), testing::ElementsAre(110, 100, 124, 172, 170));
  EXPECT_THAT(totals(liveness(0, 2)), testing::ElementsAreArray(totals(liveness(0))));
  for (const int phase : heat_.phases_of(0)) {
    std::int64_t highest = 0;
    for (const LivenessPoint& p : out.points) highest = p.phase == phase ? std::max(highest, p.total()) : highest;
    EXPECT_EQ(highest, heat_.run_at(phase, 7)->memory_bytes) << "as the heat map says";
  }
}

TEST_F(LifetimesOfReport, AreEmptyWithoutTheirColumns) {
  const ReportFile old = ReportFile::open(write_example(Example::tight, folder_.path));
  EXPECT_TRUE(load_results(old).name.texts.empty());
  EXPECT_FALSE(load_variables(old).have_lifetimes());
  const Lifetimes none =
      lifetimes_of(old.index(), {}, load_steps(old), load_heat(old), load_variables(old), load_results(old));
  EXPECT_TRUE(none.rows.empty());
  EXPECT_TRUE(load_streaming_memory(old, 0).stretches.empty());
}

TEST_F(LifetimesOfReport, StreamingMemoryHoldsWhatTheReportSays) {
  for (const int ipu : {0, 1}) {
    const StreamingMemory of = load_streaming_memory(*report_, ipu);
    EXPECT_EQ(of.most_held(), report_->index().ipu_classes(ipu).ddr_bytes());
  }
  const auto memory = std::make_shared<const StreamingMemory>(load_streaming_memory(*report_, 0));
  EXPECT_EQ(memory->held_at(0), 500);
  TableModel stretches, held;
  QAbstractItemModelTester of_stretches(&stretches, QAbstractItemModelTester::FailureReportingMode::Fatal);
  QAbstractItemModelTester of_held(&held, QAbstractItemModelTester::FailureReportingMode::Fatal);
  stretches.setContents(streaming_memory_table(memory));
  held.setContents(held_table(memory));
  ASSERT_EQ(stretches.rowCount(), 2);
  EXPECT_EQ(stretches.index(0, 4).data(kExactRole).toLongLong(), 600);
  EXPECT_DOUBLE_EQ(stretches.index(0, 6).data(kExactRole).toDouble(), 600 / 100e-6 / 1e9);
  EXPECT_DOUBLE_EQ(stretches.index(0, 7).data(kExactRole).toDouble(), 30) << "6 of 20 bytes per cycle";
  EXPECT_EQ(stretches.index(0, 8).data().toString(), "phase 1");
  EXPECT_EQ(stretches.index(0, 9).data(kExactRole).toLongLong(), 200);
  EXPECT_EQ(held.index(1, 3).data(kExactRole).toLongLong(), 400);
  EXPECT_EQ(held.index(1, 4).data().toString(), "phase 1 forward");
}

TEST(StreamingLayout, PartsShareOneTimeAxis) {
  const auto layout = StreamingLayout::of(QRectF(80, 0, 200, 170), 400, 1000, 20);
  const QRectF held = layout.held_bar(100, 200, 0, 540), rate = layout.rate_bar(100, 200, 0, 20);
  EXPECT_DOUBLE_EQ(held.left(), 130);
  EXPECT_DOUBLE_EQ(held.width(), 100);
  EXPECT_DOUBLE_EQ(held.height(), layout.held.height() / 2) << "1,080 is full";
  EXPECT_DOUBLE_EQ(rate.left(), held.left());
  EXPECT_GT(rate.top(), layout.rate.top()) << "the roof stands inside";
  EXPECT_DOUBLE_EQ(layout.ahead_bar(100, 200).width(), 100);
  EXPECT_LT(layout.held.bottom(), layout.rate.top());
  EXPECT_LT(layout.rate.bottom(), layout.ahead.top());
}

}  // namespace
}  // namespace superstep::gui
