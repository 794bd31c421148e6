// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/setting_parts.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "model/error.h"
#include "model/lower/placement.h"

namespace superstep {
namespace {

constexpr std::size_t kMostRows = 64;  // bits of Stage::rows; where there are more kinds of unit, kinds share bits

using Number = std::int64_t UnitNumbers::*;

// Returns the numbers that values of a field add to.
std::span<const Number> numbers_of(SettingSpace::Axis axis) {
  using U = UnitNumbers;
  static constexpr Number kStash[] = {&U::boundary, &U::boundary_ipu, &U::move, &U::join};
  static constexpr Number kWeight[] = {&U::forward,      &U::backward,          &U::gather,
                                       &U::resident,     &U::borrowed_resident, &U::ddr,
                                       &U::borrowed_ddr, &U::remote_tile,       &U::borrowed_remote_tile};
  static constexpr Number kGradient[] = {&U::backward,     &U::resident,    &U::borrowed_resident,    &U::ddr,
                                         &U::borrowed_ddr, &U::remote_tile, &U::borrowed_remote_tile, &U::tied_ddr};
  static constexpr Number kState[] = {&U::resident, &U::ddr, &U::remote_tile, &U::update_peak};
  static constexpr Number kPrefetchDepth[] = {&U::host_waiting, &U::ddr};
  switch (axis) {
    case SettingSpace::load_axis:
    case SettingSpace::code_axis:
      return {};
    case SettingSpace::stash_axis:
      return kStash;
    case SettingSpace::weight_axis:
      return kWeight;
    case SettingSpace::gradient_axis:
      return kGradient;
    case SettingSpace::state_axis:
      return kState;
    case SettingSpace::prefetch_depth_axis:
      return kPrefetchDepth;
  }
  return {};
}

bool remote(Location l) { return l == Location::remote_ipu; }
bool away(Location l) { return l == Location::streaming || l == Location::remote_machine; }
std::int64_t whole(double cycles) { return static_cast<std::int64_t>(cycles); }

double faster(double a, double b) { return no_slower(a, b) ? a : b; }
void take_less(LinearCycles& a, const LinearCycles& b) {
  a.fixed = std::min(a.fixed, b.fixed);
  a.per_byte = std::min(a.per_byte, b.per_byte);
}

}  // namespace

Setting::Setting(const UnitTable& table, const Plan& plan, const OptimizerSpec& optimizer, bool phased) {
  const ReplicatedTensorSharding& shards = plan.replicated_tensor_sharding;
  const std::set<std::int64_t> degrees = {1, shards.weights, shards.gradients, shards.optimizer_state};
  const ShardCosts costs(table.model(), replicas_of(plan), {degrees.begin(), degrees.end()});
  const SettingParts parts(table, costs, SettingSpace::just(plan, phased, table.training()), optimizer);
  *this = parts.setting(parts.space().all());
}

// ---- construction

SettingParts::SettingParts(const UnitTable& table, const UnitTable& tightest, const ShardCosts& costs,
                           SettingSpace space, const OptimizerSpec& optimizer)
    : space_(std::move(space)), tightest_(&tightest), unit_(table.first_of_class()), costs_(&costs) {
  const CostModel& model = table.model();
  Setting& s = base_;
  s.table_ = &table;
  s.plan_ = space_.common;
  if (space_.phased && !s.plan_.phased()) s.plan_.phases = {0, 1};  // marks the plan as phased; the cuts come later
  space_.common = s.plan_;
  s.n_ = static_cast<std::int64_t>(table.units());
  s.limit_ = model.machine().chip.tile_memory.value;
  s.executable_limit_ = model.machine().chip.executable_memory.value;
  s.ddr_limit_ = model.machine().streaming_per_ipu().value;
  s.tiles_ = table.tiles();
  s.micro_fixed_ = model.calibration().micro_batch_fixed.value;
  s.cycle_fixed_ = model.calibration().pipeline_cycle_fixed.value;
  s.pass_fixed_ = model.calibration().pass_fixed(base_.table_->training()).value;
  s.training_ = table.training();
  s.phased_ = space_.phased;
  s.class_of_ = table.classes();
  s.goes_back_at_once_ = !s.phased_ && (s.plan_.schedule != Schedule::interleaved || s.plan_.pipeline_stages == 1);
  s.moves_overlap_ = s.plan_.io_tiles > 0;
  const GroupShape mesh = mesh_of(s.plan_);
  join_all_ = linear_collective(model, CollectiveKind::all_gather, mesh);
  join_rest_ =
      linear_collective(model, CollectiveKind::all_gather, mesh_group(s.plan_.tensor_parallel, 1, mesh.stride));
  for (const Location at : {Location::streaming, Location::remote_machine, Location::remote_ipu}) {
    const std::int64_t stride = lender_stride(s.plan_, at, model.machine().ipus_per_machine);
    rates_[static_cast<std::size_t>(at)] = model.streaming_rate(at, stride).value;
  }
  for (std::size_t unit : unit_) s.unit_.push_back(base_numbers(unit));
  of_class_.resize(unit_.size());
  for (std::int64_t u = 0; u < s.n_; ++u) ++of_class_[static_cast<std::size_t>(s.class_of(u))];
  tabulate(state_bytes_per_parameter(optimizer));
}

std::size_t SettingParts::added(Axis axis) const { return unit_.size() * numbers_of(axis).size(); }

UnitNumbers SettingParts::base_numbers(std::size_t unit) const {
  UnitNumbers p;
  const UnitTable& table = *base_.table_;
  const Plan& plan = base_.plan_;
  p.copy = table.model().copy(table.boundary(unit).bytes, plan.strides().stage, mesh_of(plan)).value;
  if (unit == table.units()) return p;
  const UnitRow &row = table.row(unit), &lean = tightest_->row(unit);
  const std::int64_t tiles = base_.tiles_;
  p.row = static_cast<std::int32_t>(static_cast<std::size_t>(table.kind(unit)) % kMostRows);
  p.again = p.forward = row.forward_cycles.total().value;
  p.backward = row.backward_cycles.total().value;
  if (plan.io_tiles == 0)  // else beside the step: Setting::with_host()
    p.host = table.model().host(row.feed_bytes).value + table.model().host(row.result_bytes).value;
  p.host_ipu = row.host_bytes().value;
  p.kept = row.forward.kept.value;
  p.crossing = row.forward.crossing.value;
  p.kept_ipu = p.kept * tiles;
  p.crossing_ipu = p.crossing * tiles;
  p.forward_peak = lean.forward.peak.value;
  p.keeping_peak = lean.forward.peak_keeping.value;
  p.backward_peak = lean.backward.peak.value;
  p.joined_weights = (row.weight_tile + row.borrowed_tile).value;
  p.gradient = ceil_div(row.parameters * size_of(base_.plan_.precision.accumulators), tiles);
  p.feed = row.feed_tile.value;
  p.feed_ipu = row.feed_bytes.value;
  p.weights = row.weight_bytes.value;
  p.borrowed = row.borrowed_bytes.value;
  if (!base_.phased_) return p;
  p.resident = row.weight_tile.value + (base_.training_ ? p.gradient : 0);
  p.borrowed_resident = row.borrowed_tile.value;
  if (base_.training_)
    p.borrowed_resident += ceil_div(row.borrowed_parameters * size_of(base_.plan_.precision.accumulators), tiles);
  return p;
}

UnitNumbers SettingParts::stash_numbers(const Plan& plan, std::size_t unit) const {
  UnitNumbers p;
  const Boundary& boundary = base_.table_->boundary(unit);
  const bool shards = plan.activation_sharding != ActivationSharding::none;
  p.boundary = (shards ? boundary.shard_tile : boundary.tile).value;
  p.boundary_ipu = (shards ? boundary.shard : boundary.bytes).value;
  p.move = streaming(p.boundary_ipu, plan.location.activations);
  if (shards) {
    p.join = join_all_.of(boundary.gather_all.value) + join_rest_.of(boundary.gather_rest.value);
  }
  return p;
}

UnitNumbers SettingParts::weight_numbers(const Plan& plan, const LinearCycles& gather, std::size_t unit) const {
  UnitNumbers p;
  if (unit == base_.table_->units()) return p;
  const UnitRow& row = base_.table_->row(unit);
  const std::int64_t degree = plan.replicated_tensor_sharding.weights;
  const std::int64_t bytes = ceil_div(row.weight_bytes.value, degree);
  const std::int64_t borrowed = ceil_div(row.borrowed_bytes.value, degree);
  if (!base_.phased_) {
    p.gather = p.forward = p.backward = gather.of((row.weight_bytes + row.borrowed_bytes).value);
    p.resident = ceil_div(row.weight_tile.value, degree);
    p.borrowed_resident = ceil_div(row.borrowed_tile.value, degree);
  }
  if (away(plan.location.weights)) p.ddr = bytes, p.borrowed_ddr = borrowed;
  if (remote(plan.location.weights)) p.remote_tile = bytes, p.borrowed_remote_tile = borrowed;
  return p;
}

UnitNumbers SettingParts::gradient_numbers(const Plan& plan, const LinearCycles& scatter, std::size_t unit) const {
  UnitNumbers p;
  if (!base_.training_ || unit == base_.table_->units()) return p;
  const UnitRow& row = base_.table_->row(unit);
  const Location at = accumulators_at(plan);
  const std::int64_t bytes = size_of(plan.precision.accumulators), shards = gradient_shards(plan);
  const std::int64_t own = row.parameters * bytes, borrowed = row.borrowed_parameters * bytes;
  if (base_.phased_) {
    p.tied_ddr = ceil_div(borrowed, shards);
  } else {
    if (shards > 1) p.backward += scatter.of(own + borrowed);
    p.backward += 2 * streaming(ceil_div(own + borrowed, shards), at);
    if (at == Location::in_processor) {
      p.resident = ceil_div(ceil_div(own, base_.tiles_), shards);
      p.borrowed_resident = ceil_div(ceil_div(borrowed, base_.tiles_), shards);
    }
  }
  if (away(at)) p.ddr = ceil_div(own, shards), p.borrowed_ddr = ceil_div(borrowed, shards);
  if (remote(at)) p.remote_tile = ceil_div(own, shards), p.borrowed_remote_tile = ceil_div(borrowed, shards);
  return p;
}

UnitNumbers SettingParts::state_numbers(const Plan& plan, const Updates& updates, std::int64_t state_bytes,
                                        std::size_t unit) const {
  UnitNumbers p;
  if (!base_.training_ || unit == base_.table_->units()) return p;
  const UnitRow& row = base_.table_->row(unit);
  const std::int64_t shards = plan.replicated_tensor_sharding.optimizer_state;
  const std::int64_t state = ceil_div(row.parameters * state_bytes, shards);
  const Location at = plan.location.optimizer_state;
  if (away(at)) p.ddr = state;
  if (remote(at)) p.remote_tile = state;
  if (at == Location::in_processor) p.resident = ceil_div(state, base_.tiles_);
  if (row.parameters > 0) {
    const Bytes loaded = row.loaded_state(at, state_bytes, shards, base_.tiles_);
    p.update_peak = (tightest_->update(*updates.tightest, unit).footprint.peak + loaded).value;
  }
  return p;
}

UnitNumbers SettingParts::prefetch_numbers(const Plan& plan, std::size_t unit) const {
  UnitNumbers p;
  if (unit == base_.table_->units()) return p;
  const UnitRow& row = base_.table_->row(unit);
  p.host_waiting = row.host_tile().value * plan.prefetch_depth;
  if (base_.table_->model().machine().has_streaming()) p.ddr = row.host_bytes().value * plan.prefetch_depth;
  return p;
}

void SettingParts::tabulate(std::int64_t state_bytes) {
  const auto lengths = space_.lengths();
  Plan plan = space_.common;
  // Gives `plan` one value of an axis, and the first value of every other list.
  const auto set = [&](Axis axis, std::size_t value) {
    std::array<std::size_t, SettingSpace::kAxes> values{};
    values[axis] = value;
    space_.set(plan, values);
  };
  const auto each = [&](Axis axis, const auto& numbers) {
    adds_[axis].reserve(lengths[axis] * added(axis));
    for (std::size_t v = 0; v < lengths[axis]; ++v) {
      set(axis, v);
      for (std::size_t unit : unit_) {
        const UnitNumbers of = numbers(plan, v, unit);
        for (Number n : numbers_of(axis)) adds_[axis].push_back(of.*n);
      }
    }
  };
  for (const Storage& weight : space_.weights) {
    weight_degree_.push_back(costs_->of(weight.degree));
    load_.push_back(costs_->gather(weight_degree_.back()));
  }
  std::vector<Updates> updates;
  for (const Storage& state : space_.states) {
    state_degree_.push_back(costs_->of(state.degree));
    const GroupShape group = shard_group(base_.plan_, state.degree);
    updates.emplace_back();
    if (base_.training_) updates.back() = {&base_.table_->updates(group), &tightest_->updates(group)};
  }
  for (std::size_t g = 0; g < space_.gradients.size(); ++g) {
    set(SettingSpace::gradient_axis, g);
    accumulators_.push_back({gradient_shards(plan), rate(accumulators_at(plan)), joins_gradients(space_.gradients[g])});
    gradient_degree_.push_back(costs_->of(gradient_shards(plan)));
  }
  each(SettingSpace::stash_axis, [&](const Plan& p, std::size_t, std::size_t u) { return stash_numbers(p, u); });
  each(SettingSpace::weight_axis,
       [&](const Plan& p, std::size_t w, std::size_t u) { return weight_numbers(p, load_[w], u); });
  each(SettingSpace::gradient_axis,
       [&](const Plan& p, std::size_t g, std::size_t u) { return gradient_numbers(p, scatter(g), u); });
  each(SettingSpace::state_axis,
       [&](const Plan& p, std::size_t s, std::size_t u) { return state_numbers(p, updates[s], state_bytes, u); });
  each(SettingSpace::prefetch_depth_axis,
       [&](const Plan& p, std::size_t, std::size_t u) { return prefetch_numbers(p, u); });
  for (std::size_t w = 0; w < space_.weights.size(); ++w) {
    const Storage& weight = space_.weights[w];
    if (const double bytes_per_second = rate(weight.at); bytes_per_second > 0) {
      const double clock = base_.table_->model().machine().chip.clock.value;
      load_[w].per_byte += clock / bytes_per_second / static_cast<double>(weight.degree);
    }
  }
  for (std::size_t s = 0; s < space_.states.size(); ++s) tabulate_state(space_.states[s], updates[s], state_bytes);
}

void SettingParts::tabulate_state(const Storage& state, const Updates& updates, std::int64_t state_bytes) {
  const UnitTable& table = *base_.table_;
  update_.emplace_back(unit_.size());
  for (std::size_t k = 0; k < unit_.size(); ++k) {
    if (!base_.training_ || unit_[k] == table.units()) continue;
    const std::int64_t parameters = table.row(unit_[k]).parameters;
    if (parameters == 0) continue;
    update_.back()[k] = table.update(*updates.base, unit_[k]).cycles.value +
                        2 * streaming(ceil_div(parameters * state_bytes, state.degree), state.at);
  }
  code_.push_back(code_with(table, updates.base));
  if (!exact()) at_ends_.push_back(at_ends(state, updates, state_bytes));
}

SettingParts::AtEnds SettingParts::at_ends(const Storage& state, const Updates& updates,
                                           std::int64_t state_bytes) const {
  AtEnds out;
  const auto add = [&](const UnitTable& table, const UnitTable::Updates* of) {
    for (const std::size_t unit : unit_) {
      if (!base_.training_ || unit == table.units() || table.row(unit).parameters == 0) continue;
      const UpdateCost& update = table.update(*of, unit);
      const Bytes loaded = table.row(unit).loaded_state(state.at, state_bytes, state.degree, table.tiles());
      out.numbers.push_back((update.footprint.peak + loaded).value);
      out.numbers.push_back(update.cycles.value +
                            2 * streaming(ceil_div(table.row(unit).parameters * state_bytes, state.degree), state.at));
    }
    std::ranges::copy(code_with(table, of), std::back_inserter(out.code));
  };
  add(*base_.table_, updates.base);
  add(*tightest_, updates.tightest);
  return out;
}

std::vector<CodeOfRow> SettingParts::code_with(const UnitTable& table, const UnitTable::Updates* updates) const {
  std::vector<CodeOfRow> rows(std::min(kMostRows, table.kinds()));
  for (std::size_t unit : unit_) {
    if (unit == table.units()) continue;
    const UnitRow& row = table.row(unit);
    CodeOfRow& code = rows[static_cast<std::size_t>(table.kind(unit)) % kMostRows];
    std::int64_t bytes = (row.forward.exchange_code + row.backward.exchange_code).value;
    code.vertices |= row.forward.vertices | row.backward.vertices;
    if (base_.training_ && row.parameters > 0) {
      const Footprint& update = table.update(*updates, unit).footprint;
      bytes += update.exchange_code.value;
      code.vertices |= update.vertices;
    }
    code.exchange = std::max(code.exchange, bytes);
  }
  return rows;
}

const LinearCycles& SettingParts::scatter(std::size_t gradient) const {
  return costs_->scatter(costs_->of(space_.gradients[gradient].degree));
}
const LinearCycles& SettingParts::reduce(std::size_t state, std::size_t gradient) const {
  return costs_->reduce(state_degree_[state], gradient_degree_[gradient]);
}
const LinearCycles& SettingParts::join(std::size_t state, std::size_t weight) const {
  return costs_->join(state_degree_[state], weight_degree_[weight]);
}

std::int64_t SettingParts::streaming(std::int64_t bytes, Location where) const {
  return base_.moved(bytes, rate(where));
}

// ---- settings, and bounds on them

Setting SettingParts::setting(const SettingSpace::Subset& subset) const {
  Setting s = base_;
  s.plan_ = space_.plan(subset.begin);
  for (const Axis axis : {SettingSpace::stash_axis, SettingSpace::weight_axis, SettingSpace::gradient_axis,
                          SettingSpace::state_axis, SettingSpace::prefetch_depth_axis})
    add_least(s, axis, subset);
  if (s.training_) add_updates(s, subset);
  set_scalars(s, subset);
  return s;
}

void SettingParts::add_least(Setting& setting, Axis axis, const SettingSpace::Subset& subset) const {
  const std::span<const Number> numbers = numbers_of(axis);
  const std::size_t count = added(axis);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t least = INT64_MAX;
    for (std::size_t v = subset.begin[axis]; v < subset.end[axis]; ++v)
      least = std::min(least, adds_[axis][v * count + i]);
    setting.unit_[i / numbers.size()].*numbers[i % numbers.size()] += least;
  }
}

