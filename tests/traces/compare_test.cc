// SPDX-License-Identifier: Apache-2.0
#include "traces/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/traces/example_report.h"

namespace superstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Comparison compare_examples(const std::vector<Example>& examples) {
  std::vector<report::Index> indexes;
  std::vector<const report::Index*> pointers;
  std::vector<std::string> names;
  for (const Example which : examples) indexes.push_back(example_report(which).index);
  for (const auto& index : indexes) pointers.push_back(&index);
  for (std::size_t i = 0; i < examples.size(); ++i)
    names.push_back(std::string(1, static_cast<char>('a' + i)) + ".ssr");
  return compare(pointers, names);
}

TEST(Compare, TheHeadlineSaysDirectionSizeAndFit) {
  const Comparison c = compare_examples({Example::does_not_fit, Example::deeper});
  EXPECT_THAT(c.labels, ElementsAre("p=4 r=4 m=3 g=128", "p=8 r=2 m=2 g=384"));
  EXPECT_EQ(c.headline,
            "p=8 r=2 m=2 g=384 is 5.9 % slower than p=4 r=4 m=3 g=128 and fits with 46.9 KiB per tile to spare, where "
            "p=4 r=4 m=3 g=128 does not fit (over by 20.6 KiB).");
}

// Step times in the same worlds decide whether a difference is one.
TEST(Compare, ADifferenceThatIsNotSureIsATie) {
  report::Index source = example_report(Example::tight).index, target = example_report(Example::deeper).index;
  const auto draw = [](report::Index& index, const std::vector<double>& factors) {
    index.mutable_plan()->clear_step_time_in_worlds_s();
    for (double f : factors) index.mutable_plan()->add_step_time_in_worlds_s(f * index.plan().step_time_s());
  };
  const std::vector<const report::Index*> both = {&source, &target};
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(compare(both, names).probability_faster, ElementsAre(std::nullopt, std::nullopt));
  draw(source, {1, 1, 1, 1});
  draw(target, {1, 1, 1, 0.5});  // slower by 5.9 % in three worlds, faster in one
  Comparison c = compare(both, names);
  EXPECT_THAT(c.probability_faster, ElementsAre(0.5, 0.25));
  EXPECT_THAT(c.headline, HasSubstr("slower than p=4 r=4 g=192 (a tie: probability 0.75) and fits"));
  draw(target, {1, 1.1, 1, 1.2});
  c = compare(both, names);
  EXPECT_EQ(c.probability_faster[1], 0);
  EXPECT_THAT(c.headline, HasSubstr("slower than p=4 r=4 g=192 (probability 1.00) and fits"));
}

TEST(Compare, LabelsKeepANumberWithWhatItCounts) {
  report::Index source = example_report(Example::tight).index, target = source;
  const std::vector<const report::Index*> both = {&source, &target};
  const std::vector<std::string> names = {"a", "b"};
  source.mutable_plan()->set_label("t=8 p=8 g=128, 25 phases");
  target.mutable_plan()->set_label("t=8 p=8 g=128, 14 phases");
  EXPECT_THAT(compare(both, names).labels, ElementsAre("25 phases", "14 phases"));
  target.mutable_plan()->set_label("t=8 p=8 g=64, 25 phases");
  EXPECT_THAT(compare(both, names).labels, ElementsAre("g=128", "g=64"));
  target.mutable_plan()->set_label("t=8 p=8 g=64");
  EXPECT_THAT(compare(both, names).labels, ElementsAre("g=128, 25 phases", "g=64"));
}

TEST(Compare, EqualReportsAreEquallyFastAndToldApartByName) {
  const Comparison c = compare_examples({Example::tight, Example::tight});
  EXPECT_EQ(c.headline,
            "b.ssr is as fast as a.ssr and fits with 15.9 KiB per tile to spare; a.ssr fits with 15.9 KiB "
            "per tile to spare.");
  for (const auto& row : c.key_figures) EXPECT_THAT(row.differences, ElementsAre("="));
}

