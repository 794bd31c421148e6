// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "model/error.h"
#include "model/quantity_text.h"
#include "planner/cli/options.h"
#include "planner/cli/outcome.h"
#include "planner/cli/rank.h"
#include "planner/cli/search_trace.h"
#include "planner/cli/why.h"
#include "planner/report/make_report.h"
#include "planner/report/regret.h"
#include "planner/run/verify.h"
#include "planner/space/job_parts.h"
#include "planner/space/space.h"
#include "planner/space/space_count.h"
#include "planner/space/space_fields.h"
#include "planner/sweep/sweep.h"
#include "traces/summary_text.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

constexpr std::int64_t kPlansOfRegret = 20;  // at least, to compare the best plan with

struct PlanArguments {
  std::string job, report, pinned, why, trace;
  std::optional<std::size_t> item;  // item of the sweep in `job`; empty: `job` is a job
  bool space = false, verify = false, regret = false;
  OutcomeOptions options;
};

// Returns a power of ten: "10^14.2". The number of plans with all cuts is too large for an exact count.
std::string power_of_ten(double log10) {
  if (!std::isfinite(log10)) return "0";
  std::ostringstream s;
  s << "10^" << std::fixed << std::setprecision(1) << log10;
  return s.str();
}

Job job_of(const PlanArguments& a) {
  const nlohmann::json value = parse_json_file(a.job);
  if (!a.options.dimensions.empty()) return load_job(a.job, a.options.dimensions);
  const bool is_sweep = value.is_object() && value.contains("grid");
  if (!a.item && is_sweep)
    throw Error(a.job, "found a sweep, expected a job; --item K plans one of its items, superstep sweep all of them");
  if (!a.item) return load_job(a.job);
  if (!is_sweep) throw Error(a.job, "found no sweep, of which --item plans one item; expected base and grid");
  const Sweep sweep = read_sweep(value, a.job);
  if (*a.item >= sweep.size())
    throw Error("--item", "found " + std::to_string(*a.item) + ", expected an item from 0 to " +
                              std::to_string(sweep.size() - 1) + " of " + a.job);
  return read_job(sweep.job(*a.item), sweep.job_source);
}

std::vector<SpaceField> rows_of(const SpaceCount& count) {
  return {{"points", with_thousands(count.points) + ", without the cuts; a field without effect counts once"},
          {"plans", power_of_ten(count.log10_with_cuts) + ", with all cuts and modes of recompute"}};
}

// Returns the table of fields. Lists of values are wrapped, names are not.
std::string space_table(const std::vector<SpaceField>& rows, const TextStyle& style) {
  TextTable table;
  table.headings = {"field", "draws from"};
  table.left_columns = {1};
  int name = 0;
  for (const SpaceField& row : rows) name = std::max(name, text_width(row.name));
  for (const SpaceField& row : rows) {
    std::string first = row.name;
    for (const std::string& line : wrapped(row.text(), style.columns - table.indent - name - table.gap))
      table.add({std::exchange(first, ""), line});
  }
  return table.to_string(style);
}

SpaceCount count_of(const std::vector<Job>& parts) {
  const std::int64_t group = statistics_group(parts[0]);
  SpaceCount count{0, -std::numeric_limits<double>::infinity()};
  for (const Job& part : parts) {
    const std::int64_t micro_batch = cells(part, group).front().micro_batch;
    count = count + count_space(part, build_graph(part, micro_batch), group);
  }
  return count;
}

