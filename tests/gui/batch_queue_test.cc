// SPDX-License-Identifier: Apache-2.0
#include "gui/batch/queue.h"

#include <gmock/gmock.h>

#include <QFileInfo>
#include <QSignalSpy>

#include "gui/batch/files.h"
#include "model/error.h"
#include "tests/gui/batch_example.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class Batch : public ::testing::Test {
 protected:
  const BatchItem& item(int place) const { return queue_.items()[static_cast<std::size_t>(place)]; }
  std::string message(int place) const { return item(place).message.toStdString(); }
  void expect_failure(const char* mode, const std::string& words) {
    const int id = queue_.add(example_.job("j"));
    example_.play(queue_, mode);
    ASSERT_TRUE(ran_out(queue_));
    EXPECT_EQ(item(0).state, BatchState::failed);
    EXPECT_THAT(message(0), HasSubstr(words));
    EXPECT_FALSE(item(0).result.has_value());
    // The next run is a new one.
    example_.play(queue_, "done");
    queue_.rerun(id);
    ASSERT_TRUE(ran_out(queue_));
    EXPECT_EQ(item(0).state, BatchState::done) << message(0);
    EXPECT_EQ(message(0), "");
  }

  BatchExample example_;
  BatchQueue queue_;
};

TEST_F(Batch, AJobIsPlannedAndItsReportIsTheResult) {
  example_.play(queue_, "done");
  queue_.add(example_.job("bert"));
  EXPECT_EQ(item(0).state, BatchState::waiting);
  QTest::qWait(50);
  EXPECT_TRUE(example_.calls().isEmpty()) << "nothing starts before run()";
  QSignalSpy finished(&queue_, &BatchQueue::finished);
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(finished.size(), 1);
  EXPECT_EQ(
      example_.calls(),
      QStringList{
          QString("plan %1 -o %2 --progress json --quiet").arg(example_.file("bert.json"), example_.file("bert.ssr"))});
  EXPECT_EQ(item(0).state, BatchState::done);
  const ReportFile report = ReportFile::open(item(0).output.toStdString());
  const report::PlanSummary& plan = report.index().plan();
  EXPECT_EQ(item(0).result->samples_per_second, plan.samples_per_second());
  EXPECT_EQ(item(0).result->step_time_s, plan.step_time_s());
  EXPECT_EQ(item(0).result->tile_peak_bytes, plan.tile_peak_bytes());
  EXPECT_EQ(item(0).result->label.toStdString(), plan.label());
  EXPECT_EQ(item(0).result->fit, Fit::tight);
  EXPECT_EQ(item(0).progress.what, "searching");
}

TEST_F(Batch, AnInfeasibleJobIsDoneAndSaysWhy) {
  example_.play(queue_, "infeasible", Example::infeasible);
  queue_.add(example_.job("j"));
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).state, BatchState::done);
  EXPECT_EQ(item(0).result->fit, Fit::infeasible);
  EXPECT_THAT(item(0).result->verdict.toStdString(), HasSubstr("No plan fits"));
}

TEST_F(Batch, WhereNoPlanFitsTheClosestIsNoResult) {
  ExampleReport report = example_report(Example::does_not_fit);
  report.index.mutable_infeasible()->set_constraint("tile memory");
  report.columns.finish(report.index, example_.folder.path / "a.ssr");
  const BatchResult result = result_of_report(example_.file("a.ssr"));
  EXPECT_EQ(result.fit, Fit::infeasible);
  EXPECT_EQ(result.verdict, "No plan fits: tile memory.");
  EXPECT_EQ(result.label, "");
  EXPECT_EQ(result.samples_per_second, 0);
  EXPECT_GT(result.tile_peak_bytes, result.tile_limit_bytes) << "how far it is from fitting";
}

TEST_F(Batch, ACrashIsAMessage) { expect_failure("crash", "crashed with signal 11:\nterminate called"); }
TEST_F(Batch, ARefusalIsAMessage) { expect_failure("refuse", "job.json#/plan/replicas: found 3"); }
TEST_F(Batch, AnEndWithoutAWordIsSaid) { expect_failure("silent", "exit code 3 and no message"); }
TEST_F(Batch, GarbageIsAMessage) { expect_failure("garbage", "not a Superstep report"); }

TEST_F(Batch, AProgramThatIsNotThereIsSaid) {
  queue_.setProgram("/nowhere/superstep", {});
  queue_.add(example_.job("j"));
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).state, BatchState::failed);
  EXPECT_THAT(message(0), HasSubstr("cannot be started (/nowhere/superstep"));
}

TEST_F(Batch, LinesInPartsArePutTogetherAndAnUnfinishedOneHarmsNobody) {
  example_.play(queue_, "partial");
  queue_.add(example_.job("j"));
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).state, BatchState::done) << message(0);
  EXPECT_EQ(item(0).progress.what, "in two parts");
  EXPECT_EQ(item(0).progress.share, 0.25);
}

