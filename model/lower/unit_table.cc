// SPDX-License-Identifier: Apache-2.0
#include "model/lower/unit_table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include "model/error.h"
#include "model/graph/op_def.h"
#include "model/lower/serialise.h"
#include "model/lower/unit_memory.h"
#include "model/parallel.h"

namespace superstep {

double product_flops(const GraphFacts& facts, UnitId unit, Pass pass) {
  double flops = 0;
  for (OpId id : facts.graph.units[unit].ops[static_cast<std::size_t>(pass)])
    if (facts.graph.ops[id].def->product) flops += product_flops(facts.sharding.uses.of(id));
  return flops;
}

namespace {

UnitContext context_of(const GraphFacts& facts, const GraphSharding& sharding, const Chip& chip, SharedCosts& shared,
                       const TableKey& key) {
  return {facts,
          sharding,
          chip,
          *shared.products,
          chip.tiles - key.io_tiles,
          Bytes(0),
          {},
          Live::none,
          Bytes(0),
          key.precision.partials,
          key.accumulate,
          key.serialisation,
          {},
          key.rank_stride,
          key.replica_stride};
}

}  // namespace

UnitTable::UnitTable(const GraphFacts& facts, const GraphSharding& sharding, const CostModel& model,
                     SharedCosts& shared, const TableKey& key, bool training)
    : context_(context_of(facts, sharding, model.machine().chip, shared, key)),
      model_(model),
      key_(key),
      training_(training),
      update_costs_(shared.updates) {
  Layout layout;
  std::map<std::pair<std::uint64_t, Proportion>, std::int32_t> index;
  std::vector<UnitId> first_of_row;
  for (std::size_t u = 0; u < facts.graph.units.size(); ++u) {
    const auto [it, fresh] = index.try_emplace({facts.signatures[u], proportion(UnitId(u))},
                                               static_cast<std::int32_t>(layout.representative.size()));
    if (fresh) layout.representative.push_back(UnitId(u)), layout.held.push_back(find_held(UnitId(u)));
    if (fresh || !key.collapse) first_of_row.push_back(UnitId(u));
    layout.kind_of.push_back(it->second);
    layout.row_of.push_back(key.collapse ? it->second : static_cast<std::int32_t>(u));
    layout.checkpoints.push_back(checkpoint_of(facts.graph.units[UnitId(u)]));
  }
  rows_.resize(first_of_row.size());
  const auto kind_of_row = [&](std::size_t i) {
    return static_cast<std::size_t>(layout.kind_of[static_cast<std::size_t>(first_of_row[i].index)]);
  };
  share(rows_.size(), [&](std::size_t i) { rows_[i] = make_row(first_of_row[i], layout.held[kind_of_row(i)]); });
  if (key.stage_bounds.empty()) {
    layout.caps.count(key.proportion.live);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      layout.caps.range.narrow(rows_[i].forward.caps), layout.caps.range.narrow(rows_[i].backward.caps);
    }
  } else {
    layout.caps = caps_of(key.proportion, context_.chip);
  }
  for (std::size_t u = 0; u <= facts.graph.units.size(); ++u) layout.boundary.push_back(make_boundary(u));
  find_lenders(layout);
  classify(layout);
  layout.runs = find_runs(layout);
  layout_ = std::make_shared<const Layout>(std::move(layout));
  find_update_works();
}

UnitTable::UnitTable(const UnitTable& neighbours, std::int64_t rank_stride)
    : context_(neighbours.context_),
      model_(neighbours.model_),
      key_(neighbours.key_),
      training_(neighbours.training_),
      rows_(neighbours.rows_),
      layout_(neighbours.layout_),
      update_costs_(neighbours.update_costs_) {
  SUPERSTEP_CHECK(key_.rank_stride == 1, "ranks of the other table are neighbours");
  key_.rank_stride = context_.rank_stride = rank_stride;
  const auto move_apart = [&](std::vector<MeshCollective>& collectives, TermCycles& cycles) {
    for (MeshCollective& c : collectives) {
      const auto of = [&] { return model_.collective(c.kind, c.group, c.bytes).value * c.times; };
      cycles[Term::tensor_collective] -= of();
      c.group.stride *= rank_stride;
      cycles[Term::tensor_collective] += of();
    }
  };
  for (UnitRow& row : rows_) {
    move_apart(row.forward_mesh, row.forward_cycles);
    move_apart(row.backward_mesh, row.backward_cycles);
  }
  find_update_works();
}

