// SPDX-License-Identifier: Apache-2.0
// Many plans that somebody else chose, evaluated by the tables and some of them checked by lowering.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/cost/evaluate.h"
#include "planner/cost/tables.h"

namespace superstep {

// What plans share that differ in nothing their tables depend on.
struct GivenWorld {
  explicit GivenWorld(Job of_line);
  const Job job;  // of the first of them
  const CostModel model;
  Tables tables;
};

// What plans with the same setting differ in: stages, the IPUs they run on, their recompute, phases. Packed, since
// reading hundreds of stages of a plan from memory takes longer than evaluating it.
class GivenCuts {
 public:
  std::size_t size() const { return begins_.size(); }
  void add(const Plan& plan);
  // Those added as number i take the place of the plan's.
  void put_into(Plan& plan, std::size_t i) const;

 private:
  std::vector<std::int32_t> words_;
  std::vector<std::size_t> begins_;  // in `words_`
};

// Plans that differ in nothing but their cuts, in the order of their lines.
struct GivenSetting {
  GivenWorld* world = nullptr;
  Plan plan;                        // with the cuts of the first
  std::vector<std::int64_t> lines;  // counted from 1
  GivenCuts cuts;
};

struct GivenPlans {
  std::vector<std::unique_ptr<GivenWorld>> worlds;
  std::vector<GivenSetting> settings;  // in the order in which they come first
  std::size_t size() const;            // plans
};

// Each line is a job whose plan gives every field one value, as `superstep plan --json` writes it; placement,
// precision and serialisation may be left to their defaults. Empty lines are passed over. Throws Error, naming the
// line, for what is no such job and for a plan that is not legal.
GivenPlans read_given_plans(std::istream& lines, const std::string& name);

struct GivenEstimate {
  std::int64_t line = 0;
  Estimate estimate;
  double step_seconds = 0, samples_per_second = 0;
  bool fits = false;
};

// One after another on this thread: each plan by evaluate(), each setting made once.
struct GivenPass {
  std::vector<GivenEstimate> estimates;                // of the plans of each setting
  double evaluation_seconds = 0, setting_seconds = 0;  // of a core: for all plans, for all settings
};
GivenPass evaluate_given(const GivenPlans& given);

// The tables' numbers over those of the plan's lowered program.
struct GivenCheck {
  std::int64_t line = 0;
  double time = 1, memory = 1, executable = 1, ddr = 1;
  // Time and Streaming Memory within 1 %; memory of the fullest tile no less, and at most 3 % more.
  bool agrees() const;
};
// Of `sample` plans, evenly from all; of all where there are fewer.
std::vector<GivenCheck> check_given(const GivenPlans& given, const GivenPass& pass, std::size_t sample, int threads);

}  // namespace superstep
