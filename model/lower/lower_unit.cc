// SPDX-License-Identifier: Apache-2.0
#include "model/lower/lower_unit.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "model/lower/code_size.h"
#include "model/lower/gradient_slices.h"
#include "model/lower/make_steps.h"
#include "model/lower/serialise.h"
#include "model/lower/unit_memory.h"
#include "model/lower/update_costs.h"
#include "model/ops/product_def.h"
#include "model/ops/vertex.h"

namespace superstep {
namespace {

// On-tile copy of one element into another arrangement, in tile cycles per 2 bytes: 8 bytes per cycle
// at best, strided gathers several times that (hardware facts, section 3, memcpy and packing rows).
constexpr double kCopyCyclesPerHalf = 0.5;
constexpr double kTransposeCyclesPerHalf = 1.0;
// Exchange code: fragments a tile receives per exchange step; a plain re-layout gathers from several tiles.
constexpr std::int64_t kFragments = 4;

constexpr TileLayout kLinear = {};  // contiguous shares in row-major order
// Where several bounds on temporary memory are one table: all that a tensor may have. None: it may have any.
using Layouts = std::vector<TileLayout>;

bool may_agree(const Layouts& a, const Layouts& b) {
  return a.empty() || b.empty() || std::ranges::find_first_of(a, b) != a.end();
}

std::size_t vertex_index(const OpDef& def) {
  const auto ops = all_ops();
  return static_cast<std::size_t>(std::find(ops.begin(), ops.end(), &def) - ops.begin());
}

// True when every dimension of every operand follows its own axis one to one: a tile's share of the
// result needs the same share of the operands.
bool elementwise(const Space& space) {
  auto plain = [](const Projection& p) {
    int previous = -1;
    for (const DimMap& d : p) {
      if (d.axis >= 0 && (d.axis <= previous || d.stride != 1 || d.span != 1 || d.offset != 0 || d.window_axis >= 0))
        return false;
      if (d.axis >= 0) previous = d.axis;
    }
    return true;
  };
  return std::all_of(space.in.begin(), space.in.end(), plain) && std::all_of(space.out.begin(), space.out.end(), plain);
}

class UnitLowering {
 public:
  UnitLowering(const UnitContext& context, UnitId unit, Pass pass)
      : c_(context),
        g_(context.facts.graph),
        pass_(pass),
        ops_(g_.units[unit].ops[static_cast<std::size_t>(pass)]),
        memory_(context.facts, unit, pass),
        make_{context.tiles} {
    f_.unit = unit;
    f_.pass = pass;
    f_.name = g_.units[unit].name + (pass == Pass::forward    ? " forward"
                                     : pass == Pass::backward ? " backward"
                                                              : " update");
  }

  Function run() {
    f_.incoming = memory_.add_incoming([&](TensorId t) { return tile_bytes(t); });
    for (std::size_t i = 0; i < ops_.size(); ++i) lower_op(i);
    finish();
    return std::move(f_);
  }

 private:
  const UnitContext& c_;
  const Graph& g_;
  Pass pass_;
  const std::vector<OpId>& ops_;
  UnitMemory memory_;
  MakeSteps make_;
  bool second_sum_ = false;  // of a normalisation that goes on over replicas
  Function f_;
  std::map<TensorId, Layouts> layouts_;
  CapRange room_;            // of this op's temporary memory: what the bound leaves it
  CapRange room_of_slices_;  // the same before its results were there
  std::int64_t slices_ = 1;  // of this op's result, if that is a gradient of a weight
  std::int64_t beside_ = 0;  // bytes that the bound counts beside it
  Bytes in_slices_;          // of gradients of weights that are read again, no less than is live of them
  std::map<Turn, std::int64_t> by_tile_plans_;  // exchanges that other tile plans of several bounds do without

  bool contributes(TensorId t) const { return c_.facts.contributes[static_cast<std::size_t>(t.index)]; }