TEST_F(Batch, OneThatHangsIsCancelledAndTheNextRuns) {
  example_.play(queue_, "name");
  const int hangs = queue_.add(example_.job("hang"));
  queue_.add(example_.job("done"));
  queue_.run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return example_.calls().size() == 1; }, 5000));
  EXPECT_EQ(item(0).state, BatchState::running);
  EXPECT_EQ(item(1).state, BatchState::waiting);
  queue_.cancel(hangs);
  EXPECT_EQ(item(0).state, BatchState::cancelled);
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).state, BatchState::cancelled);
  EXPECT_EQ(item(1).state, BatchState::done);
}

TEST_F(Batch, CancellingAllStartsNothingMore) {
  example_.play(queue_, "hang");
  for (const char* name : {"a", "b"}) queue_.add(example_.job(name));
  queue_.run();
  queue_.cancelAll();
  EXPECT_EQ(queue_.running(), 0);
  EXPECT_FALSE(queue_.isOn());
  EXPECT_EQ(item(0).state, BatchState::cancelled);
  EXPECT_EQ(item(1).state, BatchState::waiting);
}

TEST_F(Batch, SeveralAtOnceShareTheCores) {
  if (BatchQueue::mostAtOnce() < 2) GTEST_SKIP() << "one core: jobs run one after the other";
  example_.play(queue_, "slow");
  queue_.setAtOnce(2);
  for (const char* name : {"a", "b", "c"}) queue_.add(example_.job(name));
  queue_.run();
  EXPECT_EQ(queue_.running(), 2);
  EXPECT_EQ(item(2).state, BatchState::waiting);
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(queue_.count(BatchState::done), 3);
  EXPECT_TRUE(example_.calls()[0].contains(QString("--threads %1").arg(BatchQueue::mostAtOnce() / 2)));
}

TEST_F(Batch, WhatIsAddedMeanwhileRunsToo) {
  example_.play(queue_, "slow");
  queue_.add(example_.job("a"));
  queue_.run();
  queue_.add(example_.job("b"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !queue_.isOn(); }, 20000));
  EXPECT_EQ(queue_.count(BatchState::done), 2);
}

TEST_F(Batch, PausedTheRunningOneEndsAndTheNextWaits) {
  example_.play(queue_, "slow");
  for (const char* name : {"a", "b"}) queue_.add(example_.job(name));
  queue_.run();
  queue_.pause();
  ASSERT_TRUE(QTest::qWaitFor([&] { return queue_.running() == 0; }, 20000));
  EXPECT_EQ(item(0).state, BatchState::done);
  EXPECT_EQ(item(1).state, BatchState::waiting);
}

TEST_F(Batch, AFileThatIsNotOursIsNeverReplaced) {
  example_.play(queue_, "done");
  example_.write("j.ssr", "somebody's");
  const int id = queue_.add(example_.job("j"));
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).output, example_.file("j-2.ssr"));
  queue_.rerun(id);
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).output, example_.file("j-2.ssr")) << "its own is replaced";
  EXPECT_EQ(QFileInfo(example_.file("j.ssr")).size(), 10);
  queue_.setOutput(id, example_.file("j.ssr"));
  queue_.rerun(id);
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_GT(QFileInfo(example_.file("j.ssr")).size(), 10) << "somebody chose it";
}

TEST_F(Batch, ANameThatWasNotUsedIsFreeAgain) {
  example_.play(queue_, "silent");
  const int id = queue_.add(example_.job("j"));
  ASSERT_TRUE(ran_out(queue_));
  example_.write("j.ssr", "somebody's, since");
  example_.play(queue_, "done");
  queue_.rerun(id);
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).output, example_.file("j-2.ssr"));
}

TEST_F(Batch, AFailedRunDoesNotTakeTheReportOfTheOneBefore) {
  example_.play(queue_, "done");
  const int id = queue_.add(example_.job("j"));
  ASSERT_TRUE(ran_out(queue_));
  example_.play(queue_, "silent");
  queue_.rerun(id);
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).state, BatchState::failed);
}

TEST_F(Batch, ReportsGoIntoTheFolderThatIsChosen) {
  example_.play(queue_, "done");
  TemporaryFolder reports;
  queue_.setFolder(QString::fromStdString(reports.path.string()));
  queue_.add(example_.job("j"));
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_TRUE(std::filesystem::exists(reports.path / "j.ssr"));
}

