// SPDX-License-Identifier: Apache-2.0
// `superstep bench-eval`: measures how many given plans a core evaluates in a second, and checks a sample of the plans
// against their lowered programs.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/quantity_text.h"
#include "planner/cli/options.h"
#include "planner/validate/given_plans.h"

namespace superstep {
namespace {

using nlohmann::json;

struct BenchArguments {
  std::string lines, output;
  std::size_t sample = 20;
  int repeat = 5;
};

// Plans per second, over the passes.
struct Rate {
  double low = 0, median = 0, high = 0;
};
Rate rate_of(double count, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t n = seconds.size();
  return {count / seconds.back(), count / ((seconds[(n - 1) / 2] + seconds[n / 2]) / 2), count / seconds.front()};
}
json to_json(const Rate& r) { return {{"low", r.low}, {"median", r.median}, {"high", r.high}}; }

struct SearchTimes {
  GivenPlans given;
  GivenPass last;
  Rate evaluations, with_settings;
  std::int64_t fit = 0;
  std::vector<GivenCheck> checks;
  bool agree() const {
    return std::all_of(checks.begin(), checks.end(), [](const GivenCheck& c) { return c.agrees(); });
  }
};

GivenPlans read(const std::string& path) {
  if (path == "-") return read_given_plans(std::cin, "standard input");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path, "cannot be read; expected a file with a job on each line, its plan in full");
  return read_given_plans(in, path);
}

SearchTimes measure(const BenchArguments& a, const CommonOptions& common) {
  const auto progress = progress_of(common);
  const auto tell = [&](double share, const char* what) {
    if (progress) progress(share, what);
  };
  SearchTimes m;
  tell(0, "reading and tabulating");
  m.given = read(a.lines);
  std::vector<double> evaluation, with_settings;
  for (int i = 0; i < a.repeat; ++i) {
    tell((1.0 + i) / (a.repeat + 2), "evaluating");
    m.last = evaluate_given(m.given);
    evaluation.push_back(m.last.evaluation_seconds);
    with_settings.push_back(m.last.evaluation_seconds + m.last.setting_seconds);
  }
  const auto count = static_cast<double>(m.given.size());
  m.evaluations = rate_of(count, evaluation);
  m.with_settings = rate_of(count, with_settings);
  m.fit = std::count_if(m.last.estimates.begin(), m.last.estimates.end(), [](const auto& e) { return e.fits; });
  tell((1.0 + a.repeat) / (a.repeat + 2), "checking by lowering");
  m.checks = check_given(m.given, m.last, a.sample, common.threads);
  clear_progress(common);
  return m;
}

std::string over(double ratio) { return signed_fixed(100 * (ratio - 1), 2) + " %"; }
std::string range(const std::vector<GivenCheck>& checks, double GivenCheck::*number) {
  const auto [low, high] = std::minmax_element(checks.begin(), checks.end(),
                                               [&](const auto& a, const auto& b) { return a.*number < b.*number; });
  return over((*low).*number) + " to " + over((*high).*number);
}

void print(const SearchTimes& m) {
  const auto count = [](auto n) { return with_thousands(static_cast<std::int64_t>(n)); };
  const auto rate = [&](const char* what, const Rate& r) {
    std::printf("  %-22s %s a second on one core (%s to %s)\n", what, count(r.median).c_str(), count(r.low).c_str(),
                count(r.high).c_str());
  };
  const auto counted = [&](std::size_t n, const std::string& one) {
    return count(n) + " " + one + (n == 1 ? "" : "s");
  };
  std::printf("  %s with %s for %s; %s fit\n\n", counted(m.given.size(), "plan").c_str(),
              counted(m.given.settings.size(), "setting").c_str(), counted(m.given.worlds.size(), "model").c_str(),
              count(m.fit).c_str());
  rate("evaluations", m.evaluations);
  rate("with their settings", m.with_settings);
  if (m.checks.empty()) return;
  std::printf("\n  %s lowered and timed; by the tables\n", counted(m.checks.size(), "plan").c_str());
  std::printf("  %-22s %s\n", "time", range(m.checks, &GivenCheck::time).c_str());
  std::printf("  %-22s %s\n", "fullest tile", range(m.checks, &GivenCheck::memory).c_str());
  std::printf("  %-22s %s\n", "executable memory", range(m.checks, &GivenCheck::executable).c_str());
  std::printf("  %-22s %s\n", "Streaming Memory", range(m.checks, &GivenCheck::ddr).c_str());
  for (const GivenCheck& c : m.checks) {
    if (!c.agrees())
      std::printf("  line %s does not agree: time %s, fullest tile %s, executable %s, Streaming Memory %s\n",
                  count(c.line).c_str(), over(c.time).c_str(), over(c.memory).c_str(), over(c.executable).c_str(),
                  over(c.ddr).c_str());
  }
  std::fflush(stdout);
}

json to_json(const SearchTimes& m) {
  json checks = json::array();
  for (const GivenCheck& c : m.checks)
    checks.push_back({{"line", c.line},
                      {"time", c.time},
                      {"tile_peak", c.memory},
                      {"executable", c.executable},
                      {"ddr", c.ddr},
                      {"agrees", c.agrees()}});
  return {{"plans", m.given.size()},
          {"settings", m.given.settings.size()},
          {"models_on_machines", m.given.worlds.size()},
          {"fit", m.fit},
          {"evaluations_per_second", to_json(m.evaluations)},
          {"with_settings_per_second", to_json(m.with_settings)},
          {"checks", checks}};
}

// Writes one line for each line of the input, in the input's order.
void write_lines(const std::string& path, const SearchTimes& m) {
  if (path.empty()) return;
  std::vector<GivenEstimate> estimates = m.last.estimates;
  std::sort(estimates.begin(), estimates.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  std::ofstream out(path, std::ios::binary);
  for (const GivenEstimate& e : estimates) {
    out << json{{"line", e.line},
                {"samples_per_second", e.samples_per_second},
                {"step_time_s", e.step_seconds},
                {"tile_peak_bytes", e.estimate.tile_peak},
                {"fits", e.fits}}
               .dump()
        << "\n";
  }
  out.close();
  if (!out) throw Error(path, "cannot be written");
}

int run_bench_eval(const BenchArguments& a, const CommonOptions& common) {
  check_output(a.output);
  check_output(common.json);
  const SearchTimes m = measure(a, common);
  if (prints_text(common)) print(m);
  write_lines(a.output, m);
  write_json(common, to_json(m));
  return m.agree() ? kDone : kFailed;
}

}  // namespace

void add_bench_eval(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<BenchArguments>();
  CLI::App* sub =
      sub_command(app, common, "bench-eval",
                  "Evaluate many given plans: how many a second, and whether a sample agrees with lowering");
  sub->add_option("lines", a->lines, "A job on each line, its plan pinned in full; - for standard input")
      ->required()
      ->type_name("FILE");
  sub->add_option("--sample", a->sample, "Plans to lower and time as well, 20 by default")
      ->check(CLI::Range(0, 1'000'000))
      ->type_name("N");
  sub->add_option("--repeat", a->repeat, "Passes over all plans, of which the median counts; 5 by default")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  sub->add_option("-o,--output", a->output, "Write the results of each line here, as JSON lines")->type_name("FILE");
  sub->callback([a, &common, &run] { run = [a, &common] { return run_bench_eval(*a, common); }; });
}

}  // namespace superstep
