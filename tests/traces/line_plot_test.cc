// SPDX-License-Identifier: Apache-2.0
#include "traces/line_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace superstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

LinePlot doubling() {
  return {"Net <1>",
          "IPUs",
          "samples/s",
          {4, 16, 64},
          {{"strong", {{4, 100}, {16, 200}, {64, 400}}, false}, {"ideal", {{4, 100}, {64, 1600}}, true}}};
}

// Each `attribute` of the elements of one kind, in order.
std::vector<double> numbers_of(const std::string& svg, const std::string& element, const std::string& attribute) {
  const std::regex pattern("<" + element + "[^>]* " + attribute + "=\"([-0-9.]+)\"");
  std::vector<double> out;
  for (std::sregex_iterator i(svg.begin(), svg.end(), pattern), end; i != end; ++i) out.push_back(std::stod((*i)[1]));
  return out;
}

TEST(LinePlot, TicksEncloseTheValues) {
  EXPECT_THAT(log_ticks(7629, 341530), ElementsAre(5000, 10000, 20000, 50000, 100000, 200000, 500000));
  EXPECT_THAT(log_ticks(100, 100), ElementsAre(100)) << "one value that is a tick itself";
  EXPECT_THAT(log_ticks(30, 30), ElementsAre(20, 50));
  EXPECT_THAT(log_ticks(0.3, 20), ElementsAre(0.2, 0.5, 1, 2, 5, 10, 20));
  EXPECT_THAT(log_ticks(3, 70000), ElementsAre(1, 10, 100, 1000, 10000, 100000)) << "powers of ten where it is long";
}

// Equal factors are equal distances: 4, 16, 64 IPUs and 100, 200, 400 samples/s.
TEST(LinePlot, BothAxesAreLogarithmic) {
  const std::string svg = to_svg(doubling());
  const std::vector<double> x = numbers_of(svg, "circle", "cx"), y = numbers_of(svg, "circle", "cy");
  ASSERT_EQ(x.size(), 4u) << "three points, and one of the legend";
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.2);
  EXPECT_NEAR(y[1] - y[0], y[2] - y[1], 0.2);
  EXPECT_GT(x[1], x[0]);
  EXPECT_LT(y[1], y[0]) << "upwards";
}

TEST(LinePlot, SvgNamesWhatItShows) {
  const std::string svg = to_svg(doubling());
  for (const char* text : {"Net &lt;1&gt;", ">IPUs<", ">samples/s<", ">strong<", ">ideal<", ">16<", ">2,000<"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"));
}

// Lines of text that share an x stand apart by their height, 13 pixels.
TEST(LinePlot, TickTextsDoNotOverlap) {
  LinePlot plot = doubling();
  plot.series[1].points.back().y = 1e7;
  const std::string svg = to_svg(plot);
  const std::regex pattern("<text x=\"82.0\" y=\"([0-9.]+)\"");
  std::vector<double> y;
  for (std::sregex_iterator i(svg.begin(), svg.end(), pattern), end; i != end; ++i) y.push_back(std::stod((*i)[1]));
  ASSERT_GE(y.size(), 3u);
  for (std::size_t i = 1; i < y.size(); ++i) EXPECT_GT(y[i - 1] - y[i], 13);
}

TEST(LinePlot, TerminalsGetMarksOnAGrid) {
  const std::string text = to_text(doubling(), {.columns = 60, .unicode = false});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 1 + 15 + 1 + 1) << text;
  EXPECT_THAT(text, HasSubstr("  2,000 |"));
  EXPECT_THAT(text, HasSubstr("o strong   . ideal"));
  EXPECT_THAT(text, HasSubstr("  100 |o")) << "the lowest point, on its tick, over the ideal's";
}

TEST(LinePlot, WithoutAPointItSaysSo) {
  LinePlot plot = doubling();
  for (PlotSeries& s : plot.series) s.points.clear();
  EXPECT_THAT(to_svg(plot), HasSubstr("nothing to show"));
  EXPECT_THAT(to_text(plot, {}), HasSubstr("nothing to show"));
  plot.series[0].points = {{16, 30}};
  EXPECT_THAT(to_text(plot, {}), HasSubstr("o"));
}

}  // namespace
}  // namespace superstep
