// SPDX-License-Identifier: Apache-2.0
// A page as one HTML file: no script, nothing from elsewhere, for light and dark grounds.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "model/term_kind.h"
#include "traces/export/formats.h"
#include "traces/export/page/page.h"
#include "traces/markup.h"

namespace superstep::exports {
namespace {

constexpr const char* kHead = R"(<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<style>
:root { --ground: #ffffff; --text: #1b2127; --faint: #55606b; --line: #d3d8dd; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #1b1f24; --text: #e6eaee; --faint: #a5afb9; --line: #3a424b; }
}
body { background: var(--ground); color: var(--text); font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 72em;
  padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25em 0.7em; text-align: right; vertical-align: top; }
th { color: var(--faint); font-weight: normal; }
th, td { white-space: nowrap; }
.text, th:first-child, td:first-child { text-align: left; }
.text { min-width: 20em; white-space: normal; }
.strong { font-weight: bold; }
pre { border: 1px solid var(--line); overflow-x: auto; padding: 0.7em; }
summary { cursor: pointer; }
footer { color: var(--faint); margin-top: 3em; }
svg { display: block; height: 1.2em; width: 15em; }
rect { fill: #b4bbc2; stroke: var(--faint); stroke-width: 1; vector-effect: non-scaling-stroke; }
)";

std::string css_color(Rgb color) {
  char text[8];
  std::snprintf(text, sizeof text, "#%06x", color);
  return text;
}

// Classes by kind, the edge in the colour of the hatch's lines. A hatch would be drawn out with the bars.
std::string kind_styles() {
  std::string out;
  for (const TermKindDef& kind : term_kinds()) {
    out += "." + std::string(kind.name) + " { fill: " + css_color(kind.fill) + ";";
    if (kind.outline) out += " stroke: " + css_color(*kind.outline) + ";";
    out += " }\n";
  }
  return out;
}

// A thousand wide; a kind is one word, whatever the report says.
std::string svg(const Bar& bar, const std::string& name) {
  std::string kind = bar.kind;
  std::erase_if(kind, [](unsigned char c) { return std::isalpha(c) == 0; });
  char text[160];
  std::snprintf(text, sizeof text, "\" x=\"%.1f\" y=\"1\" width=\"%.1f\" height=\"10\"/>",
                std::min(bar.from, bar.to) * 1000, std::max(1.0, std::abs(bar.to - bar.from) * 1000));
  return "<svg viewBox=\"0 0 1000 12\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"" + in_markup(name) +
         "\"><rect class=\"" + kind + text + "</svg>";
}

void write_html_table(const Table& table, std::ostream& out) {
  const bool bars = table.bars.size() == table.rows.size() && !table.bars.empty();
  const auto cell = [&](const char* tag, int column, const std::string& text) {
    const bool is_text = std::find(table.texts.begin(), table.texts.end(), column) != table.texts.end();
    out << '<' << tag << (is_text ? " class=\"text\">" : ">") << in_markup(text) << "</" << tag << '>';
  };
  out << "<div class=\"wide\"><table>\n";
  const auto empty = [](const std::string& h) { return h.empty(); };
  if (!std::all_of(table.headings.begin(), table.headings.end(), empty)) {
    out << "<tr>";
    for (int i = 0; i < static_cast<int>(table.headings.size()); ++i) {
      cell("th", i, table.headings[static_cast<std::size_t>(i)]);
      if (bars && i == 0) out << "<th></th>";
    }
    out << "</tr>\n";
  }
  for (int r = 0; r < static_cast<int>(table.rows.size()); ++r) {
    const bool strong = std::find(table.strong.begin(), table.strong.end(), r) != table.strong.end();
    const auto& row = table.rows[static_cast<std::size_t>(r)];
    out << (strong ? "<tr class=\"strong\">" : "<tr>");
    for (int i = 0; i < static_cast<int>(row.size()); ++i) {
      cell("td", i, row[static_cast<std::size_t>(i)]);
      if (bars && i == 0) out << "<td>" << svg(table.bars[static_cast<std::size_t>(r)], row[0]) << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</table></div>\n";
}

struct HtmlWriter {
  std::ostream& out;
  void operator()(const Heading& h) const { out << "<h2>" << in_markup(h.text) << "</h2>\n"; }
  void operator()(const Paragraph& p) const {
    out << (p.strong ? "<p class=\"strong\">" : "<p>") << in_markup(p.text) << "</p>\n";
  }
  void operator()(const Code& c) const { out << "<pre>" << in_markup(c.text) << "</pre>\n"; }
  void operator()(const Table& t) const { write_html_table(t, out); }
  void operator()(const Folded& d) const {
    out << "<details><summary>" << in_markup(d.title) << "</summary>\n";
    if (!d.text.empty()) out << "<p>" << in_markup(d.text) << "</p>\n";
    if (!d.table.rows.empty()) write_html_table(d.table, out);
    out << "</details>\n";
  }
};

}  // namespace

void write_html(const ReportPointer& report, const Options&, std::ostream& out) {
  const Page page = page_of(report->index());
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>" << in_markup(page.title) << "</title>\n"
      << kHead << kind_styles() << "</style>\n</head>\n<body>\n<h1>" << in_markup(page.title) << "</h1>\n";
  for (const Part& part : page.parts) std::visit(HtmlWriter{out}, part);
  out << "<footer>" << in_markup(page.foot) << "</footer>\n</body>\n</html>\n";
}

}  // namespace superstep::exports
