// SPDX-License-Identifier: Apache-2.0
// What one IPU of the executed machine has of a tensor: values, or in exact mode unrounded sums.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "model/graph/op_def.h"
#include "model/program/sharding.h"

namespace superstep {

struct Unfinished;
using UnfinishedPtr = std::shared_ptr<const Unfinished>;

// A region of a tensor as one IPU holds it.
struct Local {
  Sharding on;
  Block region;        // in coordinates of the whole tensor
  Array values;        // row-major within the region; empty while there are `sums`
  UnfinishedPtr sums;  // exact mode: what there is of a result that lacks summands; else null
};
using LocalPtr = std::shared_ptr<const Local>;

// What one IPU does of an op in exact mode.
struct Share {
  Block block;                 // of the op's iteration space
  std::vector<Block> parts;    // of it, as far as the replica does it: slices of an update
  std::vector<Sharding> lies;  // by result
  // Of how many micro-batches the results are sums, and which of them this is, in the order of their samples.
  std::int64_t micro_batches = 1, micro_batch = 0;
  bool contiguous = true;       // of such a sum: the micro-batch's steps are a run of the whole batch's
  std::int64_t shares = 1;      // of the results, if they are sums: of micro-batches, IPUs, replicas
  std::int64_t own_shares = 1;  // those that are left when the operands are whole
};

// A result that lacks summands, as far as it goes.
struct Unfinished {
  // Sums of nodes of a contraction's tree, in order, none of them siblings.
  struct NodeSum {
    numerics::StepRange node;
    Array values;
  };
  struct Contraction {
    numerics::ContractionTree tree;
    std::vector<NodeSum> nodes;
  };
  // The sum of steps that no nodes make up: these are added as they come, each time rounded.
  struct Loose {
    Array values;
  };
  // An op that is linear in operands which are unfinished themselves: done when they are finished.
  struct Applied {
    Block block;
    std::vector<std::shared_ptr<const Local>> operands;  // null: left out
    // Of an op that is cut itself: its share of that sum, a summand once the operands are finished.
    std::shared_ptr<const Share> share = nullptr;
  };
  // Several shares of such an op.
  struct Terms {
    std::vector<UnfinishedPtr> of;
  };
  // A part of another.
  struct Part {
    UnfinishedPtr of;
  };

  // Put together from several regions.
  struct Pieces {
    std::vector<UnfinishedPtr> of;
  };

  OpId op;
  std::size_t result = 0;           // which of the op's
  std::vector<ResultPlace> places;  // of the op's results
  Block region;                     // of the result
  std::variant<Contraction, ExactSums, Loose, Applied, Terms, Part, Pieces> summands;
  // How many shares of the sum are here, and of how many: other IPUs, micro-batches, replicas. Of applied ops,
  // parts and pieces that is for others to say.
  std::int64_t shares = 1, of_shares = 1;
};

}  // namespace superstep