// Sets the updates, which depend on how the degrees of several fields go together.
void SettingParts::add_updates(Setting& setting, const SettingSpace::Subset& subset) const {
  double fixed = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> least(unit_.size(), INT64_MAX);
  for (std::size_t s = subset.begin[SettingSpace::state_axis]; s < subset.end[SettingSpace::state_axis]; ++s) {
    const LeastUpdate of = least_update(s, subset);
    if (!of.legal) continue;
    fixed = std::min(fixed, of.fixed);
    for (std::size_t k = 0; k < unit_.size(); ++k) least[k] = std::min(least[k], of.cycles[k]);
  }
  SUPERSTEP_CHECK(least[0] < INT64_MAX, "no degrees of a subset go together");
  setting.update_fixed_ = whole(fixed);
  for (std::size_t k = 0; k < unit_.size(); ++k) setting.unit_[k].update = least[k];
}

SettingParts::LeastUpdate SettingParts::least_update(std::size_t state, const SettingSpace::Subset& subset) const {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double reduce_fixed = kNone, join_fixed = kNone;
  std::vector<std::int64_t> reduced(unit_.size(), INT64_MAX), joined = reduced;
  for (std::size_t g = subset.begin[SettingSpace::gradient_axis]; g < subset.end[SettingSpace::gradient_axis]; ++g) {
    if (!space_.take_gradients(space_.gradients[g], space_.states[state])) continue;
    reduce_fixed = std::min(reduce_fixed, reduce(state, g).fixed);
    for (std::size_t k = 0; k < unit_.size(); ++k) reduced[k] = std::min(reduced[k], reduce_cycles(state, g, k));
  }
  for (std::size_t w = subset.begin[SettingSpace::weight_axis]; w < subset.end[SettingSpace::weight_axis]; ++w) {
    if (!space_.go_together(space_.weights[w], space_.states[state])) continue;
    join_fixed = std::min(join_fixed, join(state, w).fixed);
    for (std::size_t k = 0; k < unit_.size(); ++k) joined[k] = std::min(joined[k], join_cycles(state, w, k));
  }
  LeastUpdate out;
  out.legal = reduce_fixed < kNone && join_fixed < kNone;
  if (!out.legal) return out;
  out.fixed = reduce_fixed + join_fixed;
  for (std::size_t k = 0; k < unit_.size(); ++k) out.cycles.push_back(update_[state][k] + reduced[k] + joined[k]);
  return out;
}

