// SPDX-License-Identifier: Apache-2.0
#include "gui/models/report_tables.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>

#include "gui/models/steps.h"
#include "gui/models/tile_tables.h"
#include "gui/models/variables.h"
#include "tests/traces/example_report.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

constexpr std::array kExamples{Example::tight, Example::does_not_fit, Example::deeper, Example::infeasible,
                               Example::empty};

class ReportTables : public ::testing::TestWithParam<Example> {
 protected:
  void SetUp() override {
    report_ = std::make_shared<const ReportFile>(ReportFile::open(write_example(GetParam(), folder_.path)));
  }
  // Without the thin spaces and with a plain minus: as a program would read it.
  static QString plain(const QModelIndex& cell) {
    return cell.data().toString().remove(QChar(0x202F)).replace(QChar(0x2212), '-');
  }

  TemporaryFolder folder_;
  ReportPointer report_;
};

// Each table, filled, emptied and filled again under Qt's own tester.
TEST_P(ReportTables, EachModelKeepsTheRulesOfModels) {
  const auto heat = std::make_shared<const HeatData>(load_heat(*report_));
  const auto variables = std::make_shared<const Variables>(load_variables(*report_));
  const auto steps = std::make_shared<const Steps>(load_steps(*report_));
  for (const Units units : {Units::kib, Units::bytes}) {
    TableModel model;
    SortedModel sorted(&model);
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    QAbstractItemModelTester sorted_tester(&sorted, QAbstractItemModelTester::FailureReportingMode::Fatal);
    for (const auto& contents :
         {waterfall_table(report_), memory_table(report_, -1, units), fit_table(report_, units),
          plans_table(report_, units), changes_table(report_), tiles_table(report_, heat, {}),
          variables_table(report_, variables, -1, units), steps_table(report_, steps), TableContents{}}) {
      model.setContents(contents);
      sorted.sort(0, Qt::DescendingOrder);
      EXPECT_EQ(sorted.rowCount(), model.rowCount());
      for (int column = 0; column < model.columnCount(); ++column) {
        for (int row = 0; row < model.rowCount(); ++row) {
          EXPECT_TRUE(model.index(row, column).data(kExactRole).isValid());
        }
      }
    }
  }
}

TEST_P(ReportTables, ChangesSayWhatTheyGainAndWhetherTheyFit) {
  TableModel model;
  model.setContents(changes_table(report_));
  const auto& index = report_->index();
  ASSERT_EQ(model.rowCount(), index.helpful_changes_size());
  for (int row = 0; row < model.rowCount(); ++row) {
    const auto& change = index.helpful_changes(row);
    EXPECT_EQ(model.index(row, 1).data().toString(),
              QString::fromStdString(change.field() + " " + change.from() + " → " + change.to()));
    EXPECT_DOUBLE_EQ(model.index(row, 2).data(kExactRole).toDouble(),
                     (index.plan().step_time_s() / change.step_time_s() - 1) * 100);
    EXPECT_EQ(model.index(row, 0).data(kExactRole).toString().startsWith("fits"), change.overflow().empty());
  }
}

TEST_P(ReportTables, TheWaterfallTableHasTheReportsSeconds) {
  TableModel model;
  model.setContents(waterfall_table(report_));
  const auto& index = report_->index();
  if (index.waterfall().empty()) {
    EXPECT_EQ(model.rowCount(), 0);
    return;
  }
  ASSERT_EQ(model.rowCount(), index.waterfall_size() + 1);
  double sum = 0;
  for (int row = 0; row < index.waterfall_size(); ++row) {
    EXPECT_EQ(model.index(row, 0).data().toString().toStdString(), index.waterfall(row).name());
    EXPECT_EQ(model.index(row, 4).data().toString().toDouble(), index.waterfall(row).seconds()) << "to the last digit";
    EXPECT_EQ(plain(model.index(row, 2)), QString::number(index.waterfall(row).seconds() * 1e3, 'f', 1));
    sum += model.index(row, 4).data(kExactRole).toDouble();
  }
  EXPECT_EQ(model.index(index.waterfall_size(), 4).data(kExactRole).toDouble(), sum);
  EXPECT_TRUE(model.index(index.waterfall_size(), 0).data(kStrongRole).toBool());
}

