// SPDX-License-Identifier: Apache-2.0
#include "gui/models/landscape.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>

#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

constexpr const char* kJson = R"({"tensor_parallel": [8, 2], "pipeline_stages": 4, "replicas": 2, "micro_batch": 3,
  "recompute": ["layer", "none", "layer"], "phases": [0, 1, 2]})";

class Landscape : public ::testing::Test {
 protected:
  void open(Example which, const std::function<void(report::Index&)>& change = {}) {
    ExampleReport example = example_report(which);
    if (change) change(example.index);
    example.columns.finish(example.index, folder_.path / "a.ssr");
    report_ = std::make_shared<const ReportFile>(ReportFile::open(folder_.path / "a.ssr"));
    plans_ = std::make_shared<const std::vector<LandscapePlan>>(landscape_plans(report_->index()));
  }
  TemporaryFolder folder_;
  ReportPointer report_;
  std::shared_ptr<const std::vector<LandscapePlan>> plans_;
};

TEST_F(Landscape, APlanInSeveralListsIsOneDot) {
  open(Example::tight, [](report::Index& index) {
    *index.add_pareto() = index.plan();
    *index.add_pareto() = index.runners_up(1);
    report::PlanSummary& other = *index.add_pareto();
    other = index.plan();
    other.set_tile_peak_bytes(other.tile_peak_bytes() - 4096);
  });
  ASSERT_EQ(plans_->size(), 1u + 5u + 1u);
  EXPECT_TRUE((*plans_)[0].shown && (*plans_)[0].pareto);
  EXPECT_TRUE((*plans_)[2].runner_up && (*plans_)[2].pareto);
  EXPECT_FALSE((*plans_)[6].runner_up);
}

TEST_F(Landscape, FieldsComeFromThePlanItself) {
  open(Example::tight, [](report::Index& index) { index.mutable_plan()->set_plan_json(kJson); });
  const LandscapePlan& plan = (*plans_)[0];
  EXPECT_EQ(plan.tensor_parallel, "8 x 2");
  EXPECT_EQ(plan.pipeline_stages, "4");
  EXPECT_EQ(plan.recompute, "layer, none");
  EXPECT_EQ(plan.phases, "3");
  EXPECT_EQ(color_values(*plans_, landscape_colors()[0]), (QStringList{"4", ""})) << "the others do not say";
}

TEST_F(Landscape, ValuesAreInNumericalOrder) {
  std::vector<LandscapePlan> plans;
  for (const char* value : {"16", "8 x 2", "2", "layer", "16"}) {
    plans.push_back({});
    plans.back().pipeline_stages = value;
  }
  EXPECT_EQ(color_values(plans, landscape_colors()[0]), (QStringList{"2", "8 x 2", "16", "layer"}));
}

TEST_F(Landscape, TheTableHasTheReportsNumbers) {
  for (const Example which : {Example::tight, Example::does_not_fit, Example::infeasible, Example::empty}) {
    open(which);
    TableModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setContents(landscape_table(report_, plans_, Units::kib));
    ASSERT_EQ(model.rowCount(), static_cast<int>(plans_->size()));
    for (int row = 0; row < model.rowCount(); ++row) {
      const auto& plan = *(*plans_)[static_cast<std::size_t>(row)].summary;
      EXPECT_EQ(model.index(row, 1).data().toString().toStdString(), plan.label());
      EXPECT_EQ(model.index(row, kLandscapeThroughput).data(kExactRole).toDouble(), plan.samples_per_second());
      EXPECT_EQ(model.index(row, 5).data(kExactRole).toLongLong(), plan.tile_peak_bytes());
      EXPECT_EQ(model.index(row, 6).data(kExactRole).toLongLong(), plan.tile_limit_bytes() - plan.tile_peak_bytes());
    }
  }
}

TEST_F(Landscape, AxesAreInTheUnitsTheyName) {
  open(Example::tight);
  const auto& plan = report_->index().plan();
  const auto value = [&](int axis) { return landscape_axes()[static_cast<std::size_t>(axis)].value((*plans_)[0]); };
  EXPECT_EQ(value(kTileAxis), static_cast<double>(plan.tile_peak_bytes()) / 1024);
  EXPECT_EQ(value(kThroughputAxis), plan.samples_per_second());
  EXPECT_EQ(value(6), 16);
}

}  // namespace
}  // namespace superstep::gui
