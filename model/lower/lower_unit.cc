// SPDX-License-Identifier: Apache-2.0
#include "model/lower/lower_unit.h"

#include <algorithm>
#include <set>

#include "model/error.h"
#include "model/lower/serialise.h"
#include "model/ops/conv.h"
#include "model/ops/matmul.h"
#include "model/ops/op.h"

namespace superstep {
namespace {

// On-tile copy of one element into another arrangement, in tile cycles per 2 bytes: 8 bytes per cycle
// at best, strided gathers several times that (hardware facts, section 3, memcpy and packing rows).
constexpr double kCopyCyclesPerHalf = 0.5;
constexpr double kTransposeCyclesPerHalf = 1.0;
// Exchange code: fragments a tile receives per exchange step; a plain re-layout gathers from several tiles.
constexpr std::int64_t kFragments = 4;

// Input bytes received over input bytes used, for windows larger than one position (cost study, 4.2: 3 x 3).
constexpr double kHalo = 1.35;

using LayoutId = std::int64_t;
constexpr LayoutId kLinear = 0;  // contiguous shares in row-major order

std::size_t vertex_index(const OpDef& def) {
  const auto ops = all_ops();
  return static_cast<std::size_t>(std::find(ops.begin(), ops.end(), &def) - ops.begin());
}

class UnitLowering {
 public:
  UnitLowering(const UnitContext& context, UnitId unit, Pass pass) : c_(context), g_(context.facts.graph), pass_(pass) {
    f_.unit = unit;
    f_.pass = pass;
    f_.name = g_.units[unit].name + (pass == Pass::forward    ? " forward"
                                     : pass == Pass::backward ? " backward"
                                                              : " update");
    ops_ = g_.units[unit].ops[static_cast<std::size_t>(pass)];
  }

  Function run() {
    plan_lifetimes();
    for (TensorId t : c_.facts.boundary[static_cast<std::size_t>(f_.unit.index) + (pass_ == Pass::backward ? 1 : 0)]) {
      if (pass_ == Pass::forward || (pass_ == Pass::backward && is_float(g_.info(t).type)))
        f_.incoming += tile_bytes(t);
    }
    live_bytes_ = live_keeping_ = f_.incoming;
    for (std::size_t i = 0; i < ops_.size(); ++i) lower_op(i);
    finish();
    return std::move(f_);
  }

 private:
  const UnitContext& c_;
  const Graph& g_;
  Pass pass_;
  Function f_;
  std::vector<OpId> ops_;
  std::map<TensorId, LayoutId> layout_;
  std::map<TensorId, std::size_t> last_use_;  // by root tensor: position of its last reader here
  std::set<TensorId> stays_;                  // roots read after this function, by this pass or (forward) only backward
  std::set<TensorId> own_;                    // of stays_: this unit's backward pass reads it
  std::map<TensorId, bool> only_backward_;    // of stays_: nobody else reads it
  std::map<TensorId, Bytes> live_;            // roots made here and not yet freed
  Bytes live_bytes_, live_keeping_;

  // A view has no bytes of its own.
  TensorId root(TensorId t) const {
    while (g_.tensors[t].producer.valid() && g_.ops[g_.tensors[t].producer].def->view)
      t = g_.ops[g_.tensors[t].producer].inputs[0];
    return t;
  }
  bool contributes(TensorId t) const { return c_.facts.contributes[static_cast<std::size_t>(t.index)]; }
  // Summands of one weight's gradient go to its accumulator one by one; the graph's sum is no work of its own.
  bool joins_contributions(const Op& op) const {
    return pass_ == Pass::backward && contributes(op.outputs[0]) && op.def->name == "add" &&
           std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) { return contributes(t); });
  }

  Bytes tile_bytes(TensorId t) const { return per_tile(c_.facts, c_.sharding, t, c_.tiles); }

