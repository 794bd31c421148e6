// SPDX-License-Identifier: Apache-2.0
#include "gui/views/batch.h"

#include <gmock/gmock.h>

#include <QApplication>
#include <QClipboard>
#include <QDropEvent>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMimeData>
#include <QProcess>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

#include "gui/base/theme.h"
#include "gui/main_window.h"
#include "gui/widgets/batch_details.h"
#include "gui/widgets/data_table.h"
#include "tests/gui/batch_example.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class BatchPage : public ::testing::Test {
 protected:
  void SetUp() override {
    example_.play(queue_, "name");
    window_.resize(1440, 900);
    window_.show();
    QCoreApplication::processEvents();
    QTest::keyClick(&window_, Qt::Key_B);
    view_ = window_.findChild<BatchView*>();
    ASSERT_NE(view_, nullptr);
    table_ = view_->findChild<DataTable*>("batchTable");
  }
  void TearDown() override { apply_theme(*qApp, light_theme()); }
  void run(std::initializer_list<const char*> jobs) {
    for (const char* job : jobs) queue_.add(example_.job(job));
    ASSERT_TRUE(ran_out(queue_));
    QCoreApplication::processEvents();
  }
  std::string details() const { return view_->findChild<BatchDetails*>()->text().toStdString(); }
  QAction* action(const char* name) const { return view_->findChild<QAction*>(name); }
  QString shown(int row, int column) const { return table_->model()->index(row, column).data().toString(); }

  BatchExample example_;
  Session session_;
  BatchQueue& queue_ = session_.batch();
  MainWindow window_{session_};
  BatchView* view_ = nullptr;
  DataTable* table_ = nullptr;
};

TEST_F(BatchPage, WithoutAReportItIsThereAndSaysWhatToDo) {
  EXPECT_TRUE(view_->isVisible());
  EXPECT_FALSE(view_->grab().isNull());
  EXPECT_FALSE(action("batchRun")->isEnabled());
  EXPECT_EQ(view_->statusText(), "Nothing is queued");
}

TEST_F(BatchPage, AJobRunsByKeysAndEnterOpensItsReport) {
  queue_.add(example_.job("done"));
  table_->setFocus();
  QTest::keyClick(table_, Qt::Key_R);
  ASSERT_TRUE(QTest::qWaitFor([&] { return queue_.count(BatchState::done) == 1; }, 20000));
  EXPECT_EQ(session_.report(), nullptr);
  EXPECT_THAT(details(), HasSubstr("Job done: done after"));
  EXPECT_THAT(details(), HasSubstr("superstep plan " + example_.file("done.json").toStdString()));
  QTest::keyClick(table_, Qt::Key_Return);
  ASSERT_NE(session_.report(), nullptr);
  EXPECT_EQ(session_.paths(), QStringList{example_.file("done.ssr")});
  EXPECT_EQ(window_.currentView(), 0);
}

TEST_F(BatchPage, ADoubleClickOpensTooAndOfAFailureNothing) {
  run({"refuse", "done"});
  const auto click = [&](int row) {
    const QPoint at = table_->visualRect(table_->model()->index(row, 1)).center();
    QTest::mouseClick(table_->viewport(), Qt::LeftButton, {}, at);
    QTest::mouseDClick(table_->viewport(), Qt::LeftButton, {}, at);
  };
  click(0);
  EXPECT_EQ(session_.report(), nullptr);
  EXPECT_THAT(details(), HasSubstr("expected a divisor of 16"));
  click(1);
  EXPECT_NE(session_.report(), nullptr);
}

TEST_F(BatchPage, SeveralRowsOpenInTheComparison) {
  for (const char* name : {"a", "b", "c"}) queue_.add(example_.job(name));
  example_.play(queue_, "done");
  ASSERT_TRUE(ran_out(queue_));
  table_->selectRow(2);
  EXPECT_FALSE(action("batchCompare")->isEnabled());
  table_->selectionModel()->select(table_->model()->index(0, 0),
                                   QItemSelectionModel::Select | QItemSelectionModel::Rows);
  ASSERT_TRUE(action("batchCompare")->isEnabled());
  action("batchCompare")->trigger();
  EXPECT_EQ(session_.paths(), (QStringList{example_.file("a.ssr"), example_.file("c.ssr")}));
  EXPECT_EQ(session_.compareState().reports, (std::vector<int>{0, 1}));
  EXPECT_STREQ(all_views()[static_cast<std::size_t>(window_.currentView())].id, "compare");
}

