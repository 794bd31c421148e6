// SPDX-License-Identifier: Apache-2.0
#include "planner/evaluate.h"

#include <bit>
#include <cmath>

#include "model/error.h"

namespace superstep {
namespace {

std::int64_t shard_of(std::int64_t bytes, std::int64_t degree) { return ceil_div(bytes, degree); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
bool remote(Location l) { return l == Location::remote_ipu; }
bool away(Location l) { return l == Location::streaming || l == Location::remote_machine; }

}  // namespace

Setting::Linear Setting::collective(CollectiveKind kind, GroupShape group) const {
  if (group.size <= 1) return {};
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  const double one = static_cast<double>(table_->model().collective(kind, group, Bytes(kLarge)).value);
  const double two = static_cast<double>(table_->model().collective(kind, group, Bytes(2 * kLarge)).value);
  const double per_byte = (two - one) / static_cast<double>(kLarge);
  return {one - per_byte * static_cast<double>(kLarge), per_byte};
}

Setting::Setting(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer, bool phased)
    : table_(&table),
      plan_(plan),
      n_(static_cast<std::int64_t>(table.units())),
      limit_(table.model().machine().chip.tile_memory.value),
      executable_limit_(table.model().machine().chip.executable_memory.value),
      ddr_limit_(table.model().machine().streaming_per_ipu().value),
      tiles_(table.tiles()),
      micro_fixed_(table.model().calibration().micro_batch_fixed.value),
      cycle_fixed_(table.model().calibration().pipeline_cycle_fixed.value),
      training_(table.training()),
      phased_(phased),
      state_bytes_(state_bytes_per_parameter(optimizer)) {
  const CostModel& m = table.model();
  const auto& rts = plan.replicated_tensor_sharding;
  const std::int64_t acc = size_of(plan.precision.accumulators), t = plan.tensor_parallel.size();
  gather_ = collective(CollectiveKind::all_gather, shard_group(plan, rts.weights));
  scatter_ = collective(CollectiveKind::reduce_scatter, shard_group(plan, rts.gradients));
  const Location stash_at =
      plan.location.activations == Location::in_processor ? Location::streaming : plan.location.activations;
  const Linear join_all = collective(CollectiveKind::all_gather, {t, 1}),
               join_rest = collective(CollectiveKind::all_gather, {plan.tensor_parallel.t2, 1});

  auto per_byte = [&](Location l) {
    return static_cast<double>(streaming(std::int64_t{1} << 30, l)) / static_cast<double>(std::int64_t{1} << 30);
  };
  const double away_rate = plan.location.weights == Location::in_processor ? 0 : per_byte(plan.location.weights);
  load_ = {gather_.fixed, away_rate / static_cast<double>(rts.weights) + gather_.per_byte};

  for (std::int64_t u = 0; u <= n_; ++u) {
    PerUnit p{};
    const auto i = at(u);
    const Boundary& boundary = table.boundary(i);
    const bool shards = plan.activation_sharding != ActivationSharding::none;
    p.boundary = (shards ? boundary.shard_tile : boundary.tile).value;
    const std::int64_t stored = (shards ? boundary.shard : boundary.bytes).value;
    p.entry_boundary = stored;
    p.move = streaming(stored, stash_at);
    p.join = shards ? join_all.of(boundary.gather_all.value) + join_rest.of(boundary.gather_rest.value) : 0;
    copy_.push_back(m.copy(table.boundary_bytes(i), t).value);
    p.lender = -1;
    if (u < n_) {
      const UnitRow& row = table.row(i);
      p.row = table.kind(i);
      p.checkpoint = table.checkpoint(i);
      p.gather = phased_ ? 0 : gather_.of((row.weight_bytes + row.borrowed_bytes).value);
      p.again = row.forward_cycles.total().value;
      p.forward = row.forward_cycles.total().value + p.gather;
      p.backward = row.backward_cycles.total().value + p.gather;
      const std::int64_t accumulators = row.parameters * acc, made = accumulators + row.borrowed_parameters * acc;
      if (!phased_ && rts.gradients > 1) p.backward += scatter_.of(made);
      if (!phased_ && plan.location.gradients != Location::in_processor) {
        p.backward += 2 * streaming(shard_of(made, rts.gradients), plan.location.gradients);
      }
      p.host = m.host(row.feed_bytes).value;
      p.kept = row.forward.kept.value;
      p.crossing = row.forward.crossing.value;
      p.forward_peak = row.forward.peak.value;
      p.keeping_peak = row.forward.peak_keeping.value;
      p.backward_peak = row.backward.peak.value;
      p.feed = row.feed_tile.value;
      p.feed_ipu = row.feed_bytes.value;
      p.weights = row.weight_bytes.value;
      p.borrowed = row.borrowed_bytes.value;
      p.resident = row.weight_tile.value;
      p.borrowed_resident = phased_ ? row.borrowed_tile.value : shard_of(row.borrowed_tile.value, rts.weights);
      if (away(plan.location.weights)) p.borrowed_ddr += shard_of(p.borrowed, rts.weights);
      if (remote(plan.location.weights)) {
        p.lent += shard_of(p.weights, rts.weights);
        p.borrowed_lent += shard_of(p.borrowed, rts.weights);
      }
      p.ddr = row.feed_bytes.value * plan.prefetch_depth;
      if (away(plan.location.weights)) p.ddr += shard_of(p.weights, rts.weights);
      if (!phased_) p.resident = shard_of(p.resident, rts.weights);
      if (training_) {
        const std::int64_t gradient_tile = ceil_div(accumulators, tiles_);
        if (phased_ || plan.location.gradients == Location::in_processor)
          p.resident += phased_ ? gradient_tile : shard_of(gradient_tile, rts.gradients);
        const std::int64_t borrowed_tile = ceil_div(row.borrowed_parameters * acc, tiles_);
        if (phased_)
          p.borrowed_resident += borrowed_tile;
        else if (plan.location.gradients == Location::in_processor)
          p.borrowed_resident += shard_of(borrowed_tile, rts.gradients);
        if (away(plan.location.gradients)) p.borrowed_ddr += shard_of(row.borrowed_parameters * acc, rts.gradients);
        if (row.parameters > 0) p.update_peak = table.update(i, shard_group(plan, rts.optimizer_state)).peak.value;
        if (away(plan.location.gradients)) p.ddr += shard_of(accumulators, rts.gradients);
        if (phased_) p.tied_ddr = shard_of(row.borrowed_parameters * acc, gradient_shards(plan));
        const std::int64_t state = shard_of(row.parameters * state_bytes_, rts.optimizer_state);
        if (away(plan.location.optimizer_state)) p.ddr += state;
        if (plan.location.optimizer_state == Location::in_processor) p.resident += ceil_div(state, tiles_);
        if (remote(plan.location.optimizer_state)) p.lent += state;
        if (remote(accumulators_at(plan))) {
          p.lent += shard_of(accumulators, rts.gradients);
          p.borrowed_lent += shard_of(row.borrowed_parameters * acc, rts.gradients);
        }
      }
      const auto& borrowed = table.facts().borrowed[i];
      for (std::int64_t v = 0; !borrowed.empty() && v < u; ++v) {
        const auto& own = table.facts().weights[at(v)];
        if (std::find(own.begin(), own.end(), borrowed[0]) != own.end()) p.lender = static_cast<std::int32_t>(v);
      }
    }
    unit_.push_back(p);
  }
  work_sum_.push_back(0);
  for (std::int64_t u = 0; u < n_; ++u) {
    const PerUnit& p = unit_[at(u)];
    const std::int64_t backward = training_ ? p.backward + (phased_ ? p.again : 0) : 0;
    work_sum_.push_back(work_sum_.back() + p.forward + p.host + backward);
  }
  // Rows beyond the 64th would share a bit; graphs with so many different units count code once per bit.
  code_of_row_.assign(64, 0);
  kinds_of_row_.assign(64, {});
  for (std::int64_t u = 0; u < n_; ++u) {
    const UnitRow& row = table.row(at(u));
    std::int64_t& code_bytes = code_of_row_[at(unit_[at(u)].row % 64)];
    std::int64_t bytes = (row.forward.exchange_code + row.backward.exchange_code).value;
    VertexSet& kinds = kinds_of_row_[at(unit_[at(u)].row % 64)];
    kinds |= row.forward.vertices | row.backward.vertices;
    if (training_ && row.parameters > 0) {
      const Footprint& update = table.update(at(u), shard_group(plan, rts.optimizer_state));
      bytes += update.exchange_code.value;
      kinds |= update.vertices;
    }
    code_bytes = std::max(code_bytes, bytes);
  }
  if (training_) price_update();
}

// Collectives of an update are merged into one per IPU: their latency counts once, their bytes per unit.
void Setting::price_update() {
  const auto& rts = plan_.replicated_tensor_sharding;
  const std::int64_t shards = rts.optimizer_state, grad_shards = gradient_shards(plan_);
  const double acc = static_cast<double>(size_of(plan_.precision.accumulators));
  const GroupShape replicas = replica_group(plan_), group = shard_group(plan_, shards);
  double fixed = 0, per_gradient = 0, per_weight = 0;
  auto add = [&](CollectiveKind kind, GroupShape g, double part, double& slope) {
    const Linear l = collective(kind, g);
    fixed += l.fixed;
    slope += l.per_byte * part;
  };
  const double s = static_cast<double>(shards);
  if (shards > 1) {
    if (grad_shards == 1) add(CollectiveKind::reduce_scatter, group, 1, per_gradient);
    add(CollectiveKind::all_reduce, {replicas.size / shards, group.stride * shards}, 1 / s, per_gradient);
  } else if (grad_shards == 1) {
    add(CollectiveKind::all_reduce, replicas, 1, per_gradient);
  } else {
    const GroupShape gg = shard_group(plan_, grad_shards);
    add(CollectiveKind::all_reduce, {replicas.size / grad_shards, gg.stride * grad_shards},
        1 / static_cast<double>(grad_shards), per_gradient);
    add(CollectiveKind::all_gather, gg, 1, per_gradient);
  }
  if (shards > rts.weights) {
    add(CollectiveKind::all_gather, {shards / rts.weights, group.stride * rts.weights},
        1 / static_cast<double>(rts.weights), per_weight);
  }
  update_fixed_ = static_cast<std::int64_t>(fixed);
  for (std::int64_t u = 0; u < n_; ++u) {
    PerUnit& p = unit_[at(u)];
    const UnitRow& row = table_->row(at(u));
    const double parameters = static_cast<double>(row.parameters);
    const std::int64_t weights = row.new_weight_bytes.value;
    double cycles = per_gradient * parameters * acc + per_weight * static_cast<double>(weights);
    if (row.parameters > 0) cycles += static_cast<double>(table_->update_cycles(at(u), group).value);
    if (plan_.location.optimizer_state != Location::in_processor) {
      cycles += 2.0 * static_cast<double>(
                          streaming(shard_of(row.parameters * state_bytes_, shards), plan_.location.optimizer_state));
    }
    const auto streamed = [&](std::int64_t bytes, std::int64_t degree, Location where) {
      return where == Location::in_processor ? 0 : streaming(shard_of(bytes, degree), where);
    };
    p.update = static_cast<std::int64_t>(cycles) + streamed(weights, rts.weights, plan_.location.weights) +
               streamed(row.parameters * size_of(plan_.precision.accumulators), grad_shards, accumulators_at(plan_));
    if (update_loads(plan_)) p.update += streamed(weights, shards, plan_.location.weights);
  }
}

std::int64_t Setting::tied_cycles(const Tie& tie) const {
  if (!training_ || tie.together()) return 0;
  const CostModel& m = table_->model();
  const std::int64_t t = plan_.tensor_parallel.size();
  const Bytes gradient = tied_gradients(*table_, plan_, tie);
  std::int64_t cycles =
      tie.same_phase ? m.copy(gradient, t).value : 2 * m.streaming(gradient, Location::streaming, 1).value;
  if (tie.owner_ipu == tie.borrower_ipu) return cycles;
  const Bytes weight = sharded(table_->row(at(tie.borrower)).borrowed_bytes, plan_.replicated_tensor_sharding.weights);
  cycles += m.copy(weight, t).value;
  if (plan_.location.weights != Location::in_processor) cycles += streaming(weight.value, plan_.location.weights);
  return cycles;
}

std::int64_t Setting::streaming(std::int64_t bytes, Location where) const {
  const CostModel& m = table_->model();
  return m.streaming(Bytes(bytes), where, lender_stride(plan_, where, m.machine().ipus_per_machine)).value;
}

bool Setting::overlapped() const {
  return (plan_.load == LoadSchedule::preload && plan_.io_tiles > 0) || plan_.phase_groups == 2;
}
std::int64_t Setting::load_cycles(const Stage& s) const {
  std::int64_t cycles = load_.of(s.weights);
  if (code_moves()) cycles += streaming(code(s.rows) * tiles_, plan_.location.code);
  return cycles;
}
std::int64_t Setting::whole_weights_cycles(std::int64_t weight_bytes) const {
  if (plan_.location.weights == Location::in_processor) return 0;
  return streaming(shard_of(weight_bytes, plan_.replicated_tensor_sharding.weights), plan_.location.weights);
}

std::int64_t Setting::code(std::uint64_t rows) const {
  std::int64_t bytes = table_->model().machine().chip.control_code.value;
  VertexSet kinds;
  for (std::uint64_t left = rows; left != 0; left &= left - 1) {
    const auto bit = at(std::countr_zero(left));
    bytes += code_of_row_[bit];
    kinds |= kinds_of_row_[bit];
  }
  return bytes + vertex_code(kinds).value;
}

void Setting::leave_phase(Stage& s, std::int64_t end, bool more_phases) const {
  if (!more_phases) return;
  const PerUnit& out = unit_[at(end)];
  s.move_forward += out.move;
  if (training_) s.move_backward += out.move + out.join;
}

std::int64_t Setting::spill_cycles(std::int64_t weight_bytes) const {
  const std::int64_t accumulators =
      weight_bytes / size_of(plan_.precision.weights) * size_of(plan_.precision.accumulators);
  const std::int64_t degree = gradient_shards(plan_);
  return scatter_.of(degree > 1 ? accumulators : 0) +
         2 * streaming(shard_of(accumulators, degree), accumulators_at(plan_));
}

std::int64_t Setting::least_memory(std::int64_t unit) const {
  const PerUnit& p = unit_[at(unit)];
  return p.resident + std::max(p.forward_peak, p.backward_peak);
}

std::int64_t Setting::with_host(std::int64_t cycles, std::int64_t micro_batches) const {
  std::int64_t bytes = 0;
  for (const PerUnit& p : unit_) bytes += p.feed_ipu;
  const Bytes fed(bytes * micro_batches);
  const CostModel& model = table_->model();
  return std::max(cycles, model.network(fed, plan_.pipeline_stages).value) +
         model.host_copies(fed, plan_.pipeline_stages).value;
}

std::int64_t Setting::block_end(std::int64_t unit, std::int64_t end, Recompute mode) const {
  if (mode == Recompute::stage) return end;
  std::int64_t v = unit + 1;
  while (v < end && unit_[at(unit)].checkpoint >= 0 && unit_[at(v)].checkpoint == unit_[at(unit)].checkpoint) ++v;
  return v;
}

void Setting::add_time(Stage& s, std::int64_t begin, std::int64_t end, bool is_last, Recompute mode, bool first) const {
  for (std::int64_t u = begin; u < end; ++u) {
    const PerUnit& p = unit_[at(u)];
    s.forward += p.forward + p.host;
    s.update += p.update;
    if (training_) s.backward += p.backward;
  }
  // The last stage of a pipeline goes straight from its last block's forward to its backward.
  const bool direct = !phased_ && is_last && (plan_.schedule != Schedule::interleaved || plan_.pipeline_stages == 1);
  if (training_ && !phased_ && mode == Recompute::none && !direct) s.backward += unit_[at(begin)].join;
  for (std::int64_t x = begin; training_ && mode != Recompute::none && x < end;) {
    const std::int64_t y = block_end(x, end, mode);
    if (!(y == end && direct)) {
      if (!phased_) s.backward += unit_[at(x)].join;
      // The last unit's weights are gathered for both its passes.
      for (std::int64_t u = x; u < y; ++u) s.backward += unit_[at(u)].again + (u + 1 < y ? unit_[at(u)].gather : 0);
    }
    x = y;
  }
  if (!phased_) return;
  // The input is loaded (first of its phase) or stashed; leave_phase() adds what the last one stores.
  const PerUnit& in = unit_[at(begin)];
  const bool begins = begin == 0;
  if (first)
    s.move_forward += begins ? 0 : in.move + in.join;
  else if (training_)
    s.move_forward += in.move;
  if (training_) {
    s.move_backward += in.move + in.join + (first && !begins ? in.move : 0);
  }
}

std::int64_t Setting::gathered_tile(std::int64_t unit) const {
  const UnitRow& row = table_->row(at(unit));
  return (row.weight_tile + row.borrowed_tile).value;
}

std::int64_t Setting::gradient_tile(std::int64_t unit) const {
  return ceil_div(table_->row(at(unit)).parameters * size_of(plan_.precision.accumulators), tiles_);
}

void Setting::add_memory(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode, Range other) const {
  std::int64_t largest_weight = 0, largest_gradient = 0;
  std::int64_t &entry = s.entry, &entry_ipu = s.entry_ipu;
  for (std::int64_t u = begin; u < end; ++u) {
    const PerUnit& p = unit_[at(u)];
    s.always += p.resident + p.feed * plan_.prefetch_depth;
    s.weights += p.weights;
    s.ddr += p.ddr;
    s.lent += p.lent;
    s.rows |= std::uint64_t{1} << (p.row % 64);
    entry += p.feed;
    entry_ipu += p.feed_ipu;
    largest_weight = std::max(largest_weight, gathered_tile(u));
    largest_gradient = std::max(largest_gradient, gradient_tile(u));
    const bool lent =
        p.lender < 0 || (p.lender >= begin && p.lender < end) || (p.lender >= other.begin && p.lender < other.end);
    if (!lent) {
      s.always += p.borrowed_resident;
      s.ddr += p.borrowed_ddr + p.tied_ddr;
      s.lent += p.borrowed_lent;
      s.weights += p.borrowed;
    }
    s.transient = std::max({s.transient, p.forward_peak, p.update_peak});
  }
  // Of two stages on one IPU, which take turns, the larger one counts.
  std::int64_t weight_there = 0, gradient_there = 0;
  for (std::int64_t u = other.begin; u < other.end && other.begin < begin; ++u) {
    weight_there = std::max(weight_there, gathered_tile(u));
    gradient_there = std::max(gradient_there, gradient_tile(u));
  }
  if (!phased_ && plan_.replicated_tensor_sharding.weights > 1)
    s.always += std::max<std::int64_t>(0, largest_weight - weight_there);
  if (!phased_ && training_ &&
      (plan_.location.gradients != Location::in_processor || plan_.replicated_tensor_sharding.gradients > 1))
    s.always += std::max<std::int64_t>(0, largest_gradient - gradient_there);
  if (!training_) {
    if (phased_) s.ddr += unit_[at(begin)].entry_boundary;
    return;
  }
  for (std::int64_t x = begin; x < end;) {
    const std::int64_t y = block_end(x, end, mode == Recompute::none ? Recompute::layer : mode);
    std::int64_t held = 0;
    if (mode == Recompute::none) {
      for (std::int64_t u = x; u < y; ++u) {
        const std::int64_t kept = unit_[at(u)].kept + (u + 1 < end ? unit_[at(u)].crossing : 0);
        s.transient = std::max(s.transient, unit_[at(u)].backward_peak);
        entry += kept;
        entry_ipu += kept * tiles_;
      }
    } else {
      entry += unit_[at(x)].boundary;
      entry_ipu += unit_[at(x)].entry_boundary;
      for (std::int64_t u = x; u < y; ++u) {
        s.transient = std::max(s.transient, held + unit_[at(u)].keeping_peak);
        held += unit_[at(u)].kept + (u + 1 < y ? unit_[at(u)].crossing : 0);
      }
      for (std::int64_t u = y; u-- > x;) {
        s.transient = std::max(s.transient, held + unit_[at(u)].backward_peak);
        held -= unit_[at(u)].kept + (u + 1 < y ? unit_[at(u)].crossing : 0);
      }
    }
    x = y;
  }
  if (mode == Recompute::none) entry += unit_[at(begin)].boundary, entry_ipu += unit_[at(begin)].entry_boundary;
  if (phased_) {
    const std::int64_t stored = plan_.phase_order == PhaseOrder::phase_outer ? plan_.gradient_accumulation : 1;
    (remote(plan_.location.activations) ? s.lent : s.ddr) += unit_[at(begin)].entry_boundary * stored;
    return;
  }
  if (plan_.location.activations != Location::in_processor) {
    const std::int64_t move = streaming(entry_ipu, plan_.location.activations);
    s.forward += move;
    s.backward += move;
  }
}

void Setting::add_stash(Stage& s, std::int64_t from_end) const {
  if (phased_) return;
  const std::int64_t depth = stash_depth(plan_.schedule, from_end);
  if (training_ && remote(plan_.location.activations)) s.lent += s.entry_ipu * depth;
  s.always += ceil_div(s.lent, tiles_);
  if (!training_) return;
  const bool elsewhere = plan_.location.activations != Location::in_processor;
  s.always += s.entry * (elsewhere ? std::min<std::int64_t>(depth, 2) : depth);
  if (away(plan_.location.activations)) s.ddr += s.entry_ipu * depth;
}

Setting::Stage Setting::stage_without_stash(std::int64_t begin, std::int64_t end, bool is_last, Recompute mode,
                                            bool first, Range other) const {
  Stage s;
  add_time(s, begin, end, is_last, mode, first);
  add_memory(s, begin, end, mode, other);
  return s;
}

Setting::Stage Setting::stage(std::int64_t begin, std::int64_t end, std::int64_t from_end, Recompute mode, bool first,
                              Range other) const {
  Stage s = stage_without_stash(begin, end, from_end == 0, mode, first, other);
  add_stash(s, from_end);
  return s;
}

}  // namespace superstep
