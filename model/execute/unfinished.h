// SPDX-License-Identifier: Apache-2.0
// In exact mode: results that lack summands, which other IPUs, replicas or micro-batches have. They are kept unrounded,
// as far as they go, and joined where the program joins them, so that the sum is the plain model's to the last bit.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "model/execute/compute.h"

namespace superstep {

struct Local;
struct Share;
struct Unfinished;
using UnfinishedPtr = std::shared_ptr<const Unfinished>;

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

// What the parts, of one region of one result, have together.
UnfinishedPtr joined(std::span<const UnfinishedPtr> parts);
UnfinishedPtr part_of(const UnfinishedPtr& whole, const Block& region);
UnfinishedPtr put_together(const std::vector<UnfinishedPtr>& pieces, const Block& region);

bool complete(const Unfinished& sums);
// Where all operands of unfinished ops are complete, `piece` becomes what these ops make of them: values, or a summand
// of what others have a share of. Sums that are complete become values.
void settle(const Graph& graph, const KernelContext& context, Local& piece);

// The values of a result all of whose summands are there, rounded to its type.
Array finished(const Graph& graph, const Unfinished& sums, const KernelContext& context);

// Of a result that all samples share.
ResultPlace place_of(const Graph& graph, TensorId t);

}  // namespace superstep