  void plan_lifetimes() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (TensorId t : g_.ops[ops_[i]].inputs) {
        if (t.valid()) last_use_[root(t)] = i;
      }
    }
    for (OpId id : ops_) {
      for (TensorId t : g_.ops[id].outputs) {
        const bool crosses = crosses_out(t) && !contributes(t);
        const bool kept = pass_ == Pass::forward && c_.facts.read_in_backward[static_cast<std::size_t>(t.index)];
        if (crosses || kept) {
          const TensorId r = root(t);
          stays_.insert(r);
          if (kept) own_.insert(r);
          auto [it, fresh] = only_backward_.try_emplace(r, !crosses);
          if (crosses) it->second = false;
        }
      }
    }
  }

  bool crosses_out(TensorId t) const { return c_.facts.leaves_unit[static_cast<std::size_t>(t.index)]; }

  void add_step(Step step, std::size_t position) {
    step.op = static_cast<std::int32_t>(position);
    step.live = live_bytes_;
    f_.peak = std::max(f_.peak, live_bytes_ + step.temporary);
    f_.peak_keeping = std::max(f_.peak_keeping, live_keeping_ + step.temporary);
    if (step.kind == StepKind::compute) f_.vertices.set(vertex_index(*g_.ops[ops_[position]].def));
    f_.steps.push_back(std::move(step));
  }

  Step exchange(Term term, std::vector<std::int32_t> operands, Bytes plain, Bytes paired = Bytes(0)) const {
    Step s;
    s.kind = StepKind::exchange;
    s.data = Data::operands;
    s.operands = std::move(operands);
    s.term = term;
    s.tile_bytes = plain;
    s.paired_bytes = paired;
    s.tiles = c_.tiles;
    return s;
  }
  Step vector(Term term, Cycles cycles) const {
    Step s;
    s.kind = StepKind::compute;
    s.term = term;
    s.vector = cycles;
    s.tiles = c_.tiles;
    return s;
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
    const std::int64_t slices =
        std::max<std::int64_t>(1, ceil_div(bytes.value, std::max<std::int64_t>(1, c_.temporary_cap.value)));
    const Bytes slice = share(bytes, slices);
    Step move = exchange(Term::relayout, {k}, slice);
    move.times = slices;
    move.temporary = slice;
    add_step(move, position);
    Step copy = vector(Term::relayout, copy_cycles(slice, per_half));
    copy.times = slices;
    copy.temporary = slice;
    add_step(copy, position);
  }

  void collectives(const OpSharding& s, bool inputs, std::size_t position) {
    for (const Conversion& conversion : s.conversions) {
      if ((conversion.operand >= 0) != inputs) continue;
      Step step;
      step.kind = StepKind::collective;
      step.term = Term::tensor_collective;
      step.collective = conversion.kind;
      step.data = Data::operands;
      step.operands = {conversion.operand};
      step.tile_bytes = conversion.bytes;
      step.group = conversion.mesh == 0 ? GroupShape{c_.sharding.mesh.t1, c_.sharding.mesh.t2}
                                        : GroupShape{c_.sharding.mesh.t2, 1};
      // Sums need a second buffer; a gather fills what gathered() counts, a scatter receives one part at a time.
      const bool sums = conversion.kind == CollectiveKind::all_reduce || conversion.kind == CollectiveKind::all_to_all;
      step.temporary = share(conversion.bytes, sums ? c_.tiles : c_.tiles * step.group.size);
      add_step(step, position);
    }
  }

  // What stands on a tile during an op beside the tensors as stored: operands gathered for it, and results before
  // they are scattered.
  Bytes gathered(const Op& op, const OpSharding& sharding) const {
    Bytes extra(0);
    for (const Conversion& c : sharding.conversions) {
      const bool operand = c.operand >= 0;
      if (c.kind != (operand ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter)) continue;
      const Bytes stored = operand ? Bytes(0) : tile_bytes(op.outputs[static_cast<std::size_t>(-1 - c.operand)]);
      extra += std::max(Bytes(0), share(c.bytes, c_.tiles) - stored);
    }
    return extra;
  }

  // Makes what the forward pass did not keep, before its first reader.
  void remake(const Op& reader, std::size_t position) {
    for (TensorId t : reader.inputs) {
      if (!t.valid()) continue;
      const auto it = c_.facts.remade.find(root(t));
      if (it == c_.facts.remade.end() || live_.count(root(t)) || g_.ops[it->second[0]].unit != f_.unit) continue;
      const Bytes bytes = tile_bytes(root(t));
      live_[root(t)] = bytes;
      live_bytes_ += bytes;
      live_keeping_ += bytes;
      for (OpId id : it->second) {
        const CallOf call(g_, id);
        std::vector<std::int64_t> extents;
        for (const Axis& a : g_.ops[id].def->space(*call).axes) extents.push_back(a.extent);
        const SharePlan p =
            share_plan(*call, local_extents(extents, c_.sharding.of(id), c_.sharding.mesh), c_.tiles, c_.chip);
        add_step(vector(Term::recompute, p.vector), position);
        collectives(c_.sharding.of(id), false, position);
      }
    }
  }

  void lower_op(std::size_t position) {
    const OpId id = ops_[position];
    const Op& op = g_.ops[id];
    const OpSharding& sharding = c_.sharding.of(id);
    if (pass_ == Pass::backward) remake(op, position);
    const Bytes whole = gathered(op, sharding);
    live_bytes_ += whole, live_keeping_ += whole;
    collectives(sharding, true, position);
    if (op.def->view) {
      layout_[op.outputs[0]] = layout_of(op.inputs[0]);
    } else if (!joins_contributions(op)) {
      const CallOf call(g_, id);
      const Space space = op.def->space(*call);
      std::vector<std::int64_t> extents;
      for (const Axis& a : space.axes) extents.push_back(a.extent);
      std::vector<std::int64_t> local = local_extents(extents, sharding, c_.sharding.mesh);
      if (pass_ == Pass::update) split_for_update(space, local, update_slices(op));
      allocate(op, position);
      if (op.def->uses_amp)
        lower_product(op, *call, local, position);
      else
        lower_share(op, *call, space, local, position);
      if (pass_ == Pass::update) join_update_sums(op, space, position);
    }
    collectives(sharding, false, position);
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      if (pass_ == Pass::backward && contributes(op.outputs[k]) && !joins_contributions(op) &&
          op.def->name != "scatter_add")
        accumulate(k, position);
    }
    live_bytes_ -= whole, live_keeping_ -= whole;
    release(op, position);
  }

  // A sum over a weight (the norms of LAMB and LARS) is a sum over the slices of all replicas that share the update.
  void join_update_sums(const Op& op, const Space& space, std::size_t position) {
    if (c_.update_group.size == 1 || space.reduction == Reduction::none || space.axes.empty()) return;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      Step join;
      join.kind = StepKind::collective;
      join.term = Term::gradient_collective;
      join.data = Data::update_sums;
      join.operands = {-1 - static_cast<std::int32_t>(k)};
      join.collective = CollectiveKind::all_reduce;
      join.group = c_.update_group;
      join.tile_bytes = on_ipu(c_.facts, c_.sharding, op.outputs[k]);
      join.temporary = share(join.tile_bytes, c_.tiles);
      add_step(join, position);
    }
  }

  // The shards of an update share its elements, largest axis first.
  // Updates are elementwise: large weights are updated in slices that fit the bound on temporary memory.
  std::int64_t update_slices(const Op& op) const {
    const Bytes mine = share(tile_bytes(op.outputs[0]), c_.update_group.size);
    return std::max<std::int64_t>(1, ceil_div(4 * mine.value, std::max<std::int64_t>(1, c_.temporary_cap.value)));
  }
  void split_for_update(const Space& space, std::vector<std::int64_t>& local, std::int64_t slices) const {
    std::int64_t left = c_.update_group.size * slices;
    for (std::size_t a = 0; a < local.size() && left > 1; ++a) {
      if (space.axes[a].kind == AxisKind::whole || local[a] == 1) continue;
      const std::int64_t parts = std::min(left, local[a]);
      local[a] = ceil_div(local[a], parts);
      left = ceil_div(left, parts);
    }
  }

  LayoutId layout_of(TensorId t) const {
    const auto it = layout_.find(t);
    return it == layout_.end() ? kLinear : it->second;
  }

  void allocate(const Op& op, std::size_t position) {
    // An elementwise result takes the place of an operand that dies here.
    for (TensorId t : op.outputs) {
      const bool in_accumulator = pass_ == Pass::backward && contributes(t) && op.def->name == "scatter_add";
      if (in_accumulator) continue;
      const std::int64_t parts = pass_ == Pass::update                       ? c_.update_group.size * update_slices(op)
                                 : pass_ == Pass::backward && contributes(t) ? gradient_slices(t)
                                                                             : 1;
      const Bytes bytes = share(tile_bytes(t), parts);
      if (!op.def->uses_amp) {
        for (TensorId in : op.inputs) {
          if (!in.valid()) continue;
          const TensorId r = root(in);
          const auto it = live_.find(r);
          if (it == live_.end() || it->second != bytes || last_use_[r] != position || dies_later(r)) continue;
          free_root(r);
          break;
        }
      }
      live_[t] = bytes;
      live_bytes_ += bytes;
      live_keeping_ += bytes;
      if (!last_use_.count(t) && !stays_.count(t)) last_use_[t] = position;
    }
  }
  bool dies_later(TensorId r) const { return stays_.count(r) && !only_backward_.at(r); }

  void free_root(TensorId r) {
    const auto it = live_.find(r);
    if (it == live_.end()) return;
    live_bytes_ -= it->second;
    if (!stays_.count(r)) live_keeping_ -= it->second;
    live_.erase(it);
  }

  void release(const Op& op, std::size_t position) {
    auto consider = [&](TensorId t) {
      const TensorId r = root(t);
      const auto use = last_use_.find(r);
      if (use == last_use_.end() || use->second != position || dies_later(r)) return;
      free_root(r);
    };
    for (TensorId t : op.inputs) {
      if (t.valid()) consider(t);
    }
    for (TensorId t : op.outputs) consider(t);
  }

  // The gradient of a weight joins its accumulator, whose arrangement is the weight's, slice by slice.
  void accumulate(std::size_t k, std::size_t position) {
    const TensorId t = g_.ops[ops_[position]].outputs[k];
    const std::int64_t slices = gradient_slices(t);
    const Bytes bytes = share(tile_bytes(t), slices);
    Step move = exchange(Term::relayout, {-1 - static_cast<std::int32_t>(k)}, bytes);
    move.times = slices;
    move.temporary = bytes;
    add_step(move, position);
    if (!c_.accumulate) return;
    // scaledAdd: 3 slots per 64 bits, six workers share the elements (hardware facts, section 3).
    const std::int64_t vectors = ceil_div(bytes.value, 8 * c_.chip.workers);
    Step add = vector(Term::accumulate, Cycles(60 + c_.chip.workers * (24 + 3 * vectors)));
    add.times = slices;
    add_step(add, position);
  }
  // A large weight's gradient is made and accumulated in slices that fit the bound on temporary memory.
  std::int64_t gradient_slices(TensorId t) const {
    const OpId producer = g_.tensors[t].producer;
    if (!producer.valid() || !g_.ops[producer].def->uses_amp) return 1;
    if (const std::int64_t forced = forced_parts(c_.facts, c_.serialisation, producer); forced > 0) return forced;
    const std::int64_t slices = ceil_div(2 * tile_bytes(t).value, std::max<std::int64_t>(1, c_.temporary_cap.value));
    return std::clamp<std::int64_t>(
        slices, 1, std::max<std::int64_t>(1, g_.info(t).shape.back() / (4 * c_.chip.amp.block_channels)));
  }

  void lower_product(const Op& op, const OpCall& call, const std::vector<std::int64_t>& local, std::size_t position) {
    ProductShape shape = product_shape(call, local);
    const bool gradient = contributes(op.outputs[0]);
    const std::int64_t slices = gradient ? gradient_slices(op.outputs[0]) : 1;
    shape.columns = ceil_div(shape.columns, slices);
    // Operands whose contraction does not run along their rows are turned first; for a weight's
    // gradient that is both of them, since samples and positions are contracted.
    if (op.def->name == "matmul") {
      if (gradient || call.attrs.integer("transpose_a")) relayout(0, kTransposeCyclesPerHalf, position);
      if (gradient || call.attrs.integer("transpose_b")) relayout(1, kTransposeCyclesPerHalf, position);
    } else if (pass_ == Pass::backward) {
      relayout(0, kTransposeCyclesPerHalf, position);
      relayout(1, kTransposeCyclesPerHalf, position);
    }
    const std::int64_t forced = forced_parts(c_.facts, c_.serialisation, ops_[position]);
    const ProductPlan& p = forced == 0 ? c_.fronts.fastest(shape, c_.temporary_cap)
                                       : c_.fronts.fastest_in(gradient ? 1 : forced, shape, c_.temporary_cap);
    Step in = exchange(Term::operand_exchange, all_inputs(op), p.plain_bytes, p.paired_bytes);
    in.times = p.times * slices;
    in.temporary = p.temporary;
    add_step(in, position);
    Step multiply;
    multiply.kind = StepKind::compute;
    multiply.term = Term::amp_rows;
    multiply.times = p.times * slices;
    multiply.rows = p.rows_useful;
    multiply.padding = p.rows_padding;
    multiply.amp_fixed = p.fixed;
    multiply.temporary = p.temporary;
    multiply.tiles = p.pg * p.pm * p.pn * p.pk;
    multiply.grid = {p.pg, p.swapped ? p.pn : p.pm, p.swapped ? p.pm : p.pn, p.pk};
    add_step(multiply, position);
    if (p.pk > 1) {
      Step partials = exchange(Term::partials_exchange, {-1}, p.partial_bytes);
      partials.times = p.times * slices;
      partials.temporary = p.temporary;
      add_step(partials, position);
      Step reduce = vector(Term::reduction, p.reduce);
      reduce.times = p.times * slices;
      reduce.temporary = p.temporary;
      add_step(reduce, position);
    }
    if (p.times > 1 && p.split_contracted) {
      Step add =
          vector(Term::reduction, Cycles(33 + c_.chip.workers * 20 + tile_bytes(op.outputs[0]).value / slices / 2));
      add.times = (p.times - 1) * slices;
      add_step(add, position);
    }
    layout_[op.outputs[0]] = 1 + static_cast<LayoutId>(((p.pg * 4099 + p.pm) * 4099 + p.pn) * 2 + (p.swapped ? 1 : 0));
  }

  ProductShape product_shape(const OpCall& call, const std::vector<std::int64_t>& local) const {
    ProductShape s;
    s.operands = call.in[0].type;
    s.partials = s.operands == DType::fp16 ? c_.partials : DType::fp32;
    auto product = [&](const std::vector<int>& axes) {
      std::int64_t n = 1;
      for (int a : axes) n *= local[static_cast<std::size_t>(a)];
      return n;
    };
    if (call.def.name != "matmul") {
      const ConvAxes axes = conv_axes(call);
      const ConvDims dims = conv_dims(call);
      s.batch = local[static_cast<std::size_t>(axes.groups)];
      s.rows = product(axes.rows), s.columns = product(axes.columns), s.contracted = product(axes.contracted);
      std::int64_t window = 1;
      for (std::int64_t w : dims.window) window *= w;
      // Each input is received once, with its halo, not once per position of the window.
      if (window > 1) s.halo = kHalo / static_cast<double>(window);
      return s;
    }
    const MatmulAxes axes = matmul_axes(call);
    s.batch = product(axes.batch), s.rows = product(axes.rows), s.columns = product(axes.columns);
    s.contracted = local[static_cast<std::size_t>(axes.contracted)];
    return s;
  }

  void lower_share(const Op& op, const OpCall& call, const Space& space, const std::vector<std::int64_t>& local,
                   std::size_t position) {
    const TensorId lead = leading_operand(op);
    const LayoutId layout = lead.valid() ? layout_of(lead) : kLinear;
    const bool rearranges = space.reduction == Reduction::none && !elementwise(space);
    const std::int64_t parts =
        std::max<std::int64_t>(1, forced_parts(c_.facts, c_.serialisation, ops_[position]));  // of a lookup's features
    std::vector<std::int64_t> part = local;
    if (parts > 1) part[feature_axis(space)] = ceil_div(part[feature_axis(space)], parts);
    const SharePlan p = share_plan(call, part, c_.tiles, c_.chip);
    std::vector<std::int32_t> in_place = gather_operands(op, lead, layout, rearranges, position);
    Step work = vector(rearranges ? Term::relayout : pass_ == Pass::update ? Term::update : Term::vector, p.vector);
    work.generic = !op.def->core;
    work.data = Data::operands;
    work.operands = std::move(in_place);
    work.grid = {p.parallel_parts, p.reduce_parts};
    work.tiles = p.parallel_parts * p.reduce_parts;
    work.times = pass_ == Pass::update ? update_slices(op) : parts;
    add_step(work, position);
    if (p.reduce_parts > 1) {
      Step partials = exchange(Term::partials_exchange, {-1}, p.partial_bytes);
      Step join = vector(Term::reduction, p.join);
      partials.times = join.times = parts;
      partials.temporary = join.temporary = p.partial_bytes;
      add_step(partials, position);
      add_step(join, position);
    }
    for (TensorId t : op.outputs) layout_[t] = rearranges ? kLinear : layout;
  }

  // True when every dimension of every operand follows its own axis one to one: a tile's share of the
  // result needs the same share of the operands.
  static bool elementwise(const Space& space) {
    auto plain = [](const Projection& p) {
      int previous = -1;
      for (const DimMap& d : p) {
        if (d.axis >= 0 && (d.axis <= previous || d.stride != 1 || d.span != 1 || d.offset != 0 || d.window_axis >= 0))
          return false;
        if (d.axis >= 0) previous = d.axis;
      }
      return true;
    };
    return std::all_of(space.in.begin(), space.in.end(), plain) &&
           std::all_of(space.out.begin(), space.out.end(), plain);
  }

  TensorId leading_operand(const Op& op) const {
    TensorId lead;
    for (TensorId t : op.inputs) {
      if (t.valid() && (!lead.valid() || g_.info(t).elements() > g_.info(lead).elements())) lead = t;
    }
    return lead;
  }

  // One exchange for everything the op's shares read that does not lie on their tiles. Returns the inputs that do.
  std::vector<std::int32_t> gather_operands(const Op& op, TensorId lead, LayoutId layout, bool rearranges,
                                            std::size_t position) {
    if (rearranges && lead.valid()) {
      const TensorId larger =
          op.outputs.empty() || g_.info(lead).elements() >= g_.info(op.outputs[0]).elements() ? lead : op.outputs[0];
      Step move = exchange(Term::relayout, all_inputs(op), tile_bytes(larger));
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
      if (t == lead || g_.info(t).elements() <= 1 || (full && layout_of(t) == layout)) {
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
          ceil_div(volume(local_shape(g_.info(lead).shape, c_.sharding.of(lead), c_.sharding.mesh)), c_.tiles);
      const std::int64_t theirs = volume(local_shape(g_.info(t).shape, c_.sharding.of(t), c_.sharding.mesh));
      plain += Bytes(std::min(mine, theirs) * size_of(g_.info(t).type));
    }
    if (!received.empty()) add_step(exchange(Term::operand_exchange, received, plain), position);
    return in_place;
  }

  void finish() {
    if (pass_ == Pass::forward) {
      for (TensorId r : stays_) {
        if (!g_.tensors[r].producer.valid() || g_.ops[g_.tensors[r].producer].unit != f_.unit) continue;
        (own_.count(r) ? f_.kept : f_.crossing) += tile_bytes(r);
      }
    }
    const ExchangeFabric& x = c_.chip.exchange;
    for (const Step& s : f_.steps) {
      if (s.kind != StepKind::exchange && s.kind != StepKind::collective) continue;
      const std::int64_t fragments = s.data == Data::update_sums ? 1 : kFragments;  // a scalar is in one piece
      f_.exchange_code += x.code_per_phase + x.code_per_fragment * fragments;
    }
  }
};

}  // namespace

