// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard.h"

#include <algorithm>
#include <limits>

#include "model/lower/shard_solver.h"
#include "model/ops/op.h"

namespace superstep {
namespace {

struct BlockOfUnits {
  std::vector<UnitId> units;
  std::uint64_t signature = 0;
};

std::vector<BlockOfUnits> blocks_of(const Graph& graph, std::span<const std::uint64_t> signatures) {
  std::vector<BlockOfUnits> blocks;
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    const UnitId id(u);
    const std::int64_t layer = graph.units[id].layer;
    const bool joins = layer >= 0 && !blocks.empty() && graph.units[blocks.back().units.back()].layer == layer;
    if (!joins) blocks.emplace_back();
    blocks.back().units.push_back(id);
    blocks.back().signature = blocks.back().signature * 0x9E3779B97F4A7C15ULL + signatures[u];
  }
  return blocks;
}

std::vector<OpId> ops_of(const Graph& graph, const BlockOfUnits& block, Pass pass) {
  std::vector<OpId> ops;
  for (UnitId u : block.units) {
    const auto& list = graph.units[u].ops[static_cast<std::size_t>(pass)];
    ops.insert(ops.end(), list.begin(), list.end());
  }
  std::sort(ops.begin(), ops.end());  // graph order, which runs; backward ops come last unit first
  return ops;
}

// Solves every block once per signature, in the order the passes run. Returns the seconds of the
// distinct blocks.
double solve_blocks(ShardSolver& solver, const std::vector<BlockOfUnits>& blocks, const std::vector<Pass>& passes,
                    const std::function<bool(TensorId)>& crosses) {
  // Layers of transformers and image networks need some hundreds; where ever more tensors live on side by side, as the
  // steps of an unrolled recurrent layer do, the splits are the best that are found.
  constexpr std::size_t kMostStates = 1024;
  double seconds = 0;
  struct Solved {
    std::size_t block;
    double seconds;
  };
  for (Pass pass : passes) {
    std::map<std::uint64_t, Solved> solved;
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      const std::size_t b = pass == Pass::backward ? blocks.size() - 1 - n : n;
      const std::vector<OpId> ops = ops_of(solver.problem().graph, blocks[b], pass);
      if (ops.empty()) continue;
      const auto [it, fresh] = solved.try_emplace(blocks[b].signature, Solved{b, 0});
      if (pass == Pass::update) solver.place_states(ops);
      if (fresh || !solver.problem().rules.collapse)
        it->second.seconds = solver.solve(ops, crosses, pass == Pass::update ? 1 : kMostStates);
      else
        solver.apply(ops_of(solver.problem().graph, blocks[it->second.block], pass), ops);
      seconds += it->second.seconds;
    }
  }
  return seconds;
}

std::vector<TensorId> tied_weights(const Graph& graph, const std::vector<std::size_t>& block_of_unit,
                                   std::int64_t small_weight) {
  std::vector<std::int64_t> user(graph.tensors.size(), -1);
  std::vector<TensorId> tied;
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward) continue;
    const auto block = static_cast<std::int64_t>(block_of_unit[static_cast<std::size_t>(op.unit.index)]);
    for (TensorId t : op.inputs) {
      if (!t.valid() || graph.tensors[t].kind != TensorKind::weight || graph.info(t).elements() < small_weight)
        continue;
      std::int64_t& first = user[static_cast<std::size_t>(t.index)];
      if (first < 0)
        first = block;
      else if (first != block && std::find(tied.begin(), tied.end(), t) == tied.end())
        tied.push_back(t);
    }
  }
  return tied;
}

bool gathers_weights(const Graph& graph, const GraphSharding& sharding) {
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (const Conversion& c : sharding.of(OpId(i)).conversions) {
      if (c.operand < 0 || c.kind != CollectiveKind::all_gather) continue;
      const TensorId t = graph.ops[OpId(i)].inputs[static_cast<std::size_t>(c.operand)];
      if (graph.tensors[t].kind == TensorKind::weight) return true;
    }
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

// By tensor: 1 when another unit reads it in the same pass, 2 when another block does or it is a result of the graph.
// Units that do the same are the same only if the same of their results are read outside.
std::vector<std::uint8_t> readers_outside(const Graph& graph) {
  std::vector<std::uint8_t> readers(graph.tensors.size(), 0);
  for (TensorId t : graph.outputs) {
    if (!graph.loss.valid() || t == graph.loss) readers[static_cast<std::size_t>(t.index)] = 2;
  }
  for (const Op& op : graph.ops) {
    for (TensorId t : op.inputs) {
      if (!t.valid() || !graph.tensors[t].producer.valid()) continue;
      const Op& from = graph.ops[graph.tensors[t].producer];
      if (from.pass != op.pass || from.unit == op.unit) continue;
      const std::int64_t layer = graph.units[from.unit].layer;
      const std::uint8_t far = layer < 0 || layer != graph.units[op.unit].layer ? 2 : 1;
      std::uint8_t& reader = readers[static_cast<std::size_t>(t.index)];
      reader = std::max(reader, far);
    }
  }
  return readers;
}

}  // namespace

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::all_to_all:
      return "all_to_all";
  }
  return "";
}

