// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/validate_memory.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/validate/memory_cases.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr int kMemoryColumns = 150;  // width of the table of cases

const char* outcome_of(const MemoryCase& c) { return c.ran ? "ran" : "out_of_memory"; }

std::int64_t count_right(const std::vector<JudgedCase>& cases) {
  return std::ranges::count_if(cases, [](const JudgedCase& c) { return c.is_right(); });
}

json to_json(const JudgedCase& c) {
  json j = {{"id", c.given.id},           {"outcome", outcome_of(c.given)}, {"framework", c.given.framework},
            {"release", c.given.release}, {"assumed", c.given.assumed},     {"source", c.given.source}};
  if (!c.failure.empty()) {
    j["failure"] = c.failure;
    return j;
  }
  j.update({{"model", c.model},
            {"machine", c.machine},
            {"plan", c.plan},
            {"tile_peak_bytes", c.tile_peak},
            {"tile_limit_bytes", c.tile_limit},
            {"fit_probability", c.fit_probability},
            {"overflow", c.overflow.empty() ? json() : json(c.overflow)},
            {"right", c.is_right()},
            {"miss", c.given.miss.empty() ? json() : json(c.given.miss)}});
  return j;
}

json result_json(const std::vector<JudgedCase>& cases) {
  json j = {{"right", count_right(cases)},
            {"right_share", static_cast<double>(count_right(cases)) / static_cast<double>(cases.size())},
            {"brier_score", brier_score(cases)}};
  j["cases"] = json::array();
  for (const JudgedCase& c : cases) j["cases"].push_back(to_json(c));
  return j;
}

TextTable table_of(const std::vector<JudgedCase>& cases) {
  TextTable table;
  table.headings = {"case", "model", "machine", "plan", "outcome", "fullest tile", "fits with", ""};
  table.left_columns = {1, 2, 3, 4, 7};
  for (const JudgedCase& c : cases) {
    if (!c.failure.empty()) {
      table.add({c.given.id, "", "", "not estimated", outcome_of(c.given), "", "", ""}, Ink::bad);
      continue;
    }
    table.add({c.given.id, c.model, c.machine, c.plan, outcome_of(c.given), kib_text(c.tile_peak),
               percent(c.fit_probability), c.is_right() ? "" : "missed"},
              c.is_right() ? Ink::plain : Ink::warning);
  }
  return table;
}

void print(const std::vector<JudgedCase>& cases) {
  TextStyle style = terminal_style();
  style.columns = std::max(style.columns, kMemoryColumns);
  std::cout << table_of(cases).to_string(style) << "\n";
  std::vector<std::string> notes = {std::to_string(count_right(cases)) + " of " + std::to_string(cases.size()) +
                                    " cases are as the model says; Brier score " + figure(brier_score(cases)) +
                                    " (0 is best, 0.25 is a coin's)"};
  for (const JudgedCase& c : cases) {
    if (!c.is_right() && !c.given.miss.empty()) notes.push_back(c.given.id + ": " + c.given.miss);
  }
  print_notes(notes, style);
}

void report_failures(const std::vector<JudgedCase>& cases) {
  for (const JudgedCase& c : cases) {
    if (c.failure.empty()) continue;
    const std::string message = "case \"" + c.given.id + "\": " + c.failure;
    if (c.unsupported) throw Unsupported("", message);
    throw Error("", message);
  }
}

}  // namespace

int run_validate_memory(const std::vector<std::string>& paths, const CommonOptions& common) {
  check_output(common.json);
  const std::vector<std::string> from = paths.empty() ? std::vector{published_folder()} : paths;
  const PublishedPoints given = load_published(from);
  if (given.memory_cases.empty())
    throw Error(from.front(), "found no memory_cases, expected plans that ran or ran out of memory");
  const std::vector<JudgedCase> cases =
      judge_memory(given.memory_cases, {.threads = common.threads, .progress = progress_of(common)});
  clear_progress(common);
  if (prints_text(common)) print(cases);
  write_json(common, result_json(cases));
  report_failures(cases);
  return kDone;
}

}  // namespace superstep
