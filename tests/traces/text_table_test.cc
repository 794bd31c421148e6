// SPDX-License-Identifier: Apache-2.0
#include "traces/text_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace superstep {
namespace {

TEST(TextTable, WidthsAreCountedInCodePoints) {
  EXPECT_EQ(text_width("µs →"), 4);
  EXPECT_EQ(left_aligned("µs", 4), "µs  ");
  EXPECT_EQ(left_aligned("operand exchange", 8), "operand…");
  EXPECT_EQ(right_aligned("12.5", 6), "  12.5");
}

TEST(TextTable, BarsStandBetweenTheirSharesToHalfAColumn) {
  const TextStyle style;
  EXPECT_EQ(bar(0, 0.5, 8, style), "████    ");
  EXPECT_EQ(bar(0.25, 0.5625, 8, style), "  ██▌   ");
  EXPECT_EQ(bar(0.1875, 0.5, 8, style), " ▐██    ");
  EXPECT_EQ(bar(0.5, 0.5001, 8, style), "    ▌   ") << "never empty";
  EXPECT_EQ(bar(1, 1.5, 8, style), "       ▐") << "and inside of its columns";
  EXPECT_EQ(bar(0.5, 0.5, 8, style), "        ");
  EXPECT_EQ(bar(0, std::numeric_limits<double>::quiet_NaN(), 8, style), "        ");
  EXPECT_EQ(bar(0, 0.5, 8, {.unicode = false}), "####    ");
}

TEST(TextTable, FiguresHaveThreeOrFourDigits) {
  EXPECT_EQ(figure(782.13), "782");
  EXPECT_EQ(figure(12.345), "12.3");
  EXPECT_EQ(figure(1.9642), "1.96");
  EXPECT_EQ(figure(0.052), "0.052");
  EXPECT_EQ(figure(1963.7), "1,964");
  EXPECT_EQ(figure(-1963.7), "-1,964");
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(4.1e30), "4.1e+30");
  EXPECT_EQ(figure(std::numeric_limits<double>::infinity()), "n/a");
  EXPECT_EQ(percent(0.1994), "19.9 %");
  EXPECT_EQ(percent(-0.1994), "-19.9 %");
  EXPECT_EQ(percent(-0.0004), "0.0 %");
  EXPECT_EQ(fixed(-0.0004, 3), "0.000");
  EXPECT_EQ(fixed(-0.0006, 3), "-0.001");
  EXPECT_EQ(signed_fixed(-0.04, 1), "+0.0");
  EXPECT_EQ(signed_fixed(1.36, 1), "+1.4");
  EXPECT_EQ(signed_fixed(-3, 0), "-3");
}

TEST(TextTable, TileMemoryIsKibWithOneDecimal) {
  EXPECT_EQ(kib(624 * 1024), "624.0");
  EXPECT_EQ(kib(-512), "-0.5");
  EXPECT_EQ(kib(std::int64_t{1472} * 624 * 1024), "918,528.0");
  EXPECT_EQ(kib_text(14951), "14.6 KiB");
}

TEST(TextTable, LinesWrapAtSpaces) {
  EXPECT_EQ(wrapped("the fullest tile is over", 10), (std::vector<std::string>{"the", "fullest", "tile is", "over"}));
  EXPECT_EQ(wrapped("indivisibleword x", 4), (std::vector<std::string>{"indivisibleword", "x"}));
  EXPECT_EQ(wrapped("loses 7.7 %, then", 10), (std::vector<std::string>{"loses", "7.7 %,", "then"})) << "units stay";
  EXPECT_TRUE(wrapped("", 4).empty());
}

TEST(TextTable, NumbersAlignRightAndTheFirstColumnGivesWay) {
  TextTable table;
  table.headings = {"plan", "KiB"};
  table.add({"t=1 p=4", "609.4"});
  table.add({"p=16", "9.5"}, Ink::strong, true);
  EXPECT_EQ(table.to_string({}),
            "  plan       KiB\n"
            "  t=1 p=4  609.4\n"
            "  ──────────────\n"
            "  p=16       9.5\n");
  TextTable wide;
  wide.add({std::string(120, 'x'), "1"});
  EXPECT_EQ(text_width(wide.to_string({.columns = 60})), 61);
}

// Levels of the cube are 0, 95, 135, 175, 215, 255; greys are 8, 18, ... 238.
TEST(TextTable, TerminalsShowTheNearestColourThatTheyHave) {
  EXPECT_EQ(terminal_color(0x000000), 16);
  EXPECT_EQ(terminal_color(0xFFFFFF), 231);
  EXPECT_EQ(terminal_color(0x5F87AF), 16 + 36 * 1 + 6 * 2 + 3);
  EXPECT_EQ(terminal_color(0x121212), 233);
  EXPECT_EQ(terminal_color(0xE0475A), 167) << "215, 95, 95";
}

TEST(TextTable, EveryKindOfTermsHasItsColour) {
  std::set<std::string> all;
  for (const TermKindDef& kind : term_kinds()) {
    const std::string text = inked("x", ink_of(kind.id), {.color = true});
    EXPECT_EQ(text, "\033[38;5;" + std::to_string(terminal_color(solid_color(kind))) + "mx\033[0m") << kind.name;
    EXPECT_TRUE(all.insert(text).second) << kind.name << " looks like another kind";
  }
}

// Two parts of 0xFBE3E6, one of 0xE0475A.
TEST(TermKinds, AHatchIsMixedWhereThereIsNone) {
  EXPECT_EQ(solid_color(def_of(TermKind::recompute)), 0xF2AFB7u);
  EXPECT_EQ(solid_color(def_of(TermKind::compute)), 0xE0475Au);
}

TEST(TermKinds, AreFoundByTheirNamesInReports) {
  for (const TermKindDef& kind : term_kinds()) {
    EXPECT_EQ(&def_of(kind.id), &kind);
    EXPECT_EQ(find_term_kind(kind.name), &kind);
  }
  EXPECT_EQ(find_term_kind("of a later version"), nullptr);
}

TEST(TextTable, ColoursOnlyWhenAsked) {
  EXPECT_EQ(inked("tight", Ink::warning, {}), "tight");
  EXPECT_EQ(inked("tight", Ink::strong, {.color = true}), "\033[1mtight\033[0m");
}

}  // namespace
}  // namespace superstep
