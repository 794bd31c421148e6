// SPDX-License-Identifier: Apache-2.0
// Text for terminals: aligned tables, bars, wrapped paragraphs, numbers for people. Widths are
// columns of the terminal; texts are UTF-8 and one code point is taken for one column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/term_kind.h"

namespace superstep {

struct TextStyle {
  int columns = 100;    // narrower tables stay narrower; at least 60 is assumed
  bool color = false;   // ANSI colours
  bool unicode = true;  // false: bars of '#', rules of '-'
};

// From `kind` on: the kinds of terms, see ink_of().
enum class Ink { plain, strong, faint, good, warning, bad, kind };
constexpr Ink ink_of(TermKind kind) { return static_cast<Ink>(static_cast<int>(Ink::kind) + static_cast<int>(kind)); }
int terminal_color(Rgb color);  // of xterm's colour cube and greys, 16 to 255: the nearest

int text_width(std::string_view text);
std::string left_aligned(std::string_view text, int width);          // padded at the right, cut with an ellipsis
std::string right_aligned(std::string_view text, int width);         // padded at the left, never cut
std::vector<std::string> wrapped(std::string_view text, int width);  // at spaces; a longer word keeps its line
std::string inked(std::string_view text, Ink ink, const TextStyle& style);

// The part of a bar of `width` columns that stands between the shares `from` and `to` (0 to 1),
// to half a column; never empty when `to` exceeds `from`.
std::string bar(double from, double to, int width, const TextStyle& style);
std::string rule(int width, const TextStyle& style);

// Three or four digits: "782", "12.3", "1,964", "0.0520"; "n/a" when not finite.
std::string figure(double value);
std::string fixed(double value, int decimals);         // "0.0", also of -0.004
std::string signed_fixed(double value, int decimals);  // "+1.4", "+0.0", also of -0.004
std::string percent(double fraction);                  // "19.9 %"
std::string kib(std::int64_t bytes);                   // "609.4", without the unit
std::string kib_text(std::int64_t bytes);              // "609.4 KiB"

// Rows of cells; the first column is left-aligned, the others as said. Column widths follow the
// contents; where the whole is too wide, the first column is cut. Headings may be empty.
struct TextTable {
  struct Row {
    std::vector<std::string> cells;
    Ink ink = Ink::plain;
    bool rule_above = false;
  };
  std::vector<std::string> headings;
  std::vector<Row> rows;
  std::vector<int> left_columns;  // further columns that are left-aligned
  int indent = 2;
  int gap = 2;

  void add(std::vector<std::string> cells, Ink ink = Ink::plain, bool rule_above = false) {
    rows.push_back({std::move(cells), ink, rule_above});
  }
  std::string to_string(const TextStyle& style) const;
};

}  // namespace superstep
