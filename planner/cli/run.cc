// SPDX-License-Identifier: Apache-2.0
#include "planner/run/run.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "model/error.h"
#include "model/execute/memory.h"
#include "model/quantity_text.h"
#include "planner/cli/options.h"
#include "planner/cli/outcome.h"
#include "planner/report/evaluated.h"

namespace superstep {
namespace {

using nlohmann::json;

struct RunArguments {
  std::string job;
  Dimensions dimensions;
  bool no_reference = false, require_identical = false;
};

// Returns a number as JSON; NaN and infinities become text, because JSON has no numbers for them.
json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}
json number(const std::optional<double>& value) { return value ? number(*value) : json(); }

std::string text(const char* format, double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, format, value);
  return digits;
}

std::string_view name_of(RunMode mode) { return mode == RunMode::exact ? "exact" : "device"; }

json collectives_json(const RunOutcome& r) {
  json list = json::array();
  for (const auto& [key, traffic] : r.collectives) {
    list.push_back({{"kind", name_of(key.first)},
                    {"purpose", name_of(key.second)},
                    {"count", traffic.count},
                    {"bytes", traffic.bytes.value}});
  }
  return list;
}

json cuts_json(const RunOutcome& r) {
  json list = json::array();
  for (const RunOutcome::Cut& c : r.cuts)
    list.push_back({{"op", c.op}, {"ops", c.times}, {"steps", c.steps}, {"parts", c.parts}, {"node", c.nodes}});
  return list;
}

json failure_json(const RunFailure& f) {
  return {{"step", f.step}, {"op", f.op},       {"op_kind", f.kind},       {"tensor", f.tensor},
          {"made", f.made}, {"where", f.where}, {"value", number(f.value)}};
}

json result_json(const Job& job, const Plan& plan, const RunOutcome& r, const std::vector<std::string>& notes) {
  json losses = json::array(), reference = json::array(), steps = json::array();
  for (const RunStep& s : r.steps) {
    if (s.loss) losses.push_back(number(s.loss));
    if (s.reference_loss) reference.push_back(number(s.reference_loss));
    json row = {{"step", s.step}, {"loss", number(s.loss)}, {"loss_scale", s.loss_scale}, {"skipped", s.skipped}};
    if (s.gradient_norm) row["gradient_norm"] = number(s.gradient_norm);
    if (r.compared) {
      row["reference_loss"] = number(s.reference_loss);
      row["bit_identical"] = s.difference.identical;
      row["max_abs_difference"] = number(s.difference.max_abs);
      row["max_relative_difference"] = number(s.difference.max_relative);
      row["worst_tensor"] = s.difference.worst;
    }
    steps.push_back(std::move(row));
  }
  json j = {{"plan", to_json(plan)},
            {"label", label(plan)},
            {"mode", name_of(job.run.mode)},
            {"losses", losses},
            {"reference_losses", reference},
            {"steps", steps},
            {"collectives", collectives_json(r)},
            {"cuts", cuts_json(r)},
            {"seconds", r.plan_seconds + r.reference_seconds},
            {"plan_seconds", r.plan_seconds},
            {"reference_seconds", r.reference_seconds},
            {"notes", notes}};
  if (r.live) j["live_bytes"] = {{"held", r.live->held.value}, {"costed", r.live->costed.value}};
  const bool compared = r.compared && !r.failure;
  j["bit_identical"] = compared ? json(r.difference.identical) : json();
  j["max_abs_difference"] = compared ? number(r.difference.max_abs) : json();
  j["max_relative_difference"] = compared ? number(r.difference.max_relative) : json();
  if (r.failure) j["non_finite"] = failure_json(*r.failure);
  return j;
}

std::string same_bits(const RunStep& s) {
  if (s.difference.identical) return "yes";
  return "no: " + text("%.2g", s.difference.max_relative) + " of " + s.difference.worst;
}

TextTable step_table(const RunOutcome& r) {
  TextTable table;
  table.headings = {"step", "loss"};
  if (r.compared) {
    table.headings.insert(table.headings.end(), {"plain model", "same bits"});
    table.left_columns = {3};
  }
  for (const RunStep& s : r.steps) {
    const auto loss = [](const std::optional<double>& v) { return v ? text("%.8g", *v) : std::string("-"); };
    std::vector<std::string> row = {std::to_string(s.step), loss(s.loss)};
    if (r.compared)
      row.insert(row.end(), {loss(s.reference_loss), r.failure && &s == &r.steps.back() ? "" : same_bits(s)});
    if (s.skipped) row.back() += " (no update: loss scale " + text("%g", s.loss_scale) + ")";
    table.add(std::move(row));
  }
  return table;
}