UnitTable::UnitTable(const UnitTable& other, const CostModel& model, SharedCosts& shared)
    : context_(context_of(other.facts(), other.sharding(), model.machine().chip, shared, other.key_)),
      model_(model),
      key_(other.key_),
      training_(other.training_),
      rows_(other.rows_),
      layout_(other.layout_),
      update_costs_(shared.updates) {
  find_update_works();
}

Boundary UnitTable::make_boundary(std::size_t unit) const {
  Boundary b;
  for (TensorId t : context_.facts.boundary[unit]) {
    const Bytes bytes = on_ipu(context_.facts, context_.sharding, t);
    const Bytes tile = per_tile(context_.facts, context_.sharding, t, context_.tiles);
    const Sharding& on = context_.sharding.of(t);
    const std::int64_t parts = (on.on[0] >= 0 ? 1 : key_.mesh.t1) * (on.on[1] >= 0 ? 1 : key_.mesh.t2);
    b.bytes += bytes, b.tile += tile;
    b.shard += share(bytes, parts), b.shard_tile += share(tile, parts);
    if (parts > 1) (on.on[0] >= 0 ? b.gather_rest : b.gather_all) += bytes;
  }
  return b;
}

void UnitTable::find_lenders(Layout& layout) const {
  layout.lenders.assign(layout.row_of.size(), -1);
  layout.holders.assign(layout.row_of.size(), -1);
  const std::vector<TiedUnit>& tied = context_.facts.tied;
  for (const TiedUnit& t : tied) {
    const auto u = static_cast<std::size_t>(t.borrower);
    layout.lenders[u] = static_cast<std::int32_t>(t.owner);
    layout.holders[u] =
        t.before < 0 ? layout.lenders[u] : static_cast<std::int32_t>(tied[static_cast<std::size_t>(t.before)].borrower);
    layout.borrowers.push_back(t.borrower);
  }
}

void UnitTable::classify(Layout& layout) {
  const std::size_t units = layout.row_of.size();
  std::map<std::tuple<std::int32_t, std::int32_t, Boundary>, std::int32_t> seen;
  auto of = std::make_shared<std::vector<std::int32_t>>();
  for (std::size_t u = 0; u <= units; ++u) {
    const bool end = u == units;
    const auto [it, fresh] =
        seen.try_emplace({end ? -1 : layout.row_of[u], end ? -1 : layout.lenders[u], layout.boundary[u]},
                         static_cast<std::int32_t>(layout.first_of_class.size()));
    if (fresh) layout.first_of_class.push_back(u);
    of->push_back(it->second);
  }
  layout.class_of = std::move(of);
}

EqualRuns UnitTable::find_runs(const Layout& layout) {
  std::vector<std::tuple<std::int32_t, bool, std::size_t>> all;
  for (std::size_t u = 0; u < layout.row_of.size(); ++u) {
    const std::vector<std::int64_t>& checkpoints = layout.checkpoints;
    const bool joined = u > 0 && checkpoints[u] >= 0 && checkpoints[u] == checkpoints[u - 1];
    all.emplace_back((*layout.class_of)[u], joined, layout.lenders[u] >= 0 ? u : 0);  // a borrower equals no other unit
  }
  return equal_runs(all);
}