TEST_F(Batch, ASweepHasARowForEachItem) {
  example_.play(queue_, "slow");
  queue_.add(example_.sweep("grid"));
  QSignalSpy changed(&queue_, &BatchQueue::changed);
  queue_.run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return item(0).rows != nullptr; }, 20000));
  EXPECT_EQ(item(0).state, BatchState::running) << "rows come while it runs";
  ASSERT_EQ(item(0).rows->size(), 1u);
  EXPECT_EQ(item(0).rows->front().samples_per_second, 120.25);
  ASSERT_TRUE(QTest::qWaitFor([&] { return item(0).ended(); }, 20000));
  ASSERT_EQ(item(0).state, BatchState::done) << message(0);
  EXPECT_EQ(example_.calls(), QStringList{QString("sweep %1 -o %2 --progress json --json -")
                                              .arg(example_.file("grid.json"), example_.file("grid.sqlite"))});
  ASSERT_EQ(item(0).rows->size(), 3u);
  const BatchResult& first = item(0).rows->front();
  EXPECT_EQ(first.samples_per_second, 120.25);
  EXPECT_EQ(first.fit, Fit::tight);
  EXPECT_EQ(first.grid, "rate 1 MB/s, replicas 2");
  EXPECT_EQ((*item(0).rows)[1].fit, Fit::infeasible);
  EXPECT_TRUE((*item(0).rows)[2].failed);
  EXPECT_EQ(item(0).result->item, 0) << "the fastest";
  EXPECT_EQ(item(0).progress.jobs, 3);
  EXPECT_EQ(item(0).progress.seconds_left, 2.5);
  EXPECT_EQ(state_text(item(0)), "1 of 3 planned");
}

TEST_F(Batch, ASweepThatWritesGarbageIsAMessage) {
  example_.play(queue_, "garbage");
  queue_.add(example_.sweep("grid"));
  ASSERT_TRUE(ran_out(queue_));
  EXPECT_EQ(item(0).state, BatchState::failed);
  EXPECT_THAT(message(0), HasSubstr("no result of a sweep: nor this"));
}

TEST_F(Batch, OtherFilesAreRefusedWithWhatWasFound) {
  const auto refused = [&](const QString& path) {
    try {
      queue_.add(path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused(example_.write("a.json", R"({"chip": {}, "links": {}})")),
              HasSubstr("found an object with \"chip\", \"links\", expected a job"));
  EXPECT_THAT(refused(example_.write("a.json", "[1]")), HasSubstr("found a list"));
  EXPECT_THAT(refused(example_.write("a.json", "{")), HasSubstr("is no JSON"));
  EXPECT_THAT(refused(example_.write("a.json", "")), HasSubstr("is no JSON"));
  EXPECT_THAT(refused(example_.file("none.json")), HasSubstr("cannot be read"));
  EXPECT_TRUE(queue_.items().empty());
}

TEST_F(Batch, AFolderIsItsJsonFilesAndSaysWhatItLeavesOut) {
  example_.job("b");
  example_.job("a");
  example_.write("schema.json", "{}");
  const QString left_out = queue_.addAll({example_.file("")});
  EXPECT_THAT(left_out.toStdString(), HasSubstr("schema.json: found an object without keys"));
  ASSERT_EQ(queue_.items().size(), 2u);
  EXPECT_EQ(item(0).name(), "a");
  TemporaryFolder empty;
  EXPECT_THAT(queue_.addAll({QString::fromStdString(empty.path.string())}).toStdString(), HasSubstr("no JSON files"));
}

TEST_F(Batch, ItemsMoveAndGo) {
  example_.play(queue_, "done");
  std::vector<int> ids;
  for (const char* name : {"a", "b", "c"}) ids.push_back(queue_.add(example_.job(name)));
  EXPECT_EQ(queue_.add(example_.job("b")), ids[1]) << "once is enough";
  queue_.move(ids[2], -2);
  EXPECT_EQ(item(0).name(), "c");
  queue_.move(ids[2], 5);
  EXPECT_EQ(item(2).name(), "c");
  queue_.remove(ids[0]);
  EXPECT_EQ(queue_.items().size(), 2u);
  ASSERT_TRUE(ran_out(queue_));
  queue_.clearEnded();
  EXPECT_TRUE(queue_.items().empty());
}

TEST_F(Batch, TheListIsThereAgainAfterARestart) {
  example_.play(queue_, "name");
  queue_.remember(example_.file("batch.ini"));
  queue_.setFolder(example_.file("out"));
  std::filesystem::create_directory(example_.folder.path / "out");
  for (const char* name : {"done", "refuse"}) queue_.add(example_.job(name));
  ASSERT_TRUE(ran_out(queue_));
  queue_.add(example_.job("later"));
  BatchQueue next;
  next.remember(example_.file("batch.ini"));
  ASSERT_EQ(next.items().size(), 3u);
  EXPECT_EQ(next.items()[0].state, BatchState::done);
  EXPECT_EQ(next.items()[0].result->samples_per_second, item(0).result->samples_per_second);
  EXPECT_EQ(next.items()[1].state, BatchState::failed);
  EXPECT_EQ(next.items()[1].message, item(1).message);
  EXPECT_EQ(next.items()[2].state, BatchState::waiting);
  EXPECT_EQ(next.folder(), example_.file("out"));
  EXPECT_FALSE(next.isOn());
}

TEST_F(Batch, ClosingEndsTheChildren) {
  auto queue = std::make_unique<BatchQueue>();
  example_.play(*queue, "hang");
  queue->add(example_.job("j"));
  queue->run();
  ASSERT_TRUE(QTest::qWaitFor([&] { return example_.calls().size() == 1; }, 5000));
  QElapsedTimer timer;
  timer.start();
  queue.reset();
  EXPECT_LT(timer.elapsed(), 2000);
}

}  // namespace
}  // namespace superstep::gui
