// SPDX-License-Identifier: Apache-2.0
#include "traces/compare.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/cli/options.h"
#include "planner/cli/outcome.h"
#include "planner/report/make_report.h"

namespace superstep {
namespace {

bool is_report(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path, "cannot be read");
  char first = 0;
  while (file.get(first) && std::isspace(static_cast<unsigned char>(first)) != 0) {
  }
  return first != '{' && first != '[';
}

// Returns the report's index; of a job that of its best plan, or, `as_pinned`, that of the plan that it pins.
report::Index index_of(const std::string& path, bool as_pinned, const CommonOptions& common) {
  if (is_report(path)) return ReportFile::open(path).index();
  OutcomeOptions options;
  options.estimate = as_pinned;
  options.pareto = options.find_fix = false;
  options.top = 1;
  const Outcome o = solve(path, options, common);
  return make_index(*o.tables, o.parts());
}

nlohmann::json comparison_json(const Comparison& c) {
  nlohmann::json j = {{"headline", c.headline}, {"labels", c.labels}, {"step_time_s", c.step_time_s}};
  auto values = [](const auto& list) {
    nlohmann::json out = nlohmann::json::array();
    for (const auto& v : list) out.push_back(v ? nlohmann::json(*v) : nlohmann::json());
    return out;
  };
  j["probability_faster"] = values(c.probability_faster);
  for (const KeyFigure& k : c.key_figures)
    j["key_figures"].push_back(
        {{"name", k.name}, {"unit", k.unit}, {"values", values(k.values)}, {"differences", k.differences}});
  for (const ComparedTerm& t : c.waterfall)
    j["waterfall"].push_back({{"name", t.name}, {"kind", t.kind}, {"seconds", values(t.seconds)}});
  for (std::size_t i = 0; i < c.fits.size(); ++i) {
    const ComparedFit& f = c.fits[i];
    const auto value = [](const auto& v) { return v ? nlohmann::json(*v) : nlohmann::json(); };
    j["fits"].push_back(
        {{"label", c.labels[i]},
         {"fits", fit_word(f.fit)},
         {"tile_peak_bytes", value(f.tile_peak_bytes)},
         {"tile_limit_bytes", value(f.tile_limit_bytes)},
         {"margin_bytes", value(f.margin_bytes)},
         {"margin_kib_per_tile",
          f.margin_bytes ? nlohmann::json(static_cast<double>(*f.margin_bytes) / 1024) : nlohmann::json()}});
  }
  for (const ComparedMemory& m : c.memory) {
    j["memory"].push_back({{"ipu", m.ipu_class},
                           {"category", m.category},
                           {"always_live", m.always_live},
                           {"bytes_per_tile", values(m.bytes_per_tile)}});
  }
  return j;
}

// Returns what the sides are: "searched", "as pinned" or "report".
std::vector<std::string> kinds_of(const std::vector<std::string>& paths, bool as_pinned) {
  std::vector<std::string> out;
  for (const std::string& path : paths)
    out.emplace_back(is_report(path) ? "report" : as_pinned ? "as pinned" : "searched");
  return out;
}

std::string note_on(const std::string& kind) {
  if (kind == "searched")
    return "jobs are searched: each stands for its best plan; --as-pinned takes the plan it pins, as estimate";
  return "jobs are as pinned: fields that are not pinned have their defaults, as in estimate";
}

int run_compare(const std::vector<std::string>& paths, bool as_pinned, const CommonOptions& common) {
  if (paths.size() < 2) throw Error("compare", "found one report or job, expected two or more");
  check_output(common.json);
  std::vector<report::Index> indices;
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    indices.push_back(index_of(path, as_pinned, common));
    names.push_back(std::filesystem::path(path).stem().string());
  }
  std::vector<const report::Index*> pointers;
  for (const report::Index& i : indices) pointers.push_back(&i);
  const Comparison c = compare(pointers, names);
  const std::vector<std::string> kinds = kinds_of(paths, as_pinned);
  if (prints_text(common)) {
    std::cout << to_text(c, terminal_style());
    const auto job = std::ranges::find_if(kinds, [](const std::string& kind) { return kind != "report"; });
    if (job != kinds.end()) print_notes({note_on(*job)}, terminal_style());
  }
  nlohmann::json j = comparison_json(c);
  j["sides"] = kinds;
  write_json(common, j);
  return kDone;
}

}  // namespace

void add_compare(CLI::App& app, CommonOptions& common, Run& run) {
  auto paths = std::make_shared<std::vector<std::string>>();
  auto as_pinned = std::make_shared<bool>(false);
  CLI::App* sub =
      sub_command(app, common, "compare", "Reports or jobs side by side, matched by name; the first is the source");
  sub->add_option("files", *paths, "Reports or job files")->required()->type_name("A B [C ...]");
  sub->add_flag("--as-pinned", *as_pinned,
                "Jobs stand for the plan that they pin, as in estimate, not for their best one");
  sub->callback([paths, as_pinned, &common, &run] {
    run = [paths, as_pinned, &common] { return run_compare(*paths, *as_pinned, common); };
  });
}

}  // namespace superstep