TEST_F(BatchPage, FilesAreDropped) {
  example_.job("b");
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(example_.job("a")), QUrl::fromLocalFile(example_.write("c.json", "[]"))});
  window_.showView(0);
  QDragEnterEvent enter(QPoint(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window_, &enter);
  QDropEvent drop(QPointF(300, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window_, &drop);
  EXPECT_EQ(queue_.items().size(), 1u);
  EXPECT_TRUE(view_->isVisible()) << "the page comes up";
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("c.json: found a list, expected a job"));
  window_.openFiles({example_.file("")});
  EXPECT_EQ(queue_.items().size(), 2u) << "the folder's other job";
}

TEST_F(BatchPage, RowsMoveAndGoByKeys) {
  for (const char* name : {"a", "b"}) queue_.add(example_.job(name));
  table_->setFocus();
  table_->selectRow(1);
  QTest::keyClick(table_, Qt::Key_Up, Qt::ControlModifier);
  EXPECT_EQ(shown(0, kBatchJob), "b");
  QTest::keyClick(table_, Qt::Key_Delete);
  ASSERT_EQ(queue_.items().size(), 1u);
  EXPECT_EQ(shown(0, kBatchJob), "a");
}

TEST_F(BatchPage, OneThatHangsIsCancelledByTheButton) {
  queue_.add(example_.job("hang"));
  queue_.run();
  table_->selectRow(0);
  ASSERT_TRUE(action("batchCancel")->isEnabled());
  action("batchCancel")->trigger();
  EXPECT_EQ(shown(0, kBatchState), "cancelled");
  action("batchRerun")->trigger();
  table_->setFocus();
  QTest::keyClick(table_, Qt::Key_R);
  ASSERT_EQ(queue_.running(), 1);
  action("batchCancelAll")->trigger();
  EXPECT_EQ(queue_.running(), 0);
  EXPECT_FALSE(window_.grab().isNull());
}

TEST_F(BatchPage, TheFilterKeepsRowsAndSlashGoesThere) {
  run({"done", "refuse"});
  table_->setFocus();
  QTest::keyClick(table_, Qt::Key_Slash);
  auto* filter = view_->findChild<QLineEdit*>("batchFilter");
  QTest::keyClicks(filter, "divisor");
  ASSERT_EQ(table_->model()->rowCount(), 1);
  EXPECT_EQ(shown(0, kBatchJob), "refuse");
}

TEST_F(BatchPage, ItIsSortedByNumber) {
  run({"refuse", "done"});
  table_->sortByColumn(kBatchThroughput, Qt::DescendingOrder);
  EXPECT_EQ(shown(0, kBatchJob), "done");
  table_->sortByColumn(kBatchPlace, Qt::AscendingOrder);
  EXPECT_EQ(shown(0, kBatchJob), "refuse");
}

TEST_F(BatchPage, ASweepShowsItsItemsBelow) {
  queue_.add(example_.sweep("name"));
  ASSERT_TRUE(ran_out(queue_));
  table_->selectRow(0);
  auto* items = view_->findChild<DataTable*>("sweepItems");
  ASSERT_TRUE(items->isVisible());
  EXPECT_EQ(items->model()->rowCount(), 3);
  ASSERT_EQ(view_->tables().size(), 2u);
  EXPECT_EQ(view_->tables()[1].model->index(0, kSweepThroughput).data(kExactRole).toDouble(), 120.25);
  // An item has no report; planned as a job it has.
  items->setFocus();
  items->selectRow(0);
  items->setCurrentIndex(items->model()->index(0, 0));
  QTest::keyClick(items, Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return queue_.count(BatchState::done) == 2; }, 20000));
  EXPECT_EQ(shown(1, kBatchJob), "name-item-0");
  EXPECT_TRUE(example_.calls().last().startsWith("plan " + example_.file("name.json") + " --item 0 -o "));
  EXPECT_EQ(session_.report(), nullptr);
  QTest::keyClick(items, Qt::Key_Return);
  EXPECT_EQ(session_.paths(), QStringList{example_.file("name-item-0.ssr")}) << "now it opens";
  EXPECT_EQ(queue_.items().size(), 2u);
}

