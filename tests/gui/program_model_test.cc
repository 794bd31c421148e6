// SPDX-License-Identifier: Apache-2.0
#include "gui/models/program_model.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>

#include "gui/models/steps.h"
#include "tests/gui/program_example.h"

namespace superstep::gui {
namespace {

class Program : public ::testing::Test {
 protected:
  void SetUp() override { open(write_program_example(folder_.path)); }
  void open(const std::filesystem::path& path) {
    report_ = std::make_shared<const ReportFile>(ReportFile::open(path));
    model_.setReport(report_, std::make_shared<const Steps>(load_steps(*report_)));
  }
  QString name(const QModelIndex& index) { return index.siblingAtColumn(0).data().toString(); }
  std::int64_t exact(const QModelIndex& index, int column) {
    return index.siblingAtColumn(column).data(kExactRole).toLongLong();
  }
  TemporaryFolder folder_;
  ReportPointer report_;
  ProgramModel model_;
};

TEST_F(Program, TotalsMultiplyTheIterationsAround) {
  const QModelIndex call = model_.find("L0/attention backward", {}, true);
  ASSERT_TRUE(call.isValid());
  EXPECT_EQ(exact(call, 3), 40);
  EXPECT_EQ(exact(call, 4), 200) << "five times";
  EXPECT_DOUBLE_EQ(call.siblingAtColumn(5).data(kExactRole).toDouble(), 200.0 / 340 * 100);
  const QModelIndex loop = model_.find("micro", {}, true);
  EXPECT_EQ(exact(loop, 2), 5);
  EXPECT_EQ(exact(loop, 3), 60);
  EXPECT_EQ(exact(loop, 4), 300);
}

TEST_F(Program, ACallHoldsTheSuperstepsOfItsFunction) {
  const QModelIndex call = model_.find("L0/attention backward", {}, true);
  EXPECT_TRUE(model_.hasChildren(call));
  EXPECT_EQ(model_.rowCount(call), 0) << "not before they are asked for";
  ASSERT_TRUE(model_.canFetchMore(call));
  model_.fetchMore(call);
  const auto& function = report_->index().functions(2);
  ASSERT_EQ(model_.rowCount(call), function.steps());
  const Steps steps = load_steps(*report_);
  for (int row = 0; row < model_.rowCount(call); ++row) {
    const auto s = static_cast<std::size_t>(function.first_step() + row);
    const QModelIndex step = model_.index(row, 0, call);
    EXPECT_EQ(name(step).toStdString(), steps.name[s]);
    EXPECT_EQ(exact(step, 3), steps.cycles[s]);
    EXPECT_EQ(exact(step, 4), 5 * steps.cycles[s]);
    EXPECT_EQ(step.data(kKindRole).toString().toStdString(), steps.kind[s]);
  }
}

TEST_F(Program, SearchGoesOnAndRoundInBothDirections) {
  QStringList names;
  QModelIndex at;
  for (int i = 0; i < 4; ++i) {
    at = model_.find("ATTENTION forward", at, true);
    ASSERT_TRUE(at.isValid());
    if (model_.kind(*model_.item(at)) == "call") names << name(at);
    while (model_.kind(*model_.item(at)) != "call") at = model_.find("attention forward", at, true);
    if (names.isEmpty() || names.last() != name(at)) names << name(at);
  }
  EXPECT_EQ(names.mid(0, 3), (QStringList{"L0/attention forward", "L1/attention forward", "L6/attention forward"}));
  EXPECT_EQ(name(model_.find("update", {}, false)), "update");
  EXPECT_EQ(name(model_.find("step", model_.index(0, 0), true)), "step") << "round to itself, the only one";
  EXPECT_FALSE(model_.find("no such thing", {}, true).isValid());
  EXPECT_FALSE(model_.find("no such thing", at, false).isValid());
  EXPECT_FALSE(model_.find("", {}, true).isValid());
}

// A tester for each report: one that sees a reset fetches more before it takes note that the reset is over.
TEST_F(Program, AllOfItPassesTheModelTester) {
  for (const Example which : {Example::tight, Example::infeasible, Example::empty}) {
    open(write_example(which, folder_.path));
    QAbstractItemModelTester tester(&model_, QAbstractItemModelTester::FailureReportingMode::Fatal);
    EXPECT_FALSE(model_.find("no such thing", {}, true).isValid());  // makes all items
    EXPECT_EQ(model_.rowCount(), report_->index().has_program() ? 1 : 0);
  }
}

TEST_F(Program, FactsSayWhatIsKnown) {
  const auto facts = [&](const QString& of) {
    TableModel model;
    model.setContents(model_.facts(model_.find(of, {}, true)));
    QStringList lines;
    for (int row = 0; row < model.rowCount(); ++row)
      lines << model.index(row, 0).data().toString() + ": " + model.index(row, 1).data().toString();
    return lines;
  };
  EXPECT_TRUE(facts("micro").contains("Iterations: 5"));
  EXPECT_TRUE(facts("L0/attention backward").contains("Entered in a step: 5 times"));
  EXPECT_TRUE(facts("L0/attention backward").contains("Function: layer/attention backward"));
  EXPECT_TRUE(facts("layer/attention forward/softmax").contains("Counts to: operand exchange"));
  EXPECT_TRUE(model_.facts({}).columns.empty());
}

TEST_F(Program, TheTableTwinHasEveryNode) {
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setContents(program_table(report_));
  ASSERT_EQ(model.rowCount(), 10);
  std::int64_t first_level = 0;
  for (int row = 0; row < model.rowCount(); ++row) {
    const QModelIndex at = model_.find(model.index(row, 1).data().toString(), {}, true);
    EXPECT_EQ(model.index(row, 6).data(kExactRole).toLongLong(), exact(at, 4)) << row;
    if (model.index(row, 0).data(kExactRole).toInt() == 1) first_level += model.index(row, 6).data(kExactRole).toInt();
  }
  EXPECT_EQ(first_level, 340);
}

}  // namespace
}  // namespace superstep::gui