namespace {

std::vector<MeshCollective> mesh_collectives(const Function& f) {
  std::vector<MeshCollective> out;
  for (const Step& s : f.steps) {
    const bool of_mesh = s.kind == StepKind::collective && (s.data == Data::operands || s.data == Data::remade);
    if (of_mesh) out.push_back({s.collective, s.group, s.tile_bytes, s.times});
  }
  return out;
}

}  // namespace

std::vector<StageBound> stage_bounds(const std::vector<std::int64_t>& stages, const std::vector<Proportion>& of_each) {
  SUPERSTEP_CHECK(of_each.empty() || of_each.size() == stages.size(), "each stage has a bound, or none has its own");
  std::vector<StageBound> out;
  for (std::size_t i = 0; i < of_each.size(); ++i) out.push_back({stages[i], of_each[i]});
  return out;
}

const Proportion& UnitTable::proportion(UnitId unit) const {
  const std::vector<StageBound>& bounds = key_.stage_bounds;
  const auto next = std::ranges::upper_bound(bounds, std::int64_t{unit.index}, {}, &StageBound::begin);
  return next == bounds.begin() ? key_.proportion : std::prev(next)->proportion;
}

UnitTable::Held UnitTable::find_held(UnitId unit) const {
  Held held{};
  const Live live = proportion(unit).live;
  const auto bytes_of = [&](TensorId t) { return per_tile(context_.facts, context_.sharding, t, context_.tiles); };
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    Bytes& of_pass = held[static_cast<std::size_t>(pass)];
    if (live == Live::layer) of_pass = held_by_layer(context_.facts, unit, pass, bytes_of);
    if (live == Live::weights)
      of_pass = weights_of_unit(context_.facts, unit,
                                training_ ? std::optional(key_.precision.accumulators) : std::nullopt, bytes_of);
  }
  return held;
}

UnitContext UnitTable::bounded(UnitId unit, Pass pass, const Held& held) const {
  UnitContext context = context_;
  const Proportion& most = proportion(unit);
  context.live = most.live;
  context.held = held[static_cast<std::size_t>(pass)];
  context.temporary_cap = cap_of(most.share, context.chip);
  const Bytes least = cap_of(key_.least_proportion.value_or(most).share, context.chip);
  context.least_time_of = {least.value, context.temporary_cap.value};
  return context;
}

UnitRow UnitTable::make_row(UnitId unit, const Held& held) const {
  UnitRow row;
  const GraphFacts& facts = context_.facts;
  const auto u = static_cast<std::size_t>(unit.index);
  const Function forward = lower_unit(bounded(unit, Pass::forward, held), unit, Pass::forward);
  row.forward = forward;
  row.forward_cycles = model_.function(forward);
  row.forward_mesh = mesh_collectives(forward);
  if (training_) {
    const Function backward = lower_unit(bounded(unit, Pass::backward, held), unit, Pass::backward);
    row.backward = backward;
    row.backward_cycles = model_.function(backward);
    row.backward_mesh = mesh_collectives(backward);
  }
  auto elements = [&](TensorId t) -> std::int64_t {
    if (!facts.trained(t)) return 0;
    return on_ipu(facts, context_.sharding, t).value / size_of(facts.graph.info(t).type);
  };
  // In which a plan serialises a weight: that of the unit's products and lookups that read it.
  const auto parts_of = [&](TensorId w) {
    std::int64_t parts = 1;
    for (OpId id : facts.graph.units[unit].ops[static_cast<std::size_t>(Pass::forward)]) {
      const std::vector<TensorId>& inputs = facts.graph.ops[id].inputs;
      const bool reads = std::ranges::any_of(inputs, [&](TensorId t) { return t.valid() && facts.root(t) == w; });
      if (reads) parts = std::max(parts, forced_parts(facts, key_.serialisation, id));
    }
    return parts;
  };
  for (TensorId w : facts.weights[u]) {
    row.weight_bytes += on_ipu(facts, context_.sharding, w);
    row.weight_tile += per_tile(facts, context_.sharding, w, context_.tiles);
    row.parameters += elements(w);
    row.updated_at_once = std::max(row.updated_at_once, ceil_div(elements(w), parts_of(w)));
    if (facts.trained(w)) row.new_weight_bytes += on_ipu(facts, context_.sharding, w);
  }
  for (TensorId w : facts.borrowed[u]) {
    row.borrowed_bytes += on_ipu(facts, context_.sharding, w);
    row.borrowed_tile += per_tile(facts, context_.sharding, w, context_.tiles);
    row.borrowed_parameters += elements(w);
  }
  for (TensorId t : facts.feeds[u]) {
    row.feed_bytes += on_ipu(facts, context_.sharding, t);
    row.feed_tile += per_tile(facts, context_.sharding, t, context_.tiles);
  }
  for (TensorId t : facts.results[u]) {
    row.result_bytes += on_ipu(facts, context_.sharding, t);
    row.result_tile += per_tile(facts, context_.sharding, t, context_.tiles);
  }
  row.flops = product_flops(facts, unit, Pass::forward) + product_flops(facts, unit, Pass::backward);
  return row;
}

