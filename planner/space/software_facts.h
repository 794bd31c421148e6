// SPDX-License-Identifier: Apache-2.0
// The facts of a job's plan that rules of software ask about (model/software).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/lower/graph_facts.h"
#include "model/program/plan.h"
#include "model/software/plan_facts.h"
#include "planner/job/job.h"

namespace superstep {

UnitFacts unit_facts(const GraphFacts& facts);
// Returns the facts of a plan of the job. `facts`: of the graph for the plan's micro-batch.
PlanFacts plan_facts(const Job& job, const Plan& plan, const GraphFacts& facts);

// What the software that a job may run on says of one of its plans.
struct SoftwareVerdict {
  std::vector<std::string> accepted_by;  // names
  // Of software that does not accept the plan, a rule that the plan breaks: of the software with the fewest such rules,
  // and of these one that the job's own choice breaks, if there is one. Empty: all accept the plan.
  std::optional<BrokenRule> broken;
  std::string broken_by;  // title of that software
};
SoftwareVerdict judge(const Job& job, const Plan& plan, const GraphFacts& facts);

}  // namespace superstep
