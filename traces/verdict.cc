// SPDX-License-Identifier: Apache-2.0
#include "traces/verdict.h"

#include <algorithm>
#include <numeric>

#include "model/quantity_text.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

constexpr double kTightShare = 0.05;  // of the limit

std::string with_period(std::string text) {
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

std::string upper_first(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string fix_sentence(const report::Infeasible& why) {
  return why.nearest_fix().empty() ? "" : " Nearest fix: " + with_period(why.nearest_fix());
}

std::string infeasible_sentence(const report::Infeasible& why) {
  if (why.constraint().empty()) return "No plan was found" + (why.where().empty() ? "" : ": " + why.where()) + ".";
  std::string text = "No plan fits: " + why.constraint();
  if (!why.where().empty()) text += " on " + why.where();
  if (why.bytes_over() > 0) text += " is over by " + to_text(Bytes(why.bytes_over()));
  text += ".";
  return text + fix_sentence(why);
}

std::string fit_sentence(const report::PlanSummary& plan) {
  const std::int64_t margin = margin_bytes(plan);
  if (fit_of(plan) == Fit::does_not_fit) {
    std::string text = "It does not fit";
    if (margin < 0) text += ": the fullest tile is over by " + kib_text(-margin);
    text += ".";
    if (!plan.first_overflow().empty()) text += " First overflow: " + with_period(plan.first_overflow());
    return text;
  }
  const std::string spare = ": " + kib_text(margin) + " to spare on the fullest tile.";
  constexpr double kNoDoubt = 0.995;
  const double probability = plan.fit_probability();  // 0: an old report
  if (probability > 0 && probability < kNoDoubt) return "It fits with a probability of " + percent(probability) + spare;
  return (fit_of(plan) == Fit::tight ? "It fits, but tightly" : "It fits") + spare;
}

}  // namespace

Fit fit_of(const report::PlanSummary& plan) {
  if (plan.fits() == "fits") return Fit::fits;
  if (plan.fits() == "tight") return Fit::tight;
  return plan.fits() == "does_not_fit" ? Fit::does_not_fit : Fit::unknown;
}

Fit fit_of(const report::IpuClass& c) {
  const bool over = (c.executable_limit_bytes() > 0 && c.executable_bytes() > c.executable_limit_bytes()) ||
                    (c.ddr_limit_bytes() > 0 && c.ddr_bytes() > c.ddr_limit_bytes());
  return over ? Fit::does_not_fit : fit_in(c.tile_peak_bytes(), c.tile_limit_bytes());
}

Fit fit_of(const report::Index& index) {
  if (index.has_plan()) return fit_of(index.plan());
  return index.has_infeasible() ? Fit::infeasible : Fit::unknown;
}

Fit fit_in(std::int64_t tile_peak_bytes, std::int64_t tile_limit_bytes) {
  const std::int64_t spare = tile_limit_bytes - tile_peak_bytes;
  if (spare < 0) return Fit::does_not_fit;
  return static_cast<double>(spare) < kTightShare * static_cast<double>(tile_limit_bytes) ? Fit::tight : Fit::fits;
}

const char* fit_words(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "fits";
    case Fit::tight:
      return "fits, tight";
    case Fit::does_not_fit:
      return "does not fit";
    case Fit::infeasible:
      return "no plan fits";
    case Fit::unknown:
      break;
  }
  return "no plan";
}

const char* fit_word(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "fits";
    case Fit::tight:
      return "tight";
    case Fit::does_not_fit:
      return "does_not_fit";
    case Fit::infeasible:
    case Fit::unknown:
      break;
  }
  return "no_plan";
}

const char* fit_sign(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "✓";
    case Fit::tight:
      return "!";
    case Fit::does_not_fit:
    case Fit::infeasible:
      return "✕";
    case Fit::unknown:
      break;
  }
  return "?";
}

std::int64_t margin_bytes(const report::PlanSummary& plan) { return plan.tile_limit_bytes() - plan.tile_peak_bytes(); }
std::int64_t margin_bytes(const report::IpuClass& c) { return c.tile_limit_bytes() - c.tile_peak_bytes(); }

