// SPDX-License-Identifier: Apache-2.0
#include "traces/summary_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/traces/example_report.h"
#include "traces/verdict.h"

namespace superstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(SummaryText, TheVerdictSaysSpeedAndMargin) {
  // 1536 samples in 1.962 s; the limit of 638976 bytes less the peak of 622740 of IPU 3: 15.9 KiB.
  EXPECT_EQ(verdict_sentence(example_report(Example::tight).index),
            "783 samples/s at 19.8 % of peak. It fits, but tightly: 15.9 KiB to spare on the fullest tile.");
  EXPECT_THAT(verdict_sentence(example_report(Example::does_not_fit).index),
              HasSubstr("It does not fit: the fullest tile is over by 20.6 KiB. First overflow: IPU 3,"));
  report::Index closest = example_report(Example::does_not_fit).index;
  closest.mutable_infeasible()->set_nearest_fix("micro_batch = 2 fits");
  EXPECT_THAT(verdict_sentence(closest), testing::EndsWith(". Nearest fix: micro_batch = 2 fits."));
  EXPECT_EQ(
      verdict_sentence(example_report(Example::infeasible).index),
      "No plan fits: tile memory on IPU 0 (embedding, layers 0 to 23) is over by 112 KiB. Nearest fix: 4 pipeline "
      "stages instead of 1.");
  EXPECT_EQ(verdict_sentence(example_report(Example::empty).index), "This report holds no plan.");
}

TEST(SummaryText, TheLargestLossesLeaveTheIdealOut) {
  EXPECT_EQ(losses_sentence(example_report(Example::tight).index),
            "Largest losses: fixed cost per cycle 12.1 %, operand exchange 10.8 %, AMP fixed cost per block 7.7 %.");
}

TEST(SummaryText, AMarginBelowAFewPercentIsTight) {
  report::IpuClass ipu;
  ipu.set_tile_limit_bytes(1000);
  ipu.set_tile_peak_bytes(950);
  EXPECT_EQ(fit_of(ipu), Fit::fits);
  ipu.set_tile_peak_bytes(951);
  EXPECT_EQ(fit_of(ipu), Fit::tight);
  ipu.set_tile_peak_bytes(1001);
  EXPECT_EQ(fit_of(ipu), Fit::does_not_fit);
}

TEST(SummaryText, NoLineIsWiderThanAsked) {
  for (const Example which :
       {Example::tight, Example::does_not_fit, Example::deeper, Example::infeasible, Example::empty}) {
    const report::Index index = example_report(which).index;
    for (const int columns : {80, 100, 140}) {
      for (const auto& line : lines_of(summary_text(index, {.columns = columns}))) {
        EXPECT_LE(text_width(line), columns) << line;
      }
    }
  }
}

TEST(SummaryText, TheMemoryTableHasTheReportsNumbers) {
  const report::Index index = example_report(Example::tight).index;
  const std::string text = memory_text(index, {});
  for (const auto& ipu : index.ipu_classes()) {
    EXPECT_THAT(text, HasSubstr(kib(ipu.tile_peak_bytes())));
    EXPECT_THAT(text, HasSubstr(kib(margin_bytes(ipu))));
    EXPECT_THAT(text, HasSubstr(kib(always_live_bytes(ipu))));
    for (const auto& memory : ipu.memory()) EXPECT_THAT(text, HasSubstr(kib(memory.bytes_per_tile())));
  }
}

TEST(SummaryText, TheWaterfallEndsAtTheStepTime) {
  const report::Index index = example_report(Example::tight).index;
  EXPECT_DOUBLE_EQ(waterfall_seconds(index), index.plan().step_time_s());
  const auto lines = lines_of(waterfall_text(index, {.unicode = false}));
  EXPECT_THAT(lines.back(), HasSubstr("predicted step time"));
  EXPECT_THAT(lines.back(), HasSubstr("1962.0  100.0 %"));
}

TEST(SummaryText, BarsHaveTheColoursOfTheirKinds) {
  const report::Index index = example_report(Example::tight).index;
  const auto lines = lines_of(waterfall_text(index, {.color = true}));
  const std::size_t first = 2;  // below an empty line and the heading
  for (int i = 0; i < index.waterfall_size(); ++i) {
    const TermKindDef* kind = find_term_kind(i == 0 ? "ideal" : index.waterfall(i).kind());
    ASSERT_NE(kind, nullptr);
    const std::string color = std::to_string(terminal_color(solid_color(*kind)));
    EXPECT_THAT(lines.at(first + static_cast<std::size_t>(i)), HasSubstr("\033[38;5;" + color + "m"));
  }
  EXPECT_EQ(ink_of_kind("of a later version"), Ink::plain);
}

TEST(SummaryText, PlainTextHasNoEscapes) {
  const report::Index index = example_report(Example::tight).index;
  EXPECT_THAT(summary_text(index), Not(HasSubstr("\033")));
  EXPECT_THAT(summary_text(index, {.color = true}), HasSubstr("\033["));
}

TEST(SummaryText, SettingsExcludedAndCutAreAllSettings) {
  report::Index index = example_report(Example::tight).index;
  index.mutable_search()->set_explored(1478);
  index.mutable_search()->set_pruned(2494);
  index.mutable_search()->set_feasible(371);
  EXPECT_EQ(search_sentence(index),
            "3,972 settings: 2,494 excluded by bounds (18,204 cut programmes in all), 1,478 cut in the best way, of "
            "which 371 fit. "
            "Proved optimal in 2.51 s, all in 3.42 s (tables 1.07 s).");
  index.mutable_search()->set_optimal(false);
  EXPECT_THAT(search_sentence(index), HasSubstr(" 2,494 excluded by bounds or not reached (18,204 cut"));
}

TEST(SummaryText, ASearchThatStoppedIsNoProofThatNothingFits) {
  report::Index index = example_report(Example::infeasible).index;
  EXPECT_THAT(verdict_sentence(index), testing::StartsWith("No plan fits: "));
  index.mutable_infeasible()->Clear();
  index.mutable_infeasible()->set_where("the search stopped before it had one");
  EXPECT_EQ(verdict_sentence(index), "No plan was found: the search stopped before it had one.");
}

}  // namespace
}  // namespace superstep
