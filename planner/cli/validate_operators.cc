// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/validate_operators.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "planner/validate/operators.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr int kOperatorColumns = 150;  // width of the table of facts

struct Counts {
  int within = 0, known = 0, outside = 0;  // known: outside the tolerance, with a stated reason
};
Counts count(const std::vector<OperatorResult>& results) {
  Counts c;
  for (const OperatorResult& r : results) ++(r.within() ? c.within : r.fact.gap.empty() ? c.outside : c.known);
  return c;
}

json to_json(const OperatorResult& r) {
  const OperatorFact& f = r.fact;
  return {{"id", f.id},
          {"group", f.group},
          {"work", work_text(f.work)},
          {"machine", f.machine.name},
          {"calibration", f.calibration},
          {"basis", f.basis},
          {"unit", unit_text(f.unit)},
          {"stated", f.stated},
          {"ours", r.ours},
          {"error", r.error},
          {"tolerance", f.tolerance},
          {"within", r.within()},
          {"gap", f.gap.empty() ? json() : json(f.gap)},
          {"note", f.note.empty() ? json() : json(f.note)},
          {"source", f.source}};
}

json result_json(const std::vector<OperatorResult>& results) {
  const Counts c = count(results);
  json j = {{"within", c.within}, {"outside_known", c.known}, {"outside", c.outside}};
  j["facts"] = json::array();
  for (const OperatorResult& r : results) j["facts"].push_back(to_json(r));
  return j;
}

TextTable table_of(const std::vector<OperatorResult>& results, const std::string& group) {
  TextTable table;
  table.headings = {group, "", "basis", "stated", "ours", "", "error", "tolerance", ""};
  table.left_columns = {1, 2, 5, 8};
  for (const OperatorResult& r : results) {
    const OperatorFact& f = r.fact;
    if (f.group != group) continue;
    const std::string unit = f.unit == OperatorUnit::share_of_peak ? "of peak" : unit_text(f.unit);
    table.add({f.id, work_text(f.work), f.basis, value_text(f.stated, f.unit), value_text(r.ours, f.unit), unit,
               error_text(r), tolerance_text(f), verdict_text(r)},
              r.within()      ? Ink::plain
              : f.gap.empty() ? Ink::bad
                              : Ink::warning);
  }
  return table;
}

void print(const std::vector<OperatorResult>& results) {
  TextStyle style = terminal_style();
  style.columns = std::max(style.columns, kOperatorColumns);
  std::vector<std::string> groups;
  for (const OperatorResult& r : results) {
    if (std::find(groups.begin(), groups.end(), r.fact.group) == groups.end()) groups.push_back(r.fact.group);
  }
  for (const std::string& group : groups) std::cout << table_of(results, group).to_string(style) << "\n";
  const Counts c = count(results);
  std::vector<std::string> notes = {std::to_string(c.within) + " facts within their tolerance, " +
                                    std::to_string(c.known) + " outside for a known reason, " +
                                    std::to_string(c.outside) + " outside"};
  notes.push_back("error: ours over stated, + means ours is more; of shares of the peak the difference in points");
  for (const OperatorResult& r : results) {
    if (!r.within() && !r.fact.gap.empty()) notes.push_back(r.fact.id + ": " + r.fact.gap);
  }
  print_notes(notes, style);
}

}  // namespace

int run_validate_operators(const std::vector<std::string>& paths, const CommonOptions& common) {
  const std::vector<OperatorFact> facts =
      load_operator_facts(paths.empty() ? std::vector<std::string>{operators_folder()} : paths);
  const auto progress = progress_of(common);
  std::vector<OperatorResult> results;
  for (const OperatorFact& fact : facts) {
    if (progress) progress(static_cast<double>(results.size()) / static_cast<double>(facts.size()), fact.id);
    results.push_back(evaluate(fact));
  }
  clear_progress(common);
  if (prints_text(common)) print(results);
  write_json(common, result_json(results));
  return kDone;
}

}  // namespace superstep
