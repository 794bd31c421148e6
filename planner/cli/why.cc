// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/why.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/json_reader.h"
#include "model/quantity_text.h"
#include "planner/job/pins.h"
#include "planner/report/evaluated.h"
#include "planner/report/waterfall.h"
#include "traces/compare.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr const char* kPlace = "--why";

std::string_view name_of(Verdict v) {
  constexpr std::string_view kNames[] = {"has_pins", "not_legal", "not_found", "does_not_fit",
                                         "slower",   "tie",       "faster",    "only_plan"};
  return kNames[static_cast<std::size_t>(v)];
}

// Compares the best plan under the pins with the winner, and sets the verdict.
void compare_with_winner(WhyNot& w, const Outcome& free, const Outcome& pinned) {
  const Evaluated& winner = *free.shown();
  const Evaluated& best = *w.best;
  // For latency the time of a step counts, with any number of samples.
  const bool steps = free.asked.goal.objective == Objective::latency;
  const double scale =
      steps ? 1 : static_cast<double>(winner.plan.global_batch()) / static_cast<double>(best.plan.global_batch());
  w.best_step_time = scale * best.step_seconds;
  w.lost = time_lost(waterfall(winner, free.tables->model()), waterfall(best, pinned.tables->model()), scale);
  w.different = different_fields(winner.plan, best.plan);
  std::vector<double> worlds = best.worlds;
  for (double& seconds : worlds) seconds *= scale;
  w.probability_winner_is_faster = probability_faster(winner.worlds, worlds);
  const double p = w.probability_winner_is_faster;
  w.verdict = p >= kSure ? Verdict::slower : 1 - p >= kSure ? Verdict::faster : Verdict::tie;
}

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", seconds * 1000);
  return text;
}

std::string headline(const WhyNot& w, const Outcome& free) {
  const std::string pins = w.pins.dump();
  switch (w.verdict) {
    case Verdict::has_pins:
      return "The best plan has the pins " + pins + ": nothing is lost.";
    case Verdict::not_legal:
      return "No plan can have the pins " + pins + ": " + w.reason;
    case Verdict::not_found:
      return "No plan with the pins " + pins + " was found: " + w.reason;
    case Verdict::does_not_fit: {
      const Overflow& o = w.overflows.front();
      return "Nothing fits with " + pins + ". The closest plan" + (w.best ? " (" + label(w.best->plan) + ")" : "") +
             " runs into " + o.constraint + " on " + o.where + (o.op.empty() ? "" : ", op " + o.op) +
             (o.over.value > 0 ? ": over by " + to_text(o.over) : "") + (o.detail.empty() ? "" : " (" + o.detail + ")");
    }
    case Verdict::only_plan:
      return "Without the pins " + pins + " nothing fits; with them " + label(w.best->plan) + " does, at " +
             figure(w.best->samples_per_second) + " samples/s.";
    default:
      break;
  }
  const double winner = free.shown()->step_seconds;
  const std::string how = w.verdict == Verdict::tie      ? "ties with the best plan"
                          : w.verdict == Verdict::faster ? "is faster than the plan found without"
                                                         : "loses";
  return "The best plan with " + pins + " (" + label(w.best->plan) + ") " + how + ": " +
         milliseconds(w.best_step_time) + " against " + milliseconds(winner) + " ms a step, " +
         (w.best_step_time >= winner ? "+" : "") + percent(w.best_step_time / winner - 1) +
         "; probability that the best plan is faster: " + figure(w.probability_winner_is_faster) + ".";
}

// Returns what is against the plan with the pins, whatever its speed: software, doubt and chance. Empty: nothing.
std::vector<std::string> reservations(const WhyNot& w, const Outcome& free) {
  std::vector<std::string> out;
  if (!w.best || w.verdict == Verdict::does_not_fit) return out;
  if (w.software.accepted_by.empty() && w.software.broken)
    out.push_back("No released software takes it. " + w.software.broken_by +
                  " comes nearest: " + to_text(*w.software.broken) + ".");
  std::string names;
  for (const std::string& name : w.best->not_validated()) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) out.push_back("No measured point covers its " + names + ".");
  if (w.best->fit_probability < free.asked.fit_probability)
    out.push_back("It fits with a probability of " + percent(w.best->fit_probability) + ", less than the " +
                  percent(free.asked.fit_probability) + " asked for.");
  return out;
}

std::string lost_table(const WhyNot& w, const Outcome& free, const TextStyle& style) {
  TextTable table;
  table.headings = {"lost by cause, ms a step", "best plan", "with the pins", "lost"};
  for (const LostTime& t : w.lost)
    table.add({t.name, milliseconds(t.first), milliseconds(t.second), milliseconds(t.lost())});
  const double winner = free.shown()->step_seconds;
  table.add({"step", milliseconds(winner), milliseconds(w.best_step_time), milliseconds(w.best_step_time - winner)},
            Ink::strong, true);
  return table.to_string(style);
}

