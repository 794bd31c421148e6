// SPDX-License-Identifier: Apache-2.0
#include "planner/evaluate.h"

#include <bit>
#include <map>
#include <utility>

#include "model/error.h"

namespace superstep {
namespace {

constexpr std::size_t kMostRows = 64;  // bits of Stage::rows; more kinds of unit share them

std::int64_t shard_of(std::int64_t bytes, std::int64_t degree) { return ceil_div(bytes, degree); }
bool remote(Location l) { return l == Location::remote_ipu; }
bool away(Location l) { return l == Location::streaming || l == Location::remote_machine; }

// Of two rates the one that takes no longer; 0, where nothing moves, takes no time at all.
double faster(double a, double b) { return a == 0 || b == 0 ? 0 : std::max(a, b); }

}  // namespace

std::int64_t Setting::PerUnit::*const Setting::kNumbers[] = {
    &PerUnit::forward,        &PerUnit::backward,     &PerUnit::again,        &PerUnit::gather,
    &PerUnit::host,           &PerUnit::update,       &PerUnit::copy,         &PerUnit::move,
    &PerUnit::join,           &PerUnit::resident,     &PerUnit::kept,         &PerUnit::borrowed_resident,
    &PerUnit::crossing,       &PerUnit::forward_peak, &PerUnit::keeping_peak, &PerUnit::backward_peak,
    &PerUnit::joined_weights, &PerUnit::gradient,     &PerUnit::feed,         &PerUnit::feed_waiting,
    &PerUnit::boundary,       &PerUnit::weights,      &PerUnit::borrowed,     &PerUnit::feed_ipu,
    &PerUnit::kept_ipu,       &PerUnit::crossing_ipu, &PerUnit::ddr,          &PerUnit::entry_boundary,
    &PerUnit::borrowed_ddr,   &PerUnit::lent,         &PerUnit::tied_ddr,     &PerUnit::borrowed_lent,
    &PerUnit::update_peak,
};

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
      lending_tiles_(tiles_),
      micro_fixed_(table.model().calibration().micro_batch_fixed.value),
      cycle_fixed_(table.model().calibration().pipeline_cycle_fixed.value),
      training_(table.training()),
      phased_(phased),
      class_of_(table.classes()) {
  if (phased && !plan_.phased()) plan_.phases = {0, 1};  // several, whichever the cuts will be
  const auto& rts = plan_.replicated_tensor_sharding;
  const Locations& location = plan_.location;
  goes_back_at_once_ = !phased && (plan_.schedule != Schedule::interleaved || plan_.pipeline_stages == 1);
  joins_weights_ = !phased && rts.weights > 1;
  joins_gradients_ = !phased && training_ && (location.gradients != Location::in_processor || rts.gradients > 1);
  moves_overlap_ = plan_.io_tiles > 0;
  overlapped_ = (plan_.load == LoadSchedule::preload && plan_.io_tiles > 0) || plan_.phase_groups == 2;
  stash_lent_ = remote(location.activations);
  stash_ddr_ = phased ? !stash_lent_ : away(location.activations);
  stash_entries_ = location.activations == Location::in_processor ? INT64_MAX : 2;
  const bool waits = plan_.load == LoadSchedule::preload && plan_.io_tiles > 0 && plan_.phase_groups == 1;
  preload_room_ = waits ? (plan_.io_tiles * limit_ + 1) * rts.weights - 1 : INT64_MAX;
  stash_rate_ = phased ? 0 : rate(location.activations);
  weights_rate_ = phased ? 0 : rate(location.weights);
  code_rate_ = phased ? rate(location.code) : 0;
  spill_rate_ = rate(accumulators_at(plan_));
  weight_shards_ = rts.weights;
  spill_shards_ = gradient_shards(plan_);
  gather_ = collective(CollectiveKind::all_gather, shard_group(plan_, rts.weights));
  scatter_ = collective(CollectiveKind::reduce_scatter, shard_group(plan_, rts.gradients));
  load_ = {gather_.fixed, gather_.per_byte};
  if (const double bytes_per_second = rate(location.weights); bytes_per_second > 0)
    load_.per_byte += table.model().machine().chip.clock.value / bytes_per_second / static_cast<double>(rts.weights);
  if (training_) price_update();
  for (std::size_t unit : table.first_of_class()) unit_.push_back(per_unit(unit, optimizer));
  count_code();
}

Setting::PerUnit Setting::per_unit(std::size_t unit, const OptimizerSpec& optimizer) const {
  PerUnit p{};
  add_boundary(p, unit);
  if (unit == table_->units()) return p;
  const UnitRow& row = table_->row(unit);
  const auto& rts = plan_.replicated_tensor_sharding;
  p.row = static_cast<std::int32_t>(static_cast<std::size_t>(table_->kind(unit)) % kMostRows);
  p.gather = phased_ ? 0 : gather_.of((row.weight_bytes + row.borrowed_bytes).value);
  p.again = row.forward_cycles.total().value;
  p.forward = row.forward_cycles.total().value + p.gather;
  p.backward = row.backward_cycles.total().value + p.gather;
  p.host = table_->model().host(row.feed_bytes).value;
  p.kept = row.forward.kept.value;
  p.crossing = row.forward.crossing.value;
  p.kept_ipu = p.kept * tiles_;
  p.crossing_ipu = p.crossing * tiles_;
  p.forward_peak = row.forward.peak.value;
  p.keeping_peak = row.forward.peak_keeping.value;
  p.backward_peak = row.backward.peak.value;
  p.joined_weights = (row.weight_tile + row.borrowed_tile).value;
  p.gradient = ceil_div(row.parameters * size_of(plan_.precision.accumulators), tiles_);
  p.feed = row.feed_tile.value;
  p.feed_waiting = p.feed * plan_.prefetch_depth;
  p.feed_ipu = row.feed_bytes.value;
  p.weights = row.weight_bytes.value;
  p.borrowed = row.borrowed_bytes.value;
  p.resident = phased_ ? row.weight_tile.value : shard_of(row.weight_tile.value, rts.weights);
  p.borrowed_resident = phased_ ? row.borrowed_tile.value : shard_of(row.borrowed_tile.value, rts.weights);
  p.ddr = row.feed_bytes.value * plan_.prefetch_depth;
  if (away(plan_.location.weights)) {
    p.ddr += shard_of(p.weights, rts.weights);
    p.borrowed_ddr += shard_of(p.borrowed, rts.weights);
  }
  if (remote(plan_.location.weights)) {
    p.lent += shard_of(p.weights, rts.weights);
    p.borrowed_lent += shard_of(p.borrowed, rts.weights);
  }
  if (training_) add_training(p, unit, optimizer);
  return p;
}

void Setting::add_boundary(PerUnit& p, std::size_t unit) const {
  const Boundary& boundary = table_->boundary(unit);
  const bool shards = plan_.activation_sharding != ActivationSharding::none;
  p.boundary = (shards ? boundary.shard_tile : boundary.tile).value;
  p.entry_boundary = (shards ? boundary.shard : boundary.bytes).value;
  const Location at = plan_.location.activations;
  p.move = streaming(p.entry_boundary, at == Location::in_processor ? Location::streaming : at);
  const std::int64_t t = plan_.tensor_parallel.size();
  if (shards) {
    p.join = collective(CollectiveKind::all_gather, {t, 1}).of(boundary.gather_all.value) +
             collective(CollectiveKind::all_gather, {plan_.tensor_parallel.t2, 1}).of(boundary.gather_rest.value);
  }
  p.copy = table_->model().copy(boundary.bytes, t).value;
}

// Accumulators, state and the update.
void Setting::add_training(PerUnit& p, std::size_t unit, const OptimizerSpec& optimizer) const {
  const UnitRow& row = table_->row(unit);
  const auto& rts = plan_.replicated_tensor_sharding;
  const Locations& location = plan_.location;
  const std::int64_t acc = size_of(plan_.precision.accumulators);
  const std::int64_t accumulators = row.parameters * acc, borrowed = row.borrowed_parameters * acc;
  if (!phased_ && rts.gradients > 1) p.backward += scatter_.of(accumulators + borrowed);
  if (!phased_ && location.gradients != Location::in_processor)
    p.backward += 2 * streaming(shard_of(accumulators + borrowed, rts.gradients), location.gradients);
  const std::int64_t borrowed_tile = ceil_div(borrowed, tiles_);
  if (phased_) {
    p.resident += p.gradient;
    p.borrowed_resident += borrowed_tile;
    p.tied_ddr = shard_of(borrowed, gradient_shards(plan_));
  } else if (location.gradients == Location::in_processor) {
    p.resident += shard_of(p.gradient, rts.gradients);
    p.borrowed_resident += shard_of(borrowed_tile, rts.gradients);
  }
  if (away(location.gradients)) {
    p.ddr += shard_of(accumulators, rts.gradients);
    p.borrowed_ddr += shard_of(borrowed, rts.gradients);
  }
  if (remote(accumulators_at(plan_))) {
    p.lent += shard_of(accumulators, rts.gradients);
    p.borrowed_lent += shard_of(borrowed, rts.gradients);
  }
  const std::int64_t state = shard_of(row.parameters * state_bytes_per_parameter(optimizer), rts.optimizer_state);
  if (away(location.optimizer_state)) p.ddr += state;
  if (location.optimizer_state == Location::in_processor) p.resident += ceil_div(state, tiles_);
  if (remote(location.optimizer_state)) p.lent += state;
  if (row.parameters > 0) p.update_peak = table_->update(unit, shard_group(plan_, rts.optimizer_state)).peak.value;
  p.update = update_cycles(unit, state);
}

void Setting::count_code() {
  code_of_row_.resize(std::min(kMostRows, table_->kinds()));
  for (std::size_t unit : table_->first_of_class()) {
    if (unit == table_->units()) continue;
    const UnitRow& row = table_->row(unit);
    CodeOfRow& code = code_of_row_[static_cast<std::size_t>(table_->kind(unit)) % kMostRows];
    std::int64_t bytes = (row.forward.exchange_code + row.backward.exchange_code).value;
    code.vertices |= row.forward.vertices | row.backward.vertices;
    if (training_ && row.parameters > 0) {
      const Footprint& update =
          table_->update(unit, shard_group(plan_, plan_.replicated_tensor_sharding.optimizer_state));
      bytes += update.exchange_code.value;
      code.vertices |= update.vertices;
    }
    code.exchange = std::max(code.exchange, bytes);
  }
}

std::int64_t Setting::work(std::int64_t begin, std::int64_t end) const {
  std::int64_t work = 0;
  for (std::int64_t u = begin; u < end; ++u) {
    const PerUnit& p = at(u);
    work += p.forward + p.host + (training_ ? p.backward + (phased_ ? p.again : 0) : 0);
  }
  return work;
}

// Collectives of an update are merged into one per IPU: their latency counts once, their bytes per unit.
void Setting::price_update() {
  const auto& rts = plan_.replicated_tensor_sharding;
  const std::int64_t shards = rts.optimizer_state, grad_shards = gradient_shards(plan_);
  const GroupShape replicas = replica_group(plan_), group = shard_group(plan_, shards);
  double fixed = 0;
  auto add = [&](CollectiveKind kind, GroupShape g, double part, Linear& slope) {
    const Linear l = collective(kind, g);
    fixed += l.fixed;
    slope.per_byte += l.per_byte * part;
  };
  const double s = static_cast<double>(shards);
  if (shards > 1) {
    if (grad_shards == 1) add(CollectiveKind::reduce_scatter, group, 1, per_gradient_);
    add(CollectiveKind::all_reduce, {replicas.size / shards, group.stride * shards}, 1 / s, per_gradient_);
  } else if (grad_shards == 1) {
    add(CollectiveKind::all_reduce, replicas, 1, per_gradient_);
  } else {
    const GroupShape gg = shard_group(plan_, grad_shards);
    add(CollectiveKind::all_reduce, {replicas.size / grad_shards, gg.stride * grad_shards},
        1 / static_cast<double>(grad_shards), per_gradient_);
    add(CollectiveKind::all_gather, gg, 1, per_gradient_);
  }
  if (shards > rts.weights) {
    add(CollectiveKind::all_gather, {shards / rts.weights, group.stride * rts.weights},
        1 / static_cast<double>(rts.weights), per_weight_);
  }
  update_fixed_ = static_cast<std::int64_t>(fixed);
}

std::int64_t Setting::update_cycles(std::size_t unit, std::int64_t state) const {
  const auto& rts = plan_.replicated_tensor_sharding;
  const UnitRow& row = table_->row(unit);
  const std::int64_t gradients = row.parameters * size_of(plan_.precision.accumulators);
  const std::int64_t weights = row.new_weight_bytes.value, shards = rts.optimizer_state;
  double cycles =
      per_gradient_.per_byte * static_cast<double>(gradients) + per_weight_.per_byte * static_cast<double>(weights);
  if (row.parameters > 0) cycles += static_cast<double>(table_->update_cycles(unit, shard_group(plan_, shards)).value);
  cycles += 2.0 * static_cast<double>(streaming(state, plan_.location.optimizer_state));
  return static_cast<std::int64_t>(cycles) + streaming(shard_of(weights, rts.weights), plan_.location.weights) +
         streaming(shard_of(gradients, gradient_shards(plan_)), accumulators_at(plan_)) +
         (update_loads(plan_) ? streaming(shard_of(weights, shards), plan_.location.weights) : 0);
}

void Setting::relax(const Setting& other) {
  SUPERSTEP_CHECK(n_ == other.n_ && phased_ == other.phased_ && code_moves() == other.code_moves() &&
                      goes_back_at_once_ == other.goes_back_at_once_ && micro_fixed_ == other.micro_fixed_,
                  "settings of different kinds have no bound in common");
  relaxed_ = true;
  tiles_ = std::min(tiles_, other.tiles_);
  lending_tiles_ = std::max(lending_tiles_, other.lending_tiles_);
  update_fixed_ = std::min(update_fixed_, other.update_fixed_);
  joins_weights_ = joins_weights_ && other.joins_weights_;
  joins_gradients_ = joins_gradients_ && other.joins_gradients_;
  moves_overlap_ = moves_overlap_ || other.moves_overlap_;
  overlapped_ = overlapped_ || other.overlapped_;
  stash_lent_ = stash_lent_ && other.stash_lent_;
  stash_ddr_ = stash_ddr_ && other.stash_ddr_;
  stash_entries_ = std::min(stash_entries_, other.stash_entries_);
  preload_room_ = std::max(preload_room_, other.preload_room_);
  stash_rate_ = faster(stash_rate_, other.stash_rate_);
  weights_rate_ = faster(weights_rate_, other.weights_rate_);
  code_rate_ = faster(code_rate_, other.code_rate_);
  spill_rate_ = faster(spill_rate_, other.spill_rate_);
  weight_shards_ = std::max(weight_shards_, other.weight_shards_);
  spill_shards_ = std::max(spill_shards_, other.spill_shards_);
  for (Linear Setting::*l : {&Setting::load_, &Setting::scatter_}) {
    (this->*l).fixed = std::min((this->*l).fixed, (other.*l).fixed);
    (this->*l).per_byte = std::min((this->*l).per_byte, (other.*l).per_byte);
  }
  if (class_of_ != other.class_of_ && *class_of_ != *other.class_of_) split_classes(other);
  const std::vector<std::int32_t>& of = *class_of_;
  std::vector<bool> done(unit_.size());
  for (std::size_t u = 0; u < of.size(); ++u) {
    const auto k = static_cast<std::size_t>(of[u]);
    if (done[k]) continue;
    done[k] = true;
    const PerUnit& its = other.at(static_cast<std::int64_t>(u));
    for (std::int64_t PerUnit::*number : kNumbers) unit_[k].*number = std::min(unit_[k].*number, its.*number);
  }
  for (std::size_t k = 0; k < code_of_row_.size(); ++k) {
    code_of_row_[k].exchange = std::min(code_of_row_[k].exchange, other.code_of_row_[k].exchange);
    code_of_row_[k].vertices &= other.code_of_row_[k].vertices;
  }
}

// Units stay in one class only where they are in both.
void Setting::split_classes(const Setting& other) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> seen;
  std::vector<PerUnit> split;
  auto of = std::make_shared<std::vector<std::int32_t>>();
  for (std::size_t u = 0; u < class_of_->size(); ++u) {
    const auto [it, fresh] =
        seen.try_emplace({(*class_of_)[u], (*other.class_of_)[u]}, static_cast<std::int32_t>(split.size()));
    if (fresh) split.push_back(at(static_cast<std::int64_t>(u)));
    of->push_back(it->second);
  }
  unit_ = std::move(split);
  class_of_ = std::move(of);
}

