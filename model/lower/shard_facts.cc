// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard_facts.h"

#include <algorithm>
#include <span>

#include "model/graph/op_def.h"
#include "model/hash.h"

namespace superstep {
namespace {

std::vector<ShardFacts::Block> blocks_of(const Graph& graph, std::span<const std::uint64_t> signatures) {
  std::vector<ShardFacts::Block> blocks;
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

// The ops of a pass in the order of the graph, which runs; backward ops come last unit first.
std::vector<OpId> ops_of(const Graph& graph, const ShardFacts::Block& block, std::size_t pass) {
  std::vector<OpId> ops;
  for (UnitId u : block.units) {
    const auto& list = graph.units[u].ops[pass];
    ops.insert(ops.end(), list.begin(), list.end());
  }
  std::ranges::sort(ops);
  return ops;
}

void cut_into_pieces(const Graph& graph, ShardFacts::Block& block) {
  for (std::size_t pass = 0; pass < block.pieces.size(); ++pass) {
    std::vector<ShardFacts::Piece>& pieces = block.pieces[pass];
    for (OpId id : ops_of(graph, block, pass)) {
      if (pieces.empty() || graph.ops[pieces.back().ops.back()].turn != graph.ops[id].turn) pieces.emplace_back();
      pieces.back().ops.push_back(id);
    }
  }
}

void list_states(const Graph& graph, ShardFacts::Block& block) {
  for (OpId id : ops_of(graph, block, static_cast<std::size_t>(Pass::update))) {
    for (TensorId t : graph.ops[id].inputs) {
      if (!t.valid() || graph.tensors[t].kind == TensorKind::activation) continue;
      const TensorId weight = graph.tensors[t].weight;
      const bool same = weight.valid() && graph.info(t).shape == graph.info(weight).shape;
      block.states.emplace_back(t, same ? weight : TensorId());
    }
  }
  std::ranges::sort(block.states);
  const auto repeated = std::ranges::unique(block.states);
  block.states.erase(repeated.begin(), repeated.end());
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

std::vector<bool> read_in_backward(const Graph& graph) {
  std::vector<bool> out(graph.tensors.size(), false);
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::backward) continue;
    for (TensorId t : op.inputs) {
      if (t.valid() && graph.tensors[t].producer.valid() && graph.ops[graph.tensors[t].producer].pass == Pass::forward)
        out[static_cast<std::size_t>(t.index)] = true;
    }
  }
  return out;
}

std::vector<bool> crossing(const Graph& graph, const std::vector<ShardFacts::Block>& blocks) {
  std::vector<std::size_t> block_of(graph.ops.size()), piece_of(graph.ops.size());
  std::size_t pieces = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const auto& of_pass : blocks[b].pieces) {
      for (const ShardFacts::Piece& piece : of_pass) {
        ++pieces;
        for (OpId id : piece.ops) block_of[at(id)] = b, piece_of[at(id)] = pieces;
      }
    }
  }
  std::vector<bool> out(graph.tensors.size(), false);
  for (TensorId t : graph.outputs) {
    if (!graph.loss.valid() || t == graph.loss) out[static_cast<std::size_t>(t.index)] = true;
  }
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    if (op.pass == Pass::update) continue;
    for (TensorId t : op.inputs) {
      if (!t.valid() || !graph.tensors[t].producer.valid()) continue;
      const std::size_t from = at(graph.tensors[t].producer);
      const bool same_pass = graph.ops[graph.tensors[t].producer].pass == op.pass;
      if (block_of[from] != block_of[i] || (same_pass && piece_of[from] != piece_of[i])) out[at(t)] = true;
    }
  }
  return out;
}

// By tensor: of a weight the unit that uses it first; others invalid.
std::vector<UnitId> owners_of_weights(const Graph& graph) {
  std::vector<UnitId> owners(graph.tensors.size());
  for (const Op& op : graph.ops) {
    for (TensorId t : op.inputs) {
      if (!t.valid() || op.pass != Pass::forward || graph.tensors[t].kind != TensorKind::weight) continue;
      UnitId& owner = owners[static_cast<std::size_t>(t.index)];
      if (!owner.valid()) owner = op.unit;
    }
  }
  return owners;
}

