// SPDX-License-Identifier: Apache-2.0
// The whole batch, as the micro-batches of a plan need to know it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/execute/evaluate.h"
#include "model/graph/samples.h"

namespace superstep {

class Batch {
 public:
  // `feeds` has inputs for `micro_batches` times as many samples as the graph, and weights and states that carry no
  // data of their own. Throws Error when an input has another shape, a tensor no values, or the batch cannot be cut.
  Batch(const Graph& graph, const Values& feeds, std::int64_t micro_batches, const KernelContext& context);

  std::int64_t micro_batches() const { return micro_batches_; }
  const Samples& samples() const { return samples_; }

  // Values of a tensor that no op makes; a count of samples is that of the whole batch.
  const Array& given(TensorId t) const;
  // An input's samples of one micro-batch.
  Array input(TensorId t, std::int64_t micro_batch) const;
  // What the whole batch decides before it starts: a sum over its samples. Null: not such a tensor.
  const Array* ahead(TensorId t) const;
  // Where a result of one micro-batch lies in that of the whole batch.
  ResultPlace place_of(TensorId t, std::int64_t micro_batch) const;

 private:
  const Graph& graph_;
  const Values& feeds_;
  std::int64_t micro_batches_;
  Samples samples_;
  Values counts_, ahead_;

  void check_inputs() const;
  void add_up(const AheadOfBatch& first, const KernelContext& context);

  struct Operands {
    std::vector<Array> fed;
    std::vector<ConstView> views;
  };
  Operands operands(OpId id, std::int64_t micro_batch, const Values& made) const;
  std::vector<Array> run(OpId id, std::int64_t micro_batch, const Values& made, const KernelContext& context) const;
  void add_terms(OpId id, std::int64_t micro_batch, const Values& made, ExactSums& sums) const;
};

}  // namespace superstep
