// SPDX-License-Identifier: Apache-2.0
// In exact mode: what unrounded sums become when all summands are there.
#pragma once

#include "model/execute/pieces.h"

namespace superstep {

// Where all operands of unfinished ops are complete, `piece` becomes what these ops make of them: values, or a summand
// of what others have a share of. Sums that are complete become values.
void settle(const Graph& graph, const KernelContext& context, Local& piece);

// The values of a result all of whose summands are there, rounded to its type.
Array finished(const Graph& graph, const Unfinished& sums, const KernelContext& context);

}  // namespace superstep
