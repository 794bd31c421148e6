// SPDX-License-Identifier: Apache-2.0
// The dynamic programme over the ops of a block. Chooses the split of each op and the sharding of each tensor between
// ops, so that work and collectives take least time. For shard() alone.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/graph/op_def.h"
#include "model/lower/shard_splits.h"

namespace superstep {

// Decides the splits of ops and the shardings of tensors block by block. Decisions are constants of later blocks.
class ShardSolver {
 public:
  explicit ShardSolver(const ShardProblem& problem);

  // Forgets every decision. `forced`: weights that several blocks use, with the dimension each is split along.
  void restart(const std::map<TensorId, int>& forced, Bytes gather_limit);

  // Decides every op of `ops`, and every tensor that these ops make or are the first to use. Returns the seconds of the
  // ops and their collectives. `ops` must be those of a piece of problem().facts. Tensors that are decided already are
  // constants. `beam`: if an op leads to more states than this, some are dropped, and the result may not be optimal. An
  // earlier solution for `ops` is reused if the programme would find the same solution again.
  double solve(const std::vector<OpId>& ops, std::size_t beam);
  // Copies the decisions of a block to a block with the same signature, op by op.
  void apply(const std::vector<OpId>& from, const std::vector<OpId>& to);
  // Decides optimiser states of the block: each has the sharding of its weight.
  void place_states(const ShardFacts::Block& block);

  const ShardProblem& problem() const { return p_; }
  const GraphSharding& result() const { return result_; }

 private:
  const ShardProblem& p_;
  GraphSharding result_;
  std::vector<bool> decided_;       // by tensor: true if result_.tensors holds its sharding
  std::map<TensorId, int> forced_;  // see restart()
  Bytes gather_limit_;

  std::vector<std::optional<OpSplits>> splits_;  // by op; found when first asked for

  // Facts about tensors around a list of ops that the solution depends on, apart from the limit on gathered weights.
  struct Surroundings {
    std::vector<std::int8_t> lies;  // of each tensor the ops touch: its decided sharding, or the forced dimension
    std::vector<TensorId> open;     // tensors to decide: results, and undecided inputs
  };
  struct Solution {
    std::vector<std::int8_t> lies;  // of the Surroundings
    Bytes least_limit, most_limit;  // range of gather limits that lead to the solution
    double seconds = 0;
    std::vector<OpSharding> ops;
    std::vector<Sharding> open;  // shardings of Surroundings::open
  };
  std::map<const std::vector<OpId>*, std::vector<Solution>> known_;  // by the address of the list of ops

  // Cost of reading an input that is stored in one sharding.
  struct Read {
    bool possible = false;
    std::array<double, 2> conversions = {};  // seconds of each conversion
    double penalty = 0, adjoint = 0;         // seconds of gather_penalty() and adjoint()
    std::array<bool, 2> grounded = {};       // by mesh dimension: starts_at_split()
  };
  struct Stage;
  struct Step;
  struct Candidate;
  Read read(TensorId t, const Sharding& lies, std::size_t k, const Op& op, const OpSplit& split) const;
  Step step(const Stage& before, const Op& op, const std::vector<TensorId>& after) const;
  Candidate candidate(const Step& step, const Op& op, const OpSplit& split, Reduction reduction) const;
  Stage extend(const Stage& before, OpId id, Stage next, std::size_t beam);
  void select(Stage& stage, std::size_t most) const;
  double decide(const std::vector<OpId>& ops, const std::vector<Stage>& stages);
  Surroundings surroundings(const std::vector<OpId>& ops) const;
  std::vector<Stage> stages_of(const std::vector<OpId>& ops, std::size_t beam);
  bool found_with_any_limit(const std::vector<OpId>& ops, const Solution& s, const std::vector<Stage>& stages) const;
  void take(const std::vector<OpId>& ops, const Surroundings& around, const Solution& s);
  bool is_decided(TensorId t) const { return decided_[static_cast<std::size_t>(t.index)]; }
  void decide(TensorId t, const Sharding& s);
  Bytes bytes_on(TensorId t, const Sharding& s, int j) const;
  const OpSplits& splits(OpId op);
  bool convert(TensorId t, Sharding from, const Sharding& to, int operand, std::vector<Conversion>* out,
               std::array<double, 2>* seconds) const;
  double adjoint(TensorId t, const Sharding& stored, const Sharding& need, const OpSplit& c) const;
  Sharding split_along_data(TensorId t) const;
  std::vector<Sharding> finals(TensorId t, const Sharding& raw, Reduction reduction) const;
  Sharding storage(TensorId w, const Sharding& need) const;
  double gather_penalty(TensorId t, const Sharding& stored, const Sharding& need) const;
  bool starts_at_split(TensorId t, const Sharding& stored, const Sharding& need, int j) const;
  std::optional<Sharding> wanted_for(TensorId t) const;
};

// True if a weight is gathered for the op.
bool gathers_weight(const Graph& graph, const Op& op, const OpSharding& sharding);

}  // namespace superstep
