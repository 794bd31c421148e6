// SPDX-License-Identifier: Apache-2.0
#include "model/execute/run_unit.h"

#include <algorithm>
#include <numeric>

#include "model/error.h"
#include "model/execute/gradients.h"
#include "model/execute/run_op.h"
#include "model/execute/settle.h"
#include "model/ops/compute.h"

namespace superstep {

namespace {

// Device mode: so many steps of a product are summed in fp32 before the sum is added to the partials.
constexpr std::int64_t kAmpChannels = 16;

// The steps of one op of a function, which stand together.
std::span<const Step> steps_of(const Function& function, std::size_t position) {
  const auto own = [&](const Step& s) { return s.op == static_cast<std::int32_t>(position); };
  const auto first = std::find_if(function.steps.begin(), function.steps.end(), own);
  const auto last = std::find_if_not(first, function.steps.end(), own);
  return {first, last};
}

// Is input k there when the tiles compute: does it lie on them already, or does a step bring it? A product's operands
// are turned where they are and brought by its own exchange.
bool arrives(std::span<const Step> steps, std::size_t k, bool product) {
  for (const Step& s : steps) {
    if (s.kind != StepKind::exchange && s.kind != StepKind::compute) continue;
    if (product && s.term == Term::relayout) continue;
    if (std::find(s.operands.begin(), s.operands.end(), static_cast<std::int32_t>(k)) != s.operands.end()) return true;
  }
  return false;
}

const Step* tiled_step(std::span<const Step> steps) {
  for (const Step& s : steps) {
    if (s.kind == StepKind::compute && !s.grid.empty()) return &s;
  }
  return nullptr;
}

int mesh_dimension(const Step& step, const Plan& plan) {
  const TensorParallel mesh = plan.tensor_parallel;
  return mesh.t1 > 1 && step.group == mesh_group(mesh, 0, plan.strides().rank) ? 0 : 1;
}

void find_forward_calls(const Node& node, const Program& program, std::map<UnitId, FunctionId>& out) {
  if (node.kind == Node::Kind::call && program.functions[node.function].pass == Pass::forward)
    out[node.unit] = node.function;
  for (const Node& child : node.children) find_forward_calls(child, program, out);
}

}  // namespace

UnitRunner::UnitRunner(const Program& program, const GraphFacts& facts, const GraphSharding& sharding,
                       const Wiring& wiring, const Plan& plan, const Batch& batch, const KernelContext& context,
                       Arithmetic arithmetic, Cluster& cluster, Executed& executed)
    : program_(program),
      graph_(facts.graph),
      facts_(facts),
      sharding_(sharding),
      wiring_(wiring),
      plan_(plan),
      batch_(batch),
      context_(context),
      arithmetic_(arithmetic),
      cluster_(cluster),
      executed_(executed) {
  find_forward_calls(program.root, program, forward_of_);
}

void UnitRunner::run(UnitId unit, FunctionId id, std::int64_t group, std::int64_t phase, std::int64_t micro_batch) {
  const Function& function = program_.functions[id];
  set_place(group, phase, micro_batch);
  pass_ = function.pass;
  const std::vector<OpId>& ops = graph_.units[unit].ops[static_cast<std::size_t>(pass_)];
  Standing standing(graph_, wiring_, unit, pass_);
  for (const auto& [root, bytes] : on_tile(standing.incoming())) standing.comes_in(root, bytes);
  for (std::size_t position = 0; position < ops.size(); ++position) {
    if (wiring_.joins.count(ops[position])) continue;
    const std::span<const Step> steps = steps_of(function, position);
    show_sources(graph_.ops[ops[position]]);
    if (pass_ == Pass::backward) remake(graph_.ops[ops[position]], standing);
    gathered_.clear();
    run_op(ops[position], steps);
    const Bytes results = standing.during(position, [&](TensorId t) { return result_on_tile(t, steps); });
    if (arithmetic_ == Arithmetic::device) note_live(id, position, results + gathered(graph_.ops[ops[position]]));
    drop(standing.over(position));
  }
}

// Spread over the tiles in grains of 8 bytes.
Bytes UnitRunner::on_tile(Bytes on_ipu) const {
  return Bytes(round_up(share(on_ipu, program_.compute_tiles).value, 8));
}

// What the fullest IPU of the first replica holds of it, on each tile.
Bytes UnitRunner::on_tile(TensorId t) {
  Bytes largest(0);
  for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
    if (const LocalPtr piece = fetch(t, 0, rank)) largest = std::max(largest, piece->values.info.bytes());
  }
  return on_tile(largest);
}

