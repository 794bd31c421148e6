// SPDX-License-Identifier: Apache-2.0
// The program read with tensors: every IPU of every replica keeps its own pieces, every tile computes
// its share of an op from copies of the regions the share reads, and pieces move only where the program
// has an exchange, a collective or a copy.
#pragma once

#include <map>

#include "model/execute/evaluate.h"
#include "model/lower/program.h"
#include "model/lower/unit_table.h"

namespace superstep {

// exact: sums that the plan cuts are joined unrounded, in the order of the un-split model
// (docs/explanation/numerics.md). device: each tile computes from what exchange brought it, and sums are added as the
// program adds them.
enum class Arithmetic : std::uint8_t { exact, device };

struct Executed {
  // The loss and the weight gradients of the global batch, and every new value of Graph::updates; of a graph without a
  // loss its outputs, all samples. By the graph's own ids.
  Values values;
  // Exact mode: contractions that the plan cuts, by op. A cut in nodes of the contraction's tree costs no bit.
  struct Cut {
    std::int64_t steps = 0;  // of the whole batch
    std::int64_t parts = 1;
    bool nodes = true;
    friend bool operator==(const Cut&, const Cut&) = default;
  };
  std::map<OpId, Cut> cuts;
  struct Traffic {
    std::int64_t count = 0;
    Bytes bytes;  // sum of the operands of one IPU, larger end
  };
  // Device mode, by function of the forward and backward pass and its op: what stands on a tile while it computes
  // beside residents and temporaries, as the machine held it and as Step::live has it.
  struct Live {
    Bytes held, costed;
  };
  std::map<std::pair<FunctionId, std::size_t>, Live> live;
  // Of all IPU groups of one replica.
  std::map<std::pair<CollectiveKind, Term>, Traffic> collectives;
  void count(const Step& step, Bytes bytes) {
    Traffic& traffic = collectives[{step.collective, step.term}];
    ++traffic.count;
    traffic.bytes += bytes;
  }
};

// One optimiser step, or one batch of inference. `feeds` has the inputs for the global batch: dimension
// 0 holds the samples of replica 0, micro-batch 0 first, then those of its next micro-batch; and weights and
// optimizer states that carry no data of their own. context.first_sample is of the whole batch.
//
// Beside the program, the reading takes: what Streaming Memory moves within a phase is there when it is read;
// sharded weights are whole on every replica.
Executed execute(const Program& program, const UnitTable& table, const Plan& plan, const Values& feeds,
                 const KernelContext& context, Arithmetic arithmetic = Arithmetic::exact);

}  // namespace superstep