int print_space(const PlanArguments& a, const CommonOptions& common) {
  const Job job = job_of(a);
  const std::vector<Job> parts = job_parts(job);
  const SpaceCount count = count_of(parts);
  std::vector<SpaceField> rows = space_fields(job, parts, statistics_group(parts[0]));
  nlohmann::json j = nlohmann::json::object();
  for (const SpaceField& f : rows) j[f.name] = f.values;
  j["space_points"] = count.points;
  const bool none = !std::isfinite(count.log10_with_cuts);
  j["space_plans_log10"] = none ? nlohmann::json() : nlohmann::json(count.log10_with_cuts);
  std::ranges::move(rows_of(count), std::back_inserter(rows));
  if (parts[0].is_restricted()) {
    Job any = job;
    any.software = {kAnySoftware};
    const std::int64_t of_hardware = count_of(job_parts(any)).points;
    j["space_points_of_hardware"] = of_hardware;
    rows.push_back(
        {"of the hardware",
         with_thousands(of_hardware) + " points; rules of software leave out the others (superstep software NAME)"});
  }
  if (prints_text(common)) std::cout << space_table(rows, terminal_style());
  write_json(common, j);
  return kDone;
}

// Returns the regret of the best plan among the runners-up and the plan that is fastest by the model.
Regret regret_among(const Outcome& o) {
  std::vector<const Evaluated*> plans;
  for (const Evaluated& e : o.best) plans.push_back(&e);
  if (o.fastest) plans.push_back(&*o.fastest);
  return regret_of(o.job().goal, plans);
}

std::string sentence(const Regret& r) {
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, r.best_in.size()); ++i)
    list += (i ? ", " : "") + r.best_in[i].first + " (" + percent(r.best_in[i].second) + ")";
  return "regret: over " + std::to_string(kWorlds) + " worlds the best plan loses " + percent(r.mean) +
         " on average, and no more than " + percent(r.p95) + " in 95 % of them, against the best of " +
         std::to_string(r.plans) + " plans in each; best in most: " + list;
}

nlohmann::json to_json(const Regret& r) {
  nlohmann::json best_in = nlohmann::json::array();
  for (const auto& [label, share] : r.best_in) best_in.push_back({{"label", label}, {"share", share}});
  return {{"mean", r.mean}, {"p95", r.p95}, {"worlds", kWorlds}, {"plans", r.plans}, {"best_in", best_in}};
}

// Writes the steps of a search to a file or standard output. Lines may be wider than the terminal: names are not cut.
void write_trace(const std::string& path, const std::vector<SearchStep>& steps) {
  TextStyle style = path == "-" ? terminal_style() : TextStyle();
  style.columns = 200;
  write_text(path, trace_text(steps, style));
}

int run_plan(const PlanArguments& a, const CommonOptions& common) {
  if (!(a.options.time_limit >= 0)) throw Error("--time-limit", "found a number that is none, expected seconds");
  if (a.space) return print_space(a, common);
  check_output(a.report);
  check_output(common.json);
  check_output(a.trace);
  if (!a.pinned.empty()) check_same_question(job_of(a), load_job(a.pinned));
  const std::optional<nlohmann::json> pins = a.why.empty() ? std::nullopt : std::optional(read_why(a.why));
  check_output(common.cache);
  // The process ends without freeing tables and plans, because freeing takes up to a tenth of a second.
  static WarmTables& warm = *new WarmTables(common.cache);
  OutcomeOptions options = a.options;
  if (a.regret) options.top = std::max(options.top, kPlansOfRegret), options.runners_up = true;
  options.record = !a.report.empty();
  std::vector<SearchStep> steps;
  if (!a.trace.empty()) options.trace = [&](const SearchStep& step) { steps.push_back(step); };
  static Outcome& o = *new Outcome(solve(job_of(a), options, common, warm));
  check_estimated(o);
  if (!a.trace.empty()) write_trace(a.trace, steps);
  std::optional<WhyNot> why;
  if (pins) why = explain_why_not(o, *pins, a.options, common, warm);
  std::optional<Ranked> ranked;
  if (!a.pinned.empty()) {
    ranked = rank_pinned(job_of(a), o, a.pinned, a.options, common, warm);
    o.notes.insert(o.notes.begin(), sentence(*ranked));
  }
  std::optional<Regret> regret;
  if (a.regret && !o.best.empty()) {
    regret = regret_among(o);
    o.notes.insert(o.notes.begin(), sentence(*regret));
  }
  std::optional<Verification> verified;
  if (a.verify && o.shown()) {
    const Plan& plan = o.shown()->plan;
    const auto units = static_cast<std::int64_t>(o.tables->facts(plan.micro_batch).graph.units.size());
    verified = verify(o.job(), plan, units, common.threads);
    o.notes.insert(o.notes.begin(), verified->sentence());
  }
  save(warm);
  if (prints_text(common)) std::cout << summary_text(make_index(*o.tables, o.parts()), terminal_style());
  if (prints_text(common) && why) std::cout << to_text(*why, o, terminal_style());
  if (!a.report.empty()) write_report(*o.tables, o.parts(), a.report);
  nlohmann::json result = to_json(o);
  if (ranked) result["rank"] = to_json(*ranked);
  if (why) result["why"] = to_json(*why, o);
  if (regret) result["regret"] = to_json(*regret);
  if (verified) result["verify"] = to_json(*verified);
  write_json(common, result);
  const bool found = !o.best.empty() || o.estimated;
  return found && (!verified || verified->identical()) ? kDone : kFailed;
}

}  // namespace