// Of tensors and views of them, by root: the largest of those that show the same.
std::map<TensorId, Bytes> UnitRunner::on_tile(const std::set<TensorId>& tensors) {
  std::map<TensorId, Bytes> by_root;
  for (TensorId t : tensors) {
    Bytes& bytes = by_root[wiring_.root[static_cast<std::size_t>(t.index)]];
    bytes = std::max(bytes, on_tile(t));
  }
  return by_root;
}

// A summand of a weight's gradient goes slice by slice, or is made where the others are; an update is made slice by
// slice of its share.
Bytes UnitRunner::result_on_tile(TensorId t, std::span<const Step> steps) {
  if (pass_ == Pass::update) {
    const Step* step = tiled_step(steps);
    return share(on_tile(t), update_shards() * (step ? step->times : 1));
  }
  if (!summand(t)) return on_tile(t);
  for (const Step& s : steps) {
    if (s.kind == StepKind::exchange && s.term == Term::relayout && s.operands.size() == 1 && s.operands[0] < 0)
      return share(on_tile(t), s.times);
  }
  return Bytes(0);
}

// Beside what is stored: operands that collectives made whole, and results before they were scattered.
Bytes UnitRunner::gathered(const Op& op) {
  Bytes sum(0);
  for (const auto& [operand, whole] : gathered_) {
    const Bytes stored = operand >= 0 ? Bytes(0) : on_tile(op.outputs[static_cast<std::size_t>(-1 - operand)]);
    sum += std::max(Bytes(0), share(whole, program_.compute_tiles) - stored);
  }
  return sum;
}

// State that an update loads, as costed: the executed machine has it where it is stored.
Bytes UnitRunner::loaded_state(const Function& update) const {
  Bytes sum(0);
  for (const LiveRange& range : update.live) {
    if (graph_.tensors[range.tensor].kind == TensorKind::optimizer_state) sum += range.bytes;
  }
  return sum;
}

void UnitRunner::note_live(FunctionId function, std::size_t position, Bytes held) {
  const Step* step = tiled_step(steps_of(program_.functions[function], position));
  if (!step) return;
  if (pass_ == Pass::update) held += loaded_state(program_.functions[function]);
  Executed::Live& live = executed_.live[{function, position}];
  live = {std::max(live.held, held), step->live};
}

void UnitRunner::drop(const std::vector<TensorId>& tensors) {
  cluster_.for_all_ranks([&](std::int64_t r, std::int64_t rank) {
    for (TensorId t : tensors) store(r, rank, pass_).erase(t);
  });
}

// ---- where tensors are

Held& UnitRunner::store(std::int64_t replica, std::int64_t rank, Pass pass) {
  Ipu& ipu = cluster_.at(replica, group_, rank);
  return pass == Pass::update ? ipu.lasting : ipu.passing[micro_batch_];
}

LocalPtr UnitRunner::input(TensorId t, std::int64_t replica) {
  LocalPtr& piece = inputs_[{t, number_of(replica)}];
  if (!piece) {
    Array own = batch_.input(t, number_of(replica));
    piece = std::make_shared<const Local>(Local{{}, whole_block(own.info.shape), std::move(own), nullptr});
  }
  return piece;
}

// Weights and states lie as the sharding says; an update's states in slices over replicas.
LocalPtr UnitRunner::resident(TensorId t, std::int64_t replica, std::int64_t group, std::int64_t rank) {
  LocalPtr& piece = cluster_.at(replica, group, rank).lasting[t];
  if (piece) return piece;
  const ReplicatedTensorSharding& sharding = plan_.replicated_tensor_sharding;
  const bool weight = graph_.tensors[t].kind == TensorKind::weight;
  if (replica > 0 && (weight ? sharding.weights : update_shards()) == 1)  // all replicas have the same
    return piece = resident(t, 0, group, rank);
  const Array& all = batch_.given(t);
  Sharding on = sharding_.of(t);
  const Local whole{{}, whole_block(all.info.shape), all, nullptr};
  Local mine = cut(whole, shard_region(all.info.shape, on, cluster_.mesh(), rank), on);
  if (!weight && update_shards() > 1) keep_slice(mine, update_shard(replica), update_shards(), Outside::poison);
  if (weight && sharding.weights > 1) keep_weight_slices(mine, plan_, replica);
  return piece = std::make_shared<const Local>(std::move(mine));
}

