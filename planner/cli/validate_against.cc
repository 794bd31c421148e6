// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/validate_against.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "model/quantity_text.h"
#include "planner/validate/against.h"

namespace superstep {
namespace {

std::string ratio_text(const std::optional<double>& ratio) { return ratio ? figure(*ratio) + " x" : "n/a"; }

std::string band_text(const ComparedSystem& s, const std::string& item) {
  if (!s.band) return "";
  ComparedSystem low = s, high = s;
  low.items_per_second = s.band->low;
  high.items_per_second = s.band->high;
  return item == "run" ? rate_text(high, item) + " to " + rate_text(low, item)
                       : figure(s.band->low) + " to " + figure(s.band->high);
}

void add_rows(TextTable& table, const std::vector<ComparedSystem>& systems, const std::string& item) {
  for (const ComparedSystem& s : systems) {
    const Ink ink = !s.failure.empty() ? Ink::bad : s.basis == Basis::modelled ? Ink::strong : Ink::plain;
    table.add(
        {s.system, name_of(s.basis), s.failure.empty() ? rate_text(s, item) : "not modelled", band_text(s, item),
         s.power.value > 0 ? to_text(s.power) : "", energy_text(s), ratio_text(s.speed), ratio_text(s.thrift), s.id},
        ink);
  }
}

void print(const SystemComparison& c, const TextStyle& style) {
  TextTable table;
  table.headings = {c.title, "",        "throughput", "95 % band", "rated power", "energy per " + c.item,
                    "speed", "items/J", "from"};
  table.left_columns = {1, 8};
  add_rows(table, c.baselines, c.item);
  add_rows(table, c.ours, c.item);
  std::cout << "  " << inked(c.title, Ink::strong, style) << "\n"
            << table.to_string({.columns = 200, .color = style.color});
  std::vector<std::string> notes;
  if (!c.note.empty()) notes.push_back(c.note);
  for (const ComparedSystem& s : c.ours) {
    if (!s.failure.empty()) notes.push_back("not modelled: " + s.failure);
    for (const std::string& what : s.not_validated) notes.push_back("not validated: no measured point covers " + what);
  }
  for (const std::string& note : notes) {
    for (const std::string& line : wrapped(note, style.columns - 4)) std::cout << "    " << line << "\n";
  }
  std::cout << "\n";
}

}  // namespace

int run_validate_against(const std::string& system, const CommonOptions& common) {
  check_output(common.json);
  const std::vector<SystemComparison> all = compare_with(system, load_published({published_folder()}),
                                                         {.threads = common.threads, .progress = progress_of(common)});
  clear_progress(common);
  if (prints_text(common)) {
    const TextStyle style = terminal_style();
    for (const SystemComparison& c : all) print(c, style);
    print_notes({"speed and items per joule (at rated power) are against the first line of a table; a ratio that was "
                 "announced is taken as one of speeds against one accelerator, with its share of its system's power; a "
                 "machine's power is without host server, a POD's with"},
                style);
  }
  write_json(common, to_json(all));
  return kDone;
}

}  // namespace superstep
