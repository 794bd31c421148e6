// SPDX-License-Identifier: Apache-2.0
// What the kernels share: operands whose elements lie at fixed strides along the axes of a block,
// and rows of values, loaded and stored by type.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/graph/op_def.h"
#include "model/numerics/team.h"

namespace superstep::ops {

// Element distances between neighbours in each dimension of a region.
std::vector<std::int64_t> row_major(const Block& region);

// Where the elements of an operand lie in its view, by axis of the iteration space: the element of
// point p of the block is at base + sum (p[a] - block[a].begin) * step[a]. For operands whose
// projection has no windows and spans of one.
struct Strided {
  std::int64_t base = 0;
  std::vector<std::int64_t> step;  // one per axis
};
Strided follow(const Projection& projection, const Block& region, const Block& block);

// Calls row(first, n) for every run of n points along the last axis of the block, in order;
// first[i] is the element of operand i at the start of the run. Nothing for an empty block.
template <class Row>
void for_each_row(const Block& block, std::span<const Strided> operands, Row&& row) {
  if (volume(block) == 0) return;
  const std::size_t rank = block.size();
  const std::int64_t n = rank ? block[rank - 1].extent() : 1;
  std::vector<std::int64_t> first(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) first[i] = operands[i].base;
  std::vector<std::int64_t> at(rank, 0);
  for (;;) {
    row(std::span<const std::int64_t>(first), n);
    std::size_t axis = rank > 0 ? rank - 1 : 0;
    for (;;) {
      if (axis == 0) return;
      --axis;
      const bool wraps = ++at[axis] == block[axis].extent();
      for (std::size_t i = 0; i < operands.size(); ++i) {
        first[i] += operands[i].step[axis] * (wraps ? 1 - block[axis].extent() : 1);
      }
      if (!wraps) break;
      at[axis] = 0;
    }
  }
}

// The points of a block as pieces of runs, for several threads: axes that all operands go through as if they were one
// are one, so that a run may be longer than the last axis.
class Pieces {
 public:
  Pieces(const Block& block, std::span<const Strided> operands, std::int64_t longest);
  std::int64_t step(std::size_t operand) const { return loops_.back().step[operand]; }
  std::int64_t longest() const { return longest_; }  // of the pieces

  // Calls visit(first, n) for the member's share; first[i] is where the piece starts in operand i.
  template <class Visit>
  void each(int member, int members, Visit&& visit) const {
    std::vector<std::int64_t> first(bases_.size());
    for (std::int64_t piece = count_ * member / members; piece < count_ * (member + 1) / members; ++piece)
      visit(std::span<const std::int64_t>(first), locate(piece, first));
  }

 private:
  struct Loop {
    std::int64_t extent;
    std::vector<std::int64_t> step;  // per operand
  };
  std::vector<Loop> loops_;
  std::vector<std::int64_t> bases_;
  std::int64_t longest_, per_run_ = 1, count_ = 0;

  std::int64_t locate(std::int64_t piece, std::vector<std::int64_t>& first) const;  // returns its length
};

void load_row(const std::byte* data, DType type, std::int64_t first, std::int64_t step, std::int64_t n, double* to);
void store_row(std::byte* data, DType type, std::int64_t first, std::int64_t step, std::int64_t n, const double* from);

// One element of an integer type as 64 bits, exactly; what does not fit into the type wraps around. Truth is 0 or 1.
std::int64_t load_integer(const std::byte* data, DType type, std::int64_t index);
void store_integer(std::byte* data, DType type, std::int64_t index, std::int64_t value);
// The larger or smaller of two such elements.
std::int64_t extremum(DType type, std::int64_t a, std::int64_t b, bool larger);

// Stores values of a region, row-major, into the part of `view` they stand for.
void store_region(const std::byte* from, DType from_type, const Block& region, const View& view);

// Copies elements bit by bit; the types have the same size.
void copy_row(const std::byte* from, std::int64_t first, std::int64_t step, std::byte* to, std::int64_t to_first,
              std::int64_t to_step, std::int64_t n, std::int64_t size);

// Combines `value` into element `index` by the reduction; none overwrites. Neither the bits of a maximum nor those of a
// minimum depend on the order of the values: +0 is above -0, and of NaN there is one.
double larger(double a, double b);
void combine(std::byte* data, DType type, std::int64_t index, double value, Reduction reduction);

// The threads for work that takes one of them about so long: the context's, if worth waking, or the caller alone, with
// memory that is kept.
numerics::Team& team_of(const KernelContext& context, double nanoseconds);

}  // namespace superstep::ops