LocalPtr UnitRunner::source(TensorId t, std::int64_t replica, std::int64_t rank) {
  switch (graph_.tensors[t].kind) {
    case TensorKind::input:
      return input(t, replica);
    case TensorKind::weight:
    case TensorKind::optimizer_state: {
      const Held& gathered = cluster_.at(replica, group_, rank).gathered;
      const auto at = pass_ == Pass::update ? gathered.end() : gathered.find(t);
      return at == gathered.end() ? resident(t, replica, group_, rank) : at->second;
    }
    default:
      break;
  }
  LocalPtr& piece = constants_[t];
  const Array& all = batch_.given(t);
  if (!piece) piece = std::make_shared<const Local>(Local{{}, whole_block(all.info.shape), all, nullptr});
  return piece;
}

LocalPtr UnitRunner::fetch(TensorId t, std::int64_t replica, std::int64_t rank) {
  if (!graph_.tensors[t].producer.valid()) return source(t, replica, rank);
  Ipu& ipu = cluster_.at(replica, group_, rank);
  if (pass_ == Pass::update) return held(ipu.lasting, t);
  if (LocalPtr piece = held(ipu.passing[micro_batch_], t)) return piece;
  // Streaming Memory is shared: whoever stored it.
  for (std::int64_t group = 0; group < cluster_.groups(); ++group) {
    if (LocalPtr piece = held(cluster_.at(replica, group, rank).streaming[micro_batch_], t)) return piece;
  }
  return nullptr;
}

KernelContext UnitRunner::context_of(std::int64_t replica) const {
  KernelContext context = context_;
  if (arithmetic_ == Arithmetic::device) {
    context.chunk = kAmpChannels;
    context.partials = plan_.precision.partials == DType::fp16 ? numerics::Partials::fp16 : numerics::Partials::full;
  }
  context.first_sample += number_of(replica) * graph_.micro_batch;
  return context;
}

// ---- one op

// Views of inputs, weights and constants are made where they are read: another unit's do not come along.
void UnitRunner::show_sources(const Op& reader) {
  for (TensorId t : reader.inputs) {
    if (!t.valid() || !graph_.tensors[t].producer.valid()) continue;
    if (graph_.tensors[wiring_.root[static_cast<std::size_t>(t.index)]].producer.valid() || fetch(t, 0, 0)) continue;
    const OpId view = graph_.tensors[t].producer;
    show_sources(graph_.ops[view]);
    run_op(view, {});
  }
}

// What the forward pass did not keep for the backward is made again from what it kept.
void UnitRunner::remake(const Op& reader, Standing& standing) {
  for (TensorId t : reader.inputs) {
    if (!t.valid()) continue;
    const auto chain = facts_.remade.find(wiring_.root[static_cast<std::size_t>(t.index)]);
    if (chain == facts_.remade.end() || fetch(t, 0, 0) || graph_.ops[chain->second[0]].unit != reader.unit) continue;
    std::vector<OpId> ops = chain->second;
    for (TensorId view = t; view != chain->first; view = graph_.ops[graph_.tensors[view].producer].inputs[0]) {
      ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(chain->second.size()), graph_.tensors[view].producer);
    }
    const std::vector<OpId>& forward = graph_.units[reader.unit].ops[0];
    std::vector<TensorId> between;  // they go at once
    for (OpId op : chain->second) {
      const TensorId made = graph_.ops[op].outputs[0];
      if (made != chain->first && !fetch(made, 0, 0)) between.push_back(made);
    }
    for (OpId op : ops) {
      const auto position = std::find(forward.begin(), forward.end(), op) - forward.begin();
      run_op(op, steps_of(program_.functions[forward_of_.at(reader.unit)], static_cast<std::size_t>(position)));
    }
    drop(between);
    standing.remade(chain->first, on_tile(chain->first));
  }
}

void UnitRunner::run_op(OpId op, std::span<const Step> steps) {
  std::vector<Pieces> made;
  for (std::int64_t r = 0; r < cluster_.replicas(); ++r) made.push_back(results(op, steps, r, operands(op, steps, r)));
  for (const Step& step : steps) {
    if (step.data == Data::update_sums || step.data == Data::statistics) join_replicas(op, step, made);
  }
  const CallOf call(graph_, op);
  const Reduction own = call->def.space(*call).reduction;
  const Reduction reduction = own == Reduction::none ? Reduction::sum : own;  // of sums that pass through
  for (std::int64_t r = 0; r < cluster_.replicas(); ++r) {
    Pieces& pieces = made[static_cast<std::size_t>(r)];
    for (std::size_t k = 0; k < pieces.size(); ++k)
      convert(steps, op, -1 - static_cast<int>(k), r, reduction, pieces[k]);
    keep(op, r, std::move(pieces));
  }
}