GraphFacts::GraphFacts(const Graph& g) : graph(g), signatures(unit_signatures(g)) {
  const std::size_t units = g.units.size();
  weights.resize(units);
  borrowed.resize(units);
  boundary.resize(units + 1);
  feeds.resize(units);
  contributes.assign(g.tensors.size(), false);
  read_in_backward.assign(g.tensors.size(), false);
  leaves_unit.assign(g.tensors.size(), false);
  for (TensorId t : g.outputs) leaves_unit[static_cast<std::size_t>(t.index)] = !g.loss.valid() || t == g.loss;
  std::vector<std::int32_t> first_user(g.tensors.size(), -1), last_reader(g.tensors.size(), -1);
  std::set<std::pair<std::int32_t, TensorId>> borrowed_seen;
  for (const Op& op : g.ops) {
    for (TensorId t : op.inputs) {
      if (!t.valid()) continue;
      const auto i = static_cast<std::size_t>(t.index);
      const Tensor& tensor = g.tensors[t];
      if (tensor.producer.valid() && g.ops[tensor.producer].pass == op.pass && g.ops[tensor.producer].unit != op.unit)
        leaves_unit[i] = true;
      if (op.pass == Pass::backward && tensor.producer.valid() && g.ops[tensor.producer].pass == Pass::forward &&
          g.ops[tensor.producer].unit == op.unit) {
        read_in_backward[i] = true;
      }
      if (op.pass != Pass::forward) continue;
      const std::int32_t u = op.unit.index;
      if (tensor.kind == TensorKind::weight || tensor.kind == TensorKind::input) {
        if (first_user[i] < 0) {
          first_user[i] = u;
          (tensor.kind == TensorKind::weight ? weights : feeds)[static_cast<std::size_t>(u)].push_back(t);
        } else if (first_user[i] != u && tensor.kind == TensorKind::weight && borrowed_seen.insert({u, t}).second) {
          borrowed[static_cast<std::size_t>(u)].push_back(t);
        }
      }
      if (tensor.producer.valid()) last_reader[i] = std::max(last_reader[i], u);
    }
  }
  for (std::size_t u = 0; u < units; ++u) {
    if (!borrowed[u].empty()) tied.emplace_back(first_user[static_cast<std::size_t>(borrowed[u][0].index)], u);
  }
  // A view is carried as the tensor it views.
  auto root_of = [&](TensorId t) {
    while (g.tensors[t].producer.valid() && g.ops[g.tensors[t].producer].def->view)
      t = g.ops[g.tensors[t].producer].inputs[0];
    return t;
  };
  for (std::size_t t = 0; t < g.tensors.size(); ++t) {
    const TensorId r = root_of(TensorId(t));
    const Tensor& tensor = g.tensors[r];
    if (!tensor.producer.valid() || g.ops[tensor.producer].pass != Pass::forward) continue;
    const std::int32_t made = g.ops[tensor.producer].unit.index;
    for (std::int32_t u = made + 1; u <= last_reader[t]; ++u) boundary[static_cast<std::size_t>(u)].push_back(r);
  }
  for (auto& list : boundary) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  find_remade();
  summand_of = gradient_summands(g);
  for (std::size_t t = 0; t < g.tensors.size(); ++t) contributes[t] = summand_of[t].valid();
}

