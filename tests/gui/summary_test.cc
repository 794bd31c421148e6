// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QLabel>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "gui/models/key_numbers.h"
#include "gui/session/view.h"
#include "gui/views/summary_numbers.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/fill_histogram.h"
#include "gui/widgets/verdict_banner.h"
#include "gui/widgets/waterfall_chart.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class Summary : public ::testing::Test {
 protected:
  void open(Example which) {
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(which, folder_.path).string())));
    view_.reset(find_view("summary")->make(session_, nullptr));
    view_->resize(1292, 809);
    view_->show();
    QCoreApplication::processEvents();
    histogram_ = view_->findChild<FillHistogram*>();
  }
  // Of the bin with the fullest tile.
  QPoint fullest() const {
    const auto heat = session_.heatAt(0);
    const TileFill fill = tile_fill(*heat, session_.report()->index());
    return histogram_->bar(fill.bin_of(session_.report()->index().plan().tile_peak_bytes())).center().toPoint();
  }

  TemporaryFolder folder_;
  mutable Session session_;
  std::unique_ptr<View> view_;
  FillHistogram* histogram_ = nullptr;
};

TEST_F(Summary, AClickOnABarSelectsItsFullestTile) {
  open(Example::tight);
  QTest::mouseClick(histogram_, Qt::LeftButton, {}, fullest());
  const Selection selection = session_.selection();
  ASSERT_GE(selection.tile, 0);
  const TileRun* run = session_.heat()->run_at(selection.phase, selection.tile);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->memory_bytes, session_.report()->index().plan().tile_peak_bytes());
}

TEST_F(Summary, ADoubleClickOrEnterGoesToItInTheHeatMap) {
  open(Example::tight);
  QSignalSpy wanted(view_.get(), &View::viewWanted);
  QTest::mouseDClick(histogram_, Qt::LeftButton, {}, fullest());
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_EQ(wanted[0][0].toString(), "heatmap");
  QTest::keyClick(histogram_, Qt::Key_Return);
  EXPECT_EQ(wanted.size(), 2);
}

TEST_F(Summary, ArrowsGoFromBarToBar) {
  open(Example::tight);
  QTest::keyClick(histogram_, Qt::Key_Left);
  const Selection last = session_.selection();
  EXPECT_GE(last.tile, 0);
  QTest::keyClick(histogram_, Qt::Key_Left);
  EXPECT_NE(session_.selection(), last);
  QTest::keyClick(histogram_, Qt::Key_Right);
  EXPECT_EQ(session_.selection(), last);
}

TEST_F(Summary, WithoutTilesThereIsNoHistogram) {
  open(Example::infeasible);
  EXPECT_FALSE(histogram_->isVisible());
}

TEST_F(Summary, AnOverflowIsSaidInOneSentenceAndItsPartsBelow) {
  open(Example::does_not_fit);
  EXPECT_FALSE(view_->findChild<QLabel*>("verdict")->text().contains('('));
}

// A step of 1 s in 100 worlds from 0.905 to 1.895 s.
report::Index with_worlds() {
  report::Index index;
  auto& plan = *index.mutable_plan();
  plan.set_step_time_s(1), plan.set_samples_per_second(200), plan.set_flop_utilisation(0.4), plan.set_global_batch(200);
  for (int i = 0; i < 101; ++i) plan.add_step_time_in_worlds_s(0.9 + 0.01 * i);
  return index;
}

TEST(SummaryNumbers, EstimatesHaveTheirBand) {
  const auto numbers = key_numbers(with_worlds(), Units::kib);
  ASSERT_TRUE(numbers[0].band && numbers[1].band && numbers[2].band);
  // The nearest ranks of 2.5 and 97.5 %: the 3rd and the 99th of 101.
  EXPECT_DOUBLE_EQ(numbers[1].band->low, 0.93);
  EXPECT_DOUBLE_EQ(numbers[1].band->high, 1.88);
  EXPECT_DOUBLE_EQ(numbers[0].band->low, 200 / 1.88);
  EXPECT_DOUBLE_EQ(numbers[2].band->high, 40 / 0.93);
  EXPECT_FALSE(numbers[3].band);
}

TEST(SummaryNumbers, WithoutWorldsThereIsNone) {
  report::Index index = with_worlds();
  index.mutable_plan()->clear_step_time_in_worlds_s();
  for (const KeyNumber& number : key_numbers(index, Units::kib)) EXPECT_FALSE(number.band);
}

TEST(SummaryNumbers, AChangeIsMadeInThePlan) {
  report::PlanSummary plan;
  plan.set_plan_json(R"({"micro_batch":2,"recompute":"layer"})");
  report::PlanChange change;
  change.set_field("micro_batch"), change.set_from("2"), change.set_to("3");
  EXPECT_EQ(changed_plan(plan, change), R"({"micro_batch":3,"recompute":"layer"})");
  change.set_field("recompute"), change.set_to("none");
  EXPECT_EQ(changed_plan(plan, change), R"({"micro_batch":2,"recompute":"none"})");
  plan.set_plan_json(R"({"gradient_accumulation":12,"location":{"activations":"in_processor"},"micro_batch":2})");
  change.set_field("location.activations"), change.set_to("streaming");
  EXPECT_EQ(changed_plan(plan, change),
            R"({"gradient_accumulation":12,"location":{"activations":"streaming"},"micro_batch":2})");
  change.set_field("micro_batch"), change.set_to("3");
  EXPECT_EQ(changed_plan(plan, change),
            R"({"gradient_accumulation":8,"location":{"activations":"in_processor"},"micro_batch":3})")
      << "the batch stays";
  plan.set_plan_json(R"({"available_memory_proportion":{"live":"layer","proportion":0.7}})");
  change.set_field("available_memory_proportion.proportion"), change.set_to("0.8");
  EXPECT_EQ(changed_plan(plan, change), R"({"available_memory_proportion":{"live":"layer","proportion":0.8}})");
  change.set_field("sharding of optimizer_state");
  EXPECT_EQ(changed_plan(plan, change), "") << "no field of a plan";
}

TEST_F(Summary, SeveralChangesAreTriedTogether) {
  open(Example::tight);
  const report::Index& index = session_.report()->index();
  ASSERT_GE(index.helpful_changes_size(), 2);
  auto* button = view_->findChild<QToolButton*>("tryTogether");
  EXPECT_FALSE(button->isEnabled());
  for (auto* table : view_->findChildren<DataTable*>()) {
    if (table->model()->headerData(1, Qt::Horizontal).toString() != "Change") continue;
    for (const int row : {0, 1}) {
      QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                        table->visualRect(table->model()->index(row, 1)).center());
    }
  }
  EXPECT_EQ(button->text(), "Try 2 together");
  QSignalSpy wanted(view_.get(), &View::viewWanted);
  QTest::mouseClick(button, Qt::LeftButton);
  EXPECT_EQ(wanted.count(), 1);
  const std::string plan = changed_plan(index, {0, 1});
  EXPECT_EQ(session_.trial(), plan);
  EXPECT_EQ(session_.trialChanges(), plan.empty() ? std::vector<int>{} : (std::vector<int>{0, 1}));
}

TEST_F(Summary, EnterOnAChangeTriesIt) {
  open(Example::tight);
  QSignalSpy wanted(view_.get(), &View::viewWanted);
  for (auto* table : view_->findChildren<DataTable*>()) {
    if (table->model()->headerData(1, Qt::Horizontal).toString() == "Change")
      emit table->activated(table->model()->index(0, 1));
  }
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_EQ(wanted[0][0].toString(), "whatif");
}

}  // namespace
}  // namespace superstep::gui
