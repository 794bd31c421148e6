// SPDX-License-Identifier: Apache-2.0
#include "gui/models/batch_table.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QXmlStreamReader>

#include "gui/models/batch_export.h"
#include "tests/gui/batch_example.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class BatchTable : public ::testing::Test {
 protected:
  QVariant exact(int row, int column) const { return model_.index(row, column).data(kExactRole); }
  QString text(int row, int column) const { return model_.index(row, column).data().toString(); }
  // One of each kind: done, without a plan, failed, a sweep, waiting.
  void fill() {
    queue_.add(example_.job("done"));
    queue_.add(example_.job("refuse"));
    queue_.add(example_.sweep("name"));
    example_.play(queue_, "name");
    ASSERT_TRUE(ran_out(queue_));
    queue_.add(example_.job("none"));
    example_.play(queue_, "infeasible", Example::infeasible);
    ASSERT_TRUE(ran_out(queue_));
    queue_.add(example_.job("later"));
  }

  BatchExample example_;
  BatchQueue queue_;
  BatchModel model_{queue_};
  SortedModel sorted_{&model_};
  QAbstractItemModelTester tester_{&model_, QAbstractItemModelTester::FailureReportingMode::Fatal};
  QAbstractItemModelTester sorted_tester_{&sorted_, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(BatchTable, TheModelKeepsTheRulesOfModelsWhateverTheQueueDoes) {
  sorted_.sort(kBatchThroughput, Qt::DescendingOrder);
  fill();
  ASSERT_EQ(model_.rowCount(), 5);
  const int last = exact(4, kBatchJob) == "later" ? queue_.items()[4].id : -1;
  queue_.move(last, -4);
  EXPECT_EQ(text(0, kBatchJob), "later");
  EXPECT_EQ(text(0, kBatchPlace), "1");
  queue_.move(last, 2);
  EXPECT_EQ(text(2, kBatchJob), "later");
  sorted_.setFilterFixedString("LATER");
  EXPECT_EQ(sorted_.rowCount(), 1);
  sorted_.setFilterFixedString("");
  model_.setUnits(Units::bytes);
  queue_.rerun(queue_.items()[0].id);
  queue_.remove(last);
  queue_.clearEnded();
  EXPECT_EQ(model_.rowCount(), 1);
  EXPECT_EQ(sorted_.rowCount(), 1);
}

TEST_F(BatchTable, NumbersAreThoseOfTheReport) {
  fill();
  const ReportFile file = ReportFile::open(example_.file("done.ssr").toStdString());
  const report::PlanSummary& plan = file.index().plan();
  EXPECT_EQ(exact(0, kBatchThroughput).toDouble(), plan.samples_per_second());
  EXPECT_EQ(exact(0, kBatchThroughput + 1).toDouble(), plan.step_time_s() * 1e3);
  EXPECT_EQ(exact(0, kBatchThroughput + 2).toDouble(), plan.flop_utilisation() * 100);
  EXPECT_EQ(exact(0, kBatchThroughput + 3).toDouble() * 1024, plan.tile_peak_bytes()) << "in the unit of the head";
  model_.setUnits(Units::bytes);
  EXPECT_EQ(exact(0, kBatchThroughput + 3).toLongLong(), plan.tile_peak_bytes());
  EXPECT_EQ(exact(0, kBatchThroughput + 4).toLongLong(), margin_bytes(plan));
  EXPECT_EQ(text(0, kBatchFit), "! fits, tight");
  EXPECT_EQ(text(0, kBatchPlan).toStdString(), plan.label());
  EXPECT_EQ(text(0, kBatchOutput), "done.ssr");
  EXPECT_EQ(exact(0, kBatchOutput), example_.file("done.ssr"));
  EXPECT_THAT(model_.index(0, 0).data(Qt::ToolTipRole).toString().toStdString(), HasSubstr("It fits, but tightly"));
}

TEST_F(BatchTable, StatesAndReasonsAreWords) {
  fill();
  EXPECT_EQ(text(0, kBatchState), "done");
  EXPECT_EQ(text(1, kBatchState), "failed");
  EXPECT_THAT(text(1, kBatchPlan).toStdString(), HasSubstr("expected a divisor of 16"));
  EXPECT_EQ(text(1, kBatchThroughput), "");
  EXPECT_EQ(text(2, kBatchState), "1 of 3 planned");
  EXPECT_THAT(text(2, kBatchPlan).toStdString(), HasSubstr("item 0: t=1 p=1 r=2"));
  EXPECT_EQ(text(3, kBatchFit), QString::fromUtf8("✕ no plan fits"));
  EXPECT_THAT(text(3, kBatchPlan).toStdString(), HasSubstr("No plan fits:"));
  EXPECT_EQ(text(4, kBatchState), "waiting");
}

TEST_F(BatchTable, ASweepsItemsAreATable) {
  fill();
  TableModel rows;
  QAbstractItemModelTester tester(&rows, QAbstractItemModelTester::FailureReportingMode::Fatal);
  rows.setContents(sweep_table(queue_.items()[2].rows, Units::kib));
  ASSERT_EQ(rows.rowCount(), 3);
  EXPECT_EQ(rows.index(0, kSweepThroughput).data(kExactRole).toDouble(), 120.25);
  EXPECT_EQ(rows.index(1, 2).data().toString(), QString::fromUtf8("✕ no plan fits"));
  EXPECT_EQ(rows.index(1, 2).data(kBetterRole).toInt(), -1);
  EXPECT_EQ(rows.index(2, 3).data().toString(), "found 3, which does not divide the 8 IPUs");
  rows.setContents(sweep_table(nullptr, Units::kib));
  EXPECT_EQ(rows.rowCount(), 0);
}

TEST_F(BatchTable, JUnitCountsWhatDoesNotFitAsAFailure) {
  fill();
  QXmlStreamReader xml(batch_junit(queue_.items()));
  QStringList seen;
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement) continue;
    const auto attribute = [&](const char* name) { return xml.attributes().value(name).toString(); };
    if (xml.name() == QLatin1String("testsuite")) {
      seen << QStringList{attribute("name"), attribute("tests"), attribute("failures"), attribute("errors"),
                          attribute("skipped")}
                  .join(' ');
    } else if (xml.name() == QLatin1String("testcase")) {
      seen << attribute("name");
    } else if (xml.name() != QLatin1String("testsuites")) {
      seen << xml.name().toString() + ": " + attribute("message").left(13);
    }
  }
  EXPECT_FALSE(batch_passed(queue_.items()));
  EXPECT_TRUE(batch_passed({queue_.items()[0]}));
  EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
  EXPECT_EQ(seen, (QStringList{"jobs 4 1 1 1", "done", "refuse", "error: job.json#/pla", "none",
                               "failure: No plan fits:", "later", "skipped: waiting", "name 3 1 1 0",
                               "rate 1 MB/s, replicas 2", "replicas 4", "failure: no plan fits:", "replicas 3",
                               "error: found 3, whic"}));
}

TEST_F(BatchTable, JsonHasTheCommandLinesKeys) {
  fill();
  const QJsonArray jobs = QJsonDocument::fromJson(batch_json(queue_.items())).object()["jobs"].toArray();
  ASSERT_EQ(jobs.size(), 5);
  const QJsonObject best = jobs[0].toObject()["best"].toObject();
  EXPECT_EQ(best["samples_per_second"].toDouble(), queue_.items()[0].result->samples_per_second);
  EXPECT_EQ(best["fits"].toString(), "tight");
  EXPECT_EQ(jobs[1].toObject()["message"].toString(), queue_.items()[1].message);
  EXPECT_EQ(jobs[2].toObject()["items"].toArray().size(), 3);
}

TEST_F(BatchTable, MarkdownIsATable) {
  fill();
  const QList<QByteArray> lines = batch_markdown(queue_.items()).trimmed().split('\n');
  ASSERT_EQ(lines.size(), 2 + 5 + 3);
  for (const QByteArray& line : lines) {
    EXPECT_EQ(QString::fromUtf8(line).remove("\\|").count('|'), 10) << line.toStdString();
  }
}

}  // namespace
}  // namespace superstep::gui
