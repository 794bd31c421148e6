// SPDX-License-Identifier: Apache-2.0
// How the values of a graph built for one micro-batch depend on its samples: what a micro-batch has of the whole
// batch, and whether the batch can be cut into micro-batches at all.
//
// The whole batch is the same graph built for all its samples. Micro-batch i of M holds samples
// [i * n, (i + 1) * n) of M * n, with n = Graph::micro_batch.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "model/graph/graph.h"

namespace superstep {

// A dimension or an axis whose element (o * samples + s) * inner + i, o < outer, belongs to sample s.
struct SamplePlace {
  int at = 0;
  std::int64_t outer = 1;
  friend auto operator<=>(const SamplePlace&, const SamplePlace&) = default;
};
enum class SampleRole : std::uint8_t {
  none,   // the same for every micro-batch: weights, constants, what comes from them alone, results of the update
  along,  // a dimension holds the samples: the micro-batch's value is a slice of the whole batch's
  // The whole batch's value is the sum of the micro-batches' values: a reduction over samples, or linear in such
  // sums. An op with a sum among its operands may as well run once, on the whole batch's sums.
  sum,
  // A sum over samples that graph inputs and constants alone decide, or made of such sums and of what is the
  // same for every micro-batch: to be known before the first micro-batch (how many labels count).
  ahead,
  // Over the samples of one statistics group (batch norm): used by the samples of this micro-batch at once.
  statistics,
  unknown,
};
std::string_view name_of(SampleRole role);

struct TensorSamples {
  SampleRole role = SampleRole::none;
  // along: the dimension that holds the samples: element (o * samples + s) * inner + i of it, o < outer, belongs to
  // sample s, so that samples are outermost within it where `outer` is 1. Groups of samples where statistics
  // groups lie along it. -1: of another role.
  int dimension = -1;
  std::int64_t outer = 1;
  // Made of graph inputs and constants alone, without random numbers: can be computed before the batch starts.
  bool early = false;
  friend bool operator==(const TensorSamples&, const TensorSamples&) = default;
};

struct OpSamples {
  // Of the op's space: the axis that holds the samples, as a dimension does; -1: none (also of reshapes, which copy
  // whole runs).
  int axis = -1;
  std::int64_t outer = 1;
  // The values of the micro-batches join here: the results (sum, ahead or statistics) are summed over samples. Where
  // `axis` is -1 as well, the micro-batch's values are the summands as they stand (one sample's gradient).
  bool reduces = false;
  // Of such an op: samples are outermost in the row-major order of its reduce axes, so that micro-batch i of M
  // has steps [i * K, (i + 1) * K) of the M * K of the whole batch.
  bool contiguous = false;
  friend bool operator==(const OpSamples&, const OpSamples&) = default;
};

// Why a batch cannot be cut into micro-batches.
struct SampleFault {
  OpId op;
  TensorId tensor;  // the operand that is the trouble
  std::string why;  // "the batch cannot be cut into micro-batches because ..."
};

struct Samples {
  IdVector<TensorId, TensorSamples> tensors;
  IdVector<OpId, OpSamples> ops;
  std::vector<SampleFault> faults;  // in the order of their ops; what follows from a fault is not told again

  const TensorSamples& of(TensorId t) const { return tensors[t]; }
};

// Of all ops: forward, backward and update.
Samples find_samples(const Graph& graph);

// Makes of means over samples in the loss sums divided by a constant that counts (Tensor::counts_samples), so that
// the losses and gradients of micro-batches add up to the batch's when they are given its count. For the forward
// graph, before gradients are added. Means that samples read are left alone: find_samples refuses them.
void count_samples_in_loss(Graph& graph);

// What has to be known of the whole batch before its first micro-batch runs.
struct AheadOfBatch {
  // To be run on each micro-batch's inputs, in order; the others with role ahead follow from their results.
  std::vector<OpId> ops;
  // Results of those ops that reduce over samples: their sums over all micro-batches go into every micro-batch.
  std::vector<TensorId> sums;
  // Constants that count samples: M times their value goes into every micro-batch of M.
  std::vector<TensorId> counts;
  friend bool operator==(const AheadOfBatch&, const AheadOfBatch&) = default;
};
AheadOfBatch ahead_of_batch(const Graph& graph, const Samples& samples);

}  // namespace superstep
