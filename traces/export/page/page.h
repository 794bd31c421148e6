// SPDX-License-Identifier: Apache-2.0
// A report as a page for people who have no viewer: one content, written as Markdown and as HTML.
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
// A stretch of a bar, as shares of its width, backwards where a term is below 0; `kind` is the name of a TermKind.
struct Bar {
  double from = 0, to = 0;
  std::string kind;
};
struct Table {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;  // as long as headings
  std::vector<int> texts;                      // columns that are not numbers, beside the first
  std::vector<Bar> bars;                       // one a row, or none at all
  std::vector<int> strong;                     // rows
};
// What is folded away where that can be.
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

// Parts that the report lacks are left out.
Page page_of(const report::Index& index);

}  // namespace superstep::exports
