// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/cut_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/planner/all_cuts.h"

namespace superstep::test {

bool fits(const Estimate& e, const CutLimits& limits) {
  return e.tile_peak <= limits.tile && e.executable <= limits.executable && e.waiting <= limits.io_tile &&
         e.ddr <= limits.ddr;
}

const Option* best_of(const std::vector<Option>& options, const CutLimits& limits) {
  const Option* best = nullptr;
  for (const Option& o : options) {
    if (fits(o.estimate, limits) && (!best || o.estimate.cycles < best->estimate.cycles)) best = &o;
  }
  return best;
}

std::vector<Option> all_options(const Setting& setting, const CutRules& rules, bool phased) {
  std::vector<Option> options;
  for_each_cut(setting, rules, phased, [&](const Cuts& cuts) {
    options.push_back({cuts, evaluate(setting, with_cuts(setting.plan(), cuts))});
  });
  return options;
}

CutLimits draw_limits(const std::vector<Option>& options, const Setting& setting, Draw& draw) {
  CutLimits limits;
  const auto some = [&](auto field) { return draw.of(options).estimate.*field; };
  limits.tile = std::min(some(&Estimate::tile_peak), some(&Estimate::tile_peak)) + draw.below(2000);
  limits.executable = draw.chance(30) ? some(&Estimate::executable) : setting.executable_limit();
  limits.io_tile = draw.chance(30) ? some(&Estimate::waiting) : setting.limit();
  limits.ddr = draw.chance(20) ? some(&Estimate::ddr) : setting.ddr_limit();
  if (draw.chance(30)) limits.best = some(&Estimate::cycles);
  return limits;
}

std::string describe(const Setting& s, const CutLimits& l) {
  return "plan " + to_json(s.plan()).dump() + " limits tile " + std::to_string(l.tile) + " executable " +
         std::to_string(l.executable) + " ddr " + std::to_string(l.ddr) + " best " + std::to_string(l.best);
}

void expect_best(const Setting& setting, const std::vector<Option>& options, const CutLimits& limits,
                 const std::optional<Cuts>& found) {
  const Option* best = best_of(options, limits);
  if (best && best->estimate.cycles >= limits.best) best = nullptr;
  const std::string what = describe(setting, limits);
  if (!best) {
    EXPECT_FALSE(found && found->cycles < limits.best) << what << "\nfound " << (found ? found->cycles : 0);
    return;
  }
  const std::string wanted = to_json(with_cuts(setting.plan(), best->cuts)).dump();
  ASSERT_TRUE(found) << what << "\nbest " << best->estimate.cycles << " " << wanted;
  EXPECT_EQ(found->cycles, best->estimate.cycles)
      << what << "\nbest " << wanted << "\nfound " << to_json(with_cuts(setting.plan(), *found)).dump();
  EXPECT_TRUE(fits(evaluate(setting, with_cuts(setting.plan(), *found)), limits)) << what;
}

void expect_found_under_its_own_bound(const std::vector<Option>& options, CutLimits limits,
                                      const std::function<std::optional<Cuts>(const CutLimits&)>& cut) {
  const Option* best = best_of(options, limits);
  if (!best) return;
  limits.best = best->estimate.cycles + 1;
  const std::optional<Cuts> found = cut(limits);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cycles, best->estimate.cycles);
}

nlohmann::json tiny(const std::string& zoo, std::int64_t layers, std::int64_t hidden, std::int64_t vocabulary,
                    const nlohmann::json& machine) {
  nlohmann::json numbers = {
      {"layers", layers}, {"hidden", hidden}, {"heads", 4}, {"vocabulary", vocabulary}, {"sequence_length", 64}};
  if (zoo == "bert-base") numbers["masked_tokens"] = 10;
  return small_job(zoo, numbers, machine);
}

}  // namespace superstep::test
