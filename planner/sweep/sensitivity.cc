// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sensitivity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/quantity_text.h"
#include "planner/job/partitions.h"
#include "planner/report/evaluated.h"
#include "planner/report/sensitive_numbers.h"
#include "planner/sweep/sweep.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

using nlohmann::json;

// Returns a number for people: four digits, a tile's memory in KiB, other bytes in their largest unit.
std::string shown(const json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.ends_with(" B")) {
    constexpr Bytes kTileSized(16 << 20);
    const Bytes bytes = parse_bytes(text, "");
    return bytes < kTileSized ? kib_text(bytes.value) : to_text(bytes);
  }
  char* unit = nullptr;
  const double number = std::strtod(text.c_str(), &unit);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", number);
  return value.is_number_integer() ? text : digits + std::string(unit);
}

// A number of a machine file. Counts, cycles and bytes are whole. Rates, times and efficiencies are not.
struct Number {
  double value = 0;  // memory: bytes
  std::string unit;  // " GB/s"; " B" for memory; empty for a count or an efficiency
  bool whole = false;
};

std::optional<Number> read_number(const std::string& pointer, const std::string& text) {
  char* end = nullptr;
  Number n{std::strtod(text.c_str(), &end), "", false};
  if (end == text.c_str()) return std::nullopt;
  n.unit = end;
  if (n.unit.ends_with("B")) {
    n.value = static_cast<double>(parse_bytes(text, pointer).value);
    n.unit = " B";
  }
  n.whole = n.unit == " B" || n.unit == " cycles" || (n.unit.empty() && !pointer.ends_with("/efficiency"));
  return n;
}

// Returns the number as a job overrides it.
json written(const Number& n) {
  if (n.whole) {
    const auto count = static_cast<std::int64_t>(n.value);
    return n.unit.empty() ? json(count) : json(std::to_string(count) + n.unit);
  }
  if (n.unit.empty()) return json(n.value);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", n.value);
  return json(digits + n.unit);
}

const SourcedRow& row_of(const Machine& machine, std::string_view pointer) {
  const auto found = std::find_if(machine.rows.begin(), machine.rows.end(),
                                  [&](const SourcedRow& row) { return row.pointer == pointer; });
  SUPERSTEP_CHECK(found != machine.rows.end(), "a number that the machine has not");
  return *found;
}

// Returns the job with a number of its machine replaced. Instructions occupy part of a tile's memory. If the tile's
// memory becomes smaller than the part, the part shrinks too.
json with_number(const Job& job, const std::string& pointer, const json& value) {
  json changed = job.json();
  set_field(changed, "/machine/override" + pointer, value, job.source + "#/machine");
  if (pointer == "/chip/tile_memory" &&
      parse_bytes(value.get<std::string>(), job.source + "#/machine") < job.machine.chip.executable_memory)
    set_field(changed, "/machine/override/chip/executable_memory", value, job.source + "#/machine");
  return changed;
}

// One search: a number and its new value.
struct Change {
  std::string pointer;
  json value;
};

std::vector<PlannedJob> plan_changes(const Job& job, const std::vector<Change>& changes,
                                     const SensitivityOptions& options, const std::string& stage) {
  ManyOptions many;
  many.threads = options.threads;
  many.search.time_limit = options.time_limit;
  many.search.pareto = many.search.find_fix = false;
  if (options.progress) {
    many.progress = [&](ManyProgress p) {
      p.what = stage + ", " + p.what;
      options.progress(p);
    };
  }
  std::vector<PlannedJob> planned(changes.size());
  plan_jobs(
      changes.size(),
      [&](std::size_t i) { return read_job(with_number(job, changes[i].pointer, changes[i].value), job.source); }, many,
      [&](std::size_t i, const PlannedJob& p, double) { planned[i] = p; });
  return planned;
}

std::string winner_of(const PlannedJob& planned) {
  return planned.status == PlanStatus::planned ? label(planned.plan) : "";
}

// Times the best plan of the unchanged machine on the changed machine. Leaves `changed` as it is if the plan is not
// legal there.
void cost_same_plan(ChangedNumber& changed, const Job& whole, const Plan& plan) {
  const Job job = on_partition(whole, plan.ipus());
  const CostModel model(job.machine, load_calibration(job.machine.calibration));
  Tables tables(job, model);
  const UnitTable& table = tables.table(table_key(plan));
  if (!check_plan(plan, table.facts(), job.machine, tables.training()).empty()) return;
  const Evaluated e = evaluate_in_full(tables, plan);
  changed.same_plan_rate = e.samples_per_second;
  changed.same_plan_fits = e.fits;
}

