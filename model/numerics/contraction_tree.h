// SPDX-License-Identifier: Apache-2.0
// The order in which a contraction is summed in exact mode, a function of the un-split extent and the chunk alone.
//
// The extent is padded to whole chunks (padding adds nothing: the last chunk ends early). A node of n > 1 chunks is
// halved: the left half has the odd chunk. 48 chunks become 24, 12, 6, 3, then 2 and 1, so that a plan may cut them in
// 2, 4, 8 or 16 equal parts; an index-aligned binary tree would have no node of 6. A node's sum is its left half's plus
// its right half's, rounded once; a chunk's is built from zero in the order of k, each step fused.
#pragma once

#include <cstdint>
#include <vector>

namespace superstep::numerics {

// Steps of the contracted axis, from begin up to but without end.
struct StepRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t extent() const { return end - begin; }
  friend bool operator==(const StepRange&, const StepRange&) = default;
};

class ContractionTree {
 public:
  static constexpr std::int64_t kDefaultChunk = 256;

  // At least one step per chunk; an extent of zero is one empty chunk, whose sum is zero.
  explicit ContractionTree(std::int64_t extent, std::int64_t chunk = kDefaultChunk);

  std::int64_t extent() const { return extent_; }
  std::int64_t chunk() const { return chunk_; }
  std::int64_t chunks() const { return chunks_; }
  StepRange root() const { return {0, extent_}; }

  // Whether the sum of `range` is one that the tree forms. An end in the padding counts as the extent's.
  bool is_node(StepRange range) const;

  // The fewest nodes that make up `range`, in order; none where an end is not at the border of a chunk, so that no
  // sums of nodes make up the range's.
  std::vector<StepRange> nodes_of(StepRange range) const;

  // How a node falls in two; the node has more than one chunk.
  struct Halves {
    StepRange left, right;
  };
  Halves halves(StepRange node) const;
  std::int64_t chunks_of(StepRange node) const;

 private:
  std::int64_t extent_;
  std::int64_t chunk_;
  std::int64_t chunks_;

  StepRange without_padding(StepRange range) const;
};

// A node as a list of smaller nodes of at most `largest` steps (or one chunk), in order, and after each how many sums
// that wait are joined to its own, nearest first. What is left at the end is the node's sum.
struct NodeStep {
  StepRange range;
  int joins = 0;
};
std::vector<NodeStep> in_steps(const ContractionTree& tree, StepRange node, std::int64_t largest);

}  // namespace superstep::numerics
