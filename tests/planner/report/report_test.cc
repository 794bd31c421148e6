// SPDX-License-Identifier: Apache-2.0
// What a report that is written from a plan holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/evaluated.h"
#include "planner/report/make_report.h"
#include "planner/report/sensitive_numbers.h"
#include "planner/report/waterfall.h"
#include "planner/sweep/sensitivity.h"
#include "tests/planner/world.h"
#include "traces/phases_text.h"
#include "traces/report_io.h"

namespace superstep {
namespace {

using test::World;

nlohmann::json gpt_on_pod16() {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 4}, {"hidden", 256}, {"heads", 4}, {"vocabulary", 2000}, {"sequence_length", 64}},
      "ipu-pod16");
  job["batch"] = {{"global", 64}};
  return job;
}

TEST(Report, NamesThePassOfEveryColumnOfTheHeatMap) {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 2000}, {"sequence_length", 64}},
      "ipu-pod4");
  job["batch"] = {{"global", 32}};
  World world(job);
  SearchOptions options;
  options.pareto = options.find_fix = false;
  const SearchResult found = search(world.tables, options);
  ASSERT_FALSE(found.best.empty());
  const Evaluated e = evaluate_in_full(world.tables, found.best[0].plan);
  ReportParts parts;
  parts.shown = &e;
  const std::string path = testing::TempDir() + "phase_group.ssr";
  write_report(world.tables, parts, path);

  const ReportFile report = ReportFile::open(path);
  const TextColumn names = report.column_texts("heat.phase"), groups = report.column_texts("heat.phase_group");
  ASSERT_EQ(groups.size(), names.size());
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    seen.insert(groups[i]);
    EXPECT_THAT(names[i], testing::HasSubstr(groups[i])) << "column " << i;
  }
  EXPECT_EQ(seen, (std::set<std::string>{"forward", "backward", "update"}));
  std::filesystem::remove(path);
}

TEST(Report, ListsWhatWasSearched) {
  World world(test::small_gpt({}));
  SearchOptions options;
  options.record = true;
  const SearchResult found = search(world.tables, options);
  const Evaluated e = evaluate_in_full(world.tables, found.best.at(0).plan);
  ReportParts parts;
  parts.shown = &e;
  parts.search = &found;
  const std::string path = testing::TempDir() + "searched.ssr";
  write_report(world.tables, parts, path);

  const ReportFile report = ReportFile::open(path);
  double settings = 0;
  for (double n : report.column_reals("cell.settings")) settings += n;
  EXPECT_EQ(settings, found.stats.explored + found.stats.pruned);
  const std::vector<double> rates = report.column_reals("candidate.samples_per_second");
  EXPECT_EQ(std::ssize(rates), report.index().search().candidates());
  EXPECT_EQ(rates.at(0), found.best[0].samples_per_second);
  EXPECT_TRUE(std::is_sorted(rates.rbegin(), rates.rend()));
  EXPECT_EQ(report.column_texts("candidate.plan")[0], to_json(found.best[0].plan).dump());
  const TextColumn fates = report.column_texts("cell.fate");
  const std::vector<double> bounds = report.column_reals("cell.bound");
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (fates[i] == "excluded") {
      EXPECT_LE(bounds[i], rates[0]) << "cell " << i;
    } else if (fates[i] == "does not fit") {
      EXPECT_EQ(bounds[i], 0) << "cell " << i;
    }
  }
  std::filesystem::remove(path);
}

const report::ProgramNode& child(const report::ProgramNode& n, const std::string& kind) {
  for (const report::ProgramNode& c : n.children()) {
    if (c.kind() == kind) return c;
  }
  ADD_FAILURE() << n.name() << " has no " << kind;
  return n;
}