double Setting::rate(Location where) const {
  if (where == Location::in_processor) return 0;
  const CostModel& m = table_->model();
  return m.streaming_rate(where, lender_stride(plan_, where, m.machine().ipus_per_machine)).value;
}

std::int64_t Setting::moved(std::int64_t bytes, double rate) const {
  if (rate == 0 || bytes == 0) return 0;
  return table_->model().cycles(transfer_time(Bytes(bytes), BytesPerSecond(rate))).value;
}

std::int64_t Setting::streaming(std::int64_t bytes, Location where) const { return moved(bytes, rate(where)); }

std::int64_t Setting::tied_cycles(const Tie& tie) const {
  if (!training_ || tie.together() || relaxed_) return 0;
  const CostModel& m = table_->model();
  const std::int64_t t = plan_.tensor_parallel.size();
  const Bytes gradient = tied_gradients(*table_, plan_, tie);
  std::int64_t cycles =
      tie.same_phase ? m.copy(gradient, t).value : 2 * m.streaming(gradient, Location::streaming, 1).value;
  if (tie.owner_ipu == tie.borrower_ipu) return cycles;
  const Bytes weight = sharded(table_->row(static_cast<std::size_t>(tie.borrower)).borrowed_bytes,
                               plan_.replicated_tensor_sharding.weights);
  cycles += m.copy(weight, t).value;
  if (plan_.location.weights != Location::in_processor) cycles += streaming(weight.value, plan_.location.weights);
  return cycles;
}