double elasticity_of(const Sensitivity& s, double rate) {
  const auto has_plan = [](const ChangedNumber& c) {
    return !c.text.empty() && c.planned.status == PlanStatus::planned;
  };
  const double low = has_plan(s.half) ? s.half.planned.samples_per_second : rate;
  const double high = has_plan(s.twice) ? s.twice.planned.samples_per_second : rate;
  const int doublings = (has_plan(s.half) ? 1 : 0) + (has_plan(s.twice) ? 1 : 0);
  return doublings == 0 ? 0 : std::log2(high / low) / doublings;
}

void halve_and_double(const Job& job, const SensitivityOptions& options, Sensitivities& out) {
  std::vector<Change> changes;
  std::vector<ChangedNumber*> places;
  for (Sensitivity& s : out.numbers) {
    for (auto [place, factor] : {std::pair(&s.half, 0.5), std::pair(&s.twice, 2.0)}) {
      const std::optional<json> value = scaled_number(s.pointer, s.text, factor);
      if (!value) continue;
      place->text = shown(*value);
      place->value = *value;
      changes.push_back({s.pointer, *value});
      places.push_back(place);
    }
  }
  const std::vector<PlannedJob> planned = plan_changes(job, changes, options, "0.5x and 2x");
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ChangedNumber& changed = *places[i];
    changed.planned = planned[i];
    if (planned[i].status == PlanStatus::failed) changed.text.clear();  // no such machine, such as a rate above one
    if (changed.text.empty() || winner_of(planned[i]) == winner_of(out.best)) continue;
    cost_same_plan(changed, read_job(with_number(job, changes[i].pointer, changes[i].value), job.source),
                   out.best.plan);
  }
  for (Sensitivity& s : out.numbers) s.elasticity = elasticity_of(s, out.best.samples_per_second);
}

// An interval of a number: the best plan wins at the `inside` end, another plan at the `outside` end.
struct Bracket {
  Sensitivity* row;
  Number inside, outside;
  std::string winner;   // at the outside end
  bool closed = false;  // no machine has a number in the interval
};

// Returns the geometric mean of the interval's ends; empty if no whole number is between the ends.
std::optional<Number> middle_of(const Bracket& b) {
  Number middle = b.inside;
  middle.value = std::sqrt(b.inside.value * b.outside.value);
  if (middle.whole) middle.value = std::round(middle.value);
  if (b.closed || middle.value == b.inside.value || middle.value == b.outside.value) return std::nullopt;
  return middle;
}

std::vector<Bracket> brackets_of(Sensitivities& out) {
  std::vector<Bracket> open;
  for (Sensitivity& s : out.numbers) {
    const Number here = *read_number(s.pointer, s.text);
    for (auto [changed, factor] : {std::pair(&s.half, 0.5), std::pair(&s.twice, 2.0)}) {
      const std::string winner = winner_of(changed->planned);
      if (changed->text.empty() || winner == winner_of(out.best)) continue;
      open.push_back({&s, here, {here.value * factor, here.unit, here.whole}, winner});
    }
  }
  return open;
}

// Halves every interval that has a number inside, with one search each.
void bisect_once(const Job& job, const SensitivityOptions& options, const std::string& best,
                 std::vector<Bracket>& brackets, const std::string& stage) {
  std::vector<std::pair<Bracket*, Number>> open;
  std::vector<Change> changes;
  for (Bracket& b : brackets) {
    const std::optional<Number> middle = middle_of(b);
    if (!middle) continue;
    open.push_back({&b, *middle});
    changes.push_back({b.row->pointer, written(*middle)});
  }
  const std::vector<PlannedJob> planned = plan_changes(job, changes, options, stage);
  for (std::size_t i = 0; i < open.size(); ++i) {
    auto& [b, middle] = open[i];
    const std::string winner = winner_of(planned[i]);
    b->closed = planned[i].status == PlanStatus::failed;
    if (b->closed) continue;
    (winner == best ? b->inside : b->outside) = middle;
    if (winner != best) b->winner = winner;
  }
}

