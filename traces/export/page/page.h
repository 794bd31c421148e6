// SPDX-License-Identifier: Apache-2.0
// A report as a page for readers without the viewer. The same content is written as Markdown and as HTML.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "traces/report.pb.h"

namespace superstep::exports {

struct Heading {
  std::string text;
};
struct Paragraph {
  std::string text;
  bool strong = false;
};
struct Code {
  std::string text;
};
// The bar of a waterfall term, from and to as shares of the total width. `to` is less than `from` if the term is
// negative. `kind` is the name of a TermKind.
struct Bar {
  double from = 0, to = 0;
  std::string kind;
};
struct Table {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;  // as long as headings
  std::vector<int> texts;                      // columns of text rather than numbers, besides the first
  std::vector<Bar> bars;                       // one per row, or empty
  std::vector<int> strong;                     // rows in bold
};
// A table that is folded away in formats that can fold.
struct Folded {
  std::string title;
  std::string text;
  Table table;
};

using Part = std::variant<Heading, Paragraph, Code, Table, Folded>;

struct Page {
  std::string title, foot;
  std::vector<Part> parts;
};

// Returns the page of a report. Parts that the report lacks are left out.
Page page_of(const report::Index& index);

}  // namespace superstep::exports