// The collectives that the function has for one operand.
void UnitRunner::convert(std::span<const Step> steps, OpId op, int operand, std::int64_t replica, Reduction reduction,
                         std::vector<LocalPtr>& ranks) {
  const OpSharding& s = sharding_.of(op);
  const Op& use = graph_.ops[op];
  const std::size_t k = static_cast<std::size_t>(operand >= 0 ? operand : -1 - operand);
  const Sharding& to = operand >= 0 ? s.in[k] : s.out[k];
  const TensorId t = operand >= 0 ? use.inputs[k] : use.outputs[k];
  for (const Step& step : steps) {
    if (step.kind != StepKind::collective || step.data != Data::operands || step.operands[0] != operand) continue;
    const int j = mesh_dimension(step, plan_);
    if (j == 1) take_slices(graph_.info(t).shape, to, ranks);
    const Bytes before = largest_bytes(ranks, graph_.info(t).type);
    run_collective(
        cluster_.mesh(), j, to.on[static_cast<std::size_t>(j)], graph_.info(t).shape, reduction,
        [this](Local& piece) { settle(graph_, context_, piece); }, ranks);
    if (replica != 0) continue;
    const Bytes after = largest_bytes(ranks, graph_.info(t).type);
    executed_.count(step, std::max(before, after));
    if (step.collective == (operand >= 0 ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter)) {
      Bytes& whole = gathered_[operand];
      whole = std::max(whole, operand >= 0 ? after : before);
    }
  }
}

// What is whole along the first mesh dimension and wanted in slices is cut before the second one's collectives.
void UnitRunner::take_slices(const Shape& shape, const Sharding& to, std::vector<LocalPtr>& ranks) const {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank]) continue;
    Sharding on = ranks[rank]->on;
    if (on.on[0] != Sharding::replicated || to.on[0] < 0 || conversion_order(on, to)[0] != 0) continue;
    on.on[0] = to.on[0];
    const Block region = shard_region(shape, on, cluster_.mesh(), static_cast<std::int64_t>(rank));
    ranks[rank] = std::make_shared<const Local>(cut(*ranks[rank], region, on));
  }
}

UnitRunner::Pieces UnitRunner::operands(OpId op, std::span<const Step> steps, std::int64_t replica) {
  const Op& use = graph_.ops[op];
  Pieces pieces(use.inputs.size());
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
      pieces[k].push_back(use.inputs[k].valid() ? fetch(use.inputs[k], replica, rank) : nullptr);
    }
    if (!use.inputs[k].valid()) continue;
    convert(steps, op, static_cast<int>(k), replica, Reduction::sum, pieces[k]);
    for (LocalPtr& piece : pieces[k]) piece = as_needed(piece, sharding_.of(op).in[k]);
  }
  return pieces;
}

// Partial sums are not a value: read as one, they are poison.
LocalPtr UnitRunner::as_needed(LocalPtr have, const Sharding& need) const {
  for (std::size_t j = 0; have && j < 2; ++j) {
    if (need.on[j] == Sharding::partial)
      SUPERSTEP_CHECK(have->on.on[j] == Sharding::partial, "a value taken for partial sums");
    else if (have->on.on[j] == Sharding::partial)
      return nullptr;
  }
  return have;
}

UnitRunner::Pieces UnitRunner::results(OpId op, std::span<const Step> steps, std::int64_t replica,
                                       const Pieces& operands) {
  const CallOf call(graph_, op);
  const Space space = call->def.space(*call);
  const OpSharding& sharding = sharding_.of(op);
  const std::vector<Sharding> raw = raw_results(space, sharding);
  const Step* step = tiled_step(steps);
  Pieces made(call->out.size(), std::vector<LocalPtr>(static_cast<std::size_t>(cluster_.ranks())));
  if (!step && !call->def.view) return made;  // the program does not run it
  std::vector<int> axes;
  for (std::size_t a = 0; a < space.axes.size(); ++a) axes.push_back(static_cast<int>(a));
  std::vector<ResultPlace> places;
  for (TensorId t : graph_.ops[op].outputs) places.push_back(batch_.place_of(t, number_of(replica)));
  KernelContext context = context_of(replica);
  context.results = places;
  for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
    const Block mine = rank_block(space, sharding, cluster_.mesh(), rank);
    std::vector<Block> parts = {mine};
    if (pass_ == Pass::update && update_shards() > 1 && !space.axes.empty()) {
      parts = boxes_of(mine, axes, share_of({0, volume(mine)}, update_shard(replica), update_shards()));
    }
    std::vector<LocalPtr> in;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool there = call->def.view || arrives(steps, k, call->def.product != nullptr);
      in.push_back(there ? operands[k][static_cast<std::size_t>(rank)] : nullptr);
    }
    std::vector<Local> out =
        arithmetic_ == Arithmetic::exact
            ? exactly(*call, op, space, {mine, std::move(parts), raw, 1, number_of(replica)}, in, context)
            : on_tiles(*call, space, mine, parts, step, in, context);
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k].on = raw[k];
      made[k][static_cast<std::size_t>(rank)] = std::make_shared<const Local>(std::move(out[k]));
    }
  }
  return made;
}