  // What bounds leave an op for temporary memory beside what is live now; of that, `in_slices` may be less with others.
  void find_room(Bytes in_slices) {
    room_ = c_.least_time_of;
    if (!counts_live()) return;
    const bool keeping = c_.live == Live::layer && pass_ == Pass::forward;
    beside_ = ((keeping ? memory_.live_keeping() : memory_.live()) + c_.held).value;
    room_.least = std::max(floor(room_.least), room_.least - beside_);
    room_.most = std::max(floor(room_.most), room_.most - beside_ + (c_.bounds() ? in_slices.value : 0));
  }
  bool counts_live() const { return c_.live != Live::none && pass_ != Pass::update; }
  // What a bound leaves an op whatever is live.
  std::int64_t floor(std::int64_t bound) const { return std::min(least_cap(c_.chip).value, bound); }
  Bytes slice_room() const { return c_.slice_cap(Bytes(room_.most)); }

  // The room `caps` is that of other bounds too.
  void note(CapRange caps) {
    if (counts_live() && !c_.bounds()) {
      const std::int64_t least = floor(c_.temporary_cap.value);
      caps.least = caps.least <= least ? least : caps.least + beside_;
      if (caps.most < INT64_MAX - beside_) caps.most += beside_;
    }
    f_.caps.narrow(caps);
  }
  std::int64_t noted(const CapParts& made) { return note(made.caps), made.parts; }
  Bytes tile_bytes(TensorId t) const { return per_tile(c_.facts, c_.sharding, t, c_.tiles); }

  void add_step(Step step, std::size_t position) {
    step.op = static_cast<std::int32_t>(position);
    step.live = memory_.live();
    step.keeping = memory_.live_keeping() - memory_.live();
    memory_.next_step();
    f_.peak = std::max(f_.peak, memory_.live() + step.temporary);
    f_.peak_keeping = std::max(f_.peak_keeping, memory_.live_keeping() + step.temporary);
    if (step.kind == StepKind::compute) f_.vertices.set(vertex_index(*g_.ops[ops_[position]].def));
    f_.steps.push_back(std::move(step));
  }

  Cycles copy_cycles(Bytes tile, double per_half) const {
    return c_.chip.vertex_launch + Cycles(static_cast<std::int64_t>(static_cast<double>(tile.value) / 2 * per_half));
  }

