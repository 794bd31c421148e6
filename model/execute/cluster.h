// SPDX-License-Identifier: Apache-2.0
// The IPUs of an executed machine and what each holds.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/execute/local.h"
#include "model/program/plan.h"

namespace superstep {

using Held = std::map<TensorId, LocalPtr>;
// Null: it holds none.
inline LocalPtr held(const Held& all, TensorId t) {
  const auto at = all.find(t);
  return at == all.end() ? nullptr : at->second;
}

// Sums of gradients over micro-batches.
using AccumulatorKey = std::pair<TensorId, std::int64_t>;  // the weight gradient, and the phase it was made in

struct Accumulator {
  Local sum;  // device mode
  // Exact mode: by summand of the gradient, what this replica has made, and what it has in common with others.
  struct Parts {
    LocalPtr own, shared;
  };
  std::map<TensorId, Parts> summands;
  std::int64_t slice = 0, slices = 1;  // what the replica may read of what is shared
};

struct Ipu {
  Held lasting;                            // weights, optimizer states, gradients of the batch, results of the update
  Held gathered;                           // weights that are kept in slices, whole for the unit or phase that runs
  std::map<std::int64_t, Held> passing;    // by micro-batch: results of the forward and backward pass
  std::map<std::int64_t, Held> streaming;  // the same, in Streaming Memory
  std::map<AccumulatorKey, Accumulator> accumulators;
};

class Cluster {
 public:
  explicit Cluster(const Plan& plan)
      : mesh_(plan.tensor_parallel),
        groups_(plan.pipeline_stages),
        replicas_(plan.replicas),
        ipus_(static_cast<std::size_t>(plan.ipus())) {}

  Ipu& at(std::int64_t replica, std::int64_t group, std::int64_t rank) {
    return ipus_[static_cast<std::size_t>((replica * groups_ + group) * ranks() + rank)];
  }
  TensorParallel mesh() const { return mesh_; }
  std::int64_t ranks() const { return mesh_.size(); }
  std::int64_t groups() const { return groups_; }
  std::int64_t replicas() const { return replicas_; }
  // Calls f(replica, rank) for all IPUs of a group.
  template <class F>
  void for_all_ranks(F f) const {
    for (std::int64_t r = 0; r < replicas_; ++r) {
      for (std::int64_t rank = 0; rank < ranks(); ++rank) f(r, rank);
    }
  }

 private:
  TensorParallel mesh_;
  std::int64_t groups_, replicas_;
  std::vector<Ipu> ipus_;
};

}  // namespace superstep