void find_break_points(const Job& job, const SensitivityOptions& options, Sensitivities& out) {
  std::vector<Bracket> brackets = brackets_of(out);
  for (int round = 1; round <= kBisections; ++round) {
    bisect_once(job, options, winner_of(out.best), brackets,
                "break-points, round " + std::to_string(round) + " of " + std::to_string(kBisections));
  }
  for (const Bracket& b : brackets) {
    const std::optional<Number> middle = middle_of(b);
    const Number at = middle.value_or(b.outside);
    const json value = written(at);
    b.row->break_points.push_back({b.outside.value < b.inside.value, !middle && !b.closed, shown(value), value,
                                   at.value / read_number(b.row->pointer, b.row->text)->value, b.winner});
  }
}

json changed_json(const ChangedNumber& c) {
  if (c.text.empty()) return nullptr;
  json j = {{"value", c.value}, {"status", name_of(c.planned.status)}};
  if (c.planned.status == PlanStatus::planned)
    j.update({{"samples_per_second", c.planned.samples_per_second},
              {"label", label(c.planned.plan)},
              {"plan", to_json(c.planned.plan)},
              {"gap", c.planned.gap}});
  else
    j["reason"] = c.planned.reason;
  if (!c.same_plan_fits.empty())
    j["same_plan"] = {{"samples_per_second", c.same_plan_rate}, {"fits", c.same_plan_fits}};
  return j;
}

}  // namespace

std::optional<json> scaled_number(const std::string& pointer, const std::string& text, double factor) {
  std::optional<Number> n = read_number(pointer, text);
  if (!n) return std::nullopt;
  const double before = n->value, scaled = before * factor;
  n->value = n->whole ? std::round(scaled) : scaled;
  // Rounding must not change the factor noticeably: half of 7 would become 4.
  const bool is_near = std::abs(n->value / scaled - 1) < kBreakPointWidth / 2;
  const bool is_efficiency = n->unit.empty() && !n->whole;
  if (!is_near || n->value == before || (is_efficiency && n->value > 1)) return std::nullopt;
  return written(*n);
}

Sensitivities find_sensitivities(const Job& job, const SensitivityOptions& options) {
  check_batch(job);
  Sensitivities out;
  SearchOptions search_options;
  search_options.time_limit = options.time_limit;
  search_options.threads = options.threads;
  search_options.pareto = search_options.find_fix = false;
  if (options.progress) {
    search_options.progress = [&](double share, const std::string& what) {
      options.progress({.jobs = 1, .share = share, .what = "the machine as it is, " + what});
    };
  }
  out.best = plan_job(job, search_options);
  if (out.best.status != PlanStatus::planned) return out;
  for (const std::string& pointer : sensitive_numbers(job.machine)) {
    Sensitivity& s = out.numbers.emplace_back();
    s.pointer = pointer;
    s.text = row_of(job.machine, pointer).text;
  }
  halve_and_double(job, options, out);
  find_break_points(job, options, out);
  std::stable_sort(out.numbers.begin(), out.numbers.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return std::abs(a.elasticity) > std::abs(b.elasticity);
  });
  return out;
}

json to_json(const Sensitivities& found) {
  json j = {{"numbers", json::array()}};
  if (found.best.status != PlanStatus::planned) {
    j["infeasible"] = found.best.reason;
    return j;
  }
  j["best"] = {{"label", label(found.best.plan)},
               {"plan", to_json(found.best.plan)},
               {"samples_per_second", found.best.samples_per_second},
               {"fits", found.best.fits},
               {"gap", found.best.gap}};
  for (const Sensitivity& s : found.numbers) {
    json row = {{"pointer", s.pointer},           {"value", s.text},
                {"elasticity", s.elasticity},     {"half", changed_json(s.half)},
                {"twice", changed_json(s.twice)}, {"break_points", json::array()}};
    for (const BreakPoint& b : s.break_points) {
      row["break_points"].push_back({{"side", b.below ? "below" : "above"},
                                     {"value", b.value},
                                     {"exact", b.exact},
                                     {"factor", b.factor},
                                     {"winner", b.winner}});
    }
    j["numbers"].push_back(std::move(row));
  }
  return j;
}

}  // namespace superstep
