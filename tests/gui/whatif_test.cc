// SPDX-License-Identifier: Apache-2.0
#include "gui/models/whatif.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QJsonDocument>

#include "gui/paint/difference_layout.h"
#include "tests/traces/example_report.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

constexpr const char* kJob = R"({"machine": {"base": "ipu-pod64", "partition": 16, "override": {"chip": {"clock":
  "2 GHz"}}}, "model": {"zoo": "bert-large"}, "plan": {"micro_batch": 2, "replicas": 4}})";
constexpr const char* kPlan = R"({"micro_batch": 2, "replicas": 4, "pipeline_stages": 4, "schedule": "grouped"})";

class WhatIfModel : public ::testing::Test {
 protected:
  WhatIfModel() {
    ExampleReport example = example_report(Example::tight);
    example.index.set_job_json(kJob);
    example.index.mutable_plan()->set_plan_json(kPlan);
    auto* explanation = example.index.add_explanations();
    for (const auto& [name, value] : {std::pair("/streaming/ipu_rate", "5 GB/s"),
                                      {"/links/rate", "16 GB/s"},
                                      {"/streaming/machine_rate", "20 GB/s"}}) {
      auto* term = explanation->add_terms();
      term->set_name(name);
      term->set_value(value);
    }
    example.columns.finish(example.index, folder_.path / "a.ssr");
    report_ = std::make_shared<const ReportFile>(ReportFile::open(folder_.path / "a.ssr"));
  }
  // The report's own plan as an answer, one term longer by `more` seconds.
  AnswerPointer answer(double more) const {
    auto index = std::make_shared<report::Index>(report_->index());
    index->mutable_waterfall(1)->set_seconds(index->waterfall(1).seconds() + more);
    index->mutable_plan()->set_step_time_s(index->plan().step_time_s() + more);
    return index;
  }
  const report::Index& index() const { return report_->index(); }
  TemporaryFolder folder_;
  ReportPointer report_;
};

TEST_F(WhatIfModel, NumbersOfTheMachineCostTheShownPlan) {
  const QJsonObject request = whatif_request(index(), {{}, {{"/streaming/ipu_rate", 2.5}, {"/links/rate", 8}}});
  EXPECT_EQ(request["command"].toString(), "estimate");
  const QJsonObject job = request["job"].toObject();
  EXPECT_EQ(job["plan"].toObject(), QJsonDocument::fromJson(kPlan).object());
  const QJsonObject machine = job["machine"].toObject(), numbers = machine["override"].toObject();
  EXPECT_EQ(machine["partition"].toInt(), 16);
  EXPECT_EQ(numbers["chip"].toObject()["clock"].toString(), "2 GHz") << "the job's own override stays";
  EXPECT_EQ(numbers["links"].toObject()["rate"].toString(), "8 GB/s");
  EXPECT_EQ(numbers["streaming"].toObject()["ipu_rate"].toString(), "2.5 GB/s");
  EXPECT_EQ(numbers["streaming"].toObject()["machine_rate"].toString(), "10 GB/s") << "by the same factor";
}

TEST_F(WhatIfModel, AnotherPlanIsCostedInPlaceOfTheShown) {
  WhatIf changes;
  changes.plan = R"({"micro_batch": 7})";
  EXPECT_FALSE(changes.empty());
  const QJsonObject request = whatif_request(index(), changes);
  EXPECT_EQ(request["command"].toString(), "estimate");
  EXPECT_EQ(request["job"].toObject()["plan"].toObject()["micro_batch"].toInt(), 7);
}

TEST_F(WhatIfModel, PinsSearchAgain) {
  const QJsonObject request = whatif_request(index(), {{{"micro_batch", 3}}, {}});
  EXPECT_EQ(request["command"].toString(), "plan");
  const QJsonObject pins = request["job"].toObject()["plan"].toObject();
  EXPECT_EQ(pins["micro_batch"].toInt(), 3) << "takes the place of the job's";
  EXPECT_EQ(pins["replicas"].toInt(), 4);
  EXPECT_FALSE(pins.contains("schedule"));
  EXPECT_EQ(request["job"].toObject()["machine"], QJsonDocument::fromJson(kJob).object()["machine"]);
}

