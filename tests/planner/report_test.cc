// SPDX-License-Identifier: Apache-2.0
// What a report that is written from a plan holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "planner/make_report.h"
#include "tests/planner/world.h"
#include "traces/report_io.h"

namespace superstep {
namespace {

using test::World;

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

}  // namespace
}  // namespace superstep