std::int64_t always_live_bytes(const report::IpuClass& c) {
  return std::accumulate(c.memory().begin(), c.memory().end(), std::int64_t{0}, [](std::int64_t sum, const auto& m) {
    return sum + (m.always_live() ? m.bytes_per_tile() : 0);
  });
}

std::string_view kind_of_bar(int row, std::string_view kind_of_term) {
  return row == 0 ? name_of(TermKind::ideal) : kind_of_term;
}

double waterfall_seconds(const report::Index& index) {
  return std::accumulate(index.waterfall().begin(), index.waterfall().end(), 0.0,
                         [](double sum, const auto& term) { return sum + term.seconds(); });
}

std::string verdict_sentence(const report::Index& index) {
  if (!index.has_plan()) {
    return index.has_infeasible() ? infeasible_sentence(index.infeasible()) : "This report holds no plan.";
  }
  const auto& plan = index.plan();
  std::string text = figure(plan.samples_per_second()) + " samples/s";
  if (plan.flop_utilisation() > 0) text += " at " + percent(plan.flop_utilisation()) + " of peak";
  return text + ". " + fit_sentence(plan) + fix_sentence(index.infeasible());  // of the closest plan, where none fits
}

std::string losses_sentence(const report::Index& index) {
  const double total = waterfall_seconds(index);
  if (index.waterfall_size() < 2 || !(total > 0)) return "";
  std::vector<const report::WaterfallTerm*> terms;  // without the first, the ideal
  for (int i = 1; i < index.waterfall_size(); ++i) terms.push_back(&index.waterfall(i));
  std::stable_sort(terms.begin(), terms.end(), [](auto* a, auto* b) { return a->seconds() > b->seconds(); });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, terms.size()); ++i) {
    if (!(terms[i]->seconds() > 0)) break;
    text += (text.empty() ? "Largest losses: " : ", ") + terms[i]->name() + " " + percent(terms[i]->seconds() / total);
  }
  return with_period(text);
}

std::string search_sentence(const report::Index& index) {
  if (!index.has_search()) return "";
  const auto& search = index.search();
  const std::string all = to_text(Seconds(search.seconds()));
  const std::string tables = " (tables " + to_text(Seconds(search.table_seconds())) + ").";
  const std::string time = " in " + all + tables;
  const auto count = [](double n) { return with_thousands(static_cast<std::int64_t>(n)); };
  const std::string pruned = search.optimal() ? " excluded by bounds (" : " excluded by bounds or not reached (";
  const std::string counts = count(search.explored() + search.pruned()) + " settings: " + count(search.pruned()) +
                             pruned + with_thousands(search.programmes()) + " cut programmes in all), " +
                             count(search.explored()) + " cut in the best way, of which " + count(search.feasible()) +
                             " fit. ";
  // An infeasible report may still show the plan that came closest.
  const bool none = index.has_infeasible() || !index.has_plan();
  if (search.optimal() && none) return counts + "Proved that none fits" + time;
  if (search.optimal() && search.proof_seconds() > 0)
    return counts + "Proved optimal in " + to_text(Seconds(search.proof_seconds())) + ", all in " + all + tables;
  if (search.optimal()) return counts + "Proved optimal" + time;
  if (none) return counts + "Stopped before the whole space was searched," + time;
  return counts + "Stopped before the proof, at most " + percent(search.gap()) + " from the best," + time;
}

std::string validation_sentence(const report::Index& index) {
  std::string text;
  for (const auto& mechanism : index.plan().not_validated()) text += (text.empty() ? "" : ", ") + mechanism;
  return text.empty() ? "" : upper_first("not validated by a measured point: " + text + ".");
}

std::string software_sentence(const report::Index& index) {
  const report::PlanSummary& plan = index.plan();
  std::string text;
  for (const std::string& title : plan.software()) text += (text.empty() ? "Runs on " : ", ") + title;
  if (!text.empty()) return text + ".";
  return plan.software_refusal().empty() ? "" : "No released software takes it. " + plan.software_refusal() + ".";
}

}  // namespace superstep
