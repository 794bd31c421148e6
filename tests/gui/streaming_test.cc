// SPDX-License-Identifier: Apache-2.0
#include "gui/models/streaming.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QTest>
#include <QToolButton>

#include "gui/paint/phase_layout.h"
#include "gui/views/memory.h"
#include "gui/widgets/phase_lanes.h"
#include "tests/gui/program_example.h"

namespace superstep::gui {
namespace {

// Two phases: one that computes for 80 of 100 cycles and loads for 30, one that stores for 45 of 50.
std::filesystem::path write_phased(const std::filesystem::path& folder) {
  ExampleReport example = example_report(Example::tight);
  auto& root = *example.index.mutable_program() = program_node("sequence", "step", 150);
  auto& first = *root.add_children() = program_node("sequence", "phase 0 forward", 100);
  auto& beside = *first.add_children() = program_node("parallel", "compute and preload", 100);
  *beside.add_children() = program_call("L0/attention forward", 0, 80);
  *beside.add_children() = program_node("step", "load weights", 30);
  auto& second = *root.add_children() = program_node("sequence", "phase 1 forward", 50);
  *second.add_children() = program_node("step", "store boundary", 45);
  example.columns.finish(example.index, folder / "phased.ssr");
  return folder / "phased.ssr";
}

TEST(Streaming, TheTableHasTheCyclesOfThePhases) {
  TemporaryFolder folder;
  const auto report = std::make_shared<const ReportFile>(ReportFile::open(write_phased(folder.path)));
  const PhaseRows rows = phases_of_report(report);
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setContents(streaming_table(report, rows));
  ASSERT_EQ(model.rowCount(), 2);
  const auto cycles = [&](int row, int column) { return model.index(row, column).data(kExactRole).toLongLong(); };
  EXPECT_EQ(cycles(0, 7), 100);
  EXPECT_EQ(cycles(0, 8), 80);
  EXPECT_EQ(cycles(0, 9), 30);
  EXPECT_EQ(cycles(1, 10), 45);
  EXPECT_DOUBLE_EQ(model.index(0, 2).data(kExactRole).toDouble(), 100 / 1.325e9 * 1e3);
  EXPECT_EQ(model.index(0, 6).data().toString(), "computing");
  EXPECT_EQ(model.index(1, 6).data().toString(), "Streaming Memory");
}

TEST(Streaming, PhasesAreAsWideAsTheyTakeAndFilledAsTheyAreBusy) {
  const PhaseLayout layout{QRectF(0, 0, 300, 90), {100, 50}, 3};
  EXPECT_DOUBLE_EQ(layout.cell(0, 0).width(), 200);
  EXPECT_DOUBLE_EQ(layout.cell(2, 1).top(), 60);
  EXPECT_DOUBLE_EQ(layout.busy(0, 0, 50).height(), 11) << "half of 30 less 8";
  EXPECT_DOUBLE_EQ(layout.busy(0, 0, 500).height(), 22) << "more than all of it is all of it";
  EXPECT_EQ(layout.phase_at(250), 1);
  EXPECT_EQ(layout.phase_at(300), -1);
}

TEST(Streaming, TheMemoryViewShowsItForPhasedPlans) {
  TemporaryFolder folder;
  Session session;
  ASSERT_TRUE(session.open(QString::fromStdString(write_phased(folder.path).string())));
  MemoryView view(session);
  view.resize(1132, 630);
  view.show();
  QTest::mouseClick(view.findChild<QToolButton*>("showStreaming"), Qt::LeftButton);
  QCoreApplication::processEvents();
  auto* lanes = view.findChild<PhaseLanes*>();
  EXPECT_TRUE(lanes->isVisible());
  EXPECT_TRUE(lanes->tipText(0).contains("loading: 30 cycles"));
  EXPECT_EQ(lanes->layoutNow().total(), 150);
  EXPECT_FALSE(view.grab().isNull());
  EXPECT_EQ(view.tables()[3].model->rowCount(), 2);
  ASSERT_TRUE(session.open(QString::fromStdString(write_program_example(folder.path).string())));
  EXPECT_EQ(view.tables()[3].model->rowCount(), 0) << "one phase";
  EXPECT_FALSE(view.grab().isNull());
}

}  // namespace
}  // namespace superstep::gui