Bytes vertex_code(const VertexSet& kinds) {
  Bytes total(0);
  const auto ops = all_ops();
  SUPERSTEP_CHECK(ops.size() <= kinds.size(), "more ops than a VertexSet holds");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (kinds[i]) total += ops[i]->vertex_code;
  }
  return total;
}

void GraphFacts::find_remade() {
  auto kept = [&](TensorId t) { return read_in_backward[static_cast<std::size_t>(t.index)]; };
  // The operand that a scale or shift by weights acts on; invalid: the op is something else.
  auto scaled_operand = [&](const Op& op) {
    TensorId full;
    if (op.def->name != "add" && op.def->name != "mul") return TensorId();
    for (TensorId in : op.inputs) {
      if (graph.tensors[in].kind == TensorKind::weight) continue;
      if (full.valid() || graph.info(in).elements() != graph.info(op.outputs[0]).elements()) return TensorId();
      full = in;
    }
    return full;
  };
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward || !kept(op.outputs[0]) || leaves_unit[static_cast<std::size_t>(op.outputs[0].index)])
      continue;
    std::vector<OpId> chain;
    TensorId t = op.outputs[0];
    while (t.valid() && graph.tensors[t].producer.valid() && graph.ops[graph.tensors[t].producer].unit == op.unit) {
      const OpId producer = graph.tensors[t].producer;
      t = scaled_operand(graph.ops[producer]);
      if (!t.valid()) break;
      chain.insert(chain.begin(), producer);
      if (kept(t) && !remade.count(t)) {
        remade[op.outputs[0]] = chain;
        break;
      }
    }
  }
  for (const auto& [t, chain] : remade) read_in_backward[static_cast<std::size_t>(t.index)] = false;
}

Bytes on_ipu(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor) {
  const TensorInfo& info = facts.graph.info(tensor);
  return Bytes(volume(local_shape(info.shape, sharding.of(tensor), sharding.mesh)) * size_of(info.type));
}

Bytes per_tile(const GraphFacts& facts, const GraphSharding& sharding, TensorId tensor, std::int64_t tiles) {
  return Bytes(round_up(ceil_div(on_ipu(facts, sharding, tensor).value, tiles), 8));
}

Function lower_unit(const UnitContext& context, UnitId unit, Pass pass) {
  return UnitLowering(context, unit, pass).run();
}

}  // namespace superstep