std::vector<std::uint64_t> unit_signatures(const Graph& graph) {
  const std::vector<std::uint8_t> readers = readers_outside(graph);
  std::vector<std::uint64_t> out;
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    out.push_back(signature(graph, UnitId(u)));
    for (const auto& ops : graph.units[UnitId(u)].ops) {
      for (OpId op : ops) {
        for (TensorId t : graph.ops[op].outputs)
          out.back() = out.back() * 0x9E3779B97F4A7C15ULL + readers[static_cast<std::size_t>(t.index)];
      }
    }
  }
  const std::vector<std::uint64_t> alone = out;  // blocks are solved whole: a unit of another block is another
  for (const BlockOfUnits& block : blocks_of(graph, alone)) {
    std::uint64_t place = 0;
    for (UnitId u : block.units) {
      std::uint64_t& own = out[static_cast<std::size_t>(u.index)];
      if (block.units.size() > 1) own = (own + block.signature) * 0x9E3779B97F4A7C15ULL + ++place;
    }
  }
  return out;
}

std::vector<std::int64_t> local_extents(const std::vector<std::int64_t>& extents, const OpSharding& sharding,
                                        TensorParallel mesh) {
  std::vector<std::int64_t> local = extents;
  for (std::size_t j = 0; j < 2; ++j) {
    const int a = sharding.axis[j];
    if (a >= 0)
      local[static_cast<std::size_t>(a)] = ceil_div(local[static_cast<std::size_t>(a)], j == 0 ? mesh.t1 : mesh.t2);
  }
  return local;
}

Shape local_shape(const Shape& shape, const Sharding& sharding, TensorParallel mesh) {
  Shape local = shape;
  for (std::size_t j = 0; j < 2; ++j) {
    const int d = sharding.on[j];
    if (d >= 0)
      local[static_cast<std::size_t>(d)] = ceil_div(local[static_cast<std::size_t>(d)], j == 0 ? mesh.t1 : mesh.t2);
  }
  return local;
}

GraphSharding shard(const Graph& graph, TensorParallel mesh, const CollectiveTime& collective, const WorkTime& work,
                    const ShardRules& rules) {
  return shard(graph, mesh.size() == 1 ? std::vector<std::uint64_t>() : unit_signatures(graph), mesh, collective, work,
               rules);
}

GraphSharding shard(const Graph& graph, std::span<const std::uint64_t> signatures, TensorParallel mesh,
                    const CollectiveTime& collective, const WorkTime& work, const ShardRules& rules) {
  if (mesh.size() == 1) return all_whole(graph);
  const ShardProblem problem(graph, mesh, collective, work, rules);
  ShardSolver solver(problem);

  const std::vector<BlockOfUnits> blocks = blocks_of(graph, signatures);
  std::vector<std::size_t> block_of_unit(graph.units.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (UnitId u : blocks[b].units) block_of_unit[static_cast<std::size_t>(u.index)] = b;
  }
  // A tensor crosses when an op of another block reads it in the same pass, or it is a result.
  std::vector<bool> crossing(graph.tensors.size(), false);
  for (TensorId t : graph.outputs) {
    if (!graph.loss.valid() || t == graph.loss) crossing[static_cast<std::size_t>(t.index)] = true;
  }
  for (const Op& op : graph.ops) {
    if (op.pass == Pass::update) continue;
    for (TensorId t : op.inputs) {
      if (!t.valid() || !graph.tensors[t].producer.valid()) continue;
      const Op& from = graph.ops[graph.tensors[t].producer];
      if (block_of_unit[static_cast<std::size_t>(from.unit.index)] !=
          block_of_unit[static_cast<std::size_t>(op.unit.index)]) {
        crossing[static_cast<std::size_t>(t.index)] = true;
      }
    }
  }
  auto crosses = [&](TensorId t) { return crossing[static_cast<std::size_t>(t.index)]; };

  // A weight that several blocks use (a tied embedding) is split the same way in all of them: each
  // dimension is tried, one weight after the other.
  auto solve_all = [&](Bytes gather_limit) {
    std::map<TensorId, int> chosen;
    for (TensorId w : tied_weights(graph, block_of_unit, rules.small_weight)) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t d = 0; d < graph.info(w).shape.size(); ++d) {
        const std::int64_t parts = mesh.t1 > 1 ? mesh.t1 : mesh.t2;
        if (!divides(graph.info(w).shape[d], parts)) continue;
        std::map<TensorId, int> trial = chosen;
        trial[w] = static_cast<int>(d);
        solver.restart(trial, gather_limit);
        const double seconds = solve_blocks(solver, blocks, {Pass::forward}, crosses);
        if (seconds >= least) continue;
        least = seconds;
        chosen[w] = static_cast<int>(d);
      }
    }
    solver.restart(chosen, gather_limit);
    return solve_blocks(solver, blocks, {Pass::forward, Pass::backward, Pass::update}, crosses);
  };
  // The forward programme only estimates what a choice costs the backward pass: both ways are compared in full.
  const double seconds = solve_all(rules.gather_limit);
  if (!gathers_weights(graph, solver.result())) return solver.result();
  GraphSharding with_gathers = solver.result();
  return solve_all(Bytes(0)) < seconds ? solver.result() : with_gathers;
}

}  // namespace superstep
