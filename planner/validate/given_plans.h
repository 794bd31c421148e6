// SPDX-License-Identifier: Apache-2.0
// Evaluation of many plans that somebody else chose. The tables evaluate all plans; lowering checks a sample.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planner/cost/evaluate.h"
#include "planner/cost/tables.h"

namespace superstep {

// A job and its tables, shared by all plans that differ in nothing the tables depend on.
struct GivenJob {
  explicit GivenJob(Job of_line);
  const Job job;  // the job of the first plan
  const CostModel model;
  Tables tables;
};

// The cuts of plans with the same setting: stages, their IPU groups, recompute modes, phases. Packed, because reading
// hundreds of stages of a plan from memory takes longer than evaluating the plan.
class GivenCuts {
 public:
  std::size_t size() const { return begins_.size(); }
  void add(const Plan& plan);
  // Replaces the cuts of `plan` by the cuts that were added as number i.
  void put_into(Plan& plan, std::size_t i) const;

 private:
  std::vector<std::int32_t> words_;
  std::vector<std::size_t> begins_;  // index into `words_`, by plan
};

// Plans that differ in nothing but their cuts, in the order of their lines.
struct GivenSetting {
  GivenJob* world = nullptr;
  Plan plan;                        // the first plan
  std::vector<std::int64_t> lines;  // line of each plan, counted from 1
  GivenCuts cuts;
};

struct GivenPlans {
  std::vector<std::unique_ptr<GivenJob>> worlds;
  std::vector<GivenSetting> settings;  // in the order of their first lines
  std::size_t size() const;            // number of plans
};

// Reads one job per line. The job's plan gives every field one value, as `superstep plan --json` writes the plan.
// Placement, precision and serialisation may be left to their defaults. Empty lines are skipped. Throws Error, with the
// line, for any other text and for an illegal plan.
GivenPlans read_given_plans(std::istream& lines, const std::string& name);

struct GivenEstimate {
  std::int64_t line = 0;
  Estimate estimate;
  double step_seconds = 0, samples_per_second = 0;
  bool fits = false;
};

// Result of evaluating all given plans on one thread.
struct GivenPass {
  std::vector<GivenEstimate> estimates;                // by setting, then plan
  double evaluation_seconds = 0, setting_seconds = 0;  // core seconds for all plans, for all settings
};
// Evaluates all plans in turn with evaluate(); each setting is made once.
GivenPass evaluate_given(const GivenPlans& given);

// Ratios of the tables' numbers to the numbers of the plan's lowered program.
struct GivenCheck {
  std::int64_t line = 0;
  double time = 1, memory = 1, executable = 1, ddr = 1;
  // True if time and Streaming Memory agree within 1 %, and memory of the fullest tile is not below and at most 3 %
  // above. Executable memory must not be below.
  bool agrees() const;
};
// Checks `sample` plans, evenly spaced over all plans; checks all plans if there are fewer.
std::vector<GivenCheck> check_given(const GivenPlans& given, const GivenPass& pass, std::size_t sample, int threads);

}  // namespace superstep
