// SPDX-License-Identifier: Apache-2.0
// Matrix products in the order of a ContractionTree. The bits of a result depend on the operands, the tree and the kind
// of partials, and on nothing else: not on the machine, the number of threads, the blocking, or how rows and columns
// are cut.
#pragma once

#include <type_traits>
#include <vector>

#include "model/numerics/contraction_tree.h"
#include "model/numerics/half.h"
#include "model/numerics/kernels.h"
#include "model/numerics/team.h"

namespace superstep::numerics {

class Blas;

// An operand or a result in memory: element (i, j) of product b is at b * batch_step + i * row_step + j * column_step.
// Steps of zero repeat an operand; transposing swaps them. An operand may have the places of its rows or columns listed
// instead: so the windows of a convolution are read where they lie, in an input with its padding. A result may have its
// columns listed, in ascending order: those of all samples.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t row_step = 0;
  std::int64_t column_step = 1;
  std::int64_t batch_step = 0;
  const std::int64_t* row_at = nullptr;     // if set, row_at[i] stands for i * row_step
  const std::int64_t* column_at = nullptr;  // if set, column_at[j] stands for j * column_step
};

// `batch` products of rows x part by part x columns. The tree is that of the whole contraction; `part` is the node of
// it that the operands hold: their first step is part.begin.
struct Product {
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ContractionTree tree;
  StepRange part = tree.root();
  Partials partials = Partials::full;
  Overflow overflow = Overflow::infinity;  // of fp16 partials
  const Blas* blas = nullptr;              // if set, it multiplies, in its own order, unless partials are fp16
};

// fp16 is widened exactly and summed in fp32; fp32 and fp64 are summed as they are.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

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
