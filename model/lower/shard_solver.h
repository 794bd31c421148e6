// SPDX-License-Identifier: Apache-2.0
// The dynamic programme over the ops of a block: which split each op takes, and how tensors lie between them.
// For shard() alone.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/lower/shard_splits.h"
#include "model/ops/op.h"

namespace superstep {

// Decides ops and tensors block by block; what is decided is a constant of the blocks that follow.
class ShardSolver {
 public:
  explicit ShardSolver(const ShardProblem& problem);

  // Forgets every decision. `forced`: weights of several blocks, and the dimension they are split along.
  void restart(const std::map<TensorId, int>& forced, Bytes gather_limit);

  // The dynamic programme over `ops`, a list of problem().facts. Tensors already decided are constants of it.
  // Afterwards every op of `ops` and every tensor they produce or first use is decided. Returns its seconds; `beam`:
  // states of an op, where more would leave out those that promise least. What was found of `ops` before is taken again
  // where it would be found again.
  double solve(const std::vector<OpId>& ops, std::size_t beam);
  // Copies decisions to a block that does the same work, op by op.
  void apply(const std::vector<OpId>& from, const std::vector<OpId>& to);
  // Optimizer state lies as its weight does; nothing is left to choose.
  void place_states(const ShardFacts::Block& block);

  const ShardProblem& problem() const { return p_; }
  const GraphSharding& result() const { return result_; }

 private:
  const ShardProblem& p_;
  GraphSharding result_;
  std::vector<bool> decided_;       // by tensor: result_.tensors holds its sharding
  std::map<TensorId, int> forced_;  // see restart()
  Bytes gather_limit_;

  std::vector<std::optional<OpSplits>> splits_;  // by op; found once

  // What the splits of some ops depend on beside the limit on gathered weights, and what they leave to decide.
  struct Surroundings {
    std::vector<std::int8_t> lies;  // of tensors they touch: how those lie that are decided, what is forced of others
    std::vector<TensorId> open;     // results, and inputs that are not decided
  };
  struct Solution {
    std::vector<std::int8_t> lies;  // of its Surroundings
    Bytes least_limit, most_limit;  // any between them gives it
    double seconds = 0;
    std::vector<OpSharding> ops;
    std::vector<Sharding> open;
  };
  std::map<const std::vector<OpId>*, std::vector<Solution>> known_;  // by the ops

  // What it takes to read an input that lies in one way.
  struct Read {
    bool possible = false;
    std::array<double, 2> conversions = {};  // seconds of each
    double penalty = 0, adjoint = 0;
    std::array<bool, 2> grounded = {};  // by mesh dimension: starts_at_split()
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

// An operand of the op that is a weight is gathered for it.
bool gathers_weight(const Graph& graph, const Op& op, const OpSharding& sharding);

}  // namespace superstep