TEST_F(BatchPage, ResultsAreWrittenInEachFormat) {
  run({"done", "refuse"});
  for (const char* ending : {"csv", "md", "json", "xml"}) {
    view_->exportTo(example_.file(QString("out.") + ending));
    QFile file(example_.file(QString("out.") + ending));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_TRUE(file.readAll().contains("divisor of 16")) << ending;
  }
  EXPECT_EQ(window_.message(), "");
  view_->exportTo(example_.file("out.gif"));
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("csv, md, json, xml"));
  view_->exportTo(example_.file("none/out.csv"));
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("cannot be written"));
  ASSERT_TRUE(window_.exportTo(example_.file("page.png"))) << "without a report";
}

TEST_F(BatchPage, EachControlHasANameAndNothingIsCut) {
  run({"done", "refuse"});
  for (const QSize size : {QSize(1280, 720), QSize(1440, 900)}) {
    window_.resize(size);
    QCoreApplication::processEvents();
    for (const QToolButton* button : view_->findChildren<QToolButton*>()) {
      if (!button->isVisible()) continue;
      EXPECT_FALSE(button->accessibleName().isEmpty()) << button->text().toStdString();
      EXPECT_GE(button->width(), button->sizeHint().width()) << button->text().toStdString();
      EXPECT_LE(button->mapTo(view_, button->rect().bottomRight()).x(), view_->width() - 12);
    }
  }
  EXPECT_EQ(view_->findChild<QSpinBox*>("batchAtOnce")->maximum(), BatchQueue::mostAtOnce());
}

// Without a display: planned, then exported.
TEST_F(BatchPage, TheViewersCommandLinePlansAndExports) {
  ASSERT_TRUE(QFile::copy(QString(SUPERSTEP_SOURCE) + "/data/jobs/toy-one-ipu.json", example_.file("toy.json")));
  const auto view = [&](const QStringList& arguments) {
    QProcess process;
    process.start(SUPERSTEP_VIEW, arguments);
    EXPECT_TRUE(process.waitForFinished(60000));
    return process.exitCode();
  };
  EXPECT_EQ(view({example_.file("toy.json"), "--export", "batch", "-o", example_.file("out.json")}), 0);
  QFile file(example_.file("out.json"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  const QJsonObject job = QJsonDocument::fromJson(file.readAll()).object()["jobs"].toArray()[0].toObject();
  const ReportFile report = ReportFile::open(example_.file("toy.ssr").toStdString());
  EXPECT_EQ(job["best"].toObject()["samples_per_second"].toDouble(), report.index().plan().samples_per_second());
  const QString bad = example_.job("no-batch");
  EXPECT_EQ(view({bad, "--export", "batch", "-o", example_.file("out.xml")}), 1) << "a job that fails";
  EXPECT_EQ(view({example_.write("list.json", "[]"), "--export", "batch", "-o", example_.file("x.xml")}), 2);
  EXPECT_FALSE(QFile::exists(example_.file("x.xml")));
}

// With the command line itself.
TEST_F(BatchPage, TheToyIsPlannedByTheCommandLine) {
  queue_.setProgram(SUPERSTEP, {});
  const auto copy = [&](const QString& from, const QString& to) {
    ASSERT_TRUE(QFile::copy(QString(SUPERSTEP_SOURCE) + "/data/" + from, example_.file(to)));
  };
  copy("jobs/toy-one-ipu.json", "toy.json");
  copy("machines/toy.json", "machine.json");
  window_.openFiles({example_.file("toy.json"), example_.file("machine.json")});
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("machine.json: found an object with"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return ran_out(queue_); }, 60000));
  ASSERT_EQ(shown(0, kBatchState), "done") << details();
  table_->selectRow(0);
  action("batchOpen")->trigger();
  ASSERT_NE(session_.report(), nullptr);
  EXPECT_EQ(queue_.items()[0].result->samples_per_second, session_.report()->index().plan().samples_per_second());
}

}  // namespace
}  // namespace superstep::gui
