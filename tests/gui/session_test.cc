// SPDX-License-Identifier: Apache-2.0
#include "gui/session/session.h"

#include <gmock/gmock.h>

#include <QSignalSpy>
#include <fstream>

#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  QString example(Example which) { return QString::fromStdString(write_example(which, folder_.path).string()); }

  TemporaryFolder folder_;
  Session session_;
};

TEST_F(SessionTest, StartsWithoutAReportAndWithEmptyData) {
  EXPECT_EQ(session_.report(), nullptr);
  EXPECT_TRUE(session_.heat()->phases.empty());
  EXPECT_EQ(session_.variables()->name.size(), 0u);
  EXPECT_FALSE(session_.reload());
}

TEST_F(SessionTest, KeepsWhatItHasWhenAReportCannotBeOpened) {
  ASSERT_TRUE(session_.open(example(Example::tight)));
  const ReportPointer before = session_.report();
  QSignalSpy failed(&session_, &Session::failed);
  EXPECT_FALSE(session_.open("no/such/file.ssr"));
  EXPECT_EQ(failed.size(), 1);
  EXPECT_EQ(session_.report(), before);
}

TEST_F(SessionTest, OpensSeveralReportsAndEachOnlyOnce) {
  const QString first = example(Example::tight);
  ASSERT_TRUE(session_.open(first));
  ASSERT_TRUE(session_.open(example(Example::deeper)));
  EXPECT_EQ(session_.current(), 1);
  ASSERT_TRUE(session_.open(first));
  EXPECT_EQ(session_.current(), 0);
  EXPECT_EQ(session_.paths().size(), 2);
  session_.setCurrent(1);
  EXPECT_EQ(session_.report()->index().ipu_classes_size(), 8);
}

TEST_F(SessionTest, TheSelectionHasAHistory) {
  ASSERT_TRUE(session_.open(example(Example::tight)));
  QSignalSpy changed(&session_, &Session::selectionChanged);
  session_.select({.ipu_class = 1});
  session_.select({.ipu_class = 2, .tile = 7});
  session_.select({.ipu_class = 2, .tile = 7});
  EXPECT_EQ(changed.size(), 2) << "the same again is no change";
  session_.goBack();
  EXPECT_EQ(session_.selection().ipu_class, 1);
  session_.goForward();
  EXPECT_EQ(session_.selection().tile, 7);
  session_.goBack();
  session_.select({.term = "sync"});
  EXPECT_FALSE(session_.canGoForward());
  session_.goBack();
  session_.goBack();
  EXPECT_EQ(session_.selection(), Selection{});
  EXPECT_FALSE(session_.canGoBack());
}

TEST_F(SessionTest, ReloadingReadsTheFileAgainAndForgetsTheSelection) {
  const QString path = example(Example::tight);
  ASSERT_TRUE(session_.open(path));
  session_.select({.ipu_class = 1});
  ExampleReport other = example_report(Example::deeper);
  other.columns.finish(other.index, path.toStdString());
  EXPECT_EQ(session_.report()->index().ipu_classes_size(), 4);
  ASSERT_TRUE(session_.reload());
  EXPECT_EQ(session_.report()->index().ipu_classes_size(), 8);
  EXPECT_EQ(session_.selection(), Selection{});
}

TEST_F(SessionTest, ADamagedColumnIsReportedOnceAndIsEmptyThen) {
  const QString path = example(Example::tight);
  std::uint64_t offset = 0;
  {
    const ReportFile file = ReportFile::open(path.toStdString());
    for (const auto& column : file.index().columns()) {
      if (column.name() == "tile.memory_bytes") offset = column.offset();
    }
  }
  std::fstream file(path.toStdString(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset) + 10);
  file.put('\x7f');
  file.close();
  ASSERT_TRUE(session_.open(path)) << "the index is whole";
  QSignalSpy failed(&session_, &Session::failed);
  EXPECT_TRUE(session_.heat()->phases.empty());
  EXPECT_TRUE(session_.heat()->phases.empty());
  ASSERT_EQ(failed.size(), 1);
  EXPECT_THAT(failed[0][0].toString().toStdString(), ::testing::HasSubstr("\"tile.memory_bytes\" does not match"));
  EXPECT_GT(session_.variables()->name.size(), 0u) << "other columns are still read";
}

TEST_F(SessionTest, ManyStepsAreReadAside) {
  session_.setReadsAside(10);
  ASSERT_TRUE(session_.open(example(Example::tight)));
  QSignalSpy read(&session_, &Session::traceRead);
  EXPECT_TRUE(session_.trace()->empty());
  EXPECT_TRUE(session_.readsTrace());
  EXPECT_FALSE(session_.timeline()->empty()) << "the pipeline needs no steps";
  ASSERT_TRUE(read.wait(20000));
  EXPECT_FALSE(session_.readsTrace());
  EXPECT_EQ(session_.trace()->lanes.size(), 4u);
}

TEST_F(SessionTest, AFileThatIsReplacedBeforeItsStepsAreReadIsAMessage) {
  session_.setReadsAside(10);
  const QString path = example(Example::tight);
  ASSERT_TRUE(session_.open(path));
  example_report(Example::deeper).columns.finish(example_report(Example::deeper).index, path.toStdString());
  QSignalSpy failed(&session_, &Session::failed), read(&session_, &Session::traceRead);
  EXPECT_TRUE(session_.trace()->empty());
  ASSERT_TRUE(read.wait(20000));
  ASSERT_EQ(failed.size(), 1);
  EXPECT_THAT(failed[0][0].toString().toStdString(), ::testing::HasSubstr("has changed since it was opened"));
  EXPECT_TRUE(session_.trace()->empty());
}

TEST_F(SessionTest, ASessionThatEndsWaitsForItsReader) {
  Session other;
  other.setReadsAside(10);
  ASSERT_TRUE(other.open(example(Example::tight)));
  EXPECT_TRUE(other.trace()->empty());
}

TEST_F(SessionTest, TheHeatMapStartsAtTheFullestIpu) {
  ASSERT_TRUE(session_.open(example(Example::tight)));
  EXPECT_EQ(session_.heatState().ipu_class, 3);
}

TEST(Shared, StepsAndTraceHoldTheirColumnsOnce) {
  TemporaryFolder folder;
  for (const bool trace_first : {false, true}) {
    Session session;
    ASSERT_TRUE(session.open(QString::fromStdString(write_example(Example::tight, folder.path).string())));
    if (trace_first) session.trace();
    const auto steps = session.steps();
    const auto trace = session.trace()->steps;
    EXPECT_TRUE(trace->name.rows.shares(steps->name.rows)) << trace_first;
    EXPECT_TRUE(trace->start.values().shares(steps->cycles)) << trace_first;
    EXPECT_TRUE(trace->compute.values().shares(steps->compute_cycles)) << trace_first;
    EXPECT_EQ(trace->compute.before(trace->rows()), StepTrace(*trace).compute.before(trace->rows()));
  }
}

}  // namespace
}  // namespace superstep::gui