// Two IPUs: forward lags by the stage, backward by what is left of the way there and back.
TEST(Report, TheProgramTreeLastsTheStepAndSaysWhoWorksOnWhat) {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 2000}, {"sequence_length", 64}},
      "ipu-pod4");
  job["batch"] = {{"global", 16}};
  job["plan"] = {
      {"tensor_parallel", 1}, {"pipeline_stages", 2}, {"replicas", 2}, {"micro_batch", 1}, {"schedule", "grouped"}};
  World world(job);
  const Evaluated e = evaluate_pinned(world.tables, 1);
  ReportParts parts;
  parts.shown = &e;
  const report::Index index = make_index(world.tables, parts);
  EXPECT_EQ(index.program().cycles(), e.timeline.step.total().value);
  EXPECT_EQ(static_cast<double>(index.program().cycles()) / index.clock_hz(), index.plan().step_time_s());

  const report::ProgramNode& loop = child(index.program(), "repeat");
  EXPECT_EQ(loop.micro_batches(), 8);
  const report::ProgramNode& cycle = child(loop, "parallel");
  ASSERT_EQ(cycle.children_size(), 2);
  const std::int64_t drain = loop.count() - loop.micro_batches();
  for (const report::ProgramNode& ipu : cycle.children()) {
    std::set<std::int64_t> lags, of_steps;
    for (const report::ProgramNode& n : ipu.children()) {
      EXPECT_FALSE(n.work().empty()) << n.name();
      (n.kind() == "call" ? lags : of_steps).insert(n.lag());
      if (n.kind() == "call") {
        EXPECT_TRUE(n.name().ends_with(" " + n.work())) << n.name();
      } else {
        EXPECT_GT(n.bytes(), 0) << n.name();
      }
    }
    EXPECT_GE(*lags.begin(), 0);
    EXPECT_LE(*lags.rbegin(), drain);
    for (const std::int64_t lag : of_steps) EXPECT_TRUE(lags.contains(lag)) << ipu.name();
  }
  for (const report::WaterfallTerm& term : index.waterfall()) {
    if (term.name() != "bubble: fill and drain") continue;
    EXPECT_DOUBLE_EQ(term.seconds(), static_cast<double>(drain * loop.cycles()) / index.clock_hz());
  }
}

TEST(Report, ListsTheNumbersThatASensitivityChanges) {
  World world(test::small_gpt({}));
  const report::Index index = make_index(world.tables, {});
  std::vector<std::string> listed;
  for (const report::Fact& number : index.machine_numbers()) {
    listed.push_back(number.name());
    EXPECT_NE(number.value(), "") << number.name();
  }
  EXPECT_EQ(listed, sensitive_numbers(world.job.machine));
  EXPECT_THAT(listed, testing::IsSupersetOf({"/chip/tile_memory", "/chip/clock"}));
}

TEST(Report, TellsPhasesApartByWhatBindsThem) {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 2000}, {"sequence_length", 64}},
      "ipu-pod4");
  job["batch"] = {{"global", 16}};
  job["machine"] = {{"base", "ipu-pod4"}, {"partition", 1}};
  job["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", 1}, {"replicas", 1}, {"micro_batch", 1}, {"phases", 4}};
  World world(job);
  const Evaluated e = evaluate_pinned(world.tables, 1);
  ReportParts parts;
  parts.shown = &e;
  const report::Index index = make_index(world.tables, parts);
  const std::vector<PhaseRow> rows = phase_rows(index.program());
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[0].name, "phase 0 forward");
  EXPECT_EQ(rows[4].name, "phase 3 backward");
  EXPECT_THAT(rows[0].contents, testing::StartsWith("embedding"));
  EXPECT_THAT(rows[3].contents, testing::EndsWith("head"));
  std::int64_t sum = 0, compute = 0;
  for (const PhaseRow& row : rows) {
    EXPECT_GE(row.cycles, row.compute_cycles) << row.name;
    EXPECT_GE(row.cycles, row.store_cycles) << row.name;
    sum += row.cycles;
    compute += row.compute_cycles;
  }
  EXPECT_LE(sum, index.program().cycles());
  EXPECT_GT(2 * sum, index.program().cycles());
  // All that the one IPU group computes is in some phase; it also streams.
  EXPECT_LE(static_cast<double>(compute) / index.clock_hz(), index.ipu_classes(0).busy_s());
  EXPECT_GT(compute, 0);
}

