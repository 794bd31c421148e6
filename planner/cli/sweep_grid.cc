// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/sweep_grid.h"

#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/sweep/sweep_table.h"

namespace superstep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPause(5);  // time between progress lines without a terminal

std::string time_text(double seconds) {
  if (seconds < 90) return std::to_string(std::lround(seconds)) + " s";
  if (seconds < 90 * 60) return std::to_string(std::lround(seconds / 60)) + " min";
  return std::to_string(std::lround(seconds / 3600)) + " h";
}

std::string sentence(const ManyProgress& p) {
  std::string text = std::to_string(p.done) + " of " + std::to_string(p.jobs) + " done";
  if (p.without_plan > 0) text += ", " + std::to_string(p.without_plan) + " without a plan";
  if (p.seconds_left > 0) text += ", " + time_text(p.seconds_left) + " left";
  return text + ": " + p.what;
}

void print_text(const Sweep& sweep, const std::vector<SweepRow>& rows) {
  const TextStyle style = terminal_style();
  std::cout << table_of(sweep, rows).to_string({.columns = 200, .color = style.color}) << "\n";
  for (const SweepRow& row : rows) {
    if (row.status == PlanStatus::planned) continue;
    for (const std::string& line : wrapped("item " + std::to_string(row.item) + ": " + row.reason, style.columns - 2))
      std::cout << "  " << line << "\n";
  }
}

void print(const GridArguments& a, const CommonOptions& common, const Sweep& sweep, const std::vector<SweepRow>& rows) {
  if (!prints_text(common)) return;
  if (a.format == "csv")
    std::cout << to_csv(sweep, rows);
  else if (a.format == "json")
    std::cout << to_json(rows).dump(2) << "\n";
  else if (a.format == "markdown")
    std::cout << to_markdown(sweep, rows);
  else
    print_text(sweep, rows);
  std::cout << std::flush;
}

}  // namespace

std::function<void(const SweepRow&)> row_line(const CommonOptions& common) {
  if (common.progress != "json") return {};
  return [](const SweepRow& row) { std::cerr << nlohmann::json{{"row", item_json(row)}}.dump() + "\n" << std::flush; };
}

std::function<void(const ManyProgress&)> progress_of_many(const CommonOptions& common) {
  if (common.progress == "json") {
    // Prints a line for each job that ends, and up to ten lines a second in between.
    auto last = std::make_shared<std::pair<Clock::time_point, std::size_t>>(Clock::time_point(), SIZE_MAX);
    return [last](const ManyProgress& p) {
      if (p.done == last->second && Clock::now() - last->first < std::chrono::milliseconds(100)) return;
      *last = {Clock::now(), p.done};
      const nlohmann::json line = {{"progress", p.share},
                                   {"what", p.what},
                                   {"done", p.done},
                                   {"jobs", p.jobs},
                                   {"without_plan", p.without_plan},
                                   {"seconds_left", p.seconds_left}};
      std::cerr << line.dump() + "\n" << std::flush;
    };
  }
  const std::function<void(double, const std::string&)> line = progress_of(common);
  if (!line) return {};
  return [line](const ManyProgress& p) { line(p.share, sentence(p)); };
}

std::function<void(const ManyProgress&)> progress_on_ranks(const CommonOptions& common) {
  std::function<void(const ManyProgress&)> progress = progress_of_many(common);
  if (progress || common.quiet) return progress;
  auto next = std::make_shared<Clock::time_point>(Clock::now() + kPause);
  return [next](const ManyProgress& p) {
    if (Clock::now() < *next) return;
    *next = Clock::now() + kPause;
    std::cerr << "superstep: " + sentence(p) + "\n" << std::flush;
  };
}

void note(const CommonOptions& common, const std::string& text) {
  clear_progress(common);
  if (common.progress == "json")
    std::cerr << nlohmann::json{{"note", text}}.dump() + "\n" << std::flush;
  else if (!common.quiet)
    std::cerr << "superstep: " + text + "\n" << std::flush;
}

int finish_grid(const GridArguments& a, const CommonOptions& common, const Sweep& sweep,
                const std::vector<SweepRow>& rows, const std::set<std::size_t>& given_up) {
  print(a, common, sweep, rows);
  write_json(common, to_json(rows));
  for (const std::size_t item : given_up)
    std::cerr << "superstep: item " + std::to_string(item) +
                     " was lost with two ranks and has no row; the same command plans it again\n";
  const bool all =
      std::all_of(rows.begin(), rows.end(), [](const SweepRow& row) { return row.status == PlanStatus::planned; });
  return all && given_up.empty() ? kDone : kFailed;
}

int run_grid(const GridArguments& a, const CommonOptions& common) {
  check_output(a.results);
  check_output(common.json);
  const Sweep sweep = load_sweep(a.sweep);
  SweepStore store(a.results);
  run_sweep(sweep, store, {a.time_limit, common.threads, progress_of_many(common), row_line(common)});
  clear_progress(common);
  return finish_grid(a, common, sweep, store.rows());
}

}  // namespace superstep
