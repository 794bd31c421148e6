// SPDX-License-Identifier: Apache-2.0
#include "gui/models/compare_tables.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>

#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class CompareTables : public ::testing::Test {
 protected:
  ComparedPointer compared(const std::vector<Example>& examples) {
    std::vector<ReportPointer> reports;
    std::vector<std::shared_ptr<const HeatData>> heat;
    for (const Example which : examples) {
      reports.push_back(std::make_shared<const ReportFile>(ReportFile::open(write_example(which, folder_.path))));
      heat.push_back(std::make_shared<const HeatData>(load_heat(*reports.back())));
    }
    return compare_reports(std::move(reports), heat);
  }
  static double exact(const TableModel& model, int row, int column) {
    return model.index(row, column).data(kExactRole).toDouble();
  }
  TemporaryFolder folder_;
};

TEST_F(CompareTables, EveryTableIsAModelWithEveryPairOfReports) {
  const std::vector<std::vector<Example>> lists{{},
                                                {Example::tight},
                                                {Example::tight, Example::deeper},
                                                {Example::infeasible, Example::tight},
                                                {Example::empty, Example::infeasible},
                                                {Example::tight, Example::deeper, Example::does_not_fit}};
  for (const auto& list : lists) {
    const auto c = compared(list);
    for (const bool hide : {false, true}) {
      for (const auto& contents : {terms_comparison(c, hide), figures_comparison(c), fits_comparison(c, Units::kib),
                                   memory_comparison(c, Units::bytes, hide), phases_comparison(c, hide)}) {
        TableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
        model.setContents(contents);
        for (int row = 0; row < model.rowCount(); ++row) {
          for (int column = 0; column < model.columnCount(); ++column) model.index(row, column).data(kExactRole);
          model.index(row, 0).data(Qt::ToolTipRole);
        }
      }
    }
  }
}

TEST_F(CompareTables, TermsHaveTheSecondsOfTheCommandLinesComparison) {
  const auto c = compared({Example::tight, Example::deeper, Example::does_not_fit});
  TableModel model;
  model.setContents(terms_comparison(c, false));
  const auto& terms = c->comparison.waterfall;
  ASSERT_EQ(model.rowCount(), static_cast<int>(terms.size()) + 1);
  const TermColumns at{3};
  EXPECT_EQ(model.columnCount(), at.seconds(2) + 1);
  for (int row = 0; row < model.rowCount(); ++row) {
    const bool total = row + 1 == model.rowCount();
    for (int r = 0; r < 3; ++r) {
      const auto report = static_cast<std::size_t>(r);
      const double seconds =
          total ? c->comparison.step_time_s[report] : *terms[static_cast<std::size_t>(row)].seconds[report];
      EXPECT_EQ(exact(model, row, at.seconds(r)), seconds) << "to the last digit";
      EXPECT_EQ(exact(model, row, at.ms(r)), seconds * 1e3);
      if (r > 0) {
        EXPECT_EQ(exact(model, row, at.difference(r)), exact(model, row, at.ms(r)) - exact(model, row, at.ms(0)));
      }
    }
  }
  model.setContents(terms_comparison(c, true));
  ASSERT_EQ(model.rowCount(), 2) << "only the bubble differs, and the whole";
  EXPECT_EQ(model.index(0, 0).data().toString(), "bubble: ramp up and down");
  EXPECT_EQ(model.index(0, at.difference(1)).data().toString(), "+121.6");
  EXPECT_EQ(model.index(0, at.difference(1)).data(kBetterRole).toInt(), -1);
  EXPECT_EQ(model.index(0, at.difference(2)).data(kBetterRole).toInt(), 1);
}

TEST_F(CompareTables, FiguresSayWhichWayIsBetter) {
  const auto c = compared({Example::tight, Example::deeper});
  TableModel model;
  model.setContents(figures_comparison(c));
  for (int row = 0; row + 1 < model.rowCount(); ++row) {
    const KeyFigure& figure = c->comparison.key_figures[static_cast<std::size_t>(row)];
    EXPECT_EQ(exact(model, row, 1), *figure.values[0]);
    EXPECT_EQ(model.index(row, 3).data().toString(), for_viewer(figure.differences[0]));
  }
  EXPECT_EQ(model.index(0, 3).data(kBetterRole).toInt(), -1) << "less throughput";
  EXPECT_EQ(model.index(5, 3).data(kBetterRole).toInt(), 1) << "more to spare";
  EXPECT_EQ(model.index(model.rowCount() - 1, 1).data().toString(), "fits, tight");
}

TEST_F(CompareTables, MemoryHasTheBytesOfBothAndPhasesTheirCycles) {
  const auto c = compared({Example::tight, Example::deeper});
  TableModel memory;
  memory.setContents(memory_comparison(c, Units::kib, false));
  ASSERT_EQ(memory.rowCount(), static_cast<int>(c->comparison.memory.size()));
  for (int row = 0; row < memory.rowCount(); ++row) {
    const auto& bytes = c->comparison.memory[static_cast<std::size_t>(row)].bytes_per_tile;
    for (int r = 0; r < 2; ++r) {
      const auto& here = bytes[static_cast<std::size_t>(r)];
      EXPECT_EQ(memory.index(row, 2 + r).data().toString() == "–", !here);
      if (here) {
        EXPECT_EQ(exact(memory, row, 2 + r), static_cast<double>(*here));
      }
    }
  }
  TableModel phases;
  phases.setContents(phases_comparison(c, false));
  ASSERT_EQ(phases.rowCount(), static_cast<int>(c->phases.size()));
  for (int row = 0; row < phases.rowCount(); ++row) {
    const auto& here = c->phases[static_cast<std::size_t>(row)];
    EXPECT_EQ(phases.index(row, 0).data().toString().toStdString(), here.name);
    EXPECT_EQ(phases.index(row, 4).data(kExactRole).toLongLong(), *here.cycles[0]);
    EXPECT_DOUBLE_EQ(exact(phases, row, 1), static_cast<double>(*here.cycles[0]) / 1.325e9 * 1e3);
  }
}

TEST_F(CompareTables, PhasesFormAGridOfLayers) {
  const auto c = compared({Example::tight, Example::deeper});
  const PhaseGrid grid = phase_grid(*c);
  EXPECT_EQ(grid.columns.indexOf("L10"), grid.columns.indexOf("L9") + 1) << "by number, not by letter";
  EXPECT_TRUE(grid.rows.contains("attention forward"));
  std::size_t placed = 0;
  for (int row = 0; row < grid.rows.size(); ++row) {
    for (int column = 0; column < grid.columns.size(); ++column) {
      const int phase = grid.phases[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
      if (phase < 0) continue;
      ++placed;
      const auto& compared_phase = c->phases[static_cast<std::size_t>(phase)];
      EXPECT_EQ((grid.columns[column] + "/" + grid.rows[row]).toStdString(), compared_phase.name);
      EXPECT_DOUBLE_EQ(*c->phaseDifference(phase, 1),
                       static_cast<double>(*compared_phase.cycles[1]) / 1.325e9 * 1e3 -
                           static_cast<double>(*compared_phase.cycles[0]) / 1.325e9 * 1e3);
    }
  }
  EXPECT_EQ(placed, c->phases.size());
  EXPECT_TRUE(phase_grid(*compared({})).rows.empty());
}

}  // namespace
}  // namespace superstep::gui
