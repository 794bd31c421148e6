// SPDX-License-Identifier: Apache-2.0
#include "gui/models/graph_data.h"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>

#include "gui/models/graph_tables.h"
#include "gui/models/steps.h"
#include "model/error.h"
#include "tests/gui/graph_example.h"

namespace superstep::gui {
namespace {

class GraphDataTest : public ::testing::Test {
 protected:
  void open(const std::filesystem::path& path) {
    shown_.report = std::make_shared<const ReportFile>(ReportFile::open(path));
    shown_.graph = std::make_shared<const Graph>(load_graph(*shown_.report));
    shown_.phases = std::make_shared<const Phases>(graph_phases(shown_.report->index().program(), *shown_.graph));
  }
  GraphMoment at(std::int64_t cycle) const { return moment_at(*shown_.graph, *shown_.phases, cycle); }

  TemporaryFolder folder_;
  GraphShown shown_;
};

constexpr int kStem = 0, kIn0 = 1, kOut0 = 2, kIn1 = 3, kHead = 13;

TEST_F(GraphDataTest, PhasesAreThoseOfTheProgramAndWhatIsAroundThem) {
  open(write_graph_example(folder_.path));
  const Phases& phases = *shown_.phases;
  EXPECT_FALSE(phases.calls);
  ASSERT_EQ(phases.list.size(), 3u);
  EXPECT_EQ(phases.list[0].row.name, "load phase 0");
  EXPECT_EQ(phases.list[1].row.name, "phase 0 forward");
  EXPECT_EQ(phases.total(), 195) << "the whole step";
  const auto rows = phase_rows(shown_.report->index().program());
  ASSERT_EQ(rows.size(), 2u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PhaseRow& row = phases.list[i + 1].row;
    EXPECT_EQ(row.name, rows[i].name);
    EXPECT_EQ(row.contents, rows[i].contents);
    EXPECT_EQ(row.cycles, rows[i].cycles);
    EXPECT_EQ(row.compute_cycles, rows[i].compute_cycles);
    EXPECT_EQ(row.load_cycles, rows[i].load_cycles);
    EXPECT_EQ(row.store_cycles, rows[i].store_cycles);
  }
  EXPECT_EQ(phases.at(4), 0);
  EXPECT_EQ(phases.at(5), 1);
  EXPECT_EQ(phases.at(1000), 2);
}

TEST_F(GraphDataTest, AMomentSaysWhatRunsWaitsIsDoneAndIsLoaded) {
  open(write_graph_example(folder_.path));
  const GraphMoment first = at(5 + 30 + 4);  // the second micro-batch
  EXPECT_EQ(first.iteration, 2);
  EXPECT_EQ(first.iterations, 4);
  EXPECT_EQ(first.units[kStem], UnitState::running);
  EXPECT_EQ(first.units[kIn0], UnitState::waiting);
  EXPECT_EQ(first.units[kOut0], UnitState::running) << "on the other IPU";
  EXPECT_EQ(first.loading, 1);
  EXPECT_EQ(first.units[kIn1], UnitState::loading);
  const GraphMoment later = at(5 + 60 + 14);
  EXPECT_EQ(later.units[kStem], UnitState::done);
  EXPECT_EQ(later.units[kIn0], UnitState::running);
  EXPECT_EQ(later.loading, -1) << "done after 40 cycles";
  EXPECT_EQ(later.units[kIn1], UnitState::idle);
  const GraphMoment storing = at(5 + 125);
  EXPECT_EQ(storing.storing, 0);
  EXPECT_EQ(storing.units[kStem], UnitState::done);
  const GraphMoment update = at(145 + 35);
  EXPECT_EQ(update.storing, 1);
  EXPECT_EQ(update.units[kHead], UnitState::storing);
  EXPECT_TRUE(update.running.empty());
}

TEST_F(GraphDataTest, WithoutPhasesTheCallsOfAMicroBatchTakeTheirPlace) {
  open(write_pipeline_graph(folder_.path));
  const Phases& phases = *shown_.phases;
  EXPECT_TRUE(phases.calls);
  std::vector<std::string> names;
  for (const GraphPhase& phase : phases.list) names.push_back(phase.row.name);
  EXPECT_THAT(names, testing::ElementsAre("stem forward", "a1/in forward", "a3/in forward", "head forward",
                                          "head backward", "a1/in recompute", "a1/in backward", "stem update"));
  EXPECT_EQ(phases.total(), 10 + 15 + 15 + 35 + 50 + 15 + 20 + 40);
  const GraphMoment moment = at(12);
  EXPECT_EQ(moment.phase, 1);
  EXPECT_EQ(moment.units[kIn1], UnitState::running);
  EXPECT_EQ(moment.units[kStem], UnitState::done) << "on the same stage";
  EXPECT_EQ(moment.units[kHead], UnitState::idle);
  EXPECT_EQ(phases.list[1].works.front().runs, 3) << "of a step";
}

TEST_F(GraphDataTest, TheNextPhaseOfAUnitGoesAroundTheEnd) {
  open(write_pipeline_graph(folder_.path));
  EXPECT_EQ(next_phase_of(*shown_.phases, kStem, 0), 7);
  EXPECT_EQ(next_phase_of(*shown_.phases, kStem, 7), 0);
  EXPECT_EQ(next_phase_of(*shown_.phases, kIn0, 0), -1) << "never runs";
}

TEST_F(GraphDataTest, TablesAreModelsAndHaveTheReportsNumbers) {
  open(write_graph_example(folder_.path));
  const auto moment = std::make_shared<const GraphMoment>(at(9));
  std::vector<TableContents> all{graph_units_table(shown_, moment), graph_edges_table(shown_),
                                 graph_phases_table(shown_), graph_facts_table(shown_, *moment, 9),
                                 graph_works_table(shown_, 1)};
  for (TableContents& contents : all) {
    TableModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setContents(contents);
    EXPECT_GT(model.rowCount(), 0);
  }
  TableModel units;
  units.setContents(all[0]);
  EXPECT_EQ(units.index(kIn1, 8).data(kExactRole).toLongLong(), 2'000'001);
  EXPECT_EQ(units.index(kStem, 1).data().toString(), "") << "of no layer";
  EXPECT_EQ(units.index(kStem, kUnitState).data().toString(), "runs");
  TableModel phases;
  phases.setContents(all[2]);
  EXPECT_EQ(phases.index(1, kPhaseCycles).data(kExactRole).toLongLong(), 140);
}

// Steps of kind exchange count, as often as the calls run, on the IPU that moves most.
TEST_F(GraphDataTest, ExchangeOfAPhaseIsThatOfItsCalls) {
  open(write_graph_example(folder_.path));
  const ReportFile& report = *shown_.report;
  const Steps steps = load_steps(report);
  const auto rates = phase_rates(report, *shown_.phases, steps, load_heat(report));
  ASSERT_EQ(rates.size(), shown_.phases->list.size());
  const auto bytes_of = [&](int function) {
    const report::Function& f = report.index().functions(function);
    std::int64_t bytes = 0;
    for (std::int64_t s = f.first_step(); s < f.first_step() + f.steps(); ++s) {
      const auto row = static_cast<std::size_t>(s);
      bytes += steps.kind[row] == "exchange" ? steps.bytes[row] : 0;
    }
    return bytes;
  };
  EXPECT_EQ(rates[1].exchange_bytes, std::max(4 * 2 * bytes_of(0), 4 * bytes_of(1)));
  EXPECT_EQ(rates[2].exchange_bytes, bytes_of(2));
  EXPECT_EQ(rates[1].stream_bytes, -1) << "the report does not say";
}

TEST_F(GraphDataTest, TheOpsOfACallHaveItsCycles) {
  open(write_graph_example(folder_.path));
  const Steps steps = load_steps(*shown_.report);
  for (int f = 0; f < shown_.report->index().functions_size(); ++f) {
    const report::Function& function = shown_.report->index().functions(f);
    TableModel ops;
    QAbstractItemModelTester tester(&ops, QAbstractItemModelTester::FailureReportingMode::Fatal);
    ops.setContents(graph_ops_table(shown_, steps, f));
    std::int64_t supersteps = 0, cycles = 0, of_steps = 0;
    for (int row = 0; row < ops.rowCount(); ++row) {
      supersteps += ops.index(row, 1).data(kExactRole).toLongLong();
      cycles += ops.index(row, 3).data(kExactRole).toLongLong();
    }
    for (std::int64_t s = function.first_step(); s < function.first_step() + function.steps(); ++s)
      of_steps += steps.cycles[static_cast<std::size_t>(s)];
    EXPECT_EQ(supersteps, function.steps());
    EXPECT_EQ(cycles, of_steps);
  }
}

TEST_F(GraphDataTest, ReportsWithoutAGraphHaveNoPhases) {
  for (const Example which : {Example::tight, Example::infeasible, Example::empty}) {
    open(write_example(which, folder_.path));
    EXPECT_TRUE(shown_.graph->units.empty());
    EXPECT_TRUE(shown_.phases->list.empty());
    EXPECT_EQ(at(7).phase, -1);
  }
}

TEST_F(GraphDataTest, ColumnsThatContradictEachOtherAreSaid) {
  for (const bool edges : {false, true}) {
    ExampleReport damaged = example_report(Example::tight);
    const std::vector<std::string> names{"stem"};
    const std::vector<std::int64_t> one{0}, far{9};
    damaged.columns.add_texts("unit.name", names);
    damaged.columns.add_integers("unit.ipu_class", "index", edges ? one : far);
    for (const char* column : {"unit.layer", "unit.stage", "unit.phase", "unit.parameters", "unit.weight_bytes"}) {
      damaged.columns.add_integers(column, "index", one);
    }
    damaged.columns.add_integers("edge.from", "index", one);
    damaged.columns.add_integers("edge.to", "index", far);
    damaged.columns.add_integers("edge.bytes", "bytes", one);
    damaged.columns.finish(damaged.index, folder_.path / "damaged.ssr");
    EXPECT_THROW(open(folder_.path / "damaged.ssr"), Error);
  }
}

}  // namespace
}  // namespace superstep::gui