TEST_F(WhatIfModel, WithoutAJobThereIsNoRequest) {
  report::Index other;
  EXPECT_TRUE(whatif_request(other, {{{"micro_batch", 3}}, {}}).isEmpty());
  other.set_job_json("{\"machine\": \"toy\"}");
  EXPECT_TRUE(whatif_request(other, {{}, {{"/links/rate", 8}}}).isEmpty()) << "no plan to cost";
  EXPECT_EQ(machine_number(other, whatif_numbers()[0]), 0);
}

TEST_F(WhatIfModel, ValuesOfTheReportAreFound) {
  EXPECT_EQ(machine_number(index(), whatif_numbers()[0]), 16);
  EXPECT_EQ(machine_number(index(), whatif_numbers()[1]), 5);
  EXPECT_EQ(machine_number(index(), whatif_numbers()[2]), 624);
  EXPECT_EQ(shown_pin(index(), "pipeline_stages"), "4");
  EXPECT_EQ(shown_pin(index(), "schedule"), "grouped");
  EXPECT_EQ(shown_pin(index(), "recompute"), "");
}

TEST_F(WhatIfModel, CausesAddUpToTheTotal) {
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setContents(whatif_terms(report_, answer(0.25)));
  ASSERT_EQ(model.rowCount(), 2) << "only what differs, and the total";
  for (int row = 0; row < 2; ++row) {
    EXPECT_NEAR(model.index(row, kWhatIfDifference).data(kExactRole).toDouble(), 250, 1e-9);
    EXPECT_EQ(model.index(row, kWhatIfDifference).data(kBetterRole).toInt(), -1);
  }
  EXPECT_EQ(model.index(1, 1).data(kExactRole).toDouble(), index().plan().step_time_s() * 1e3);
  model.setContents(whatif_terms(report_, nullptr));
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(WhatIfModel, FiguresAreThoseOfReportAndAnswer) {
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setContents(whatif_figures(report_, answer(0.25), Units::kib));
  EXPECT_EQ(model.index(0, 1).data(kExactRole).toDouble(), index().plan().samples_per_second());
  EXPECT_NEAR(model.index(1, 3).data(kExactRole).toDouble(), 250, 1e-9);
  EXPECT_EQ(model.index(1, 3).data(kBetterRole).toInt(), -1);
  EXPECT_EQ(model.index(4, 1).data(kExactRole).toDouble(), static_cast<double>(margin_bytes(index().plan())) / 1024);
  EXPECT_EQ(model.index(4, 3).data(kBetterRole).toInt(), 0);
}

TEST_F(WhatIfModel, AnswersAreReadWithAndWithoutAFit) {
  const char* plan = R"({"label": "p=4", "fits": "tight", "samples_per_second": 8, "step_time_s": 2,
    "memory": {"tile_peak_bytes": 5, "tile_limit_bytes": 7}, "waterfall": [{"kind": "host", "name": "x", "seconds": 2}]})";
  const QJsonObject best = QJsonDocument::fromJson(plan).object();
  ASSERT_FALSE(best.isEmpty());
  for (const char* key : {"best", "closest"}) {
    const AnswerPointer read = whatif_answer({{key, best}});
    ASSERT_TRUE(read);
    EXPECT_EQ(margin_bytes(read->plan()), 2);
    EXPECT_EQ(read->waterfall(0).seconds(), 2);
    EXPECT_EQ(fit_of(read->plan()), Fit::tight);
  }
  EXPECT_FALSE(whatif_answer({{"command", "plan"}}));
}

TEST(DifferenceLayout, BarsFollowEachOtherToTheTotal) {
  const auto layout = DifferenceLayout::of({100, 0, 200, 100}, {-30, 10, -20}, -40);
  ASSERT_EQ(layout.rows(), 4);
  for (int row = 1; row < 3; ++row) EXPECT_EQ(layout.begins[std::size_t(row)], layout.ends[std::size_t(row - 1)]);
  EXPECT_EQ(layout.ends[2], layout.ends[3]);
  EXPECT_DOUBLE_EQ(layout.bar(3).width(), 200);
  EXPECT_DOUBLE_EQ(layout.bar(0).right(), layout.scale.at(0));
  EXPECT_GT(DifferenceLayout::of({0, 0, 9, 9}, {}, 0).bar(0).width(), 0);
}

}  // namespace
}  // namespace superstep::gui
