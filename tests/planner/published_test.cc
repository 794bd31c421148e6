// SPDX-License-Identifier: Apache-2.0
// Predicted against published. The tables of docs/validation.md are written from here:
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter=Published.*
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "model/cost/calibration.h"
#include "planner/validate.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

constexpr const char* kPage = SUPERSTEP_SOURCE "/docs/validation.md";
constexpr const char* kBegin = "<!-- tables: begin -->\n";
constexpr const char* kEnd = "<!-- tables: end -->\n";

const PublishedPoints& published() {
  static const PublishedPoints points = load_published({published_folder()});
  return points;
}

const Validation& validation() {
  static const Validation v = validate(published().points, published().points, {});
  return v;
}

TEST(Published, EveryPointIsPredictedWithin15Percent) {
  EXPECT_EQ(validation().points.size(), 34u);
  for (const ValidatedPoint& v : validation().points) {
    ASSERT_EQ(v.failure, "") << v.point.id;
    EXPECT_LT(std::abs(v.error), 0.15) << v.point.id;
  }
}

TEST(Published, TheModelBeatsConstantUtilisation) {
  for (const ErrorGroup& g : validation().groups) {
    if (!g.family.empty()) continue;
    EXPECT_LT(g.model.median_abs, g.null_model.median_abs) << g.use;
    EXPECT_LT(g.model.p90_abs, g.null_model.p90_abs) << g.use;
  }
}

// The two points of a run, a time and a rate, say the same.
TEST(Published, PointsOfOneRunAgree) {
  std::map<std::string, double> errors;
  for (const ValidatedPoint& v : validation().points)
    EXPECT_NEAR(errors.try_emplace(v.point.run, v.error).first->second, v.error, 0.005) << v.point.id;
}

// Every published plan did run: its tiles hold what is counted, within the stated band of memory.
TEST(Published, PlansFit) {
  for (const ValidatedPoint& v : validation().points)
    EXPECT_LE(v.prediction->tile_peak, v.prediction->tile_limit + load_calibration().memory_band_bytes) << v.point.id;
}

std::string signed_percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", fraction * 100);
  return text;
}

void write_points(std::ostream& out) {
  out << "| point | use | model | machine | plan | measured | predicted | error | null model | fit |\n"
         "|---|---|---|---|---|---:|---:|---:|---:|---|\n";
  for (const ValidatedPoint& v : validation().points) {
    const Prediction& p = *v.prediction;
    const std::string unit = v.point.measured.metric == Metric::step_time ? " " + v.point.measured.unit : " /s";
    out << "| " << v.point.id << " | " << v.point.use << " | " << p.model << " | " << p.machine << " | " << p.plan
        << " | " << figure(v.point.measured.value) << unit << " | " << figure(v.predicted) << unit << " | "
        << signed_percent(v.error) << " | " << signed_percent(v.null_error.value()) << " | " << p.fits << " |\n";
  }
}

void write_groups(std::ostream& out) {
  out << "| runs of | runs | median | p90 | worst | bias | null model: median | p90 | worst | bias |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const ErrorGroup& g : validation().groups) {
    out << "| " << (g.use.empty() && g.family.empty() ? "all" : g.family)
        << (g.use.empty() || g.family.empty() ? "" : ", ") << g.use << " | " << g.model.runs;
    for (const ErrorStatistics* s : {&g.model, &g.null_model})
      out << " | " << percent(s->median_abs) << " | " << percent(s->p90_abs) << " | " << percent(s->max_abs) << " | "
          << signed_percent(s->bias);
    out << " |\n";
  }
}

void write_left_out(std::ostream& out) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const LeftOut& l : published().left_out) reasons[l.why].push_back(l.id);
  out << "| left out because | | |\n|---|---:|---|\n";
  for (const auto& [why, ids] : reasons) {
    out << "| " << why << " | " << ids.size() << " |";
    for (const std::string& id : ids) out << " " << id;
    out << " |\n";
  }
}

std::string tables() {
  std::ostringstream out;
  write_points(out);
  out << "\nThe null model uses " << percent(validation().null_model->utilisation) << " of the peak, fitted to "
      << validation().null_model->runs << " runs.\n\n";
  write_groups(out);
  out << "\n";
  write_left_out(out);
  return out.str();
}

TEST(Published, IsOnThePageAsItIsPredicted) {
  std::ifstream in(kPage, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << "the page has no place for the tables";
  const std::size_t first = begin + std::string(kBegin).size();
  if (std::getenv("SUPERSTEP_UPDATE") != nullptr)
    std::ofstream(kPage, std::ios::binary) << page.substr(0, first) << tables() << page.substr(end);
  else
    EXPECT_EQ(page.substr(first, end - first), tables()) << "the page is old: see its second paragraph";
}

}  // namespace
}  // namespace superstep
