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
  EXPECT_TRUE(whatif_numbers(other).empty());
}

TEST_F(WhatIfModel, ValuesOfTheReportAreFound) {
  const std::vector<WhatIfNumber> numbers = whatif_numbers(index());
  ASSERT_EQ(numbers.size(), 4U) << "what explanations quote, and the limit of a tile";
  EXPECT_EQ(numbers[0].pointer, "/streaming/ipu_rate");
  EXPECT_EQ(numbers[0].value, 5);
  EXPECT_EQ(numbers[1].value, 16);
  EXPECT_EQ(numbers[2].value, 624);
  EXPECT_EQ(numbers[2].unit, "KiB");
  EXPECT_FALSE(numbers[3].main) << "of the machine";
  EXPECT_EQ(shown_pin(index(), "pipeline_stages"), "4");
  EXPECT_EQ(shown_pin(index(), "schedule"), "grouped");
  EXPECT_EQ(shown_pin(index(), "recompute"), "");
}

TEST_F(WhatIfModel, TheReportsListOfNumbersComesAheadOfWhatExplanationsQuote) {
  report::Index listed = index();
  for (const auto& [name, value] : {std::pair("/chip/workers", "6"),
                                    {"/chip/amp/block_fixed", "160 cycles"},
                                    {"/links/efficiency", "0.85"},
                                    {"/chip/clock", "1.325 GHz"}}) {
    report::Fact* number = listed.add_machine_numbers();
    number->set_name(name);
    number->set_value(value);
  }
  const std::vector<WhatIfNumber> numbers = whatif_numbers(listed);
  ASSERT_EQ(numbers.size(), 4U);
  EXPECT_EQ(numbers[0].title, "Clock") << "the main ones first";
  EXPECT_EQ(numbers[1].title, "Workers");
  EXPECT_EQ(numbers[1].decimals, 0);
  EXPECT_EQ(numbers[1].least, 2);
  EXPECT_EQ(numbers[2].title, "AMP block fixed");
  EXPECT_FALSE(numbers[2].what.isEmpty());
  EXPECT_EQ(numbers[3].most, 1) << "a share";
  const QJsonObject job =
      whatif_request(listed, {{}, {{"/links/efficiency", 0.5}, {"/chip/workers", 12}}})["job"].toObject();
  const QJsonObject changed = job["machine"].toObject()["override"].toObject();
  EXPECT_EQ(changed["links"].toObject()["efficiency"], QJsonValue(0.5));
  EXPECT_EQ(changed["chip"].toObject()["workers"], QJsonValue(12));
}

TEST_F(WhatIfModel, EveryFieldOfAPlanHasABox) {
  const auto pin = [](const char* field) -> const WhatIfPin& {
    const auto& all = whatif_pins();
    return *std::find_if(all.begin(), all.end(), [&](const WhatIfPin& p) { return p.field == field; });
  };
  EXPECT_EQ(whatif_pins().size(), plan_fields().size());
  EXPECT_EQ(pin("placement").values.size(), 6U);
  EXPECT_TRUE(pin("placement").group.isEmpty()) << "one of the main ones";
  EXPECT_EQ(pin("precision/partials").values, (std::vector<QJsonValue>{"fp16", "fp32"}));
  EXPECT_EQ(pin("precision/master").values, (std::vector<QJsonValue>{false, true}));
  EXPECT_EQ(pin("location/weights").group, "Location");
  EXPECT_EQ(pin("activation_sharding").values.size(), 3U) << "false and true are two of its words";
  EXPECT_TRUE(pin("layers_per_stage").open);
  const QJsonObject pins =
      whatif_request(index(), {{{"location/weights", "streaming"}, {"location/code", "in_processor"}}, {}})["job"]
          .toObject()["plan"]
          .toObject()["location"]
          .toObject();
  EXPECT_EQ(pins.size(), 2);
}

TEST(PinText, WhatIsTypedIsReadAsItIsWritten) {
  for (const char* text : {"7", "0.25", "layer", "false", "6 6 6 6", "t-p-r"})
    EXPECT_EQ(pin_text(pin_value(text)), text);
  EXPECT_EQ(pin_text(pin_value("4x4")), "4 4");
  EXPECT_EQ(pin_text(pin_value("0,5, 10")), "0 5 10");
  EXPECT_TRUE(pin_value("  ").isNull());
}

TEST_F(WhatIfModel, ADifferenceWithinTheErrorIsSaidToBe) {
  auto with_worlds = [this](double more) {
    auto out = std::make_shared<report::Index>(*answer(more));
    out->mutable_plan()->clear_step_time_in_worlds_s();
    return out;
  };
  report::Index shown = index();
  shown.mutable_plan()->clear_step_time_in_worlds_s();
  EXPECT_TRUE(whatif_verdict(shown, *with_worlds(0.25)).certainty.isEmpty());
  const auto changed = with_worlds(0.25);
  changed->mutable_plan()->set_samples_per_second(shown.plan().samples_per_second() * 0.95);
  for (int world = 0; world < 100; ++world) {
    shown.mutable_plan()->add_step_time_in_worlds_s(2);
    changed->mutable_plan()->add_step_time_in_worlds_s(world < 20 ? 1.9 : 2.1);
  }
  WhatIfVerdict verdict = whatif_verdict(shown, *changed);
  EXPECT_TRUE(verdict.tie);
  EXPECT_TRUE(verdict.certainty.contains("within the error")) << verdict.certainty.toStdString();
  EXPECT_TRUE(verdict.band.startsWith("95 % band"));
  for (int world = 0; world < 20; ++world) changed->mutable_plan()->set_step_time_in_worlds_s(world, 2.1);
  verdict = whatif_verdict(shown, *changed);
  EXPECT_FALSE(verdict.tie);
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
