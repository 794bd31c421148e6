// SPDX-License-Identifier: Apache-2.0
// Matrices in memory, and products of them: what contract() and Blas are given.
#pragma once

#include <cstdint>
#include <type_traits>

#include "model/numerics/contraction_tree.h"
#include "model/numerics/half.h"
#include "model/numerics/kernels.h"

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

}  // namespace superstep::numerics