  static std::vector<std::int32_t> all_inputs(const Op& op) {
    std::vector<std::int32_t> list;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k].valid()) list.push_back(static_cast<std::int32_t>(k));
    }
    return list;
  }

  // Brings a tile's share of input k from where it lies into another arrangement: two supersteps, and
  // as many slices as the bound on temporary memory asks for.
  void relayout(std::int32_t k, double per_half, std::size_t position) {
    const Bytes bytes = tile_bytes(g_.ops[ops_[position]].inputs[static_cast<std::size_t>(k)]);
    const std::int64_t slices = noted(parts_within(bytes, slice_room()));
    const Bytes slice = share(bytes, slices);
    Step move = make_.exchange(Term::relayout, {k}, slice);
    move.times = slices;
    move.temporary = slice;
    add_step(move, position);
    Step copy = make_.vector(Term::relayout, copy_cycles(slice, per_half));
    copy.times = slices;
    copy.temporary = slice;
    add_step(copy, position);
  }

  // Of turning an operand of a matrix product: the rows it is contracted along are padded to whole blocks, so its
  // columns decide.
  double turn_cycles_per_half(TensorId t) const {
    const DType type = g_.info(t).type;
    const Shape& shape = g_.info(t).shape;
    const std::int64_t columns = local_extent(shape, shape.size() - 1, c_.sharding.of(t), c_.sharding.mesh);
    const std::int64_t rows = c_.chip.amp.block_channels;
    if (ops::turns_in_grains(rows, columns, type)) return kTransposeCyclesPerHalf;
    return static_cast<double>(2 * ops::kElementMove) / static_cast<double>(size_of(type));
  }

  void collectives(const OpSharding& s, bool inputs, std::size_t position, Data data = Data::operands) {
    for (const Conversion& conversion : s.conversions) {
      if ((conversion.operand >= 0) != inputs) continue;
      Step step = MakeSteps::collective(Term::tensor_collective, conversion.kind, conversion.operand, conversion.bytes,
                                        mesh_group(c_.sharding.mesh, conversion.mesh, c_.rank_stride));
      step.data = data;
      // Sums need a second buffer; a gather fills what gathered() counts, a scatter receives one part at a time.
      const bool sums = conversion.kind == CollectiveKind::all_reduce || conversion.kind == CollectiveKind::all_to_all;
      step.temporary = share(conversion.bytes, sums ? c_.tiles : c_.tiles * step.group.size);
      add_step(step, position);
    }
  }

  // What stands on a tile during an op beside the tensors as stored: operands gathered for it, and results before
  // they are scattered.
  Bytes gathered(const Op& op, const OpSharding& sharding) const {
    std::map<int, Bytes> by_operand;
    for (const Conversion& c : sharding.conversions) {
      if (c.kind != (c.operand >= 0 ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter)) continue;
      const Bytes stored = c.operand >= 0 ? Bytes(0) : tile_bytes(op.outputs[static_cast<std::size_t>(-1 - c.operand)]);
      Bytes& extra = by_operand[c.operand];
      extra = std::max(extra, share(c.bytes, c_.tiles) - stored);
    }
    Bytes sum(0);
    for (const auto& [operand, bytes] : by_operand) sum += bytes;
    return sum;
  }

  // Makes what the forward pass did not keep, before its first reader.
  void remake(const Op& reader, std::size_t position) {
    for (TensorId t : reader.inputs) {
      const std::vector<OpId>* chain = memory_.to_remake(t);
      if (!chain) continue;
      memory_.hold(t, tile_bytes(c_.facts.root(t)));
      for (OpId id : *chain) {
        const OpUse& use = c_.facts.sharding.uses.of(id);
        const SharePlan p =
            share_plan(*use.call, local_extents(use.extents, c_.sharding.of(id), c_.sharding.mesh), c_.tiles, c_.chip);
        collectives(c_.sharding.of(id), true, position, Data::remade);
        add_step(make_.vector(Term::recompute, p.vector), position);
        collectives(c_.sharding.of(id), false, position, Data::remade);
      }
    }
  }

  void lower_op(std::size_t position) {
    const OpId id = ops_[position];
    const Op& op = g_.ops[id];
    if (joins_summands(c_.facts, op)) return;
    const OpSharding& sharding = c_.sharding.of(id);
    remake(op, position);
    note_standing(Bytes(0));
    const Bytes whole = gathered(op, sharding);
    memory_.gather(op.outputs.empty() ? TensorId() : op.outputs[0], whole);
    find_room(in_slices_);
    collectives(sharding, true, position);
    if (op.def->view) {
      layouts_[op.outputs[0]] = layouts_of(op.inputs[0]);
    } else {
      const auto& [call, space, extents] = c_.facts.sharding.uses.of(id);
      std::vector<std::int64_t> local = local_extents(extents, sharding, c_.sharding.mesh);
      if (pass_ == Pass::update) split_for_update(space, local, update_slices(op));
      slices_ = gradient_slices(op, id);
      allocate(op, position);
      room_of_slices_ = room_;
      find_room(in_slices_ + new_in_slices(op));
      if (op.def->product && !contributes(op.outputs[0])) note_standing(whole);
      if (op.def->product)
        lower_product(op, *call, local, position);
      else
        lower_share(op, *call, space, local, position);
      if (pass_ == Pass::update)
        join_update_sums(op, space, position);
      else if (const std::int64_t across = statistic_of(op).across; across > 1)
        join_replicas(Data::statistics, {across, c_.replica_stride}, 0, position);
    }
    collectives(sharding, false, position);
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      if (pass_ == Pass::backward && contributes(op.outputs[k]) && op.def->lookup != Lookup::adds)
        accumulate(k, position);
    }
    memory_.drop_gathered();
    memory_.release(op, position);
    in_slices_ += new_in_slices(op);
  }

  // Results that are gradients of weights.
  Bytes new_in_slices(const Op& op) const {
    Bytes sum(0);
    for (TensorId t : op.outputs) {
      if (contributes(t) && memory_.holds(t)) sum += tile_bytes(t);
    }
    return sum;
  }

  // What is live between two ops, or in a product, which never takes an operand's place, is so with any bound on
  // temporary memory, but for gradients of weights, whose slices it decides.
  void note_standing(Bytes gathered) { f_.standing = std::max(f_.standing, memory_.live() - gathered - in_slices_); }

  // A sum over a weight (the norms of LAMB and LARS) is a sum over the slices of all replicas that share the update.
  void join_update_sums(const Op& op, const Space& space, std::size_t position) {
    if (c_.update_group.size == 1 || space.reduction == Reduction::none || space.axes.empty()) return;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) join_replicas(Data::update_sums, c_.update_group, k, position);
  }

  // Result k, which the replicas of a group have in parts, becomes their sum on all of them.
  void join_replicas(Data data, GroupShape group, std::size_t k, std::size_t position) {
    const Bytes bytes = on_ipu(c_.facts, c_.sharding, g_.ops[ops_[position]].outputs[k]);
    Step join = MakeSteps::collective(data == Data::update_sums ? Term::gradient_collective : Term::tensor_collective,
                                      CollectiveKind::all_reduce, -1 - static_cast<std::int32_t>(k), bytes, group);
    join.data = data;
    // A normalisation has two sums, and so has its gradient. A device makes both in one pass over the values, and they
    // cross together.
    if (data == Data::statistics) join.along = std::exchange(second_sum_, !second_sum_);
    join.temporary = share(bytes, c_.tiles);
    add_step(join, position);
  }

  std::int64_t update_slices(const Op& op) {
    return noted(superstep::update_slices(tile_bytes(op.outputs[0]), c_.update_group, slice_room()));
  }
  // The shards of an update share its elements, largest axis first.
  void split_for_update(const Space& space, std::vector<std::int64_t>& local, std::int64_t slices) const {
    std::int64_t left = c_.update_group.size * slices;
    for (std::size_t a = 0; a < local.size() && left > 1; ++a) {
      if (space.axes[a].kind == AxisKind::whole || local[a] == 1) continue;
      const std::int64_t parts = std::min(left, local[a]);
      local[a] = ceil_div(local[a], parts);
      left = ceil_div(left, parts);
    }
  }

  Layouts layouts_of(TensorId t) const {
    const auto it = layouts_.find(t);
    return it == layouts_.end() ? Layouts{kLinear} : it->second;
  }

  void allocate(const Op& op, std::size_t position) {
    for (TensorId t : op.outputs) {
      const bool in_accumulator = pass_ == Pass::backward && contributes(t) && op.def->lookup == Lookup::adds;
      if (in_accumulator) continue;
      const std::int64_t parts = pass_ == Pass::update                       ? c_.update_group.size * update_slices(op)
                                 : pass_ == Pass::backward && contributes(t) ? slices_
                                                                             : 1;
      memory_.hold_result(t, share(tile_bytes(t), parts), position, op.def->product ? nullptr : &op);
    }
  }
  // The gradient of a weight joins its accumulator, whose arrangement is the weight's, slice by slice.
  void accumulate(std::size_t k, std::size_t position) {
    const TensorId t = g_.ops[ops_[position]].outputs[k];
    const Bytes bytes = share(tile_bytes(t), slices_);
    Step move = make_.exchange(Term::relayout, {-1 - static_cast<std::int32_t>(k)}, bytes);
    move.times = slices_;
    move.temporary = bytes;
    add_step(move, position);
    if (!c_.accumulate) return;
    Step add = make_.vector(Term::accumulate, add_in_place(bytes.value, c_.chip.workers));
    add.times = slices_;
    add_step(add, position);
  }
  // In which a product makes a gradient of a weight.
  std::int64_t gradient_slices(const Op& op, OpId id) {
    if (pass_ != Pass::backward || !op.def->product || !contributes(op.outputs[0])) return 1;
    if (const std::int64_t forced = forced_parts(c_.facts, c_.serialisation, id); forced > 0) return forced;
    return noted(superstep::gradient_slices(c_, op.outputs[0], slice_room()));
  }

  // Operands whose contraction does not run along their rows. Those of convolutions are whole grains of channels.
  void turn_operands(const Op& op, const OpCall& call, bool gradient, std::size_t position) {
    const ProductDef& product = *op.def->product;
    const std::uint32_t turned = product.turned(call, {pass_ == Pass::backward, gradient});
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (!(turned >> k & 1)) continue;
      relayout(static_cast<std::int32_t>(k),
               product.convolution ? kTransposeCyclesPerHalf : turn_cycles_per_half(op.inputs[k]), position);
    }
  }

  void lower_product(const Op& op, const OpCall& call, const std::vector<std::int64_t>& local, std::size_t position) {
    ProductShape shape = product_shape(call, local, c_.partials);
    const bool gradient = contributes(op.outputs[0]);
    const std::int64_t forced = forced_parts(c_.facts, c_.serialisation, ops_[position]);
    QuickestSlices made{slices_, Bytes(room_.most)};
    made.fewest = made.most = made.slices;
    if (gradient && forced == 0 && c_.bounds())
      made = quickest_slices(c_, op.outputs[0], shape, room_of_slices_, Bytes(room_.most));
    const std::int64_t slices = made.slices, parts = gradient && forced > 0 ? 1 : forced;
    const AllPlans all = all_plans(shape, made, parts);
    shape.columns = ceil_div(shape.columns, slices);
    turn_operands(op, call, gradient, position);
    const ProductChoice choice =
        parts == 0 ? c_.fronts.fastest(shape, made.cap) : c_.fronts.fastest_in(parts, shape, made.cap);
    const ProductPlan& p = choice.plan;
    note(choice.caps);
    if (p.pk > 1 && !all.add_partials) ++by_tile_plans_[op.turn];
    for (Step& step : make_.product(p, slices, all_inputs(op))) add_step(std::move(step), position);
    layouts_[op.outputs[0]] = c_.bounds() ? all.layouts : Layouts{layout_of(p)};
  }

  // What is known of the tile plans of a product that several bounds on temporary memory ask for.
  struct AllPlans {
    Layouts layouts;
    bool add_partials = true;
  };
  AllPlans all_plans(const ProductShape& shape, const QuickestSlices& made, std::int64_t parts) {
    AllPlans all;
    if (!c_.bounds()) return all;
    all.add_partials = made.most > 0;
    for (std::int64_t slices = made.fewest; slices <= made.most; ++slices) {
      ProductShape slice = shape;
      slice.columns = ceil_div(slice.columns, slices);
      for (const ProductPlan& p : c_.fronts.all_within(slice, room_, parts)) {
        all.layouts.push_back(layout_of(p));
        all.add_partials = all.add_partials && p.pk > 1;
      }
    }
    return all;
  }

  void lower_share(const Op& op, const OpCall& call, const Space& space, const std::vector<std::int64_t>& local,
                   std::size_t position) {
    const TensorId lead = leading_operand(op);
    const Layouts layouts = lead.valid() ? layouts_of(lead) : Layouts{kLinear};
    const bool rearranges = space.reduction == Reduction::none && !elementwise(space);
    const std::int64_t parts =
        std::max<std::int64_t>(1, forced_parts(c_.facts, c_.serialisation, ops_[position]));  // of a lookup's features
    std::vector<std::int64_t> part = local;
    if (parts > 1) part[feature_axis(space)] = ceil_div(part[feature_axis(space)], parts);
    const SharePlan p = share_plan(call, part, c_.tiles, c_.chip);
    std::vector<std::int32_t> in_place = gather_operands(op, lead, layouts, rearranges, position);
    Step work = make_.vector(rearranges              ? Term::relayout
                             : pass_ == Pass::update ? Term::update
                                                     : Term::vector,
                             p.vector);
    work.generic = !op.def->core;
    work.data = Data::operands;
    work.operands = std::move(in_place);
    work.grid = {p.parallel_parts, p.reduce_parts};
    work.tiles = p.parallel_parts * p.reduce_parts;
    work.times = pass_ == Pass::update ? update_slices(op) : parts;
    add_step(work, position);
    if (p.reduce_parts > 1) {
      Step partials = make_.exchange(Term::partials_exchange, {-1}, p.partial_bytes);
      Step join = make_.vector(Term::reduction, p.join);
      partials.pieces = p.reduce_parts - 1;
      partials.times = join.times = parts;
      partials.temporary = join.temporary = p.join_memory;
      add_step(partials, position);
      add_step(join, position);
    }
    for (TensorId t : op.outputs) layouts_[t] = rearranges ? Layouts{kLinear} : layouts;
  }

  TensorId leading_operand(const Op& op) const {
    TensorId lead;
    for (TensorId t : op.inputs) {
      if (t.valid() && (!lead.valid() || g_.info(t).elements() > g_.info(lead).elements())) lead = t;
    }
    return lead;
  }

  // One exchange for everything the op's shares read that does not lie on their tiles. Returns the inputs that do.
  std::vector<std::int32_t> gather_operands(const Op& op, TensorId lead, const Layouts& layouts, bool rearranges,
                                            std::size_t position) {
    if (rearranges && lead.valid()) {
      const TensorId larger =
          op.outputs.empty() || g_.info(lead).elements() >= g_.info(op.outputs[0]).elements() ? lead : op.outputs[0];
      Step move = make_.exchange(Term::relayout, all_inputs(op), tile_bytes(larger));
      move.temporary = move.tile_bytes;
      add_step(move, position);
      return {};
    }
    if (pass_ == Pass::update) return all_inputs(op);  // state, gradient and weight lie alike; scalars are few
    Bytes plain(0);
    std::vector<std::int32_t> in_place, received;
    for (std::int32_t k : all_inputs(op)) {
      const TensorId t = op.inputs[static_cast<std::size_t>(k)];
      const bool full = g_.info(t).elements() == g_.info(lead).elements();
      if (t == lead || g_.info(t).elements() <= 1 || (full && may_agree(layouts_of(t), layouts))) {
        in_place.push_back(k);
        continue;
      }
      if (full) {
        relayout(k, kCopyCyclesPerHalf, position);
        continue;
      }
      // A broadcast operand: each tile receives the rows or columns its share meets.
      received.push_back(k);
      const std::int64_t mine =
          ceil_div(local_volume(g_.info(lead).shape, c_.sharding.of(lead), c_.sharding.mesh), c_.tiles);
      const std::int64_t theirs = local_volume(g_.info(t).shape, c_.sharding.of(t), c_.sharding.mesh);
      plain += Bytes(std::min(mine, theirs) * size_of(g_.info(t).type));
    }
    if (!received.empty()) add_step(make_.exchange(Term::operand_exchange, received, plain), position);
    return in_place;
  }

  void finish() {
    f_.live = memory_.take_ranges();
    if (pass_ == Pass::forward) {
      const UnitMemory::Kept kept = memory_.kept([&](TensorId t) { return tile_bytes(t); });
      f_.kept = kept.own, f_.crossing = kept.crossing;
    }
    std::map<Turn, Bytes> code;
    const ExchangeFabric& fabric = c_.chip.exchange;
    for (const Step& s : f_.steps) {
      if (s.kind != StepKind::exchange && s.kind != StepKind::collective) continue;
      const std::int64_t fragments = s.data == Data::update_sums ? 1 : kFragments;  // a scalar is in one piece
      code[g_.ops[ops_[static_cast<std::size_t>(s.op)]].turn] += exchange_code(fabric, fragments);
    }
    for (const auto& [turn, exchanges] : by_tile_plans_) code[turn] -= exchanges * exchange_code(fabric, kFragments);
    f_.exchange_code = code_of_loops(code);
  }
};

}  // namespace

Function lower_unit(const UnitContext& context, UnitId unit, Pass pass) {
  return UnitLowering(context, unit, pass).run();
}

}  // namespace superstep
