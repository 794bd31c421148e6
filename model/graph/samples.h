// SPDX-License-Identifier: Apache-2.0
// Analysis of how the values of a graph, built for one micro-batch, depend on the samples. The result relates the
// values of a micro-batch to the values of the whole batch, or says why the batch cannot be cut into micro-batches.
//
// The graph of the whole batch is the same graph built for all samples. Micro-batch i of M holds samples
// [i * n, (i + 1) * n) of M * n, with n = Graph::micro_batch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/graph/graph.h"

namespace superstep {

// Relation of a tensor's value for one micro-batch to its value for the whole batch.
enum class SampleRole : std::uint8_t {
  none,   // equal for every micro-batch: weights, constants, results made of these alone, results of the update
  along,  // a dimension holds the samples: the micro-batch's value is a slice of the whole batch's value
  // The whole batch's value is the sum of the micro-batches' values: a reduction over samples, or linear in such
  // sums. An op with such an operand may as well run once, on the whole batch's sums.
  sum,
  // A sum over samples that depends on graph inputs and constants alone (how many labels count). Also a value made of
  // such sums and of values with role none. Must be known before the first micro-batch runs.
  ahead,
  // A sum over the samples of one statistics group (batch norm). The samples of this micro-batch use the value at once.
  statistics,
  unknown,  // result of an op with a fault, or made of such a result
};
std::string_view name_of(SampleRole role);

struct TensorSamples {
  SampleRole role = SampleRole::none;
  // Role along: the dimension that holds the samples, as in SamplePlace. Samples are outermost within the dimension if
  // `outer` is 1. If the dimension holds whole statistics groups, its elements are groups of samples. -1: another role.
  int dimension = -1;
  std::int64_t outer = 1;
  // True if the value is made of graph inputs and constants alone, without random numbers. Such a value can be computed
  // before the batch starts.
  bool early = false;
  friend bool operator==(const TensorSamples&, const TensorSamples&) = default;
};

struct OpSamples {
  // The axis of the op's space that holds the samples, with `outer` as in SamplePlace. -1: no axis; also for reshapes,
  // which copy whole runs.
  int axis = -1;
  std::int64_t outer = 1;
  // True if the op sums over samples: its results have role sum, ahead or statistics. If `axis` is -1 as well, each
  // micro-batch's value is a summand as it stands (the gradient of a micro-batch of one sample).
  bool reduces = false;
  // True if the op sums over samples and samples are outermost in the row-major order of its reduce axes. Micro-batch i
  // of M then has steps [i * K, (i + 1) * K) of the M * K steps of the whole batch.
  bool contiguous = false;
  friend bool operator==(const OpSamples&, const OpSamples&) = default;
};

// A reason why a batch cannot be cut into micro-batches.
struct SampleFault {
  OpId op;
  TensorId tensor;  // the operand that causes the fault
  std::string why;  // "the batch cannot be cut into micro-batches because ..."
};

struct Samples {
  IdVector<TensorId, TensorSamples> tensors;
  IdVector<OpId, OpSamples> ops;
  std::vector<SampleFault> faults;  // in the order of their ops; without faults that follow from earlier ones

  const TensorSamples& of(TensorId t) const { return tensors[t]; }
};

// Analyses all ops of the graph: forward, backward and update.
Samples find_samples(const Graph& graph);

// Replaces means over samples in the loss by sums, divided by a constant that counts samples (Tensor::counts_samples).
// Given the count of the whole batch, losses and gradients of micro-batches then add up to the batch's. Call this on
// the forward graph, before gradients are added. Means that ops on samples read are not replaced; find_samples()
// reports them as faults.
void count_samples_in_loss(Graph& graph);

// Replaces factors of the loss that are in proportion to 1 / samples (a sum divided by the number of samples, which the
// exporter took from a shape) by divisions by constants that count samples. `twice` returns the graph of the same model
// for twice as many samples, and is called if the loss has a factor at all. Call this on the forward graph.
void count_samples_in_factors(Graph& graph, const std::function<Graph()>& twice);

// Values of the whole batch that must be known before its first micro-batch runs.
struct AheadOfBatch {
  // Ops to run on the inputs of each micro-batch, in this order. All other tensors with role ahead follow from the
  // results of these ops.
  std::vector<OpId> ops;
  // Results of the ops that reduce over samples. Every micro-batch gets their sums over all micro-batches.
  std::vector<TensorId> sums;
  // Constants that count samples. Every micro-batch of M gets M times their value.
  std::vector<TensorId> counts;
  friend bool operator==(const AheadOfBatch&, const AheadOfBatch&) = default;
};
AheadOfBatch ahead_of_batch(const Graph& graph, const Samples& samples);

}  // namespace superstep
