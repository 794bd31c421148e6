// SPDX-License-Identifier: Apache-2.0
// Before and after the updates of an executed step: gradients of the global batch out of accumulators, and new weights
// and states put together from what replicas made of them.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "model/execute/cluster.h"
#include "model/execute/executed.h"
#include "model/execute/wiring.h"
#include "model/lower/placement.h"

namespace superstep {

class Updates {
 public:
  Updates(const Plan& plan, const GraphFacts& facts, const GraphSharding& sharding, const Wiring& wiring,
          const std::vector<StageSpan>& spans, const KernelContext& context, Cluster& cluster, Executed& executed)
      : plan_(plan),
        facts_(facts),
        graph_(facts.graph),
        sharding_(sharding),
        wiring_(wiring),
        spans_(spans),
        context_(context),
        cluster_(cluster),
        executed_(executed) {}

  // The gradients that the unit's update reads, of the global batch.
  void finish_gradients(UnitId unit, std::int64_t group);
  // The unit's update has run: what it read goes.
  void note(UnitId unit, std::int64_t group);
  // New weights go to all replicas that took part in making them.
  void gather_weights(std::int64_t group, const Step& s);
  // New weights and states, whole, to the results.
  void collect();

 private:
  const Plan& plan_;
  const GraphFacts& facts_;
  const Graph& graph_;
  const GraphSharding& sharding_;
  const Wiring& wiring_;
  const std::vector<StageSpan>& spans_;
  const KernelContext& context_;
  Cluster& cluster_;
  Executed& executed_;
  std::set<std::pair<std::int64_t, TensorId>> updated_;  // by IPU group and old value

  Local gradient(const Ipu& ipu, AccumulatorKey key, std::int64_t rank) const;
  Array summed(TensorId t, const Accumulator& accumulator, const Local& like) const;
  Array finished_summand(const Accumulator::Parts& parts, const Local& poison) const;
  Array joined(TensorId t, std::int64_t group, std::int64_t holders);
};

}  // namespace superstep
