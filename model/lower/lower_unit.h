// SPDX-License-Identifier: Apache-2.0
// Lowers one pass of one unit of a graph to supersteps of one IPU.
#pragma once

#include "model/lower/unit_context.h"
#include "model/program/program.h"

namespace superstep {

// Returns the supersteps of the unit in the pass, with their footprint.
Function lower_unit(const UnitContext& context, UnitId unit, Pass pass);

}  // namespace superstep