TEST(WaterfallTable, BandsStandBesideTheirTerms) {
  TemporaryFolder folder;
  ExampleReport example = example_report(Example::tight);
  auto& term = *example.index.mutable_waterfall(2);
  term.set_low_s(0.125), term.set_high_s(0.1625);
  for (int i = 0; i < 101; ++i) example.index.mutable_plan()->add_step_time_in_worlds_s(1 + 0.01 * i);
  example.columns.finish(example.index, folder.path / "bands.ssr");
  const auto report = std::make_shared<const ReportFile>(ReportFile::open(folder.path / "bands.ssr"));
  TableModel model;
  QAbstractItemModelTester tester(&model);
  model.setContents(waterfall_table(report));
  EXPECT_NEAR(model.index(2, kTermError).data(kExactRole).toDouble(), 18.75, 1e-12);
  EXPECT_EQ(model.index(2, kTermError + 1).data(kExactRole).toDouble(), 125);
  EXPECT_EQ(model.index(2, kTermError + 2).data(kExactRole).toDouble(), 162.5);
  EXPECT_EQ(model.index(0, kTermError).data().toString(), "") << "the ideal is exact";
  const int step = model.rowCount() - 1;
  EXPECT_NEAR(model.index(step, kTermError + 1).data(kExactRole).toDouble(), 1030, 11) << "of the worlds of the step";
}

TEST_P(ReportTables, TheMemoryTableHasTheReportsBytes) {
  for (int ipu = 0; ipu < report_->index().ipu_classes_size(); ++ipu) {
    const auto& expected = report_->index().ipu_classes(ipu);
    TableModel model;
    model.setContents(memory_table(report_, ipu, Units::kib));
    const int bytes = model.columnCount() - 1;
    int categories = 0;
    for (int row = 0; row < model.rowCount(); ++row) {
      const int category = model.index(row, 0).data(kSourceRole).toInt();
      if (category < 0) continue;
      ++categories;
      EXPECT_EQ(model.index(row, 0).data().toString().toStdString(), expected.memory(category).name());
      EXPECT_EQ(plain(model.index(row, bytes)).toLongLong(), expected.memory(category).bytes_per_tile());
    }
    EXPECT_EQ(categories, expected.memory_size());
    EXPECT_EQ(plain(model.index(0, bytes)).toLongLong(), always_live_bytes(expected));
    EXPECT_EQ(plain(model.index(model.rowCount() - 1, bytes)).toLongLong(), expected.tile_peak_bytes());
  }
}

TEST_P(ReportTables, TheTilesTableHasEveryRun) {
  const auto heat = std::make_shared<const HeatData>(load_heat(*report_));
  TableModel model;
  model.setContents(tiles_table(report_, heat, {}));
  ASSERT_EQ(model.rowCount(), static_cast<int>(heat->runs.size()));
  for (int row = 0; row < model.rowCount(); ++row) {
    const TileRun& run = heat->runs[static_cast<std::size_t>(row)];
    EXPECT_EQ(plain(model.index(row, 2)).toLongLong(), run.first);
    EXPECT_EQ(plain(model.index(row, 4)).toLongLong(), run.memory_bytes);
    EXPECT_EQ(plain(model.index(row, 5)).toLongLong(), run.compute_cycles);
    EXPECT_EQ(plain(model.index(row, 6)).toLongLong(), run.exchange_bytes);
  }
}

TEST_P(ReportTables, VariablesSortBySizeNotByText) {
  const auto variables = std::make_shared<const Variables>(load_variables(*report_));
  if (variables->name.size() == 0) return;
  TableModel model;
  model.setContents(variables_table(report_, variables, 0, Units::kib));
  SortedModel sorted(&model);
  sorted.sort(3, Qt::DescendingOrder);
  for (int row = 1; row < sorted.rowCount(); ++row) {
    EXPECT_GE(sorted.index(row - 1, 3).data(kExactRole).toLongLong(),
              sorted.index(row, 3).data(kExactRole).toLongLong());
  }
  sorted.setFilterFixedString("STASH");
  EXPECT_EQ(sorted.rowCount(), 5);
}

INSTANTIATE_TEST_SUITE_P(Examples, ReportTables, ::testing::ValuesIn(kExamples));

TEST(ReportTablesOfDamage, CategoriesThatLeaveSomethingOutSaySo) {
  TemporaryFolder folder;
  ExampleReport example = example_report(Example::tight);
  auto& ipu = *example.index.mutable_ipu_classes(0);
  ipu.set_tile_peak_bytes(ipu.tile_peak_bytes() + 1000);
  example.columns.finish(example.index, folder.path / "a.ssr");
  TableModel model;
  const auto report = std::make_shared<const ReportFile>(ReportFile::open(folder.path / "a.ssr"));
  model.setContents(memory_table(report, 0, Units::bytes));
  const int row = model.rowCount() - 2;
  EXPECT_EQ(model.index(row, 0).data().toString(), "Not in a category");
  EXPECT_EQ(model.index(row, 2).data(kExactRole).toLongLong(), 1000);
}

}  // namespace
}  // namespace superstep::gui