std::int64_t Setting::load_cycles(const Stage& s) const {
  return load_.of(s.weights) + (code_moves() ? moved(code(s.rows) * tiles_, code_rate_) : 0);
}

std::int64_t Setting::whole_weights_cycles(std::int64_t weight_bytes) const {
  return moved(shard_of(weight_bytes, weight_shards_), weights_rate_);
}

std::int64_t Setting::code(std::uint64_t rows) const {
  std::int64_t bytes = table_->model().machine().chip.control_code.value;
  VertexSet kinds;
  for (std::uint64_t left = rows; left != 0; left &= left - 1) {
    const CodeOfRow& row = code_of_row_[static_cast<std::size_t>(std::countr_zero(left))];
    bytes += row.exchange;
    kinds |= row.vertices;
  }
  return bytes + vertex_code(kinds).value;
}

void Setting::leave_phase(Stage& s, std::int64_t end, bool more_phases) const {
  if (!more_phases) return;
  const PerUnit& out = at(end);
  s.move_forward += out.move;
  if (training_) s.move_backward += out.move + out.join;
}

PhaseNumbers::Unit Setting::phase_unit(std::int64_t unit) const {
  const PerUnit& p = at(unit);
  PhaseNumbers::Unit out;
  out.resident = p.resident;
  out.forward = p.forward + p.host;
  out.backward = training_ ? p.backward + p.again : 0;
  out.enter_forward = p.move + p.join;
  out.enter_backward = (unit > 0 ? 2 : 1) * p.move + p.join;
  out.leave_forward = p.move;
  out.leave_backward = p.move + p.join;
  out.update = p.update;
  out.load = static_cast<std::int64_t>(load_.per_byte * static_cast<double>(p.weights));
  return out;
}

