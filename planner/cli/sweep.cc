// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "model/error.h"
#include "model/quantity_text.h"
#include "planner/cli/options.h"
#include "planner/cli/sweep_grid.h"
#include "planner/cli/sweep_ranks.h"
#include "planner/cli/sweep_sensitivity.h"
#include "planner/sweep/scaling.h"

namespace superstep {
namespace {

struct SweepArguments {
  GridArguments grid;
  std::string scaling, sensitivity, output;
  ScalingOptions options;
};

Ink ink_of(const std::string& fits) { return fits == "fits" ? Ink::plain : Ink::warning; }

std::vector<std::string> cells_of(const ScaledSize& s) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  return {std::string(name_of(s.kind)),
          number(s.ipus),
          with_thousands(s.global_batch),
          number(s.plan.tensor_parallel.size()) + " " + number(s.plan.pipeline_stages) + " " + number(s.plan.replicas),
          number(s.plan.micro_batch),
          with_thousands(s.plan.gradient_accumulation),
          figure(s.samples_per_second),
          figure(static_cast<double>(s.global_batch) / s.step_band.high) + " to " +
              figure(static_cast<double>(s.global_batch) / s.step_band.low),
          figure(s.speed_up),
          percent(s.efficiency),
          to_text(s.rated_power),
          figure(s.samples_per_joule()),
          s.fits};
}

TextTable table_of(const Scaling& scaling) {
  TextTable table;
  table.headings = {"scaling",   "IPUs",     "batch",      "t p r",       "m",         "g",   "samples/s",
                    "95 % band", "speed-up", "efficiency", "rated power", "samples/J", "fits"};
  table.left_columns = {12};
  const ScaledSize* last = nullptr;
  for (const ScaledSize& s : scaling.sizes) {
    const bool first_of_kind = last != nullptr && last->kind != s.kind;
    if (s.failure.empty())
      table.add(cells_of(s), ink_of(s.fits), first_of_kind);
    else
      table.add({name_of(s.kind), std::to_string(s.ipus), s.global_batch > 0 ? with_thousands(s.global_batch) : "",
                 "no plan", "", "", "", "", "", "", to_text(s.rated_power), "", ""},
                Ink::bad, first_of_kind);
    last = &s;
  }
  return table;
}

std::vector<std::string> notes_of(const Scaling& scaling) {
  std::vector<std::string> notes = {
      "the replica keeps what the job pins; replicas, gradient accumulation and sharding are searched on each size; "
      "samples per joule are at rated power"};
  std::set<std::string> uncovered;
  for (const ScaledSize& s : scaling.sizes) {
    const std::string name = std::string(name_of(s.kind)) + " scaling, " + s.machine;
    if (!s.failure.empty()) notes.push_back(name + ": " + s.failure);
    if (s.failure.empty() && s.gap > 0)
      notes.push_back(name + ": the search stopped early, a plan may be " + percent(s.gap) + " faster");
    for (const std::string& what : s.not_validated) uncovered.insert(what + " (" + s.machine + ")");
  }
  for (const std::string& what : uncovered) notes.push_back("not validated: no measured point covers " + what);
  return notes;
}

void write_picture(const std::string& path, const std::string& svg) {
  std::ofstream out(path, std::ios::binary);
  out << svg;
  out.close();
  if (!out) throw Error(path, "cannot be written");
}

int run_scaling(const SweepArguments& a, const CommonOptions& common) {
  check_output(a.output);
  check_output(common.json);
  if (!a.output.empty() && std::filesystem::path(a.output).extension() != ".svg")
    throw Error(a.output, "found another kind of file, expected FILE.svg");
  ScalingOptions options = a.options;
  options.threads = common.threads;
  options.progress = progress_of(common);
  const Scaling scaling = scale(load_job(a.scaling), options);
  clear_progress(common);
  if (prints_text(common)) {
    const TextStyle style = terminal_style();
    std::cout << table_of(scaling).to_string({.columns = 160, .color = style.color}) << "\n"
              << to_text(plot_of(scaling), style) << "\n";
    print_notes(notes_of(scaling), style);
  }
  if (!a.output.empty()) write_picture(a.output, to_svg(plot_of(scaling)));
  write_json(common, to_json(scaling));
  const bool all =
      std::all_of(scaling.sizes.begin(), scaling.sizes.end(), [](const ScaledSize& s) { return s.failure.empty(); });
  return all ? kDone : kFailed;
}

// Throws Error for an option that the kind of sweep does not use.
void check_options(const SweepArguments& a) {
  const auto refuse = [](bool given, const char* option, const char* where) {
    if (given) throw Error(option, std::string("found for a sweep that has none, expected with ") + where);
  };
  refuse(!a.grid.format.empty() && a.grid.sweep.empty(), "--format", "SWEEP.json alone");
  refuse(!a.options.ipus.empty() && a.scaling.empty(), "--sizes", "--scaling JOB.json alone");
  refuse(!a.output.empty() && !a.sensitivity.empty(), "--output",
         "SWEEP.json or --scaling JOB.json alone; --json FILE writes this result");
}

int run_sweep_command(const SweepArguments& a, const CommonOptions& common) {
  const int given = (a.grid.sweep.empty() ? 0 : 1) + (a.scaling.empty() ? 0 : 1) + (a.sensitivity.empty() ? 0 : 1);
  if (given != 1)
    throw Error("sweep", std::string("found ") + (given == 0 ? "none" : "several") +
                             ", expected one of SWEEP.json, --scaling JOB.json and --sensitivity JOB.json");
  check_options(a);
  if (a.grid.sweep.empty() && started_as_rank())
    throw Error("mpirun", std::string("found with ") + (a.scaling.empty() ? "--sensitivity" : "--scaling") +
                              ", expected with SWEEP.json, whose items its ranks share");
  if (!a.scaling.empty()) return run_scaling(a, common);
  if (!a.sensitivity.empty()) return run_sensitivity(a.sensitivity, a.options.time_limit, common);
  GridArguments grid = a.grid;
  grid.results = a.output;
  grid.time_limit = a.options.time_limit;
  return started_as_rank() ? run_grid_on_ranks(grid, common) : run_grid(grid, common);
}

}  // namespace