std::string fields_table(const WhyNot& w, const TextStyle& style) {
  TextTable table;
  table.headings = {"field", "best plan", "with the pins"};
  table.left_columns = {1, 2};
  const auto cell = [](const json& v) {
    const std::string text = v.is_string() ? v.get<std::string>() : v.dump();
    return text.size() <= 32 ? text : text.substr(0, 29) + "...";
  };
  for (const DifferentField& d : w.different) table.add({d.field, cell(d.first), cell(d.second)});
  return table.to_string(style);
}

}  // namespace

json read_why(const std::string& text) {
  json pins = parse_json_text(text, kPlace);
  read_pins(pins, kPlace);
  if (pins.empty()) throw Error(kPlace, "found no pins, expected at least one field as in {\"pipeline_stages\": 4}");
  return pins;
}

WhyNot explain_why_not(const Outcome& free, const json& pins, OutcomeOptions options, const CommonOptions& common,
                       WarmTables& warm) {
  WhyNot w;
  w.pins = pins;
  const Evaluated* winner = free.best.empty() ? nullptr : free.best.data();
  if (winner) w.missing = unsatisfied_pins(winner->plan, pins);
  if (winner && w.missing.empty()) return w;
  try {
    Job job = read_job(with_pins(free.asked.json(), pins), free.asked.source);
    job.source += " with --why";
    options.top = 1;
    options.pareto = false;
    Outcome pinned = solve(std::move(job), options, common, warm);
    if (pinned.best.empty()) {
      w.verdict = pinned.closest ? Verdict::does_not_fit : Verdict::not_legal;
      w.overflows = pinned.search.overflows;
      w.nearest_fix = pinned.search.nearest_fix;
      if (!pinned.closest) w.reason = w.overflows.empty() ? "" : w.overflows.front().detail;
      if (pinned.search.stats.stopped) w.verdict = Verdict::not_found;
      if (pinned.closest) w.best = std::move(pinned.closest), w.best_step_time = w.best->step_seconds;
      return w;
    }
    w.best = pinned.best.front();
    w.software = pinned.software;
    w.best_step_time = w.best->step_seconds;
    if (!winner)
      w.verdict = Verdict::only_plan;
    else if (winner->plan == w.best->plan)
      w.missing.clear();  // the missing pins concern fields without effect
    else
      compare_with_winner(w, free, pinned);
  } catch (const Error& e) {
    w.verdict = Verdict::not_legal;
    w.reason = e.what();
  }
  return w;
}

std::string to_text(const WhyNot& w, const Outcome& free, const TextStyle& style) {
  std::string text = "\nWhy not " + w.pins.dump() + "\n";
  for (const std::string& line : wrapped(headline(w, free), std::max(60, style.columns) - 2))
    text += "  " + line + "\n";
  for (const std::string& reservation : reservations(w, free)) {
    for (const std::string& line : wrapped(reservation, std::max(60, style.columns) - 2)) text += "  " + line + "\n";
  }
  if (!w.nearest_fix.empty()) text += "  Nearest fix: " + w.nearest_fix + "\n";
  if (!w.lost.empty()) text += "\n" + lost_table(w, free, style);
  if (!w.different.empty()) text += "\n" + fields_table(w, style);
  return text;
}

json to_json(const WhyNot& w, const Outcome& free) {
  json j = {{"pins", w.pins}, {"verdict", name_of(w.verdict)}, {"pins_not_had", w.missing}};
  if (!w.reason.empty()) j["reason"] = w.reason;
  if (w.best) {
    j["plan"] = to_json(w.best->plan);
    j["label"] = label(w.best->plan);
    j["fits"] = w.best->fits;
    j["samples_per_second"] = w.best->samples_per_second;
    j["step_time_s"] = w.best_step_time;
    j["fit_probability"] = w.best->fit_probability;
    j["not_validated"] = w.best->not_validated();
  }
  if (w.best && w.verdict != Verdict::does_not_fit) {
    j["software"] = w.software.accepted_by;
    if (w.software.accepted_by.empty() && w.software.broken) j["rule"] = to_text(*w.software.broken);
  }
  if (!w.lost.empty()) {
    j["best_step_time_s"] = free.shown()->step_seconds;
    j["probability_best_is_faster"] = w.probability_winner_is_faster;
    for (const LostTime& t : w.lost)
      j["lost"].push_back({{"name", t.name},
                           {"kind", t.kind},
                           {"best_seconds", t.first},
                           {"pinned_seconds", t.second},
                           {"lost_seconds", t.lost()}});
    j["different"] = json::array();
    for (const DifferentField& d : w.different)
      j["different"].push_back({{"field", d.field}, {"best", d.first}, {"pinned", d.second}});
  }
  if (!w.overflows.empty()) {
    for (const Overflow& o : w.overflows) j["overflows"].push_back(to_json(o));
    j["nearest_fix"] = w.nearest_fix;
  }
  return j;
}

}  // namespace superstep