// Returns the cycles of a unit's gradients on their way to the update.
std::int64_t SettingParts::reduce_cycles(std::size_t state, std::size_t gradient, std::size_t unit_class) const {
  const std::size_t unit = unit_[unit_class];
  if (unit == base_.table_->units()) return 0;
  const std::int64_t bytes = base_.table_->row(unit).parameters * size_of(base_.plan_.precision.accumulators);
  const Accumulators& from = accumulators_[gradient];
  return whole(reduce(state, gradient).per_byte * static_cast<double>(bytes)) +
         base_.moved(ceil_div(bytes, from.shards), from.rate);
}

// Returns the cycles of a unit's new weights on their way from the update to the place of the weights.
std::int64_t SettingParts::join_cycles(std::size_t state, std::size_t weight, std::size_t unit_class) const {
  const std::size_t unit = unit_[unit_class];
  if (unit == base_.table_->units()) return 0;
  const std::int64_t bytes = base_.table_->row(unit).new_weight_bytes.value;
  const Storage& at = space_.weights[weight];
  return whole(join(state, weight).per_byte * static_cast<double>(bytes)) +
         streaming(ceil_div(bytes, at.degree), at.at) +
         (update_loads(base_.plan_) ? streaming(ceil_div(bytes, space_.states[state].degree), at.at) : 0);
}

