// SPDX-License-Identifier: Apache-2.0
// One call of a unit's function on all replicas of an IPU group.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "model/execute/batch.h"
#include "model/execute/cluster.h"
#include "model/execute/executed.h"
#include "model/execute/run_exact.h"
#include "model/execute/standing.h"
#include "model/execute/wiring.h"
#include "model/lower/placement.h"

namespace superstep {

class UnitRunner {
 public:
  UnitRunner(const Program& program, const GraphFacts& facts, const GraphSharding& sharding, const Wiring& wiring,
             const Plan& plan, const Batch& batch, const KernelContext& context, Arithmetic arithmetic,
             Cluster& cluster, Executed& executed);

  // `phase` and `micro_batch` are those the call works on; an update works on none.
  void run(UnitId unit, FunctionId function, std::int64_t group, std::int64_t phase, std::int64_t micro_batch);

  // A tensor as an IPU has it; null: it has nothing.
  LocalPtr fetch(TensorId t, std::int64_t replica, std::int64_t rank);
  // A weight or state as it lies on an IPU between steps.
  LocalPtr resident(TensorId t, std::int64_t replica, std::int64_t group, std::int64_t rank);

  void set_place(std::int64_t group, std::int64_t phase, std::int64_t micro_batch) {
    group_ = group, phase_ = phase, micro_batch_ = micro_batch;
  }

 private:
  using Pieces = std::vector<std::vector<LocalPtr>>;  // by operand or result, and rank

  Held& store(std::int64_t replica, std::int64_t rank, Pass pass);
  LocalPtr source(TensorId t, std::int64_t replica, std::int64_t rank);
  LocalPtr input(TensorId t, std::int64_t replica);

  void run_op(OpId op, std::span<const Step> steps);
  void show_sources(const Op& reader);
  void remake(const Op& reader, Standing& standing);
  Bytes on_tile(Bytes on_ipu) const;
  Bytes on_tile(TensorId t);
  std::map<TensorId, Bytes> on_tile(const std::set<TensorId>& tensors);
  Bytes result_on_tile(TensorId t, std::span<const Step> steps);
  Bytes gathered(const Op& op);
  Bytes loaded_state(const Function& update) const;
  void note_live(FunctionId function, std::size_t position, Bytes held);
  void drop(const std::vector<TensorId>& tensors);
  Pieces operands(OpId op, std::span<const Step> steps, std::int64_t replica);
  LocalPtr as_needed(LocalPtr have, const Sharding& need) const;
  Pieces results(OpId op, std::span<const Step> steps, std::int64_t replica, const Pieces& operands);
  std::vector<Local> on_tiles(const OpCall& call, const Space& space, const Block& mine,
                              const std::vector<Block>& parts, const Step* step, const std::vector<LocalPtr>& operands,
                              const KernelContext& context) const;
  std::vector<Local> exactly(const OpCall& call, OpId op, const Space& space, Share share,
                             const std::vector<LocalPtr>& operands, const KernelContext& context);
  std::vector<LocalPtr> unfinished_partials(OpId op, std::vector<LocalPtr> operands) const;
  std::int64_t partial_shares(const Sharding& on) const;
  std::int64_t own_cuts(OpId op, const Share& share) const;
  void note_cut(OpId op, const Space& space, Share share);
  void join_replicas(OpId op, const Step& step, std::vector<Pieces>& of_replicas);
  void convert(std::span<const Step> steps, OpId op, int operand, std::int64_t replica, Reduction reduction,
               std::vector<LocalPtr>& ranks);
  void take_slices(const Shape& shape, const Sharding& to, std::vector<LocalPtr>& ranks) const;
  LocalPtr known(const Array& whole, const Block& region, const Sharding& on, std::int64_t rank) const;
  void keep(OpId op, std::int64_t replica, Pieces results);
  bool summand(TensorId t) const { return pass_ == Pass::backward && wiring_.gradients_of.count(t) > 0; }
  void accumulate(TensorId t, std::int64_t replica, std::int64_t rank, const LocalPtr& value);
  std::int64_t number_of(std::int64_t replica) const { return replica * plan_.gradient_accumulation + micro_batch_; }
  KernelContext context_of(std::int64_t replica) const;
  std::int64_t update_shards() const { return plan_.replicated_tensor_sharding.optimizer_state; }
  std::int64_t update_shard(std::int64_t replica) const {
    return replicas_of(plan_).shard_of(replica, update_shards());
  }

  const Program& program_;
  const Graph& graph_;
  const GraphFacts& facts_;
  const GraphSharding& sharding_;
  const Wiring& wiring_;
  const Plan& plan_;
  const Batch& batch_;
  KernelContext context_;
  Arithmetic arithmetic_;
  Cluster& cluster_;
  Executed& executed_;
  std::map<UnitId, FunctionId> forward_of_;
  Held constants_;
  std::map<std::pair<TensorId, std::int64_t>, LocalPtr> inputs_;  // by input and micro-batch of the global batch
  std::int64_t group_ = 0, phase_ = 0, micro_batch_ = 0;
  Pass pass_ = Pass::forward;
  // Of the op that runs, by operand (-1 - k: result k): what gathers made or scatters cut.
  std::map<int, Bytes> gathered_;
};

}  // namespace superstep
