// SPDX-License-Identifier: Apache-2.0
// The program read with tensors: every IPU of every replica keeps its own pieces, every tile computes
// its share of an op from copies of the regions the share reads, and pieces move only where the program
// has an exchange, a collective or a copy.
#pragma once

#include "model/execute/evaluate.h"
#include "model/execute/executed.h"
#include "model/lower/unit_table.h"
#include "model/program/program.h"

namespace superstep {

// One optimiser step, or one batch of inference. `feeds` has the inputs for the global batch: dimension
// 0 holds the samples of replica 0, micro-batch 0 first, then those of its next micro-batch; and weights and
// optimizer states that carry no data of their own. context.first_sample is of the whole batch.
//
// Beside the program, the reading takes: what Streaming Memory moves within a phase is there when it is read;
// sharded weights are whole on every replica.
Executed execute(const Program& program, const UnitTable& table, const Plan& plan, const Values& feeds,
                 const KernelContext& context, Arithmetic arithmetic = Arithmetic::exact);

}  // namespace superstep
