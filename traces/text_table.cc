// SPDX-License-Identifier: Apache-2.0
#include "traces/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "model/quantity_text.h"

namespace superstep {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Squared, over the three channels.
int distance(Rgb a, Rgb b) {
  int sum = 0;
  for (const int shift : {16, 8, 0}) {
    const int apart = static_cast<int>(a >> shift & 0xFF) - static_cast<int>(b >> shift & 0xFF);
    sum += apart * apart;
  }
  return sum;
}

Rgb color_of_terminal(int number) {
  if (number >= 232) return static_cast<Rgb>(8 + 10 * (number - 232)) * 0x010101;
  const auto level = [](int step) { return static_cast<Rgb>(step == 0 ? 0 : 55 + 40 * step); };
  const int cube = number - 16;
  return level(cube / 36) << 16 | level(cube / 6 % 6) << 8 | level(cube % 6);
}

std::string ansi(Ink ink) {
  if (ink >= Ink::kind) {
    const auto kind = static_cast<TermKind>(static_cast<int>(ink) - static_cast<int>(Ink::kind));
    return "\033[38;5;" + std::to_string(terminal_color(solid_color(def_of(kind)))) + "m";
  }
  switch (ink) {
    case Ink::strong:
      return "\033[1m";
    case Ink::faint:
      return "\033[2m";
    case Ink::good:
      return "\033[1;38;5;33m";
    case Ink::warning:
      return "\033[1;38;5;172m";
    case Ink::bad:
      return "\033[1;38;5;162m";
    default:
      return "";
  }
}

}  // namespace

int terminal_color(Rgb color) {
  int nearest = 16;
  for (int number = 17; number < 256; ++number) {
    if (distance(color, color_of_terminal(number)) < distance(color, color_of_terminal(nearest))) nearest = number;
  }
  return nearest;
}

int text_width(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string left_aligned(std::string_view text, int width) {
  const int spare = width - text_width(text);
  if (spare >= 0) return std::string(text) + std::string(static_cast<std::size_t>(spare), ' ');
  std::string cut;
  int used = 0;
  for (const char c : text) {
    if (starts_code_point(c) && ++used >= width) break;
    cut += c;
  }
  return cut + "…";
}

std::string right_aligned(std::string_view text, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - text_width(text))), ' ') + std::string(text);
}

namespace {

// A unit stays on the line of its number.
bool belongs_to_number(std::string_view line, std::string_view word) {
  const std::string_view last = line.substr(line.find_last_of(' ') + 1);
  if (last.empty() || std::string_view("0123456789+-").find(last[0]) == std::string_view::npos) return false;
  const std::string_view unit = word.substr(0, word.find_last_not_of(".,;)") + 1);
  return unit == "%" || unit == "KiB" || unit == "MiB" || unit == "GiB" || unit == "s" || unit == "ms";
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && text_width(line) + 1 + text_width(word) > width) {
      const std::size_t number = belongs_to_number(line, word) ? line.find_last_of(' ') : std::string::npos;
      std::string carried = number == std::string::npos ? "" : line.substr(number + 1);
      lines.push_back(line.substr(0, number));
      line = std::move(carried);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string inked(std::string_view text, Ink ink, const TextStyle& style) {
  if (!style.color || ink == Ink::plain || text.empty()) return std::string(text);
  return ansi(ink) + std::string(text) + "\033[0m";
}

std::string heading(const std::string& title, const std::string& note, const TextStyle& style) {
  std::string out = "\n" + inked(title, Ink::strong, style);
  if (!note.empty()) out += "  " + inked(note, Ink::faint, style);
  return out + "\n";
}

std::string bar(double from, double to, int width, const TextStyle& style) {
  if (!(from >= 0) || !(to > from) || width <= 0) return std::string(static_cast<std::size_t>(std::max(width, 0)), ' ');
  const double halves = 2.0 * width;
  int first = static_cast<int>(std::lround(std::min(from, 1.0) * halves));
  int last = static_cast<int>(std::lround(std::min(to, 1.0) * halves));
  first = std::min(first, 2 * width - 1);
  last = std::max(last, first + 1);
  std::string out;
  for (int cell = 0; cell < width; ++cell) {
    const bool left = first <= 2 * cell && 2 * cell < last;
    const bool right = first <= 2 * cell + 1 && 2 * cell + 1 < last;
    if (!left && !right) {
      out += ' ';
    } else if (!style.unicode) {
      out += '#';
    } else {
      out += left && right ? "█" : left ? "▌" : "▐";
    }
  }
  return out;
}

std::string rule(int width, const TextStyle& style) {
  std::string out;
  for (int i = 0; i < width; ++i) out += style.unicode ? "─" : "-";
  return out;
}

std::string figure(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "n/a";
  if (size >= 9e18) return printed("%.3g", value);
  if (size >= 999.5) return with_thousands(std::llround(value));
  if (size >= 99.95) return printed("%.0f", value);
  if (size >= 9.995) return printed("%.1f", value);
  if (size >= 0.9995 || size == 0) return printed(size == 0 ? "%.0f" : "%.2f", value);
  return printed("%.3g", value);
}

std::string fixed(double value, int decimals) {
  char text[400];  // the largest has 310 characters before the point
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  const std::string_view all(text);
  return std::string(all.starts_with("-0") && all.find_first_not_of("-0.") == all.npos ? all.substr(1) : all);
}

std::string signed_fixed(double value, int decimals) {
  const std::string text = fixed(value, decimals);
  return text.starts_with('-') ? text : "+" + text;
}

std::string percent(double fraction) {
  return std::isfinite(fraction) ? fixed(fraction * 100, 1) + " %" : std::string("n/a");
}

std::string kib(std::int64_t bytes) {
  const std::string text = printed("%.1f", static_cast<double>(bytes) / 1024);
  const std::size_t point = text.find('.');
  const auto whole = static_cast<std::int64_t>(static_cast<double>(bytes) / 1024);
  if (std::abs(whole) < 1000 && point < 5) return text;
  std::string grouped = text;
  const std::size_t sign = bytes < 0 ? 1 : 0;
  for (std::size_t i = point; i > sign + 3;) grouped.insert(i -= 3, ",");
  return grouped;
}

std::string kib_text(std::int64_t bytes) { return kib(bytes) + " KiB"; }

std::string TextTable::to_string(const TextStyle& style) const {
  std::vector<int> widths;
  const auto measure = [&](const std::vector<std::string>& cells) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], text_width(cells[i]));
  };
  measure(headings);
  for (const Row& row : rows) measure(row.cells);
  if (widths.empty()) return "";
  int total = indent + gap * static_cast<int>(widths.size() - 1);
  for (const int width : widths) total += width;
  if (total > style.columns) {
    const int cut = std::min(total - style.columns, widths[0] - std::min(widths[0], 16));
    widths[0] -= cut;
    total -= cut;
  }

  const std::string margin(static_cast<std::size_t>(indent), ' ');
  const auto line = [&](const std::vector<std::string>& cells, Ink ink) {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += std::string(static_cast<std::size_t>(gap), ' ');
      const bool left = i == 0 || std::count(left_columns.begin(), left_columns.end(), static_cast<int>(i)) > 0;
      out += left ? left_aligned(cells[i], widths[i]) : right_aligned(cells[i], widths[i]);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return margin + inked(out, ink, style) + "\n";
  };
  std::string out;
  if (!headings.empty()) out += line(headings, Ink::faint);
  for (const Row& row : rows) {
    if (row.rule_above) out += margin + inked(rule(total - indent, style), Ink::faint, style) + "\n";
    out += line(row.cells, row.ink);
  }
  return out;
}

}  // namespace superstep
