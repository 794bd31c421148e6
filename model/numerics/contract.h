// SPDX-License-Identifier: Apache-2.0
// Matrix products in the order of a ContractionTree. The bits of a result depend on the operands, the tree and the kind
// of partials, and on nothing else: not on the machine, the number of threads, the blocking, or how rows and columns
// are cut.
#pragma once

#include <vector>

#include "model/numerics/contraction_tree.h"
#include "model/numerics/kernels.h"
#include "model/numerics/matrix.h"
#include "model/numerics/team.h"

namespace superstep::numerics {

// c = the sum of the node `product.part`; the whole product where that is the root. c does not overlap a or b. T is
// Half, float or double. Rounding to fp16, once, is the caller's.
template <class T>
void contract(Team& team, const Product& product, Matrix<const T> a, Matrix<const T> b, Matrix<SumOf<T>> c,
              const Kernels& kernels = fastest_kernels());

// The sum of one node in an array, of a shard, a replica or a micro-batch.
template <class Real>
struct PartialSum {
  StepRange node;
  Real* data = nullptr;
};

// Joins the sums of siblings, and theirs, until no two are siblings, in place of the left one; in whatever order they
// are given. Returns what is left, in order: one sum, the root's, where they make up the tree. They are nodes and do
// not overlap; each array has `count` elements.
template <class Real>
std::vector<PartialSum<Real>> join_partials(const ContractionTree& tree, std::vector<PartialSum<Real>> sums,
                                            std::int64_t count, Partials partials = Partials::full,
                                            Overflow overflow = Overflow::infinity);

}  // namespace superstep::numerics
