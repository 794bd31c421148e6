// SPDX-License-Identifier: Apache-2.0
#include "gui/models/searched.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <cmath>

#include "model/error.h"
#include "tests/gui/search_example.h"

namespace superstep::gui {
namespace {

class Searched : public ::testing::Test {
 protected:
  ReportFile open(bool with_search, const std::function<void(ExampleReport&)>& change = {}) {
    ExampleReport example = example_report(Example::tight);
    if (with_search) add_search_example(example);
    if (change) change(example);
    example.columns.finish(example.index, folder_.path / "a.ssr");
    return ReportFile::open(folder_.path / "a.ssr");
  }
  TemporaryFolder folder_;
};

TEST_F(Searched, FoundPlansHaveTheNumbersOfTheColumns) {
  const ReportFile report = open(true);
  const auto plans = found_plans(report);
  ASSERT_EQ(plans.size(), 40u);
  const auto rates = report.column_reals("candidate.samples_per_second");
  const auto peaks = report.column_integers("candidate.tile_peak");
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_TRUE(plans[i].found);
    EXPECT_EQ(plans[i].summary->samples_per_second(), rates[i]);
    EXPECT_EQ(plans[i].summary->tile_peak_bytes(), peaks[i]);
    EXPECT_EQ(plans[i].fit(), peaks[i] > 0.95 * 624 * 1024 ? Fit::tight : Fit::fits);
  }
  EXPECT_EQ(plans[2].pipeline_stages, "4");
  EXPECT_EQ(sampling_sentence(report.index(), plans.size()), "40 of " + grouped(5678) + " found plans drawn");
}

TEST_F(Searched, WhatNobodyComputedIsNotANumber) {
  const auto plans = found_plans(open(true));
  const auto value = [&](int axis) { return landscape_axes()[static_cast<std::size_t>(axis)].value(plans[2]); };
  for (const int axis : {3, 5, 7}) EXPECT_TRUE(std::isnan(value(axis))) << landscape_axes()[std::size_t(axis)].title;
  EXPECT_EQ(value(8), 1);
  EXPECT_EQ(value(9), 4);
  EXPECT_EQ(value(12), 128);
}

TEST_F(Searched, EarlierReportsHaveNone) {
  const ReportFile report = open(false);
  EXPECT_TRUE(found_plans(report).empty());
  EXPECT_EQ(load_cells(report).size(), 0u);
  EXPECT_EQ(account_sentence(report.index(), load_cells(report)), "");
  EXPECT_EQ(sampling_sentence(report.index(), 0), "");
}

TEST_F(Searched, DamagedColumnsAreRefused) {
  const ReportFile report = open(false, [](ExampleReport& example) {
    example.columns.add_texts("cell.fate", std::vector<std::string>{"opened"});
    example.columns.add_texts("cell.tensor_parallel", std::vector<std::string>{"1", "2"});
  });
  EXPECT_THROW(load_cells(report), Error);
}

TEST_F(Searched, EverySettingIsAccountedFor) {
  const ReportFile report = open(true);
  const SearchedCells cells = load_cells(report);
  const auto& search = report.index().search();
  EXPECT_EQ(cells.total("opened") + cells.total("excluded") + cells.total("does not fit"),
            search.explored() + search.pruned());
  const QString sentence = account_sentence(report.index(), cells);
  for (const int number : {5000, 2000, 2500, 500, 700, 4300}) EXPECT_TRUE(sentence.contains(grouped(number))) << number;
  EXPECT_FALSE(sentence.contains("do not account"));
  report::Index other = report.index();
  other.mutable_search()->set_pruned(1);
  EXPECT_TRUE(account_sentence(other, cells).contains("do not account"));
}

TEST_F(Searched, TheCellsTableHasTheReportsNumbers) {
  const auto cells = std::make_shared<const SearchedCells>(load_cells(open(true)));
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setContents(cells_table(cells));
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.index(2, 0).data().toString(), "4 x 4");
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(model.index(row, kCellSettings).data(kExactRole).toDouble(), cells->settings[std::size_t(row)]);
    EXPECT_EQ(model.index(row, kCellBound).data(kExactRole).toDouble(), cells->bound[std::size_t(row)]);
  }
  LandscapePlan plan;
  plan.tensor_parallel = "1", plan.pipeline_stages = "2", plan.replicas = "8", plan.micro_batch = "1";
  plan.gradient_accumulation = "192", plan.placement = "p-r-t", plan.shard_groups = "orthogonal";
  EXPECT_EQ(cell_of(*cells, plan), 1);
  plan.shard_groups = "consecutive";
  EXPECT_EQ(cell_of(*cells, plan), -1);
  plan.shard_groups = "orthogonal";
  plan.placement = "t-p-r";
  EXPECT_EQ(cell_of(*cells, plan), -1);
}

TEST_F(Searched, ManyNumbersShareColoursInRanges) {
  const auto plans = found_plans(open(true));
  for (const LandscapeColor& color : landscape_colors()) {
    const ColorClasses classes = color_classes(plans, color);
    ASSERT_EQ(classes.of_plan.size(), plans.size()) << color.title;
    EXPECT_LE(classes.names.size(), kMostColors);
    for (const int one : classes.of_plan) EXPECT_TRUE(one >= 0 && one < classes.names.size()) << color.title;
  }
  const ColorClasses rates = color_classes(plans, landscape_colors()[8]);
  EXPECT_EQ(rates.names.size(), 5);
  EXPECT_EQ(rates.names[0], "300.0 – 373.5");
  EXPECT_EQ(rates.of_plan[7], 0);
  EXPECT_EQ(rates.of_plan[8], 1);
}

}  // namespace
}  // namespace superstep::gui
