// SPDX-License-Identifier: Apache-2.0
// IPU systems against a DGX A100. The tables of docs/results/comparison.md are written from here:
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter=ComparisonPage.*
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "model/quantity_text.h"
#include "planner/validate/against.h"
#include "tests/planner/page.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

const std::vector<SystemComparison>& comparisons() {
  static const auto all = compare_with("dgx-a100", load_published({published_folder()}), {});
  return all;
}

std::string ratio_text(const std::optional<double>& ratio) { return ratio ? figure(*ratio) + " x" : "-"; }

void write_row(std::ostream& out, const ComparedSystem& s, const std::string& item) {
  const auto or_dash = [](const std::string& text) { return text == "n/a" ? std::string("-") : text; };
  out << "| " << s.system << " | " << name_of(s.basis) << (s.not_validated.empty() ? "" : ", not validated") << " | "
      << (s.failure.empty() ? or_dash(rate_text(s, item)) : "not modelled: " + s.failure) << " | " << to_text(s.power)
      << " | " << or_dash(energy_text(s)) << " | " << ratio_text(s.speed) << " | " << ratio_text(s.thrift) << " | "
      << s.id << (s.source.empty() ? "" : ": " + s.source) << " |\n";
}

std::string comparison_tables() {
  std::ostringstream out;
  for (const SystemComparison& c : comparisons()) {
    out << "### " << c.title << "\n\n";
    if (!c.note.empty()) out << static_cast<char>(std::toupper(c.note[0])) << c.note.substr(1) << ".\n\n";
    out << "| system | figure | throughput | rated power | energy per " << c.item
        << " | speed | items/J | from |\n|---|---|---:|---:|---:|---:|---:|---|\n";
    for (const ComparedSystem& s : c.baselines) write_row(out, s, c.item);
    for (const ComparedSystem& s : c.ours) write_row(out, s, c.item);
    out << "\n";
  }
  return out.str();
}

TEST(ComparisonPage, IsAsItIsModelled) {
  test::expect_on_page(SUPERSTEP_SOURCE "/docs/results/comparison.md", "<!-- tables: begin -->\n",
                       "<!-- tables: end -->\n", comparison_tables());
}

// Where the same thing was measured or announced as a rate and is modelled, both are near each other.
TEST(ComparisonPage, ModelledFiguresAreNearPublishedOnes) {
  int pairs = 0;
  for (const SystemComparison& c : comparisons()) {
    for (const ComparedSystem& said : c.ours) {
      for (const ComparedSystem& modelled : c.ours) {
        if (said.basis == Basis::modelled || modelled.basis != Basis::modelled) continue;
        if (!said.items_per_second || !modelled.items_per_second) continue;
        const double most = modelled.not_validated.empty() ? 0.15 : 0.25;  // inference: "more than" was announced
        EXPECT_LT(std::abs(std::log(*modelled.items_per_second / *said.items_per_second)), most) << c.title;
        ++pairs;
      }
    }
  }
  EXPECT_GE(pairs, 6);
}

}  // namespace
}  // namespace superstep