void add_sweep(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<SweepArguments>();
  CLI::App* sub =
      sub_command(app, common, "sweep",
                  "Plan a job many times: a grid of its fields, sizes of its machine, or its machine's numbers");
  sub->add_option("sweep", a->grid.sweep, "A job and lists of values for its fields: all combinations")
      ->type_name("SWEEP.json");
  sub->add_option("--scaling", a->scaling, "Instead: strong and weak scaling over the sizes of this job's machine")
      ->type_name("JOB.json");
  sub->add_option(
         "--sensitivity", a->sensitivity,
         "Instead: how much this job's result depends on each number of its machine, and where another plan wins")
      ->type_name("JOB.json");
  sub->add_option(
         "-o,--output", a->output,
         "SWEEP.json: keep results here (SQLite); a sweep that was stopped goes on. --scaling: draw throughput "
         "over IPUs")
      ->type_name("FILE");
  sub->add_option("--format", a->grid.format, "SWEEP.json: how to print the results")
      ->check(CLI::IsMember({"csv", "json", "markdown"}));
  sub->add_option("--sizes", a->options.ipus, "--scaling: IPUs of the machines; all of the family by default")
      ->delimiter(',')
      ->type_name("N,N");
  sub->add_option("--time-limit", a->options.time_limit,
                  "Of each search, in seconds; by default it ends when the best is proved, or after an amount of work")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("S");
  sub->add_option("--lost-after", a->grid.lost_after,
                  "Under mpirun: give up a rank that is silent for so many seconds, and its items to others")
      ->check(CLI::Range(0.5, 1e6))
      ->type_name("S");
  sub->callback([a, &common, &run] { run = [a, &common] { return run_sweep_command(*a, common); }; });
}

}  // namespace superstep