// Returns which contraction is cut off the nodes of its sum, and which chunk would have them there; empty: none is.
std::string chunk_advice(const RunOutcome& r, std::int64_t chunk) {
  const auto off = std::ranges::find(r.cuts, false, &RunOutcome::Cut::nodes);
  if (off == r.cuts.end()) return "";
  std::int64_t finer = 0;  // divides each part of each such contraction
  for (const RunOutcome::Cut& c : r.cuts) {
    if (!c.nodes) finer = std::gcd(finer, c.steps % c.parts == 0 ? c.steps / c.parts : 1);
  }
  if (finer >= chunk) finer = 1;
  return " " + off->op + " is cut off the nodes of its sum: " + std::to_string(off->steps) + " steps in " +
         std::to_string(off->parts) + " parts, in chunks of " + std::to_string(chunk) +
         (chunk > 1 ? "; \"run\": {\"chunk\": " + std::to_string(finer) + "} cuts at nodes." : ".");
}

std::string verdict(const RunOutcome& r, const RunChoice& run) {
  if (r.failure) {
    const RunFailure& f = *r.failure;
    return "✕ Step " + std::to_string(f.step) + " (" + f.where + "): " + f.tensor + " is " + text("%g", f.value) +
           "; it began with \"" + f.op + "\" (" + f.kind + "), which made " + f.made;
  }
  if (!r.compared) return "Not compared with the plain model.";
  if (r.difference.identical) return "✓ The same bits as the plain model.";
  return "Not the same bits as the plain model: " + text("%.3g", r.difference.max_abs) + " apart at most, " +
         text("%.2g", r.difference.max_relative) + " of the largest element of " + r.difference.worst + "." +
         (run.mode == RunMode::exact ? chunk_advice(r, run.chunk) : "");
}

void print(const Job& job, const Plan& plan, const RunOutcome& r, const std::vector<std::string>& notes) {
  const TextStyle style = terminal_style();
  std::cout << job.model.name() << " on " << job.machine.title << ", " << name_of(job.run.mode) << " mode\n"
            << label(plan) << ", global batch " << plan.global_batch() << "\n\n";
  for (const std::string& line : wrapped(verdict(r, job.run), style.columns)) std::cout << line << "\n";
  std::cout << "\n" << step_table(r).to_string(style);
  if (!r.collectives.empty()) {
    TextTable table;
    table.headings = {"collectives of a step, one replica", "for", "count", "bytes"};
    table.left_columns = {1};
    for (const auto& [key, traffic] : r.collectives)
      table.add({std::string(name_of(key.first)), std::string(name_of(key.second)), std::to_string(traffic.count),
                 std::to_string(traffic.bytes.value)});
    std::cout << "\n" << table.to_string(style);
  }
  if (!r.cuts.empty()) {
    TextTable table;
    table.headings = {"contractions that the plan cuts", "ops", "steps", "parts", "at nodes"};
    table.left_columns = {4};
    for (const RunOutcome::Cut& c : r.cuts)
      table.add(
          {c.op, std::to_string(c.times), std::to_string(c.steps), std::to_string(c.parts), c.nodes ? "yes" : "no"});
    std::cout << "\n" << table.to_string(style);
  }
  if (r.live)
    std::cout << "\nAt most " << with_thousands(r.live->held.value) << " bytes of results stand on a tile; "
              << with_thousands(r.live->costed.value) << " were planned for.\n";
  if (!notes.empty()) std::cout << "\n";
  print_notes(notes, style);
}

int run_run(const RunArguments& a, const CommonOptions& common) {
  keep_freed_memory();
  check_output(common.json);
  OutcomeOptions estimate;
  estimate.estimate = true;
  estimate.dimensions = a.dimensions;
  const Outcome o = solve(a.job, estimate, common);
  const Evaluated* planned = o.shown();
  if (!planned)
    throw Error(o.job().source + "#/plan",
                !o.search.overflows.empty() ? o.search.overflows.front().detail : "the pinned plan is not legal");
  check_output(o.job().run.checkpoint);
  const RunOptions options{.reference = !a.no_reference, .threads = common.threads, .progress = progress_of(common)};
  const RunOutcome r = run_job(*o.tables, planned->plan, planned->program, options);
  clear_progress(common);
  std::vector<std::string> notes = r.notes;
  if (!planned->overflows.empty())
    notes.push_back("the plan does not fit this machine: " + planned->overflows.front().detail);
  if (prints_text(common)) print(o.job(), planned->plan, r, notes);
  write_json(common, result_json(o.job(), planned->plan, r, notes));
  const bool identical = r.compared && r.difference.identical;
  return r.failure || (a.require_identical && !identical) ? kFailed : kDone;
}

}  // namespace

void add_run(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* sub =
      sub_command(app, common, "run",
                  "Execute the plan pinned in a job on numbers (defaults for what is not pinned), and compare "
                  "with the plain model");
  sub->add_option("job", a->job, "Job file")->required()->type_name("JOB.json");
  CLI::Option* alone = sub->add_flag("--no-reference", a->no_reference, "Do not run the plain model beside it");
  sub->add_flag("--require-identical", a->require_identical, "Exit 1 unless all bits are those of the plain model")
      ->excludes(alone);
  add_dimensions(*sub, a->dimensions);
  sub->callback([a, &common, &run] { run = [a, &common] { return run_run(*a, common); }; });
}

}  // namespace superstep
