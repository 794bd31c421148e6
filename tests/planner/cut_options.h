// SPDX-License-Identifier: Apache-2.0
// All cuts of a setting with what they take, for tests that hold the programmes to them.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "planner/cuts/cuts.h"
#include "tests/planner/world.h"

namespace superstep::test {

struct Option {
  Cuts cuts;
  Estimate estimate;
};

bool fits(const Estimate& e, const CutLimits& limits);
// The fastest that fits; null: none does.
const Option* best_of(const std::vector<Option>& options, const CutLimits& limits);
std::vector<Option> all_options(const Setting& setting, const CutRules& rules, bool phased);
// Limits between what the leanest and the greediest options need.
CutLimits draw_limits(const std::vector<Option>& options, const Setting& setting, Draw& draw);
std::string describe(const Setting& s, const CutLimits& l);
void expect_best(const Setting& setting, const std::vector<Option>& options, const CutLimits& limits,
                 const std::optional<Cuts>& found);
// What bounds partial cuts must not bound the best one away, however little it may take.
void expect_found_under_its_own_bound(const std::vector<Option>& options, CutLimits limits,
                                      const std::function<std::optional<Cuts>(const CutLimits&)>& cut);

// A model of the zoo with few and narrow layers.
nlohmann::json tiny(const std::string& zoo, std::int64_t layers, std::int64_t hidden, std::int64_t vocabulary,
                    const nlohmann::json& machine = "ipu-pod16");

}  // namespace superstep::test
