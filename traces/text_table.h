// SPDX-License-Identifier: Apache-2.0
// Text for terminals: aligned tables, bars, wrapped paragraphs, numbers for people. Widths are columns of the terminal.
// Texts are UTF-8, and each code point counts as one column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/term_kind.h"

namespace superstep {

struct TextStyle {
  int columns = 100;    // most columns of a line, at least 60; narrower tables are not widened
  bool color = false;   // ANSI colours
  bool unicode = true;  // false: bars of '#', rules of '-'
};

// Colour or emphasis of a text. Values from `kind` on are the kinds of terms; see ink_of().
enum class Ink { plain, strong, faint, good, warning, bad, kind };
constexpr Ink ink_of(TermKind kind) { return static_cast<Ink>(static_cast<int>(Ink::kind) + static_cast<int>(kind)); }
int terminal_color(Rgb color);  // number of the nearest colour of xterm's colour cube and greys, 16 to 255

int text_width(std::string_view text);
std::string left_aligned(std::string_view text, int width);          // pads at the right; cuts with an ellipsis
std::string right_aligned(std::string_view text, int width);         // pads at the left; never cuts
std::vector<std::string> wrapped(std::string_view text, int width);  // breaks at spaces; a longer word is not broken
// Returns the text with the ANSI codes of the ink, or the plain text if the style has no colours.
std::string inked(std::string_view text, Ink ink, const TextStyle& style);

// Returns an empty line and the line above a section: the title and, if not empty, a note.
std::string heading(const std::string& title, const std::string& note, const TextStyle& style);

// Returns a line of `width` columns with a bar from share `from` to share `to` (0 to 1), to half a column. A bar is
// never empty if `to` exceeds `from`.
std::string bar(double from, double to, int width, const TextStyle& style);
// Returns a horizontal line of `width` columns.
std::string rule(int width, const TextStyle& style);

// Returns a number with three or four digits: "782", "12.3", "1,964", "0.0520"; "n/a" if not finite.
std::string figure(double value);
std::string fixed(double value, int decimals);         // "0.0", also for -0.004
std::string signed_fixed(double value, int decimals);  // "+1.4"; "+0.0", also for -0.004
std::string percent(double fraction);                  // "19.9 %"
std::string kib(std::int64_t bytes);                   // "609.4", without the unit
std::string kib_text(std::int64_t bytes);              // "609.4 KiB"

// A table of text cells. The first column and `left_columns` are left-aligned, all others right-aligned. Column widths
// follow the contents. If the table is too wide, the first column is cut. Headings may be empty.
struct TextTable {
  struct Row {
    std::vector<std::string> cells;
    Ink ink = Ink::plain;
    bool rule_above = false;
  };
  std::vector<std::string> headings;
  std::vector<Row> rows;
  std::vector<int> left_columns;  // left-aligned columns besides the first
  int indent = 2;
  int gap = 2;

  void add(std::vector<std::string> cells, Ink ink = Ink::plain, bool rule_above = false) {
    rows.push_back({std::move(cells), ink, rule_above});
  }
  std::string to_string(const TextStyle& style) const;
};

}  // namespace superstep
