// SPDX-License-Identifier: Apache-2.0
// A page as GitHub's Markdown.
#include <algorithm>
#include <cctype>
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/page/page.h"

namespace superstep::exports {
namespace {

// As text: nothing in it is markup. An underscore within a word is none anyhow.
std::string escaped(const std::string& text) {
  const auto in_word = [&](std::size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]));
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool plain = c == '_' && i > 0 && in_word(i - 1) && in_word(i + 1);
    if (!plain && std::string_view("\\`*_[]<>|~#").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

void write_markdown_table(const Table& table, std::ostream& out) {
  const auto line = [&](const std::vector<std::string>& cells, bool strong) {
    out << '|';
    for (const std::string& cell : cells) {
      const std::string text = escaped(cell);
      out << ' ' << (strong && !text.empty() ? "**" + text + "**" : text) << " |";
    }
    out << '\n';
  };
  line(table.headings, false);
  out << '|';
  for (int i = 0; i < static_cast<int>(table.headings.size()); ++i) {
    const bool text = i == 0 || std::find(table.texts.begin(), table.texts.end(), i) != table.texts.end();
    out << (text ? "---|" : "---:|");
  }
  out << '\n';
  for (int i = 0; i < static_cast<int>(table.rows.size()); ++i)
    line(table.rows[static_cast<std::size_t>(i)],
         std::find(table.strong.begin(), table.strong.end(), i) != table.strong.end());
  out << '\n';
}

struct MarkdownWriter {
  std::ostream& out;
  void operator()(const Heading& h) const { out << "## " << escaped(h.text) << "\n\n"; }
  void operator()(const Paragraph& p) const {
    const char* mark = p.strong ? "**" : "";
    out << mark << escaped(p.text) << mark << "\n\n";
  }
  void operator()(const Code& c) const { out << "```json\n" << c.text << "\n```\n\n"; }
  void operator()(const Table& t) const { write_markdown_table(t, out); }
  void operator()(const Folded& d) const {
    out << "### " << escaped(d.title) << "\n\n";
    if (!d.text.empty()) out << escaped(d.text) << "\n\n";
    if (!d.table.rows.empty()) write_markdown_table(d.table, out);
  }
};

}  // namespace

void write_markdown(const ReportPointer& report, const Options&, std::ostream& out) {
  const Page page = page_of(report->index());
  out << "# " << escaped(page.title) << "\n\n";
  for (const Part& part : page.parts) std::visit(MarkdownWriter{out}, part);
  out << escaped(page.foot) << "\n";
}

}  // namespace superstep::exports
