// SPDX-License-Identifier: Apache-2.0
#include "traces/summary_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/quantity_text.h"
#include "traces/verdict.h"

namespace superstep {
namespace {

constexpr int kClassesPerBlock = 6;  // IPU classes side by side

Ink ink_of(Fit fit) {
  if (fit == Fit::fits) return Ink::good;
  return fit == Fit::tight ? Ink::warning : Ink::bad;
}

std::string paragraph(const std::string& text, int indent, Ink ink, const TextStyle& style) {
  std::string out;
  for (const auto& line : wrapped(text, style.columns - indent)) {
    out += std::string(static_cast<std::size_t>(indent), ' ') + inked(line, ink, style) + "\n";
  }
  return out;
}

// The sign, then the verdict, then what else is said about it.
std::string verdict_text(const report::Index& index, const TextStyle& style) {
  const Fit fit = fit_of(index);
  std::string out;
  std::string lead = inked(style.unicode ? fit_sign(fit) : "*", ink_of(fit), style) + " ";
  for (const auto& line : wrapped(verdict_sentence(index), style.columns - 2)) {
    out += lead + inked(line, Ink::strong, style) + "\n";
    lead = "  ";
  }
  return out + paragraph(losses_sentence(index), 2, Ink::plain, style) +
         paragraph(software_sentence(index), 2, Ink::plain, style) +
         paragraph(validation_sentence(index), 2, Ink::plain, style) +
         paragraph(index.plan().bet(), 2, Ink::plain, style);
}

// With as many decimals for every term as the whole deserves.
std::string ms(double seconds, double total) {
  return fixed(seconds * 1e3, total < 0.001 ? 4 : total < 0.1 ? 3 : total < 1 ? 2 : 1);
}

}  // namespace

Ink ink_of_kind(std::string_view kind) {
  const TermKindDef* def = find_term_kind(kind);
  return def ? ink_of(def->id) : Ink::plain;
}

std::string plan_text(const report::Index& index, const TextStyle& style) {
  if (!index.has_plan()) return "";
  const auto& plan = index.plan();
  TextTable table;
  table.gap = style.columns < 90 ? 2 : 3;
  table.left_columns = {2};
  std::vector<std::pair<std::string, std::string>> left{
      {"throughput", figure(plan.samples_per_second()) + " samples/s"},
      {"step time", to_text(Seconds(plan.step_time_s()))},
      {"global batch", with_thousands(plan.global_batch()) + " samples"},
      {"model FLOP utilisation", percent(plan.flop_utilisation())}};
  std::vector<std::pair<std::string, std::string>> right{
      {"fullest tile", kib(plan.tile_peak_bytes()) + " of " + kib_text(plan.tile_limit_bytes())},
      {"fullest IPU", to_text(Bytes(plan.ipu_peak_bytes()))},
      {"Streaming Memory per IPU", to_text(Bytes(plan.ddr_bytes_per_ipu()))}};
  if (plan.rated_power_w() > 0) right.emplace_back("rated power", to_text(Watts(plan.rated_power_w())));
  std::string long_facts;
  for (const auto& fact : index.facts()) {
    if (text_width(fact.name()) + text_width(fact.value()) > style.columns / 2 + 10)
      long_facts += paragraph(fact.name() + ": " + fact.value(), 2, Ink::plain, style);
    else
      (left.size() > right.size() ? right : left).emplace_back(fact.name(), fact.value());
  }
  left.resize(std::max(left.size(), right.size()));
  right.resize(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    table.add({left[i].first, left[i].second, right[i].first, right[i].second});
  }
  const std::string where = "on " + with_thousands(plan.ipus()) + (plan.ipus() == 1 ? " IPU" : " IPUs");
  return heading("Plan  " + plan.label(), where, style) + table.to_string(style) + long_facts;
}

std::string waterfall_text(const report::Index& index, const TextStyle& style) {
  const double total = waterfall_seconds(index);
  if (index.waterfall().empty() || !(total > 0)) return "";
  int label = text_width("predicted step time");
  for (const auto& term : index.waterfall()) label = std::max(label, text_width(term.name()));
  label = std::min(label, 36);
  const int width = std::max(10, style.columns - label - 26);
  std::string out = heading("From ideal to predicted", "estimated, ms per step and share", style);
  const auto line = [&](const std::string& name, double from, double seconds, Ink name_ink, Ink bar_ink) {
    const std::string drawn = bar(from / total, (from + seconds) / total, width, style);
    return "  " + inked(left_aligned(name, label), name_ink, style) + right_aligned(ms(seconds, total), 11) +
           right_aligned(percent(seconds / total), 9) + "  " +
           inked(drawn.substr(0, drawn.find_last_not_of(' ') + 1), bar_ink, style) + "\n";
  };
  double from = 0;
  for (int i = 0; i < index.waterfall_size(); ++i) {
    const auto& term = index.waterfall(i);
    out += line(term.name(), from, term.seconds(), Ink::plain, ink_of_kind(kind_of_bar(i, term.kind())));
    from += term.seconds();
  }
  out += "  " + inked(rule(style.columns - 4, style), Ink::faint, style) + "\n";
  return out + line("predicted step time", 0, total, Ink::strong, ink_of(TermKind::total));
}

namespace {

// One column of numbers per class, from `first` on.
void add_memory_rows(TextTable& table, const report::Index& index, int first, int count) {
  std::vector<std::pair<std::string, bool>> categories;  // in order of appearance, always-live first
  for (const bool always : {true, false}) {
    for (const auto& c : index.ipu_classes()) {
      for (const auto& m : c.memory()) {
        const std::pair<std::string, bool> category{m.name(), m.always_live()};
        if (m.always_live() == always &&
            std::find(categories.begin(), categories.end(), category) == categories.end()) {
          categories.push_back(category);
        }
      }
    }
  }
  const auto row = [&](const std::string& name, Ink ink, bool above, auto&& text) {
    std::vector<std::string> cells{name};
    for (int i = first; i < first + count; ++i) cells.push_back(text(index.ipu_classes(i)));
    table.add(std::move(cells), ink, above);
  };
  const auto category_row = [&](const std::pair<std::string, bool>& category) {
    row(category.first, Ink::plain, false, [&](const report::IpuClass& c) {
      for (const auto& m : c.memory()) {
        if (m.name() == category.first && m.always_live() == category.second) return kib(m.bytes_per_tile());
      }
      return std::string("-");
    });
  };
  for (const auto& category : categories) {
    if (category.second) category_row(category);
  }
  row("always live", Ink::strong, true, [](const auto& c) { return kib(always_live_bytes(c)); });
  for (const auto& category : categories) {
    if (!category.second) category_row(category);
  }
  row("fullest tile", Ink::strong, true, [](const auto& c) { return kib(c.tile_peak_bytes()); });
  row("limit", Ink::plain, false, [](const auto& c) { return kib(c.tile_limit_bytes()); });
  row("to spare", Ink::strong, false, [](const auto& c) { return kib(margin_bytes(c)); });
  row("", Ink::plain, false, [](const auto& c) { return std::string(fit_words(fit_of(c))); });
  row("code", Ink::faint, true, [](const auto& c) { return kib(c.executable_bytes()); });
  row("code limit", Ink::faint, false, [](const auto& c) { return kib(c.executable_limit_bytes()); });
  row("Streaming Memory, MiB", Ink::faint, false,
      [](const auto& c) { return figure(static_cast<double>(c.ddr_bytes()) / 1048576); });
}

}  // namespace

std::string memory_text(const report::Index& index, const TextStyle& style) {
  std::string out;
  const int classes = index.ipu_classes_size();
  for (int first = 0; first < classes; first += kClassesPerBlock) {
    const int count = std::min(kClassesPerBlock, classes - first);
    TextTable table;
    table.headings.push_back("KiB per tile");
    for (int i = first; i < first + count; ++i)
      table.headings.push_back(
          left_aligned(index.ipu_classes(i).name(), std::min(14, text_width(index.ipu_classes(i).name()))));
    add_memory_rows(table, index, first, count);
    if (first > 0) out += "\n";
    out += table.to_string(style);
  }
  if (out.empty()) return "";
  std::string contents;
  for (const auto& c : index.ipu_classes()) {
    std::string line = c.name() + ": " + c.contents();
    if (c.count() > 1) line += " (" + with_thousands(c.count()) + " alike)";
    contents += paragraph(line, 2, Ink::faint, style);
  }
  return heading("Does it fit?", "fullest tile of each IPU at its peak", style) + contents + "\n" + out;
}

std::string plans_text(const report::Index& index, const TextStyle& style) {
  if (index.runners_up().empty()) return "";
  TextTable table;
  table.headings = {"plan", "samples/s", "against best", "step", "KiB to spare", "fit"};
  table.left_columns = {5};
  const double best = index.plan().samples_per_second();
  const auto add = [&](const report::PlanSummary& plan, Ink ink) {
    const double change = plan.samples_per_second() / best - 1;
    table.add({plan.label(), figure(plan.samples_per_second()), &plan == &index.plan() ? "" : percent(change),
               to_text(Seconds(plan.step_time_s())), kib(margin_bytes(plan)), fit_words(fit_of(plan))},
              ink);
  };
  if (index.has_plan()) add(index.plan(), Ink::strong);
  for (const auto& plan : index.runners_up()) add(plan, Ink::plain);
  return heading("Runners-up", "", style) + table.to_string(style);
}

// What a plan has of a measure of the front.
std::string measured(const report::PlanSummary& plan, const std::string& measure) {
  if (measure == "latency") return to_text(Seconds(plan.step_time_s()));
  if (measure == "memory") return kib(plan.tile_peak_bytes()) + " KiB";
  if (measure == "ipus") return with_thousands(plan.ipus());
  if (measure == "power") return to_text(Watts(plan.rated_power_w()));
  if (measure == "time_to_train" && plan.time_to_train_s() > 0) return to_text(Seconds(plan.time_to_train_s()));
  return figure(plan.samples_per_second());
}

std::string front_text(const report::Index& index, const TextStyle& style) {
  if (index.pareto_size() < 2 || index.pareto_measures_size() != 2) return "";
  TextTable table;
  table.headings = {"plan"};
  for (const auto& measure : index.pareto_measures())
    table.headings.push_back(measure == "throughput" ? "samples/s" : measure == "memory" ? "fullest tile" : measure);
  table.headings.emplace_back("fit");
  table.left_columns = {3};
  for (const auto& plan : index.pareto()) {
    table.add({plan.label(), measured(plan, index.pareto_measures(0)), measured(plan, index.pareto_measures(1)),
               fit_words(fit_of(plan))},
              plan.label() == index.plan().label() ? Ink::strong : Ink::plain);
  }
  const std::string of = index.pareto_measures(0) + " and " + index.pareto_measures(1);
  return heading("Front of " + of, "none is better in both", style) + table.to_string(style);
}

std::string summary_text(const report::Index& index, const TextStyle& asked) {
  TextStyle style = asked;
  style.columns = std::max(60, style.columns);
  const std::string right = index.machine_title().empty() ? index.machine_name() : index.machine_title();
  const std::string title = index.title().empty() ? "Report without a title" : index.title();
  const int space = style.columns - text_width(title) - text_width(right);
  std::string out = inked(title, Ink::strong, style);
  if (space > 1 && !right.empty())
    out += std::string(static_cast<std::size_t>(space), ' ') + inked(right, Ink::faint, style);
  out += "\n" + inked(rule(style.columns, style), Ink::faint, style) + "\n" + verdict_text(index, style);
  out += plan_text(index, style) + waterfall_text(index, style) + memory_text(index, style);
  const std::string search = search_sentence(index);
  if (!search.empty()) out += heading("Search", "", style) + paragraph(search, 2, Ink::plain, style);
  out += plans_text(index, style) + front_text(index, style);
  if (!index.notes().empty()) out += heading("Notes", "", style);
  for (const auto& note : index.notes()) {
    const auto lines = wrapped(note, style.columns - 4);
    for (std::size_t i = 0; i < lines.size(); ++i)
      out += (i == 0 ? (style.unicode ? "  • " : "  - ") : "    ") + lines[i] + "\n";
  }
  return out;
}

}  // namespace superstep