std::vector<Local> UnitRunner::on_tiles(const OpCall& call, const Space& space, const Block& mine,
                                        const std::vector<Block>& parts, const Step* step,
                                        const std::vector<LocalPtr>& operands, const KernelContext& context) const {
  std::vector<TileBlock> blocks;
  for (const Block& part : parts) {
    for (TileBlock& t : step ? tile_blocks(call, space, part, *step) : one_block(part)) blocks.push_back(std::move(t));
  }
  return run_tiles(call, space, mine, blocks, call.def.view ? 1 : program_.compute_tiles, operands, context);
}

// ---- results

// An IPU keeps what the sharding says: its slice of what it has, if that is more.
void UnitRunner::keep(OpId op, std::int64_t replica, Pieces results) {
  const Op& use = graph_.ops[op];
  for (std::size_t k = 0; k < results.size(); ++k) {
    const TensorId t = use.outputs[k];
    Sharding stored = sharding_.of(op).out[k];
    for (std::int64_t rank = 0; rank < cluster_.ranks(); ++rank) {
      LocalPtr piece = results[k][static_cast<std::size_t>(rank)];
      Held& held = store(replica, rank, pass_);
      held.erase(t);
      if (!piece) {  // not run: its share of a gradient is poison
        const Block region = shard_region(graph_.info(t).shape, stored, cluster_.mesh(), rank);
        piece = std::make_shared<const Local>(poisoned(graph_.info(t).type, region, stored));
        if (summand(t)) accumulate(t, replica, rank, piece);
        continue;
      }
      for (std::size_t j = 0; j < 2; ++j) {
        if (piece->on.on[j] == Sharding::partial) stored.on[j] = Sharding::partial;
      }
      const Block region = shard_region(graph_.info(t).shape, stored, cluster_.mesh(), rank);
      if (const Array* whole = batch_.ahead(t)) piece = known(*whole, region, stored, rank);
      if (piece->region != region || piece->on != stored)
        piece = std::make_shared<const Local>(cut(*piece, region, stored));
      held[t] = piece;
      if (summand(t)) accumulate(t, replica, rank, piece);
    }
  }
}

// A value of the whole batch. Of partial sums the first IPU has it all.
LocalPtr UnitRunner::known(const Array& whole, const Block& region, const Sharding& on, std::int64_t rank) const {
  Local piece = cut({{}, whole_block(whole.info.shape), whole, nullptr}, region, on);
  for (int j = 0; j < 2; ++j) {
    if (on.on[static_cast<std::size_t>(j)] == Sharding::partial && place_on(cluster_.mesh(), rank, j) > 0)
      piece.values = Array(piece.values.info);
  }
  return std::make_shared<const Local>(std::move(piece));
}

void UnitRunner::accumulate(TensorId t, std::int64_t replica, std::int64_t rank, const LocalPtr& value) {
  for (TensorId gradient : wiring_.gradients_of.at(t)) {
    SUPERSTEP_CHECK(value->on == sharding_.of(gradient),
                    "a gradient that does not lie as its weight: " + graph_.tensors[t].name);
    Accumulator& accumulator = cluster_.at(replica, group_, rank).accumulators[{gradient, phase_}];
    if (arithmetic_ == Arithmetic::exact) {
      add_summand(accumulator, t, value);
      continue;
    }
    Local& sum = accumulator.sum;
    const DType type = is_float(value->values.info.type) ? std::max(plan_.precision.accumulators, DType::fp16)
                                                         : value->values.info.type;
    if (sum.values.data.empty()) {
      sum = poisoned(type, value->region, value->on);
      for (std::int64_t i = 0; i < sum.values.info.elements(); ++i) sum.values.set(i, 0);
    }
    combine_overlap(*value, sum, Reduction::sum);
  }
}

}  // namespace superstep
