// SPDX-License-Identifier: Apache-2.0
// Plans on the toy machine, up to its eight IPUs, drawn at random from all fields.
#pragma once

#include "random_graph.h"

namespace superstep {

// Not every plan drawn is legal: why_illegal decides.
Plan draw_plan(Dice& dice, const GraphSpec& spec, std::int64_t units);
// Plans with less in them, legal or not. No chain of them comes back to where it began.
std::vector<Plan> simpler(const Plan& plan);
// The stages of a plan when the model has become shorter: as many, closed up.
Plan fitted(Plan plan, std::int64_t units);

// By the product's own checks: of plans (check_plan, on a toy of just as many IPUs), and whether the batch can be cut.
// Empty: it is legal.
std::string why_illegal(const GraphSpec& spec, const Plan& plan);

}  // namespace superstep