// Weights joined from shards while others compute are no computing.
TEST(Report, NoPhaseComputesLongerThanItTakes) {
  nlohmann::json job = gpt_on_pod16();
  job["plan"] = {{"tensor_parallel", 2},
                 {"pipeline_stages", 2},
                 {"replicas", 4},
                 {"micro_batch", 1},
                 {"phases", 4},
                 {"io_tiles", 32},
                 {"load", "preload"},
                 {"activation_sharding", "stored"},
                 {"replicated_tensor_sharding", {{"weights", 4}, {"optimizer_state", 4}}}};
  World world(job);
  const Evaluated e = evaluate_pinned(world.tables, 1);
  ReportParts parts;
  parts.shown = &e;
  const std::vector<PhaseRow> rows = phase_rows(make_index(world.tables, parts).program());
  ASSERT_EQ(rows.size(), 8u);
  for (const PhaseRow& row : rows) {
    EXPECT_GT(row.compute_cycles, 0) << row.name;
    EXPECT_LE(row.compute_cycles, row.cycles) << row.name;
    EXPECT_LE(row.store_cycles, row.cycles) << row.name;
  }
  EXPECT_GT(rows[0].load_cycles, 0);  // phase 1's, joined from four shards
}

// However slow Streaming Memory is, work beside it takes what it takes: of the streams counts what that does not hide.
TEST(Report, StreamsBesideWorkCountByWhatItDoesNotHide) {
  nlohmann::json job = gpt_on_pod16();
  job["plan"] = {{"tensor_parallel", 2},
                 {"pipeline_stages", 1},
                 {"micro_batch", 1},
                 {"phases", 4},
                 {"io_tiles", 32},
                 {"load", "preload"},
                 {"activation_sharding", "none"},
                 {"replicated_tensor_sharding", {{"weights", 1}}}};
  World fast(job);
  const Evaluated quick = evaluate_pinned(fast.tables, 1);
  job["machine"] = {{"base", "ipu-pod16"}, {"override", {{"streaming", {{"ipu_rate", "50 MB/s"}}}}}};
  World slow(job);
  const Evaluated late = evaluate_in_full(slow.tables, quick.plan);
  const TermCycles a = quick.timeline.step, b = late.timeline.step;
  for (int i = 0; i < kTerms; ++i) {
    const Term term = static_cast<Term>(i);
    if (term == Term::load || term == Term::store) {
      EXPECT_LT(a[term], b[term]) << name_of(term);
    } else if (term != Term::host) {
      EXPECT_EQ(a[term], b[term]) << name_of(term);
    }
  }
  for (const auto& [e, world] : {std::pair(&quick, &fast), std::pair(&late, &slow)}) {
    const std::vector<WaterfallRow> rows = waterfall(*e, world->model);
    for (const WaterfallRow& row : rows) EXPECT_GE(row.seconds, 0) << row.name;
  }
}

TEST(TermCycles, PartsKeepTheProportionsAndAddUp) {
  TermCycles all;
  all[Term::amp_rows] = 10, all[Term::load] = 1000, all[Term::store] = 2000;
  for (const std::int64_t cycles : {0, 1, 2, 7, 1505, 3009, 3010}) {
    const TermCycles part = all.part(cycles);
    EXPECT_EQ(part.total().value, cycles);
    for (std::size_t i = 0; i < all.by.size(); ++i)
      EXPECT_NEAR(static_cast<double>(part.by[i]), static_cast<double>(all.by[i]) * cycles / 3010, 1) << cycles;
  }
  EXPECT_EQ(all.part(3010), all);
  EXPECT_EQ(TermCycles{}.part(0), TermCycles{});
}

}  // namespace
}  // namespace superstep
