// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/cli/options.h"
#include "traces/efficiency_text.h"
#include "traces/phases_text.h"
#include "traces/report_io.h"

namespace superstep {
namespace {

// Names that select a table instead of a number.
constexpr const char* kEfficiency = "efficiency";
constexpr const char* kPhases = "phases";

nlohmann::json efficiency_json(const report::Index& index) {
  nlohmann::json rows = nlohmann::json::array(), changes = nlohmann::json::array();
  for (const report::EfficiencyRow& row : index.efficiency()) {
    rows.push_back({{"unit", row.unit()},
                    {"op", row.op()},
                    {"calls", row.calls()},
                    {"product", row.product()},
                    {"share_of_one_tile", row.share()},
                    {"tiles", row.tiles()},
                    {"amp_efficiency", row.amp_efficiency()},
                    {"useful_seconds", row.useful_seconds()},
                    {"seconds", row.seconds()}});
  }
  for (const report::PlanChange& c : index.helpful_changes()) {
    changes.push_back({{"field", c.field()},
                       {"from", c.from()},
                       {"to", c.to()},
                       {"step_time_s", c.step_time_s()},
                       {"fits", c.fits()},
                       {"overflow", c.overflow()}});
  }
  return {{"name", kEfficiency},
          {"flop_utilisation", index.plan().flop_utilisation()},
          {"step_time_s", index.plan().step_time_s()},
          {"rows", rows},
          {"helpful_changes", changes}};
}

int show_efficiency(const report::Index& index, const CommonOptions& common) {
  if (prints_text(common)) {
    TextStyle style = terminal_style();
    style.columns = std::max(style.columns, 120);
    std::cout << efficiency_text(index, style);
  }
  write_json(common, efficiency_json(index));
  return kDone;
}

int show_phases(const report::Index& index, const CommonOptions& common) {
  if (prints_text(common)) {
    TextStyle style = terminal_style();
    style.columns = std::max(style.columns, 120);
    std::cout << phases_text(index, style);
  }
  const auto seconds = [&](std::int64_t cycles) { return static_cast<double>(cycles) / index.clock_hz(); };
  nlohmann::json rows = nlohmann::json::array();
  for (const PhaseRow& row : phase_rows(index.program())) {
    rows.push_back({{"phase", row.name},
                    {"units", row.contents},
                    {"seconds", seconds(row.cycles)},
                    {"compute_seconds", seconds(row.compute_cycles)},
                    {"load_seconds", seconds(row.load_cycles)},
                    {"store_seconds", seconds(row.store_cycles)}});
  }
  write_json(common, {{"name", kPhases}, {"step_time_s", index.plan().step_time_s()}, {"phases", rows}});
  return kDone;
}

int run_explain(const std::string& path, const std::string& name, const CommonOptions& common) {
  const ReportFile file = ReportFile::open(path);
  if (name == kEfficiency && !file.index().efficiency().empty()) return show_efficiency(file.index(), common);
  if (name == kPhases && file.index().has_plan()) return show_phases(file.index(), common);
  std::vector<std::string> names;
  if (!file.index().efficiency().empty()) names.push_back(kEfficiency);
  if (file.index().has_plan()) names.push_back(kPhases);
  const report::Explanation* found = nullptr;
  for (const report::Explanation& e : file.index().explanations()) {
    names.push_back(e.name());
    const bool short_form = e.name().size() > name.size() &&
                            e.name().compare(e.name().size() - name.size() - 1, std::string::npos, "/" + name) == 0;
    if (e.name() == name || (!found && short_form)) found = &e;
  }
  if (name.empty()) {
    if (prints_text(common)) {
      for (const std::string& n : names) std::cout << n << "\n";
    }
    write_json(common, nlohmann::json{{"names", names}});
    return kDone;
  }
  if (!found) throw Error(path, "there is no number \"" + name + "\"" + name_hint(name, names));
  nlohmann::json j = {{"name", found->name()},
                      {"value", found->value()},
                      {"formula", found->formula()},
                      {"terms", nlohmann::json::array()}};
  TextTable table;
  table.headings = {"term", "value", "from"};
  table.left_columns = {1, 2};
  for (const auto& t : found->terms()) {
    table.add({t.name(), t.value(), t.source()});
    j["terms"].push_back({{"name", t.name()}, {"value", t.value()}, {"source", t.source()}});
  }
  if (prints_text(common)) {
    TextStyle style = terminal_style();
    style.columns = 200;
    std::cout << found->name() << " = " << found->value() << "\n  = " << found->formula() << "\n\n"
              << table.to_string(style);
  }
  write_json(common, j);
  return kDone;
}

}  // namespace

void add_explain(CLI::App& app, CommonOptions& common, Run& run) {
  struct Arguments {
    std::string report, name;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* sub =
      sub_command(app, common, "explain", "Where a number of a report comes from: terms and machine-file rows");
  sub->add_option("report", a->report, "Report file")->required()->type_name("REPORT.ssr");
  sub->add_option("name", a->name, "The number, or a table: efficiency, phases; without it, the names there are")
      ->type_name("NAME");
  sub->callback([a, &common, &run] { run = [a, &common] { return run_explain(a->report, a->name, common); }; });
}

}  // namespace superstep
