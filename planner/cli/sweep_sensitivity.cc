// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/sweep_sensitivity.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "planner/cli/sweep_grid.h"
#include "planner/sweep/sensitivity.h"

namespace superstep {
namespace {

// Returns the change of throughput: "-4.2 %"; "no plan" without a plan, empty without a changed machine.
std::string change_text(const ChangedNumber& c, const PlannedJob& best) {
  if (c.text.empty()) return "";
  if (c.planned.status != PlanStatus::planned) return "no plan";
  return signed_fixed(100 * (c.planned.samples_per_second / best.samples_per_second - 1), 1) + " %";
}

TextTable table_of(const Sensitivities& found) {
  TextTable table;
  table.headings = {"number of the machine", "is", "elasticity", "at half of it", "at twice", "other plan"};
  table.left_columns = {5};
  for (const Sensitivity& s : found.numbers) {
    std::string other;
    for (const BreakPoint& b : s.break_points)
      other += (other.empty() ? "" : ", ") + std::string(b.below ? "below " : "above ") + b.text;
    table.add({s.pointer, s.text, signed_fixed(s.elasticity, 3), change_text(s.half, found.best),
               change_text(s.twice, found.best), other},
              s.break_points.empty() ? Ink::plain : Ink::strong);
  }
  return table;
}

// Returns the gain from planning anew at the far end of a break point, as the end of a sentence; empty if the changed
// machine has no plan.
std::string worth(const ChangedNumber& c) {
  if (c.planned.status != PlanStatus::planned) return "";
  if (c.same_plan_fits.empty() || c.same_plan_fits == "does_not_fit")
    return "; at " + c.text + " this plan does not fit";
  const double more = c.planned.samples_per_second / c.same_plan_rate - 1;
  return "; at " + c.text + (more < 0.001 ? " the two are tied" : " it is " + percent(more) + " faster");
}

std::string sentence(const Sensitivity& s, const BreakPoint& b) {
  return std::string("this plan wins while ") + s.pointer + " is " + (b.below ? "above " : "below ") + b.text + "; " +
         (b.exact   ? "from there on "
          : b.below ? "below, "
                    : "above, ") +
         (b.winner.empty() ? "no plan fits" : b.winner + " wins") + worth(b.below ? s.half : s.twice);
}

void print(const Sensitivities& found, const TextStyle& style) {
  std::cout << "  " << label(found.best.plan) << ": " << figure(found.best.samples_per_second) << " samples/s\n\n"
            << table_of(found).to_string({.columns = 140, .color = style.color}) << "\n";
  const auto note = [&](const std::string& text) {
    for (const std::string& line : wrapped(text, style.columns - 2)) std::cout << "  " << line << "\n";
  };
  for (const Sensitivity& s : found.numbers) {
    for (const BreakPoint& b : s.break_points) note(sentence(s, b));
  }
  if (found.best.gap > 0)
    note("the search stopped early, a plan may be " + percent(found.best.gap) +
         " faster: --time-limit gives it longer");
  note(
      "every row is two searches of their own; elasticity is the change of the logarithm of samples/s over that of the "
      "number; plans are told apart by t, p, r, m, g and phases");
}

}  // namespace

int run_sensitivity(const std::string& path, double time_limit, const CommonOptions& common) {
  check_output(common.json);
  const Sensitivities found =
      find_sensitivities(load_job(path), {time_limit, common.threads, progress_of_many(common)});
  clear_progress(common);
  const bool planned = found.best.status == PlanStatus::planned;
  if (prints_text(common)) {
    if (planned)
      print(found, terminal_style());
    else
      std::cout << "  " << found.best.reason << "\n";
  }
  write_json(common, to_json(found));
  return planned ? kDone : kFailed;
}

}  // namespace superstep
