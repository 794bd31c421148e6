// SPDX-License-Identifier: Apache-2.0
// Turns a plan into a program, and checks that a plan is legal.
#pragma once

#include <string>

#include "model/graph/autodiff.h"
#include "model/lower/placement.h"
#include "model/lower/unit_table.h"
#include "model/program/program.h"

namespace superstep {

// Returns the program of one optimiser step (training) or one replica batch (inference). The table must be made with
// the plan's mesh, micro-batch, precision, IO tiles and proportion. The plan must be legal (check_plan()). Every field
// of the plan has an effect here.
Program lower(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer);

// Returns why a plan is not legal for a graph, machine and task, in words ("tensor_parallel 5 does not divide 16
// heads"). Empty: the plan is legal. Only degrees and structure are checked, not memory.
std::string check_plan(const Plan& plan, const GraphFacts& facts, const Machine& machine, bool training);
// Returns the part of check_plan() that degrees and placement alone decide.
std::string check_degrees(const Plan& plan, const Machine& machine, bool training);
// Returns the least number of micro-batches of a legal plan with `stages` pipeline stages: as many as the pipeline
// needs to fill and drain.
std::int64_t least_accumulation(Schedule schedule, std::int64_t stages, bool training);

}  // namespace superstep
