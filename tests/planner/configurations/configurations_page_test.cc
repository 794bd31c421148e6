// SPDX-License-Identifier: Apache-2.0
// Public configurations as jobs, and whether they fit: docs/results/configurations.md is written from here.
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter=PublicConfigurations.*
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "planner/configurations/import_configuration.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/evaluated.h"
#include "tests/planner/page.h"
#include "tests/planner/world.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

using nlohmann::json;

struct Row {
  std::string id, source, why;  // why: it does not fit
  bool ran = false;
  std::string machine, plan, refused;
  double rate = 0, fit_probability = 0;
  std::int64_t spare = 0;
  std::vector<std::string> no_equal;
  bool fits() const { return refused.empty() && spare >= 0; }
};

Row row_of(const json& given) {
  Row row;
  row.id = given.at("id"), row.source = given.at("source"), row.ran = given.at("ran");
  row.why = given.value("why", "");
  ConfigurationRequest request;
  for (const json& file : given.at("files"))
    request.files.push_back(data_folder() + "/configurations/" + file.get<std::string>());
  request.name = given.value("name", "");
  request.machine = given.value("machine", "");
  for (const json& set : given.value("set", json::array())) {
    const std::string text = set;
    request.more.emplace_back(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  const ImportedJob imported = import_configuration(request);
  row.no_equal = imported.no_equal;
  const json machine = imported.job.at("machine");
  row.machine = machine.is_string() ? machine.get<std::string>()
                                    : machine["base"].get<std::string>() + ", " + machine["partition"].dump() + " IPUs";
  try {
    test::World world{json(imported.job)};
    const Evaluated e = evaluate_pinned(world.tables, 0);
    row.plan = label(e.plan);
    row.rate = e.samples_per_second;
    row.spare = world.job.machine.chip.tile_memory.value - e.tile_peak;
    row.fit_probability = e.fit_probability;
    if (!e.overflows.empty() && row.spare >= 0) row.spare = -1;  // another limit is exceeded
  } catch (const Error& e) {
    row.refused = e.what();
  }
  return row;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> out;
    const json list = parse_json_file(data_folder() + "/configurations/list.json");
    for (const json& given : list.at("configurations")) out.push_back(row_of(given));
    return out;
  }();
  return all;
}

TEST(PublicConfigurations, MostThatRanFitAndOthersAreExplained) {
  std::int64_t ran = 0, fit = 0;
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.id + ": " + row.refused);
    EXPECT_EQ(row.fits(), row.why.empty()) << "those that do not fit have a reason, others none";
    EXPECT_FALSE(row.source.empty());
    ran += row.ran ? 1 : 0;
    fit += row.ran && row.fits() ? 1 : 0;
  }
  EXPECT_GE(ran, 30);
  EXPECT_GE(static_cast<double>(fit), 0.9 * static_cast<double>(ran));
}

TEST(PublicConfigurations, PageIsWhatIsFound) {
  std::ostringstream out;
  std::int64_t ran = 0, fit = 0;
  out << "# Public configurations\n\nYou see what public configurations of other programs become as jobs, and whether "
         "they "
         "fit. Each is read by\n`superstep import` from [data/configurations](../../data/configurations), which has "
         "the "
         "keys that change a plan,\nwith their sources in [list.json](../../data/configurations/list.json). Speeds are "
         "modelled, on the smallest\nIPU-POD of GC200 with enough IPUs. A number behind a name counts keys that no job "
         "can express; `superstep import`\nnames them.\n\nWritten by `SUPERSTEP_UPDATE=1 "
         "build/dev/tests/planner_long_test --gtest_filter='PublicConfigurations.*'`.\n\n"
         "| configuration | machine | plan | samples/s | KiB to spare | fits with |\n|---|---|---|---:|---:|---:|\n";
  for (const Row& row : rows()) {
    ran += row.ran ? 1 : 0;
    fit += row.ran && row.fits() ? 1 : 0;
    out << "| " << row.id << (row.no_equal.empty() ? "" : " (" + std::to_string(row.no_equal.size()) + ")") << " | "
        << row.machine << " | ";
    if (!row.refused.empty()) {
      out << "refused | | | |\n";
      continue;
    }
    out << row.plan << " | " << figure(row.rate) << " | " << kib(row.spare) << " | "
        << (row.fits() ? std::to_string(std::lround(100 * row.fit_probability)) + " %" : "no") << " |\n";
  }
  out << "\nOf " << ran << " configurations that were published as run, " << fit << " fit. Why the others do not:\n\n";
  for (const Row& row : rows()) {
    if (!row.why.empty()) out << "* " << row.id << ": " << row.why << ".\n";
  }
  test::expect_file(SUPERSTEP_SOURCE "/docs/results/configurations.md", out.str());
}

}  // namespace
}  // namespace superstep
