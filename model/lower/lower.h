// SPDX-License-Identifier: Apache-2.0
// A plan as a program: who holds what, and when each unit runs.
#pragma once

#include <string>

#include "model/graph/autodiff.h"
#include "model/lower/placement.h"
#include "model/lower/program.h"
#include "model/lower/unit_table.h"

namespace superstep {

// The program of one optimiser step (training) or one replica batch (inference). The table was made
// with the plan's mesh, micro-batch, precision, IO tiles and proportion; the plan is legal
// (check_plan). Every field of the plan has an effect here.
Program lower(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer);

// Why a plan is not legal for a graph, machine and task, in words ("tensor_parallel 5 does not divide
// 16 heads"); empty: it is. Legality is about degrees and structure; whether it fits is another question.
std::string check_plan(const Plan& plan, const GraphFacts& facts, const Machine& machine, bool training);
// Of it: micro-batches that so many stages of a pipeline, all of them counted, need to fill and drain.
std::int64_t least_accumulation(Schedule schedule, std::int64_t stages, bool training);

}  // namespace superstep
