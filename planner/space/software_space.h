// SPDX-License-Identifier: Apache-2.0
// What the software of a job accepts of its settings and of their cuts (rules: model/software).
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "model/software/plan_facts.h"
#include "planner/job/job.h"
#include "planner/space/setting_space.h"

namespace superstep {

// What a rule may ask of the cuts of one setting: a shape stands for all cuts that agree in this.
struct CutShape {
  bool wrap = false;                  // pipelines: the last stage returns to the first IPU group
  bool ties_together = false;         // pipelines: all units that use one weight are on one IPU group
  bool phase_per_layer = false;       // phases: one for each layer, and for what comes before and after the layers
  std::vector<Recompute> modes;       // of every stage; empty: any
  std::vector<Recompute> last_modes;  // pipelines: of the last stage instead; empty: as `modes`
};

// The rules of a job's software. A job that names one software (Job::software) has its rules; any other job has none.
// With Job::measured_alone a plan has no mechanism that nobody measured either.
class SoftwareSpace {
 public:
  explicit SoftwareSpace(const Job& job);

  bool has_rules() const { return !software_.empty(); }

  // Returns what rules may ask of all plans of a cell.
  PlanFacts facts_of(const Plan& cell) const;
  // Removes values from the lists of one of the cell's spaces that no accepted plan has. Returns false if no plan is
  // accepted.
  bool restrict(SettingSpace& space, const PlanFacts& of_cell) const;
  bool accepts(const PlanFacts& facts) const;
  // True if no rule excludes all plans of a setting, wherever they are cut.
  bool accepts(const Plan& setting, bool phased) const;
  // Returns the shapes of cuts that the rules accept, which together have every accepted cut of the setting. `ties`:
  // whether the model has weights that several units use.
  std::vector<CutShape> shapes(const Plan& setting, bool phased, bool ties) const;

 private:
  const nlohmann::json* job_ = nullptr;
  std::vector<const Software*> software_;
  std::array<std::vector<const SoftwareRule*>, SettingSpace::kAxes> rules_of_;  // that ask for what a list decides
};

}  // namespace superstep
