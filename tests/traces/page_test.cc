// SPDX-License-Identifier: Apache-2.0
// A report as a page: what it says, and that what is written is well-formed.
#include "traces/export/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <set>
#include <sstream>

#include "model/term_kind.h"
#include "tests/traces/example_report.h"
#include "traces/export/formats.h"
#include "traces/verdict.h"

namespace superstep::exports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string written(const char* format, const report::Index& index) {
  const TemporaryFolder folder;
  const auto path = folder.path / "page.ssr";
  ReportWriter().finish(index, path);
  std::ostringstream out;
  find_format(format).write(std::make_shared<const ReportFile>(ReportFile::open(path)), {}, out);
  return out.str();
}

report::Index example(Example which) { return example_report(which).index; }

// Tags that are opened and closed in another order, or are no tags; empty: none.
std::string unbalanced(const std::string& html) {
  static const std::regex kTag(R"(<(/?)([a-z0-9]+)[^<>]*?(/?)>)");
  std::vector<std::string> open;
  const std::string text = html.substr(html.find("<html"));
  for (std::sregex_iterator i(text.begin(), text.end(), kTag), end; i != end; ++i) {
    const std::string name = (*i)[2];
    if ((*i)[3].length() > 0) continue;
    if ((*i)[1].length() == 0) {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != name) return "</" + name + "> after <" + (open.empty() ? "" : open.back());
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

// Cells of each line of a table, without those of other lines.
std::vector<std::size_t> columns(const std::string& markdown) {
  std::vector<std::size_t> out;
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    out.push_back(line.starts_with('|') ? bars : 0);
  }
  return out;
}

TEST(Page, SaysWhatTheReportSays) {
  report::Index index = example(Example::tight);
  auto& explained = *index.add_explanations();
  explained.set_name("step_time_s"), explained.set_value("1.96 s"), explained.set_formula("sum of the waterfall");
  auto& from = *explained.add_terms();
  from.set_name("vector ops"), from.set_value("143 ms"), from.set_source("waterfall");
  for (const char* format : {"markdown", "html"}) {
    const std::string text = written(format, index);
    EXPECT_THAT(text, AllOf(HasSubstr(index.title()), HasSubstr("From ideal to predicted"), HasSubstr("Memory"),
                            HasSubstr("Runners-up"), HasSubstr("Where numbers come from"),
                            HasSubstr("step_time_s = 1.96 s"), HasSubstr("143 ms")))
        << format;
    for (const report::WaterfallTerm& term : index.waterfall()) EXPECT_THAT(text, HasSubstr(term.name())) << format;
    for (const report::IpuClass& c : index.ipu_classes()) EXPECT_THAT(text, HasSubstr(c.contents())) << format;
  }
}

// The same rows in both: one content.
TEST(Page, BarsAreTheWaterfallEndToEnd) {
  const report::Index index = example(Example::tight);
  for (const Part& part : page_of(index).parts) {
    const auto* table = std::get_if<Table>(&part);
    if (!table || table->bars.empty()) continue;
    ASSERT_EQ(table->bars.size(), table->rows.size());
    for (int i = 0; i < index.waterfall_size(); ++i) {
      const Bar& bar = table->bars[static_cast<std::size_t>(i)];
      EXPECT_NEAR(bar.to - bar.from, index.waterfall(i).seconds() / waterfall_seconds(index), 1e-9);
      const double before = i > 0 ? table->bars[static_cast<std::size_t>(i) - 1].to : 0;
      EXPECT_EQ(bar.from, before);
    }
    EXPECT_NEAR(table->bars[table->bars.size() - 2].to, 1, 1e-9);
    return;
  }
  FAIL() << "no table has bars";
}

TEST(Page, BarsHaveTheColoursOfTheirKinds) {
  const report::Index index = example(Example::tight);
  const std::string html = written("html", index);
  for (const TermKindDef& kind : term_kinds()) {
    char rule[64];
    std::snprintf(rule, sizeof rule, ".%s { fill: #%06x;", std::string(kind.name).c_str(), kind.fill);
    EXPECT_THAT(html, HasSubstr(rule));
  }
  EXPECT_THAT(html, HasSubstr(".recompute { fill: #fbe3e6; stroke: #e0475a; }"));
  for (int i = 0; i < index.waterfall_size(); ++i)
    EXPECT_THAT(html, HasSubstr("<rect class=\"" + (i == 0 ? "ideal" : index.waterfall(i).kind()) + '"'));
  EXPECT_THAT(html, HasSubstr("<rect class=\"total\""));
}

TEST(Page, IsWellFormed) {
  for (const Example which :
       {Example::tight, Example::does_not_fit, Example::deeper, Example::infeasible, Example::empty}) {
    const report::Index index = example(which);
    EXPECT_EQ(unbalanced(written("html", index)), "");
    const auto cells = columns(written("markdown", index));
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (cells[i] == 0 || cells[i - 1] == 0) continue;
      EXPECT_EQ(cells[i], cells[i - 1]) << "line " << i + 1;
    }
  }
}

TEST(Page, OfAReportWithoutAPlanSaysWhy) {
  const report::Index index = example(Example::infeasible);
  EXPECT_THAT(written("markdown", index),
              AllOf(HasSubstr(verdict_sentence(index).substr(0, 20)), Not(HasSubstr("## Memory"))));
}

TEST(Page, TakesNothingForMarkup) {
  report::Index index = example(Example::tight);
  index.set_title("<script>a</script> | *b*");
  index.mutable_waterfall(1)->set_kind("x\" onload=\"y");
  const std::string html = written("html", index);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script>")), HasSubstr("&lt;script&gt;"), Not(HasSubstr("onload=\""))));
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_THAT(written("markdown", index), HasSubstr("# \\<script\\>a\\</script\\> \\| \\*b\\*"));
}

// Nothing is fetched: a page can be sent on and opened anywhere.
TEST(Page, NeedsNothingElse) {
  const std::string html = written("html", example(Example::tight));
  for (const char* text : {"http://", "https://", "<link", "@import", "url("}) EXPECT_THAT(html, Not(HasSubstr(text)));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

}  // namespace
}  // namespace superstep::exports