Function UnitTable::function(std::size_t unit, Pass pass, GroupShape group) const {
  const auto of = static_cast<std::size_t>(kind(unit));
  const UnitId first = layout_->representative[of];
  UnitContext context = bounded(first, pass, layout_->held[of]);
  context.update_group = group;
  return lower_unit(context, first, pass);
}

const UnitTable::Updates& UnitTable::updates(GroupShape group) const {
  if (const Updates* known = updates_.find(group)) return *known;
  std::vector<std::uint64_t> signatures;
  for (std::size_t k = 0; k < update_works_.size(); ++k)
    signatures.push_back(
        update_works_[k].signature(group, bounded(layout_->representative[k], Pass::update, layout_->held[k])));
  return updates_.insert(group, update_costs_.get(signatures, [&](std::size_t kind) {
    const Function made = function(static_cast<std::size_t>(layout_->representative[kind].index), Pass::update, group);
    return UpdateCost{made, model_.function(made).total()};
  }));
}

void UnitTable::find_update_works() {
  for (const UnitId unit : layout_->representative) update_works_.emplace_back(context_, unit);
}

WorkTime work_time(const Graph& graph, const Chip& chip) {
  return [&graph, &chip](OpId id, std::span<const std::int64_t> extents) {
    double volume_of_space = 1;
    for (std::int64_t e : extents) volume_of_space *= static_cast<double>(e);
    const Op& op = graph.ops[id];
    const double tiles = static_cast<double>(chip.tiles);
    // Vector work: about three slots per four elements (hardware facts, section 3).
    double cycles = 0.75 * volume_of_space / tiles;
    if (op.def->product) {
      const bool half = graph.info(op.inputs[0]).type == DType::fp16;
      cycles = volume_of_space / tiles /
               static_cast<double>(half ? chip.amp.fp16_16_macs_per_cycle : chip.amp.fp32_macs_per_cycle);
    } else if (op.def->lookup != Lookup::none) {
      cycles = static_cast<double>(graph.info(op.outputs[0]).elements()) / tiles;  // a lookup touches what it returns
    }
    return Seconds(cycles / chip.clock.value);
  };
}

ShardRules shard_rules(const TableKey& key, const Chip& chip) {
  // A weight gathered for one use may take a quarter of the chip: it stands beside its own shards and gradients.
  return {kSmallWeight, key.split_activations, Bytes(chip.tile_memory.value * chip.tiles / 4), key.collapse};
}

CollectiveTime collective_time(const CostModel& model, TensorParallel mesh) {
  const std::array paths = {model.path(mesh_group(mesh, 0, 1)), model.path(mesh_group(mesh, 1, 1))};
  return [&model, paths](CollectiveKind kind, int dimension, Bytes bytes) {
    return model.seconds(model.collective(kind, paths[static_cast<std::size_t>(dimension)], bytes));
  };
}

}  // namespace superstep