std::uint64_t bits_of(const std::vector<bool>& flags) {
  std::uint64_t bits = 1;
  for (const bool flag : flags) bits = 2 * bits + (flag ? 1 : 0);
  return bits;
}

std::vector<ShardFacts::Block> pieces_of(const Graph& graph, std::vector<ShardFacts::Block> blocks) {
  for (ShardFacts::Block& block : blocks) cut_into_pieces(graph, block), list_states(graph, block);
  return blocks;
}

}  // namespace

// A block without loops is a piece in each pass.
void ShardFacts::sign_pieces(const Graph& graph, Block& block) const {
  for (auto& of_pass : block.pieces) {
    for (Piece& piece : of_pass) {
      piece.signature = block.signature;
      if (of_pass.size() == 1) continue;
      piece.signature = signature(graph, piece.ops);
      const auto add = [&](std::uint64_t fact) { piece.signature = mix(piece.signature, fact); };
      for (OpId id : piece.ops) {
        for (TensorId t : graph.ops[id].inputs) {
          if (!t.valid()) continue;
          add(bits_of(data[at(t)]));
          if (graph.tensors[t].kind == TensorKind::weight) add(static_cast<std::uint64_t>(t.index));
        }
        for (TensorId t : graph.ops[id].outputs) {
          add(bits_of(data[at(t)]));
          add((crosses[at(t)] ? 1 : 0) + (kept[at(t)] ? 2 : 0));
          add(static_cast<std::uint64_t>(summand_of[at(t)].index));
        }
      }
    }
  }
}

ShardFacts::ShardFacts(const Graph& graph)
    : uses(graph),
      data(data_dimensions(graph)),
      signatures(unit_signatures(graph, data)),
      blocks(pieces_of(graph, blocks_of(graph, signatures))),
      summand_of(gradient_summands(graph)),
      kept(read_in_backward(graph)),
      crosses(crossing(graph, blocks)),
      replaces(graph.tensors.size()) {
  for (ShardFacts::Block& block : blocks) sign_pieces(graph, block);
  for (const auto& [old, made] : graph.updates) replaces[static_cast<std::size_t>(made.index)] = old;
}

std::vector<std::uint64_t> unit_signatures(const Graph& graph, const std::vector<std::vector<bool>>& data) {
  const std::vector<std::uint8_t> readers = readers_outside(graph);
  const std::vector<UnitId> owners = owners_of_weights(graph);
  std::vector<std::uint64_t> out;
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    out.push_back(signature(graph, UnitId(u)));
    const auto add = [&](std::uint64_t fact) { out.back() = out.back() * 0x9E3779B97F4A7C15ULL + fact; };
    const auto add_data = [&](const std::vector<TensorId>& tensors) {
      for (TensorId t : tensors) {
        if (t.valid()) add(bits_of(data[static_cast<std::size_t>(t.index)]));
      }
    };
    for (const auto& ops : graph.units[UnitId(u)].ops) {
      for (OpId op : ops) {
        for (TensorId t : graph.ops[op].inputs) {
          if (!t.valid()) continue;
          const UnitId owner = owners[static_cast<std::size_t>(t.index)];
          if (owner.valid() && owner != UnitId(u)) add(static_cast<std::uint64_t>(t.index));  // it lies as there
        }
        add_data(graph.ops[op].inputs);
        add_data(graph.ops[op].outputs);
        for (TensorId t : graph.ops[op].outputs) add(readers[static_cast<std::size_t>(t.index)]);
      }
    }
  }
  const std::vector<std::uint64_t> alone = out;  // blocks are solved whole: a unit of another block is another
  for (const ShardFacts::Block& block : blocks_of(graph, alone)) {
    std::uint64_t place = 0;
    for (UnitId u : block.units) {
      std::uint64_t& own = out[static_cast<std::size_t>(u.index)];
      if (block.units.size() > 1) own = (own + block.signature) * 0x9E3779B97F4A7C15ULL + ++place;
    }
  }
  return out;
}

