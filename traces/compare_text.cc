// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "traces/compare.h"
#include "traces/summary_text.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

std::string ms(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", seconds * 1e3);
  return text;
}

std::string difference_text(double difference, const std::string& text) {
  if (difference == 0) return "=";
  return difference > 0 ? "+" + text : text;
}

std::string key_figures_text(const Comparison& c, const TextStyle& style) {
  TextTable table;
  table.headings = {"", c.labels[0]};
  for (std::size_t i = 1; i < c.labels.size(); ++i) {
    table.headings.push_back(c.labels[i]);
    table.headings.emplace_back("diff");
  }
  for (const auto& row : c.key_figures) {
    std::vector<std::string> cells{row.name + (row.unit.empty() ? "" : ", " + row.unit), row.texts[0]};
    for (std::size_t i = 1; i < row.texts.size(); ++i) {
      cells.push_back(row.texts[i]);
      cells.push_back(row.differences[i - 1]);
    }
    table.add(std::move(cells));
  }
  return heading("Key figures", "the first is the source; diff is against it", style) + table.to_string(style);
}

// Column widths of the waterfalls: label, then per report bars and milliseconds, then differences.
struct SideBySide {
  int label = 19;
  int bars = 8;
  static constexpr int kNumber = 10;

  SideBySide(const Comparison& c, int columns) {
    for (const auto& row : c.waterfall) label = std::max(label, text_width(row.name));
    label = std::min(label, 26);
    const int reports = static_cast<int>(c.labels.size());
    const int spare = columns - 2 - label - kNumber * (2 * reports - 1) - 2 * reports;
    bars = std::clamp(spare / reports, 6, 34);
  }
};

std::string waterfalls_text(const Comparison& c, const TextStyle& style) {
  const double longest = *std::max_element(c.step_time_s.begin(), c.step_time_s.end());
  if (c.waterfall.empty() || !(longest > 0)) return "";
  const SideBySide at(c, style.columns);
  std::string out = heading("Waterfalls", "ms per step, one scale, matched by name", style);
  std::string heads = "  " + left_aligned("", at.label);
  for (std::size_t i = 0; i < c.labels.size(); ++i) {
    heads += "  " + right_aligned(left_aligned(c.labels[i], std::min(text_width(c.labels[i]), at.bars + at.kNumber)),
                                  at.bars + at.kNumber);
    if (i > 0) heads += right_aligned("diff", at.kNumber);
  }
  out += inked(heads, Ink::faint, style) + "\n";
  std::vector<double> from(c.labels.size());
  const auto line = [&](const std::string& name, Ink ink, const std::vector<std::optional<double>>& seconds) {
    std::string text = "  " + left_aligned(name, at.label);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const double here = seconds[i].value_or(0);
      text += "  " + inked(bar(from[i] / longest, (from[i] + here) / longest, at.bars, style), ink, style);
      text += right_aligned(seconds[i] ? ms(here) : "-", at.kNumber);
      from[i] += here;
      const double difference = here - seconds[0].value_or(0);
      if (i > 0) text += right_aligned(difference_text(std::round(difference * 1e4), ms(difference)), at.kNumber);
    }
    return text + "\n";
  };
  for (std::size_t i = 0; i < c.waterfall.size(); ++i) {
    const ComparedTerm& row = c.waterfall[i];
    out += line(row.name, ink_of_kind(kind_of_bar(static_cast<int>(i), row.kind)), row.seconds);
  }
  std::fill(from.begin(), from.end(), 0.0);
  out += "  " + inked(rule(style.columns - 4, style), Ink::faint, style) + "\n";
  return out + line("predicted step time", ink_of(TermKind::total), {c.step_time_s.begin(), c.step_time_s.end()});
}

// One row per report: their names are longer than what is said about them.
std::string fits_text(const Comparison& c, const TextStyle& style) {
  TextTable table;
  table.headings = {"", "fullest tile", "limit", "to spare", "fit"};
  table.left_columns = {4};
  const auto cell = [](const std::optional<std::int64_t>& bytes) { return bytes ? kib(*bytes) : std::string("-"); };
  for (std::size_t i = 0; i < c.fits.size(); ++i) {
    const ComparedFit& f = c.fits[i];
    const Ink ink = f.fit == Fit::fits ? Ink::good : f.fit == Fit::tight ? Ink::warning : Ink::bad;
    table.add({c.labels[i], cell(f.tile_peak_bytes), cell(f.tile_limit_bytes), cell(f.margin_bytes), fit_words(f.fit)},
              ink);
  }
  return heading("Does it fit?", "KiB per tile", style) + table.to_string(style);
}

// Totals always; a category only where it differs, and only in IPU classes that every report has.
bool worth_a_row(const ComparedMemory& row) {
  const auto& bytes = row.bytes_per_tile;
  if (row.category.empty()) return true;
  return std::all_of(bytes.begin(), bytes.end(), [](const auto& b) { return b.has_value(); }) &&
         std::any_of(bytes.begin(), bytes.end(), [&](const auto& b) { return b != bytes[0]; });
}

std::string memory_comparison_text(const Comparison& c, const TextStyle& style) {
  if (c.memory.empty()) return "";
  TextTable table;
  table.headings = {"", c.labels[0]};
  for (std::size_t i = 1; i < c.labels.size(); ++i) {
    table.headings.push_back(c.labels[i]);
    table.headings.emplace_back("diff");
  }
  for (const auto& row : c.memory) {
    if (!worth_a_row(row)) continue;
    const auto& bytes = row.bytes_per_tile;
    const bool total = row.category.empty();
    std::vector<std::string> cells{total ? row.ipu_class + ", fullest tile" : "  " + row.category};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      cells.push_back(bytes[i] ? kib(*bytes[i]) : "-");
      if (i == 0) continue;
      if (!bytes[i] || !bytes[0]) {
        cells.emplace_back("");
        continue;
      }
      const std::int64_t difference = *bytes[i] - *bytes[0];
      cells.push_back(difference_text(static_cast<double>(difference), kib(difference)));
    }
    table.add(std::move(cells), total ? Ink::strong : Ink::plain);
  }
  return heading("Memory", "KiB per tile; categories that differ", style) + table.to_string(style);
}

}  // namespace

std::string to_text(const Comparison& comparison, const TextStyle& asked) {
  TextStyle style = asked;
  style.columns = std::max(60, style.columns);
  std::string out;
  for (const auto& line : wrapped(comparison.headline, style.columns)) out += inked(line, Ink::strong, style) + "\n";
  return out + key_figures_text(comparison, style) + waterfalls_text(comparison, style) + fits_text(comparison, style) +
         memory_comparison_text(comparison, style);
}

}  // namespace superstep
