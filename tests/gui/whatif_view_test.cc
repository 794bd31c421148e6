// SPDX-License-Identifier: Apache-2.0
#include "gui/views/whatif.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFile>
#include <QLabel>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "gui/batch/queue.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/difference_bars.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class WhatIfViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ExampleReport example = example_report(Example::tight);
    example.index.set_job_json(
        R"({"machine": "ipu-pod16", "model": {"zoo": "bert-large"}, "plan": {"micro_batch": 2}})");
    example.index.mutable_plan()->set_plan_json(R"({"micro_batch": 2, "pipeline_stages": 4})");
    example.columns.finish(example.index, folder_.path / "a.ssr");
    ASSERT_TRUE(session_.open(QString::fromStdString((folder_.path / "a.ssr").string())));
    view_ = std::make_unique<WhatIfView>(session_);
    view_->resize(1292, 809);
    view_->show();
    play("answer");
  }
  void play(const char* mode) {
    view_->client().setProgram("bash", {FAKE_SERVE, mode, QString::fromStdString((folder_.path / "log").string())});
  }
  template <class W>
  W* child(const char* name) {
    return view_->findChild<W*>(name);
  }
  const QAbstractItemModel& figures() { return *view_->tables()[0].model; }
  bool answered() {
    return QTest::qWaitFor([&] { return figures().rowCount() > 0 && !view_->client().isWaiting(); }, 5000);
  }

  TemporaryFolder folder_;
  Session session_;
  std::unique_ptr<WhatIfView> view_;
};

TEST_F(WhatIfViewTest, ChangesTogetherStandBesideTheirSum) {
  const report::Index& index = session_.report()->index();
  session_.setTrial(R"({"micro_batch": 3, "pipeline_stages": 4})", {0, 1});
  ASSERT_TRUE(answered());
  const NamedTable together = view_->tables()[3];
  ASSERT_EQ(together.name, "Changes together");
  ASSERT_EQ(together.model->rowCount(), 4);
  const auto gain = [&](int row) { return together.model->index(row, 1).data(kExactRole).toDouble(); };
  EXPECT_NEAR(gain(0), 4, 1e-9);
  EXPECT_NEAR(gain(1), 25, 1e-9);
  EXPECT_DOUBLE_EQ(gain(2), gain(0) + gain(1));
  EXPECT_DOUBLE_EQ(gain(3), (800.5 / index.plan().samples_per_second() - 1) * 100) << "as the child answers";
  EXPECT_TRUE(child<DataTable>("whatifTogether")->isVisible());
  child<QComboBox>("pin_micro_batch")->setCurrentIndex(3);
  EXPECT_EQ(together.model->rowCount(), 0) << "something else is changed too";
  EXPECT_FALSE(child<DataTable>("whatifTogether")->isVisible());
}

TEST_F(WhatIfViewTest, APinIsAnsweredWithTheDifference) {
  EXPECT_FALSE(view_->client().isRunning()) << "nothing is asked before something is changed";
  child<QComboBox>("pin_micro_batch")->setCurrentIndex(3);
  EXPECT_EQ(view_->changes().pins.at("micro_batch").toInt(), 3);
  ASSERT_TRUE(answered());
  EXPECT_EQ(figures().index(0, 2).data(kExactRole).toDouble(), 800.5);
  EXPECT_EQ(figures().index(1, 2).data(kExactRole).toDouble(), 1918.75);
  EXPECT_TRUE(child<QLabel>("elapsed")->text().endsWith(" ms"));
  EXPECT_TRUE(child<QLabel>("whatifMessage")->text().contains("t=1 p=4 r=4 m=3 g=128"));
  EXPECT_TRUE(child<QLabel>("whatifMessage")->text().contains("fits, tight"));
  const QAbstractItemModel& terms = *view_->tables()[1].model;
  const DifferenceLayout bars = view_->findChild<DifferenceBars*>()->layoutNow();
  ASSERT_EQ(bars.rows(), terms.rowCount());
  for (int row = 0; row < bars.rows(); ++row) {
    EXPECT_NEAR(bars.ends[std::size_t(row)] - bars.begins[std::size_t(row)],
                terms.index(row, kWhatIfDifference).data(kExactRole).toDouble(), 1e-9);
  }
  EXPECT_NEAR(bars.ends[std::size_t(bars.rows() - 2)], bars.ends.back(), 1e-6) << "causes add up to the total";
  child<QToolButton>("whatifCopyPins")->click();
  EXPECT_TRUE(QApplication::clipboard()->text().contains("\"micro_batch\": 3"));
  EXPECT_FALSE(view_->grab().isNull());
}

