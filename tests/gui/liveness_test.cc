// SPDX-License-Identifier: Apache-2.0
#include "gui/models/liveness.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <map>

#include "gui/models/liveness_tables.h"
#include "gui/models/steps.h"
#include "gui/paint/liveness_layout.h"
#include "tests/gui/program_example.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

class LivenessOfReport : public ::testing::Test {
 protected:
  void open(const std::filesystem::path& path, int ipu_class = 0) {
    report_ = std::make_shared<const ReportFile>(ReportFile::open(path));
    steps_ = std::make_shared<const Steps>(load_steps(*report_));
    heat_ = std::make_shared<const HeatData>(load_heat(*report_));
    liveness_ = std::make_shared<const Liveness>(liveness_of(report_->index(), *steps_, *heat_, ipu_class));
  }
  TemporaryFolder folder_;
  ReportPointer report_;
  std::shared_ptr<const Steps> steps_;
  std::shared_ptr<const HeatData> heat_;
  std::shared_ptr<const Liveness> liveness_;
};

TEST_F(LivenessOfReport, EveryPhaseIsAsHighAsTheHeatMapSays) {
  open(write_program_example(folder_.path));
  std::map<int, std::int64_t> highest;
  std::map<int, int> points;
  for (const LivenessPoint& p : liveness_->points) {
    highest[p.phase] = std::max(highest[p.phase], p.total());
    ++points[p.phase];
    if (p.step >= 0) {
      EXPECT_EQ(p.live_bytes, steps_->live_bytes[static_cast<std::size_t>(p.step)]);
    }
  }
  const auto phases = heat_->phases_of(0);
  ASSERT_EQ(highest.size(), phases.size());
  for (const int phase : phases) EXPECT_EQ(highest[phase], heat_->largest(phase, HeatQuantity::memory)) << phase;
  EXPECT_EQ(points[phases[1]], report_->index().functions(0).steps()) << "L0/attention forward, a call";
  EXPECT_EQ(points[phases[2]], 1) << "L0/ffn forward is not in the program: one step";
  EXPECT_EQ(liveness_->points[static_cast<std::size_t>(liveness_->peak)].total(),
            report_->index().ipu_classes(0).tile_peak_bytes());
}

TEST_F(LivenessOfReport, TablesHaveTheBytesOfThePoints) {
  open(write_program_example(folder_.path));
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setContents(liveness_table(report_, liveness_, steps_, heat_, Units::kib));
  ASSERT_EQ(model.rowCount(), static_cast<int>(liveness_->points.size()));
  for (int row = 0; row < model.rowCount(); ++row) {
    const LivenessPoint& p = liveness_->points[static_cast<std::size_t>(row)];
    EXPECT_EQ(model.index(row, 4).data(kExactRole).toLongLong(), p.resident_bytes);
    EXPECT_EQ(model.index(row, 5).data(kExactRole).toLongLong(), p.live_bytes);
    EXPECT_EQ(model.index(row, 6).data(kExactRole).toLongLong(), p.total());
    EXPECT_EQ(model.index(row, 0).data(kStrongRole).toBool(), row == liveness_->peak);
    TableModel point;
    point.setContents(liveness_point_table(report_, liveness_, row, Units::bytes));
    const int total = point.rowCount() - 2;
    EXPECT_EQ(point.index(total, 0).data().toString(), "Total");
    EXPECT_EQ(point.index(total, 2).data(kExactRole).toLongLong(), p.total());
    std::int64_t sum = 0;
    for (int line = 0; line < total; ++line) {
      const bool part = !point.index(line, 0).data(kStrongRole).toBool();
      const bool phase = point.index(line, 0).data().toString() == "Resident";
      if (part || phase) sum += point.index(line, 2).data(kExactRole).toLongLong();
    }
    EXPECT_EQ(sum, p.total()) << "the parts are the whole, to the byte";
  }
}

TEST_F(LivenessOfReport, WithoutAPlanThereIsNothing) {
  for (const Example which : {Example::infeasible, Example::empty}) {
    open(write_example(which, folder_.path), -1);
    EXPECT_TRUE(liveness_->points.empty());
    EXPECT_EQ(liveness_->peak, -1);
    EXPECT_EQ(liveness_table(report_, liveness_, steps_, heat_, Units::kib).rows, 0);
    EXPECT_EQ(liveness_point_table(report_, liveness_, 0, Units::kib).rows, 0);
  }
}

TEST(LivenessLayout, PixelsHoldAllStepsAndShowTheHighest) {
  std::vector<std::int64_t> values(1000, 1);
  values[777] = 9;
  const auto layout = LivenessLayout::of(QRectF(50, 10, 100, 200), 1000, 9);
  const auto pixels = layout.pixels();
  ASSERT_EQ(pixels.size(), 100u);
  int next = 0;
  for (const auto& pixel : pixels) {
    EXPECT_EQ(pixel.first, next);
    next = pixel.end;
  }
  EXPECT_EQ(next, 1000);
  EXPECT_EQ(largest_in(values, pixels[77]), 777);
  EXPECT_EQ(layout.point_at(layout.x(777.5)), 777);
  EXPECT_EQ(layout.point_at(0), 0);
  EXPECT_EQ(layout.point_at(1e6), 999);
}

TEST(LivenessLayout, FewStepsAreWiderThanAPixel) {
  const auto layout = LivenessLayout::of(QRectF(0, 0, 90, 100), 3, 1);
  const auto pixels = layout.pixels();
  ASSERT_EQ(pixels.size(), 90u);
  EXPECT_EQ(pixels[0].first, 0);
  EXPECT_EQ(pixels[45].first, 1);
  EXPECT_EQ(pixels[89].end, 3);
  EXPECT_TRUE(LivenessLayout::of(QRectF(0, 0, 90, 100), 0, 1).pixels().empty());
  EXPECT_EQ(LivenessLayout::of(QRectF(0, 0, 90, 100), 0, 1).point_at(5), -1);
}

}  // namespace
}  // namespace superstep::gui