void SettingParts::set_scalars(Setting& s, const SettingSpace::Subset& subset) const {
  const bool one_group = s.plan_.phase_groups == 1;
  s.weights_ahead_ = s.code_ahead_ = !one_group;
  s.weights_wait_ = s.code_waits_ = one_group && s.phased_;
  for (std::size_t l = subset.begin[SettingSpace::load_axis]; l < subset.end[SettingSpace::load_axis]; ++l) {
    const auto waits = [&](LoadSchedule kind) { return kind == LoadSchedule::preload && s.plan_.io_tiles > 0; };
    const bool weights = waits(space_.loads[l].weights), code = waits(space_.loads[l].code);
    s.weights_ahead_ |= weights, s.code_ahead_ |= code;
    s.weights_wait_ &= weights, s.code_waits_ &= code;
  }
  bool first = true;
  for (std::size_t w = subset.begin[SettingSpace::weight_axis]; w < subset.end[SettingSpace::weight_axis];
       ++w, first = false) {
    const Storage& weight = space_.weights[w];
    const bool joins = !s.phased_ && weight.degree > 1;
    const double to = rate(weight.at), whole_rate = s.phased_ ? 0 : to;
    s.joins_weights_ = first ? joins : s.joins_weights_ && joins;
    s.weights_rate_ = first ? whole_rate : faster(s.weights_rate_, whole_rate);
    s.new_weights_rate_ = first ? to : faster(s.new_weights_rate_, to);
    s.weight_shards_ = first ? weight.degree : std::max(s.weight_shards_, weight.degree);
    if (first) s.load_ = load_[w];
    take_less(s.load_, load_[w]);
  }
  first = true;
  for (std::size_t g = subset.begin[SettingSpace::gradient_axis]; g < subset.end[SettingSpace::gradient_axis];
       ++g, first = false) {
    const Accumulators& a = accumulators_[g];
    s.joins_gradients_ = first ? a.joined : s.joins_gradients_ && a.joined;
    s.spill_rate_ = first ? a.rate : faster(s.spill_rate_, a.rate);
    s.spill_shards_ = first ? a.shards : std::max(s.spill_shards_, a.shards);
    if (first) s.scatter_ = scatter(g);
    take_less(s.scatter_, scatter(g));
  }
  first = true;
  for (std::size_t a = subset.begin[SettingSpace::stash_axis]; a < subset.end[SettingSpace::stash_axis];
       ++a, first = false) {
    const Location at = space_.stashes[a].at;
    const bool remote_tile = remote(at), ddr = away(at);
    const std::int64_t entries = at == Location::in_processor ? INT64_MAX : 2;
    const double to = s.phased_ ? 0 : rate(at);
    s.stash_remote_tile_ = first ? remote_tile : s.stash_remote_tile_ && remote_tile;
    s.stash_ddr_ = first ? ddr : s.stash_ddr_ && ddr;
    s.stash_entries_ = first ? entries : std::min(s.stash_entries_, entries);
    s.stash_rate_ = first ? to : faster(s.stash_rate_, to);
  }
  first = true;
  for (std::size_t c = subset.begin[SettingSpace::code_axis]; c < subset.end[SettingSpace::code_axis];
       ++c, first = false) {
    const Location at = s.phased_ ? space_.codes[c] : Location::in_processor;
    const bool moves = at != Location::in_processor;
    s.code_moves_ = first ? moves : s.code_moves_ || moves;
    s.code_rate_ = first ? rate(at) : faster(s.code_rate_, rate(at));
    s.code_ddr_ = first ? away(at) : s.code_ddr_ && away(at);
    s.code_remote_tile_ = first ? remote(at) : s.code_remote_tile_ && remote(at);
  }
  s.code_of_row_ = code_[subset.begin[SettingSpace::state_axis]];
  for (std::size_t v = subset.begin[SettingSpace::state_axis] + 1; v < subset.end[SettingSpace::state_axis]; ++v) {
    for (std::size_t k = 0; k < s.code_of_row_.size(); ++k) {
      s.code_of_row_[k].exchange = std::min(s.code_of_row_[k].exchange, code_[v][k].exchange);
      s.code_of_row_[k].vertices &= code_[v][k].vertices;
    }
  }
}

bool SettingParts::joins_gradients(const Storage& gradient) const {
  return !base_.phased_ && base_.training_ && (gradient.at != Location::in_processor || gradient.degree > 1);
}

bool SettingParts::no_more(Axis axis, std::size_t a, std::size_t b) const {
  const std::size_t count = added(axis);
  const std::span all(adds_[axis]), x = all.subspan(a * count, count), y = all.subspan(b * count, count);
  return std::ranges::equal(x, y, std::less_equal<>());
}

}  // namespace superstep