std::int64_t Setting::spill_cycles(std::int64_t weight_bytes) const {
  const std::int64_t accumulators =
      weight_bytes / size_of(plan_.precision.weights) * size_of(plan_.precision.accumulators);
  return scatter_.of(accumulators) + 2 * moved(shard_of(accumulators, spill_shards_), spill_rate_);
}

std::int64_t Setting::with_host(std::int64_t cycles, std::int64_t micro_batches) const {
  std::int64_t bytes = 0;
  for (std::int64_t u = 0; u < n_; ++u) bytes += at(u).feed_ipu;
  const Bytes fed(bytes * micro_batches);
  const CostModel& model = table_->model();
  return std::max(cycles, model.network(fed, plan_.pipeline_stages).value) +
         model.host_copies(fed, plan_.pipeline_stages).value;
}

std::int64_t Setting::block_end(std::int64_t unit, std::int64_t end, Recompute mode) const {
  if (mode == Recompute::stage) return end;
  std::int64_t v = unit + 1;
  const std::int64_t checkpoint = table_->checkpoint(static_cast<std::size_t>(unit));
  while (v < end && checkpoint >= 0 && table_->checkpoint(static_cast<std::size_t>(v)) == checkpoint) ++v;
  return v;
}

void Setting::add_time(Stage& s, std::int64_t begin, std::int64_t end, bool is_last, Recompute mode, bool first) const {
  for (std::int64_t u = begin; u < end; ++u) {
    const PerUnit& p = at(u);
    s.forward += p.forward + p.host;
    s.update += p.update;
    if (training_) s.backward += p.backward;
  }
  const bool direct = is_last && goes_back_at_once_;
  if (training_ && !phased_ && mode == Recompute::none && !direct) s.backward += at(begin).join;
  for (std::int64_t x = begin; training_ && mode != Recompute::none && x < end;) {
    const std::int64_t y = block_end(x, end, mode);
    if (!(y == end && direct)) {
      if (!phased_) s.backward += at(x).join;
      // The last unit's weights are gathered for both its passes.
      for (std::int64_t u = x; u < y; ++u) s.backward += at(u).again + (u + 1 < y ? at(u).gather : 0);
    }
    x = y;
  }
  if (!phased_) return;
  // The input is loaded (first of its phase) or stashed; leave_phase() adds what the last one stores.
  const PerUnit& in = at(begin);
  const bool begins = begin == 0;
  if (first)
    s.move_forward += begins ? 0 : in.move + in.join;
  else if (training_)
    s.move_forward += in.move;
  if (training_) {
    s.move_backward += in.move + in.join + (first && !begins ? in.move : 0);
  }
}