TEST(Compare, ThreeReportsNameTheFastestThatFits) {
  const Comparison c = compare_examples({Example::deeper, Example::tight, Example::does_not_fit});
  EXPECT_THAT(c.headline,
              HasSubstr("p=4 r=4 m=2 g=192 is the fastest of 2 that fit (of 3): 783 samples/s, 6.2 % faster "
                        "than p=8 r=2 m=2 g=384"));
  EXPECT_EQ(c.key_figures[0].differences.size(), 2u);
}

TEST(Compare, AReportWithoutAPlanStillCompares) {
  const Comparison c = compare_examples({Example::infeasible, Example::tight});
  EXPECT_THAT(c.headline, HasSubstr("has no plan"));
  EXPECT_FALSE(c.key_figures[0].values[0].has_value());
  EXPECT_EQ(c.key_figures[0].texts[0], "-");
}

TEST(Compare, TermsAreMatchedByNameAndSumToTheStepTimes) {
  const Comparison c = compare_examples({Example::tight, Example::deeper});
  EXPECT_EQ(c.waterfall.size(), 16u);
  for (std::size_t i = 0; i < 2; ++i) {
    double sum = 0;
    for (const auto& row : c.waterfall) sum += row.seconds[i].value();
    EXPECT_NEAR(sum, c.step_time_s[i], 1e-12);
  }
}

TEST(Compare, ATermOnlyOneReportKnowsStandsWhereItStoodThere) {
  report::Index a = example_report(Example::tight).index;
  report::Index b = a;
  auto& renamed = *b.mutable_waterfall(3);
  renamed.set_name("only in b");
  const std::vector<const report::Index*> both{&a, &b};
  const std::vector<std::string> names{"a", "b"};
  const Comparison c = compare(both, names);
  ASSERT_EQ(c.waterfall.size(), 17u);
  EXPECT_EQ(c.waterfall[3].name, "only in b");
  EXPECT_FALSE(c.waterfall[3].seconds[0].has_value());
  EXPECT_FALSE(c.waterfall[4].seconds[1].has_value());
}

TEST(Compare, MemoryIsMatchedByClassAndCategory) {
  const Comparison c = compare_examples({Example::tight, Example::deeper});
  EXPECT_EQ(c.memory.size(), 8u * 11u);  // eight classes: a total and ten categories each
  EXPECT_FALSE(c.memory.back().bytes_per_tile[0].has_value()) << "IPU 7 is only in the second";
  EXPECT_EQ(c.memory[0].category, "");
}

TEST(Compare, SaysOfEachWhetherItFitsAndByHowMuch) {
  const Comparison c = compare_examples({Example::tight, Example::does_not_fit, Example::infeasible});
  ASSERT_EQ(c.fits.size(), 3u);
  EXPECT_EQ(c.fits[0].fit, Fit::tight);
  EXPECT_EQ(c.fits[0].tile_limit_bytes, 624 * 1024);
  EXPECT_EQ(kib_text(c.fits[0].margin_bytes.value()), "15.9 KiB");
  EXPECT_EQ(c.fits[1].fit, Fit::does_not_fit);
  EXPECT_EQ(kib_text(c.fits[1].margin_bytes.value()), "-20.6 KiB");
  EXPECT_EQ(c.fits[2].fit, Fit::infeasible);
  EXPECT_FALSE(c.fits[2].margin_bytes.has_value());
  const std::string text = to_text(c, {.columns = 120});
  EXPECT_THAT(text, ::testing::ContainsRegex("608\\.1  +624\\.0  +15\\.9  fits, tight"));
  EXPECT_THAT(text, ::testing::ContainsRegex("644\\.6  +624\\.0  +-20\\.6  does not fit"));
  EXPECT_THAT(text, ::testing::ContainsRegex("-  +-  +-  no plan fits"));
}

TEST(Compare, TheTextFitsItsColumns) {
  for (const auto& examples : {std::vector{Example::tight, Example::deeper},
                               std::vector{Example::tight, Example::deeper, Example::does_not_fit}}) {
    std::istringstream text(to_text(compare_examples(examples), {.columns = 120}));
    for (std::string line; std::getline(text, line);) EXPECT_LE(text_width(line), 120) << line;
  }
}

}  // namespace
}  // namespace superstep
