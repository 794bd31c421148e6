// SPDX-License-Identifier: Apache-2.0
#include "gui/models/operations.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>

#include "gui/models/steps.h"
#include "tests/gui/program_example.h"

namespace superstep::gui {
namespace {

class Operations : public ::testing::Test {
 protected:
  void SetUp() override { open(write_program_example(folder_.path)); }
  void open(const std::filesystem::path& path) {
    report_ = std::make_shared<const ReportFile>(ReportFile::open(path));
    steps_ = std::make_shared<const Steps>(load_steps(*report_));
    heat_ = load_heat(*report_);
  }
  std::vector<OperationRow> rows(int ipu_class, OperationGroup group) {
    return operation_rows(report_->index(), *steps_, heat_, ipu_class, group);
  }
  TemporaryFolder folder_;
  ReportPointer report_;
  std::shared_ptr<const Steps> steps_;
  HeatData heat_;
};

TEST_F(Operations, CallsAreTheRepeatsOfThePhases) {
  // Layers 0 and 1 forward and layer 0 backward are calls of the program; each phase runs 192 times. The update has
  // the name of its function.
  EXPECT_THAT(function_calls(report_->index(), heat_, 0), ::testing::ElementsAre(384, 0, 192, 0, 1));
  EXPECT_THAT(function_calls(report_->index(), heat_, 1), ::testing::ElementsAre(192, 0, 0, 0, 1));
}

TEST_F(Operations, RowsAreTheSumsOfTheirSupersteps) {
  const auto all = rows(0, OperationGroup::operation);
  ASSERT_EQ(all.size(), 21u) << "seven ops of three functions";
  for (const OperationRow& row : all) {
    const auto& function = report_->index().functions(row.function);
    std::int64_t cycles = 0, bytes = 0, live = 0;
    for (std::int64_t s = function.first_step(); s < function.first_step() + function.steps(); ++s) {
      const auto at = static_cast<std::size_t>(s);
      if (steps_->name[at] != row.name) continue;
      cycles += steps_->cycles[at] * row.calls;
      bytes += steps_->bytes[at] * row.calls;
      live = std::max(live, steps_->live_bytes[at]);
    }
    EXPECT_EQ(row.cycles, cycles);
    EXPECT_EQ(row.compute_cycles + row.exchange_cycles + row.sync_cycles, cycles);
    EXPECT_EQ(row.bytes, bytes);
    EXPECT_EQ(row.live_bytes, live);
  }
}

TEST_F(Operations, EveryGroupHasTheSameCycles) {
  const auto total = [&](OperationGroup group) {
    std::int64_t sum = 0;
    for (const OperationRow& row : rows(0, group)) {
      if (group != OperationGroup::layer || row.function >= 0) sum += row.cycles;
    }
    return sum;
  };
  EXPECT_GT(total(OperationGroup::operation), 0);
  EXPECT_EQ(total(OperationGroup::kind), total(OperationGroup::operation));
  EXPECT_EQ(total(OperationGroup::layer), total(OperationGroup::operation));
  const auto kinds = rows(0, OperationGroup::kind);
  ASSERT_EQ(kinds.size(), 7u);
  EXPECT_EQ(kinds[0].name, "query");
  EXPECT_EQ(kinds[0].calls, 384 + 192 + 1);
}

TEST_F(Operations, ProductsHaveTheirShareOfPeak) {
  auto all = std::make_shared<const std::vector<OperationRow>>(rows(0, OperationGroup::operation));
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setContents(operations_table(report_, all, Units::kib));
  EXPECT_EQ(model.index(0, 8).data().toString(), "1024 x 1024 x 3072");
  EXPECT_EQ(model.index(0, 7).data().toString(), "75.0");
  EXPECT_EQ(model.index(0, 6).data(kExactRole).toDouble(), 50);
  EXPECT_EQ(model.index(1, 6).data().toString(), "") << "no product";
  for (int row = 0; row < model.rowCount(); ++row) {
    const auto& op = (*all)[static_cast<std::size_t>(row)];
    EXPECT_EQ(model.index(row, 3).data(kExactRole).toLongLong(), op.cycles);
    EXPECT_EQ(model.index(row, 12).data(kExactRole).toLongLong(), op.bytes);
    EXPECT_DOUBLE_EQ(model.index(row, kOperationShare).data(kExactRole).toDouble(),
                     static_cast<double>(op.cycles) / 1.325e9 / report_->index().plan().step_time_s() * 100);
  }
  TableModel steps;
  steps.setContents(operation_steps_table(report_, steps_, 0, "layer/attention forward/query"));
  EXPECT_EQ(steps.rowCount(), 3);
  steps.setContents(operation_steps_table(report_, steps_, 0, ""));
  EXPECT_EQ(steps.rowCount(), report_->index().functions(0).steps());
}

TEST_F(Operations, ReportsWithoutAPlanHaveNone) {
  for (const Example which : {Example::infeasible, Example::empty}) {
    open(write_example(which, folder_.path));
    EXPECT_EQ(busiest_class(report_->index()), -1);
    for (const auto group : {OperationGroup::operation, OperationGroup::layer, OperationGroup::kind})
      EXPECT_TRUE(rows(-1, group).empty());
  }
}

}  // namespace
}  // namespace superstep::gui