void Setting::add_memory(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode, Range other) const {
  std::int64_t largest_weight = 0, largest_gradient = 0;
  for (std::int64_t u = begin; u < end; ++u) {
    const PerUnit& p = at(u);
    s.always += p.resident + p.feed_waiting;
    s.weights += p.weights;
    s.ddr += p.ddr;
    s.lent += p.lent;
    s.rows |= std::uint64_t{1} << p.row;
    s.entry += p.feed;
    s.entry_ipu += p.feed_ipu;
    largest_weight = std::max(largest_weight, p.joined_weights);
    largest_gradient = std::max(largest_gradient, p.gradient);
    const std::int64_t from = lender(u);
    const bool lent = from < 0 || (from >= begin && from < end) || (from >= other.begin && from < other.end);
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
    weight_there = std::max(weight_there, at(u).joined_weights);
    gradient_there = std::max(gradient_there, at(u).gradient);
  }
  if (joins_weights_) s.always += std::max<std::int64_t>(0, largest_weight - weight_there);
  if (joins_gradients_) s.always += std::max<std::int64_t>(0, largest_gradient - gradient_there);
  if (training_)
    add_entry(s, begin, end, mode);
  else if (phased_)
    s.ddr += at(begin).entry_boundary;
}

// What a micro-batch leaves behind for its backward, and what runs while it is held.
void Setting::add_entry(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode) const {
  for (std::int64_t x = begin; x < end;) {
    const std::int64_t y = block_end(x, end, mode == Recompute::none ? Recompute::layer : mode);
    std::int64_t held = 0;
    if (mode == Recompute::none) {
      for (std::int64_t u = x; u < y; ++u) {
        const PerUnit& p = at(u);
        s.transient = std::max(s.transient, p.backward_peak);
        s.entry += p.kept + (u + 1 < end ? p.crossing : 0);
        s.entry_ipu += p.kept_ipu + (u + 1 < end ? p.crossing_ipu : 0);
      }
    } else {
      s.entry += at(x).boundary;
      s.entry_ipu += at(x).entry_boundary;
      for (std::int64_t u = x; u < y; ++u) {
        s.transient = std::max(s.transient, held + at(u).keeping_peak);
        held += at(u).kept + (u + 1 < y ? at(u).crossing : 0);
      }
      for (std::int64_t u = y; u-- > x;) {
        s.transient = std::max(s.transient, held + at(u).backward_peak);
        held -= at(u).kept + (u + 1 < y ? at(u).crossing : 0);
      }
    }
    x = y;
  }
  if (mode == Recompute::none) s.entry += at(begin).boundary, s.entry_ipu += at(begin).entry_boundary;
  if (phased_) {
    const std::int64_t stored = plan_.phase_order == PhaseOrder::phase_outer ? plan_.gradient_accumulation : 1;
    if (stash_lent_) s.lent += at(begin).entry_boundary * stored;
    if (stash_ddr_) s.ddr += at(begin).entry_boundary * stored;
    return;
  }
  const std::int64_t move = moved(s.entry_ipu, stash_rate_);
  s.forward += move;
  s.backward += move;
}

void Setting::add_stash(Stage& s, std::int64_t from_end) const {
  if (phased_) return;
  const std::int64_t depth = stash_depth(plan_.schedule, from_end);
  if (training_ && stash_lent_) s.lent += s.entry_ipu * depth;
  s.always += ceil_div(s.lent, lending_tiles_);
  if (!training_) return;
  s.always += s.entry * std::min(depth, stash_entries_);
  if (stash_ddr_) s.ddr += s.entry_ipu * depth;
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