std::vector<TensorId> gradient_summands(const Graph& graph) {
  std::vector<TensorId> weight_of(graph.tensors.size());
  std::vector<int> readers(graph.tensors.size(), 0);  // what others read as well is more than a summand
  for (const Op& op : graph.ops) {
    for (TensorId t : op.inputs) {
      if (t.valid()) ++readers[static_cast<std::size_t>(t.index)];
    }
  }
  std::vector<TensorId> open;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[TensorId(t)];
    if (tensor.kind != TensorKind::weight_gradient) continue;
    weight_of[t] = tensor.weight;
    open.push_back(TensorId(t));
  }
  while (!open.empty()) {
    const TensorId t = open.back();
    open.pop_back();
    const OpId producer = graph.tensors[t].producer;
    if (!producer.valid()) continue;
    const OpDef& def = *graph.ops[producer].def;
    if (def.joins != Joins::sum && !def.view) continue;
    for (TensorId in : graph.ops[producer].inputs) {
      if (!in.valid() || !graph.tensors[in].producer.valid()) continue;
      const Op& made_by = graph.ops[graph.tensors[in].producer];
      // A view of another unit's result comes from there. A sum that a view shows is made: only sums that end in the
      // gradient itself are left to its accumulator.
      const bool here = !def.view || (made_by.unit == graph.ops[producer].unit && made_by.def->joins != Joins::sum);
      if (made_by.pass != Pass::backward || !here || graph.info(in).elements() != graph.info(t).elements() ||
          readers[static_cast<std::size_t>(in.index)] != 1)
        continue;
      weight_of[static_cast<std::size_t>(in.index)] = weight_of[static_cast<std::size_t>(t.index)];
      open.push_back(in);
    }
  }
  return weight_of;
}

std::vector<std::vector<bool>> data_dimensions(const Graph& graph) {
  std::vector<std::vector<bool>> data(graph.tensors.size());
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[TensorId(t)];
    data[t].assign(tensor.info.shape.size(), tensor.kind == TensorKind::input);
  }
  auto flags = [&](TensorId t) -> std::vector<bool>& { return data[static_cast<std::size_t>(t.index)]; };
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    if (op.pass == Pass::update) continue;  // weights and their states carry no samples
    const CallOf call(graph, OpId(i));
    const Space space = op.def->space(*call);
    std::vector<bool> axis_is_data(space.axes.size(), false);
    for (std::size_t k = 0; k < op.inputs.size() && k < space.in.size(); ++k) {
      if (!op.inputs[k].valid()) continue;
      for (std::size_t d = 0; d < space.in[k].size(); ++d) {
        if (space.in[k][d].axis >= 0 && flags(op.inputs[k])[d])
          axis_is_data[static_cast<std::size_t>(space.in[k][d].axis)] = true;
      }
    }
    for (std::size_t k = 0; k < op.outputs.size() && k < space.out.size(); ++k) {
      bool previous = false;
      for (std::size_t d = 0; d < space.out[k].size(); ++d) {
        const int a = space.out[k][d].axis;
        if (a >= 0) previous = axis_is_data[static_cast<std::size_t>(a)];
        // A dimension no axis follows (inside a reshape's run) is like the one it was cut from.
        flags(op.outputs[k])[d] = previous && (a >= 0 || op.def->view);
      }
      // Rows that a gradient is scattered over come from no operand: they carry what the tensor's rows do.
      const TensorId of = graph.tensors[op.outputs[k]].gradient_of;
      if (of.valid() && graph.info(of).shape == graph.info(op.outputs[k]).shape) {
        for (std::size_t d = 0; d < space.out[k].size(); ++d) {
          if (flags(of)[d]) flags(op.outputs[k])[d] = true;
        }
      }
    }
  }
  return data;
}

}  // namespace superstep