void add_plan(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<PlanArguments>();
  CLI::App* sub =
      sub_command(app, common, "plan", "Search the best plan of a job; print it, the runners-up, waterfall and memory");
  sub->add_option("job", a->job, "Job file")->required()->type_name("JOB.json");
  sub->add_option("--item", a->item, "The job is a sweep: plan this item of it")
      ->check(CLI::Range(0, 99'999))
      ->type_name("N");
  sub->add_option("-o,--output", a->report, "Write a report for the viewer")->type_name("REPORT.ssr");
  CLI::Option* space =
      sub->add_flag("--space", a->space, "Print what each field draws from and how many plans there are, and stop");
  sub->add_option("--top", a->options.top, "Go on after the proof for the best K plans, different in kind")
      ->check(CLI::Range(1, 100))
      ->type_name("K")
      ->each([a](const std::string&) { a->options.runners_up = true; });
  sub->add_flag("--pareto", a->options.pareto,
                "Trace the front of the job's two measures: objective and memory unless it names them");
  sub->add_option("--time-limit", a->options.time_limit,
                  "Stop after so many seconds with the best so far and its gap; by default when the best is proved, or "
                  "after an amount of work that is the same on every machine")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("S");
  sub->add_flag(
      "--regret", a->regret,
      "Say what the best plan loses where the model is wrong: against the best of 20 kinds in each of 200 worlds");
  sub->add_option("--rank", a->pinned, "Say how many plans are faster than the one pinned in another job")
      ->type_name("PINNED.json");
  sub->add_option("--why", a->why, "Explain why the best plan under further pins lost, or does not fit")
      ->type_name("PINS");
  sub->add_option("--trace-search", a->trace, "Write each step of the search as a line of text; - for standard output")
      ->type_name("FILE");
  add_dimensions(*sub, a->options.dimensions);
  sub->get_option("--dim")->excludes("--item");
  add_cache(*sub, common);
  sub->add_flag("--verify", a->verify,
                "Run the best plan on numbers with a scaled-down model, and compare with the plain model");
  for (const char* of_plans : {"--output", "--rank", "--why", "--regret", "--trace-search", "--verify"})
    space->excludes(of_plans);
  sub->callback([a, &common, &run] { run = [a, &common] { return run_plan(*a, common); }; });
}

void add_estimate(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<PlanArguments>();
  a->options.estimate = true;
  CLI::App* sub =
      sub_command(app, common, "estimate",
                  "Cost of the plan pinned in a job (defaults for what is not pinned), also when it does not fit");
  sub->add_option("job", a->job, "Job file")->required()->type_name("JOB.json");
  sub->add_option("-o,--output", a->report, "Write a report for the viewer")->type_name("REPORT.ssr");
  add_dimensions(*sub, a->options.dimensions);
  add_cache(*sub, common);
  sub->callback([a, &common, &run] { run = [a, &common] { return run_plan(*a, common); }; });
}

}  // namespace superstep
