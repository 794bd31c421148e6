// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard.h"

#include <algorithm>
#include <limits>

#include "model/graph/op_def.h"
#include "model/lower/shard_solver.h"

namespace superstep {
namespace {

// Solves every piece once per signature, in the order the passes run. Returns the seconds of all pieces.
double solve_blocks(ShardSolver& solver, const std::vector<Pass>& passes) {
  // Layers of transformers and image networks need some hundreds; where ever more tensors live on side by side, few of
  // the states go on, and the splits are the best that are found.
  constexpr std::size_t kMostStates = 1024;
  const std::vector<ShardFacts::Block>& blocks = solver.problem().facts.blocks;
  double seconds = 0;
  struct Solved {
    const std::vector<OpId>& ops;
    double seconds;
  };
  for (Pass pass : passes) {
    std::map<std::uint64_t, Solved> solved;
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      const ShardFacts::Block& block = blocks[pass == Pass::backward ? blocks.size() - 1 - n : n];
      if (pass == Pass::update) solver.place_states(block);
      for (const auto& [signature, ops] : block.pieces[static_cast<std::size_t>(pass)]) {
        const auto [it, fresh] = solved.try_emplace(signature, Solved{ops, 0});
        if (fresh || !solver.problem().rules.collapse)
          it->second.seconds = solver.solve(ops, pass == Pass::update ? 1 : kMostStates);
        else
          solver.apply(it->second.ops, ops);
        seconds += it->second.seconds;
      }
    }
  }
  return seconds;
}

std::vector<TensorId> tied_weights(const ShardProblem& problem) {
  const Graph& graph = problem.graph;
  std::vector<const ShardFacts::Block*> user(graph.tensors.size(), nullptr);
  std::vector<TensorId> tied;
  for (const ShardFacts::Block& block : problem.facts.blocks) {
    for (const ShardFacts::Piece& piece : block.pieces[static_cast<std::size_t>(Pass::forward)]) {
      for (OpId op : piece.ops) {
        for (TensorId t : graph.ops[op].inputs) {
          if (!t.valid() || graph.tensors[t].kind != TensorKind::weight ||
              graph.info(t).elements() < problem.rules.small_weight)
            continue;
          const ShardFacts::Block*& first = user[at(t)];
          if (first == nullptr)
            first = &block;
          else if (first != &block && std::find(tied.begin(), tied.end(), t) == tied.end())
            tied.push_back(t);
        }
      }
    }
  }
  return tied;
}

bool gathers_weights(const Graph& graph, const GraphSharding& sharding) {
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (gathers_weight(graph, graph.ops[OpId(i)], sharding.of(OpId(i)))) return true;
  }
  return false;
}

// Nothing to choose: no op is split, and no conversions.
GraphSharding all_whole(const Graph& graph) {
  GraphSharding result;
  result.op_index.resize(graph.ops.size());
  result.tensors.resize(graph.tensors.size());
  std::map<std::pair<std::size_t, std::size_t>, std::int32_t> known;  // by inputs, outputs
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    const auto [it, fresh] =
        known.try_emplace({op.inputs.size(), op.outputs.size()}, static_cast<std::int32_t>(result.ops.size()));
    if (fresh) {
      result.ops.emplace_back();
      result.ops.back().in.resize(op.inputs.size());
      result.ops.back().out.resize(op.outputs.size());
    }
    result.op_index[i] = it->second;
  }
  return result;
}

// The same with each split once. Searches keep the splits of every mesh and micro-batch.
GraphSharding shared(const GraphSharding& from) {
  const auto less = [](const OpSharding* a, const OpSharding* b) { return *a < *b; };
  std::map<const OpSharding*, std::int32_t, decltype(less)> known(less);
  GraphSharding result{from.mesh, {}, {}, from.tensors};
  std::vector<std::int32_t> place;  // of each of `from`
  for (const OpSharding& op : from.ops) {
    const auto [it, fresh] = known.try_emplace(&op, static_cast<std::int32_t>(result.ops.size()));
    if (fresh) result.ops.push_back(op);
    place.push_back(it->second);
  }
  result.op_index.reserve(from.op_index.size());
  for (const std::int32_t i : from.op_index) result.op_index.push_back(place[static_cast<std::size_t>(i)]);
  result.ops.shrink_to_fit();
  return result;
}

}  // namespace

GraphSharding shard(const Graph& graph, TensorParallel mesh, const CollectiveTime& collective, const WorkTime& work,
                    const ShardRules& rules) {
  return mesh.size() == 1 ? all_whole(graph) : shard(graph, ShardFacts(graph), mesh, collective, work, rules);
}

GraphSharding shard(const Graph& graph, const ShardFacts& facts, TensorParallel mesh, const CollectiveTime& collective,
                    const WorkTime& work, const ShardRules& rules) {
  if (mesh.size() == 1) return all_whole(graph);
  const ShardProblem problem(graph, facts, mesh, collective, work, rules);
  ShardSolver solver(problem);

  // A weight that several blocks use (a tied embedding) is split the same way in all of them: each
  // dimension is tried, one weight after the other.
  auto solve_all = [&](Bytes gather_limit) {
    std::map<TensorId, int> chosen;
    for (TensorId w : tied_weights(problem)) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t d = 0; d < graph.info(w).shape.size(); ++d) {
        const std::int64_t parts = mesh.t1 > 1 ? mesh.t1 : mesh.t2;
        if (!divides(graph.info(w).shape[d], parts)) continue;
        std::map<TensorId, int> trial = chosen;
        trial[w] = static_cast<int>(d);
        solver.restart(trial, gather_limit);
        const double seconds = solve_blocks(solver, {Pass::forward});
        if (seconds >= least) continue;
        least = seconds;
        chosen[w] = static_cast<int>(d);
      }
    }
    solver.restart(chosen, gather_limit);
    return solve_blocks(solver, {Pass::forward, Pass::backward, Pass::update});
  };
  // The forward programme only estimates what a choice costs the backward pass: both ways are compared in full.
  const double seconds = solve_all(rules.gather_limit);
  if (!gathers_weights(graph, solver.result())) return shared(solver.result());
  const GraphSharding with_gathers = shared(solver.result());
  return solve_all(Bytes(0)) < seconds ? shared(solver.result()) : with_gathers;
}

}  // namespace superstep