TEST_F(WhatIfViewTest, TheChangedJobCanBePlanned) {
  auto* open = child<QToolButton>("whatifOpen");
  EXPECT_FALSE(open->isEnabled()) << "nothing is changed";
  child<QComboBox>("pin_micro_batch")->setCurrentIndex(3);
  ASSERT_TRUE(open->isEnabled());
  session_.batch().setProgram("bash", {FAKE_PLAN, "plan"});
  QSignalSpy wanted(view_.get(), &View::viewWanted);
  open->click();
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_EQ(wanted[0][0].toString(), "batch");
  ASSERT_EQ(session_.batch().items().size(), 1U);
  QFile job(session_.batch().items()[0].path);
  ASSERT_TRUE(job.open(QIODevice::ReadOnly));
  EXPECT_TRUE(job.readAll().contains("\"micro_batch\": 3"));
  job.remove();
}

TEST_F(WhatIfViewTest, TheLastAnswerStaysUntilTheNextAndResetTakesAllBack) {
  auto* tile = child<QDoubleSpinBox>("number_chip_tile_memory");
  EXPECT_EQ(tile->value(), 624);
  tile->setValue(700);
  ASSERT_TRUE(answered());
  tile->setValue(800);
  EXPECT_TRUE(view_->client().isWaiting());
  EXPECT_GT(figures().rowCount(), 0);
  ASSERT_TRUE(answered());
  child<QToolButton>("whatifReset")->click();
  EXPECT_TRUE(view_->changes().empty());
  EXPECT_EQ(tile->value(), 624);
  EXPECT_EQ(figures().rowCount(), 0);
  EXPECT_FALSE(child<QToolButton>("whatifCopyPins")->isEnabled());
}

TEST_F(WhatIfViewTest, ACrashIsAMessageWithARestart) {
  play("crash");
  auto* restart = child<QToolButton>("whatifRestart");
  EXPECT_FALSE(restart->isVisible());
  child<QComboBox>("pin_replicas")->setCurrentIndex(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return restart->isVisible(); }, 5000));
  EXPECT_TRUE(child<QLabel>("whatifMessage")->text().contains("out of luck"));
  play("answer");
  restart->click();
  ASSERT_TRUE(answered());
  EXPECT_FALSE(restart->isVisible());
}

TEST_F(WhatIfViewTest, AHangIsShownCanBeTakenBackAndEndsWithAMessage) {
  play("hang");
  child<QComboBox>("pin_replicas")->setCurrentIndex(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return view_->client().isWaiting() && view_->client().isRunning(); }, 5000));
  child<QComboBox>("pin_replicas")->setCurrentIndex(0);  // what was asked is taken back
  EXPECT_TRUE(QTest::qWaitFor([&] { return !view_->client().isWaiting(); }, 5000));
  view_->client().setHangAfter(200);
  child<QComboBox>("pin_replicas")->setCurrentIndex(1);
  auto* restart = child<QToolButton>("whatifRestart");
  ASSERT_TRUE(QTest::qWaitFor([&] { return restart->isVisible(); }, 5000));
  EXPECT_TRUE(child<QLabel>("whatifMessage")->text().contains("No answer and no progress"));
  EXPECT_FALSE(view_->client().isRunning());
}

TEST_F(WhatIfViewTest, ARefusalIsAMessage) {
  play("refuse");
  child<QComboBox>("pin_replicas")->setCurrentIndex(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return child<QLabel>("whatifMessage")->text().contains("no such degree"); }, 5000));
  EXPECT_FALSE(child<QToolButton>("whatifRestart")->isVisible());
  EXPECT_EQ(figures().rowCount(), 0);
}

TEST_F(WhatIfViewTest, APlanOfTheLandscapeIsCosted) {
  session_.setTrial(R"({"micro_batch": 7})");
  EXPECT_EQ(view_->changes().plan, session_.trial());
  ASSERT_TRUE(answered());
  QFile log(QString::fromStdString((folder_.path / "log").string()));
  ASSERT_TRUE(log.open(QIODevice::ReadOnly));
  EXPECT_TRUE(log.readAll().contains("\"command\":\"estimate\""));
  child<QComboBox>("pin_micro_batch")->setCurrentIndex(3);
  EXPECT_EQ(view_->changes().plan, "") << "a search has its own plan";
}

TEST_F(WhatIfViewTest, AnotherReportForgetsTheQuestion) {
  play("slow");
  child<QComboBox>("pin_replicas")->setCurrentIndex(1);
  ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::infeasible, folder_.path).string())));
  EXPECT_FALSE(view_->client().isWaiting());
  EXPECT_TRUE(view_->changes().empty());
  EXPECT_FALSE(view_->grab().isNull());
}

}  // namespace
}  // namespace superstep::gui
