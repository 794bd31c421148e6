// SPDX-License-Identifier: Apache-2.0
// How a program is executed, and what comes of it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "model/execute/evaluate.h"
#include "model/program/program.h"

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

}  // namespace superstep
