// SPDX-License-Identifier: Apache-2.0
// Drops values of fields that other values dominate.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "model/lower/placement.h"
#include "planner/cost/setting_parts.h"

namespace superstep {
namespace {

bool same_kind(Location a, Location b) { return kind_of(a) == kind_of(b); }
bool no_more_code(const std::vector<CodeOfRow>& a, const std::vector<CodeOfRow>& b) {
  return std::ranges::equal(a, b, [](const CodeOfRow& x, const CodeOfRow& y) {
    return x.exchange <= y.exchange && (x.vertices & y.vertices) == x.vertices;
  });
}

}  // namespace

bool SettingParts::no_worse_stash(std::size_t a, std::size_t b) const {
  return base_.phased_ || no_slower(rate(space_.stashes[a].at), rate(space_.stashes[b].at));
}

bool SettingParts::no_worse_weight(std::size_t a, std::size_t b) const {
  const Storage &x = space_.weights[a], &y = space_.weights[b];
  if (!no_slower(rate(x.at), rate(y.at))) return false;
  // Larger degrees move smaller shards; joined weights take a place on each tile.
  const bool waits =
      std::ranges::any_of(space_.loads, [](const LoadSchedules& l) { return l.weights == LoadSchedule::preload; });
  const bool moves = rate(x.at) > 0 || waits || has_lenders();
  if (moves && x.degree < y.degree) return false;
  if (!base_.phased_ && x.degree > 1 && y.degree == 1) return false;
  for (std::size_t s = 0; s < space_.states.size(); ++s) {
    if (!space_.go_together(y, space_.states[s])) continue;
    if (!space_.go_together(x, space_.states[s])) return false;
    if (!base_.training_) continue;
    if (join(s, a).fixed > join(s, b).fixed) return false;
    for (std::size_t k = 0; k < unit_.size(); ++k) {
      if (join_cycles(s, a, k) > join_cycles(s, b, k)) return false;
    }
  }
  return true;
}

bool SettingParts::no_worse_gradient(std::size_t a, std::size_t b) const {
  if (!base_.training_) return true;
  const Accumulators &x = accumulators_[a], &y = accumulators_[b];
  if (!no_slower(x.rate, y.rate)) return false;
  if (x.shards < y.shards && (x.rate > 0 || has_lenders())) return false;
  if (x.joined && !y.joined) return false;
  for (std::size_t s = 0; s < space_.states.size(); ++s) {
    if (!space_.take_gradients(space_.gradients[b], space_.states[s])) continue;
    if (!space_.take_gradients(space_.gradients[a], space_.states[s])) return false;
    if (reduce(s, a).fixed > reduce(s, b).fixed) return false;
    for (std::size_t k = 0; k < unit_.size(); ++k) {
      if (reduce_cycles(s, a, k) > reduce_cycles(s, b, k)) return false;
    }
  }
  return true;
}

bool SettingParts::no_worse_state(std::size_t a, std::size_t b) const {
  const Storage &x = space_.states[a], &y = space_.states[b];
  if (!no_more_code(exact() ? code_[a] : at_ends_[a].code, exact() ? code_[b] : at_ends_[b].code)) return false;
  if (!exact() && !std::ranges::equal(at_ends_[a].numbers, at_ends_[b].numbers, std::less_equal<>())) return false;
  if (!base_.training_) return true;
  for (std::size_t k = 0; k < unit_.size(); ++k) {
    if (update_[a][k] > update_[b][k]) return false;
  }
  for (std::size_t g = 0; g < space_.gradients.size(); ++g) {
    if (!space_.take_gradients(space_.gradients[g], y)) continue;
    if (!space_.take_gradients(space_.gradients[g], x) || !no_slower(reduce(a, g), reduce(b, g))) return false;
  }
  for (std::size_t w = 0; w < space_.weights.size(); ++w) {
    if (!space_.go_together(space_.weights[w], y)) continue;
    if (!space_.go_together(space_.weights[w], x) || !no_slower(join(a, w), join(b, w))) return false;
    if (update_loads(base_.plan_) && x.degree < y.degree) return false;
  }
  return true;
}

bool SettingParts::no_worse_code(Location a, Location b) const {
  return !base_.phased_ || (kind_of(a) == kind_of(b) && no_slower(rate(a), rate(b)));
}

bool SettingParts::no_worse(Axis axis, std::size_t a, std::size_t b) const {
  switch (axis) {
    case SettingSpace::load_axis:
      return false;
    case SettingSpace::stash_axis:
      return same_kind(space_.stashes[a].at, space_.stashes[b].at) && no_worse_stash(a, b) && no_more(axis, a, b);
    case SettingSpace::weight_axis:
      return no_slower(load_[a], load_[b]) && no_more(axis, a, b) && no_worse_weight(a, b);
    case SettingSpace::gradient_axis:
      return no_slower(scatter(a), scatter(b)) && no_more(axis, a, b) && no_worse_gradient(a, b);
    case SettingSpace::state_axis:
      return same_kind(space_.states[a].at, space_.states[b].at) && no_more(axis, a, b) && no_worse_state(a, b);
    case SettingSpace::prefetch_depth_axis:
      return no_more(axis, a, b);
    case SettingSpace::code_axis:
      return no_worse_code(space_.codes[a], space_.codes[b]);
  }
  return false;
}

// True if a unit borrows weights. Gradients and new values of such weights travel by themselves, in shards.
bool SettingParts::has_lenders() const {
  for (std::size_t u = 0; u < base_.table_->units(); ++u) {
    if (base_.table_->lender(u) >= 0) return true;
  }
  return false;
}

namespace {

// True if collective `a` takes fewer cycles than `b` for some number of bytes that is `least` or more. `least`:
// positive.
bool may_take_less(const LinearCycles& a, const LinearCycles& b, std::int64_t least) {
  return a.per_byte < b.per_byte || a.of(least) < b.of(least);
}

// Returns the lesser number; `a` where `b` is not positive.
std::int64_t least_positive(std::int64_t a, std::int64_t b) { return b > 0 ? std::min(a, b) : a; }

}  // namespace

// True if any collective of the setting may take less than with the same degrees in consecutive groups. Weights and
// gradients are joined and scattered by unit or by phase, so never in fewer bytes than the smallest unit has.
bool SettingParts::groups_help(Usual& usual, std::size_t weight, std::size_t gradient, std::size_t state) const {
  if (space_.is_whole(space_.weights[weight]) && space_.is_whole(space_.gradients[gradient]) &&
      space_.is_whole(space_.states[state]))
    return false;
  constexpr std::int64_t kNone = INT64_MAX;
  std::int64_t least_weights = kNone, least_gradients = kNone;
  for (const std::size_t unit : unit_) {
    if (unit == base_.table_->units()) continue;
    const UnitRow& row = base_.table_->row(unit);
    for (const Bytes b : {row.weight_bytes, row.borrowed_bytes}) least_weights = least_positive(least_weights, b.value);
    for (const std::int64_t n : {row.parameters, row.borrowed_parameters})
      least_gradients = least_positive(least_gradients, n * size_of(base_.plan_.precision.accumulators));
  }
  const std::size_t of_weights = weight_degree_[weight];
  if (least_weights < kNone && may_take_less(costs_->gather(of_weights), usual.costs.gather(of_weights), least_weights))
    return true;
  if (!base_.training_) return false;
  const std::size_t of_gradients = costs_->of(space_.gradients[gradient].degree);
  if (least_gradients < kNone &&
      may_take_less(costs_->scatter(of_gradients), usual.costs.scatter(of_gradients), least_gradients))
    return true;
  return groups_help_updates(usual, weight, gradient, state);
}

std::vector<SettingParts::UpdateSums> SettingParts::update_sums(std::size_t state) const {
  const UnitTable& table = *base_.table_;
  const std::int64_t degree = space_.states[state].degree;
  Replicas replicas = replicas_of(base_.plan_);
  const GroupShape mine = replicas.group(degree);
  replicas.groups = ShardGroups::consecutive;
  const GroupShape theirs = replicas.group(degree);
  const bool no_faster = degree == 1 || table.model().is_no_faster(mine, theirs);
  const UnitTable::Updates &fastest = table.updates(theirs), &tightest = tightest_->updates(theirs),
                           &own = table.updates(mine);
  std::vector<UpdateSums> out(unit_.size());
  for (std::size_t k = 0; k < unit_.size(); ++k) {
    const std::size_t unit = unit_[k];
    if (unit == table.units() || table.row(unit).parameters == 0) continue;
    const std::int64_t usually = table.update(fastest, unit).cycles.value;
    out[k] = {usually, tightest_->update(tightest, unit).cycles.value, table.update(own, unit).cycles.value - usually,
              no_faster};
  }
  return out;
}

// True if updates may take less than with consecutive groups. An update takes the cycles of the IPU group with most to
// do, and fixed cycles once. Suppose that each unit takes at least a fraction `share` more than with consecutive
// groups. Then the IPU group with most to do takes this fraction more as well. Its cycles are no fewer than the average
// over IPU groups. This holds for the units of a pipeline, and for all phases together. Fixed cycles count once per
// phase, and there are at most as many phases as units.
bool SettingParts::groups_help_updates(Usual& usual, std::size_t weight, std::size_t gradient,
                                       std::size_t state) const {
  if (usual.sums.empty()) usual.sums = update_sums(state);
  const UnitTable& table = *base_.table_;
  const std::size_t s = state_degree_[state], g = gradient_degree_[gradient], w = weight_degree_[weight];
  const LinearCycles &reduced = reduce(state, gradient), &joined = join(state, weight),
                     &usually_reduced = usual.costs.reduce(s, g), &usually_joined = usual.costs.join(s, w);
  double all = 0;                                          // cycles of all updates with consecutive groups
  double share = std::numeric_limits<double>::infinity();  // least relative rise of a unit's update
  for (std::size_t k = 0; k < unit_.size(); ++k) {
    const std::size_t unit = unit_[k];
    if (unit == table.units() || table.row(unit).parameters == 0) continue;
    const UnitRow& row = table.row(unit);
    const auto gradients = static_cast<double>(row.parameters * size_of(base_.plan_.precision.accumulators));
    const auto weights = static_cast<double>(row.new_weight_bytes.value);
    const double moved = std::floor(reduced.per_byte * gradients) - std::floor(usually_reduced.per_byte * gradients) +
                         std::floor(joined.per_byte * weights) - std::floor(usually_joined.per_byte * weights);
    const UpdateSums& sums = usual.sums[k];
    const double more = moved + static_cast<double>(exact() ? sums.more : sums.no_faster ? 0 : -sums.slowest);
    if (more < 0) return true;
    const double usually = static_cast<double>(update_[state][k] + reduce_cycles(state, gradient, k) +
                                               join_cycles(state, weight, k) - sums.more) -
                           moved;
    const double most = usually + static_cast<double>(sums.slowest - sums.usually);
    all += static_cast<double>(of_class_[k]) * usually;
    share = std::min(share, more / std::max(1.0, most));
  }
  const double once = reduced.fixed + joined.fixed - usually_reduced.fixed - usually_joined.fixed;
  if (once >= 0) return false;
  const double times = base_.phased_ ? static_cast<double>(base_.n_) : 1;
  return all == 0 || share * all / static_cast<double>(base_.plan_.pipeline_stages) + times * once < 0;
}

void SettingParts::drop_idle_groups(const ShardCosts& costs) {
  std::array<std::vector<bool>, SettingSpace::kAxes> helps;
  const auto lengths = space_.lengths();
  for (const Axis axis : {SettingSpace::weight_axis, SettingSpace::gradient_axis, SettingSpace::state_axis})
    helps[axis].assign(lengths[axis], false);
  for (std::size_t s = 0; s < space_.states.size(); ++s) {
    Usual usual{costs, {}};
    for (std::size_t w = 0; w < space_.weights.size(); ++w) {
      if (!space_.go_together(space_.weights[w], space_.states[s])) continue;
      for (std::size_t g = 0; g < space_.gradients.size(); ++g) {
        if (!space_.take_gradients(space_.gradients[g], space_.states[s])) continue;
        std::vector<bool>::reference of_w = helps[SettingSpace::weight_axis][w],
                                     of_g = helps[SettingSpace::gradient_axis][g],
                                     of_s = helps[SettingSpace::state_axis][s];
        if ((of_w && of_g && of_s) || !groups_help(usual, w, g, s)) continue;
        of_w = of_g = of_s = true;
      }
    }
  }
  for (const Axis axis : {SettingSpace::weight_axis, SettingSpace::gradient_axis, SettingSpace::state_axis}) {
    for (std::size_t v = helps[axis].size(); v-- > 0;) {
      if (!helps[axis][v]) erase(axis, v);
    }
  }
}

void SettingParts::drop_dominated() {
  for (const Axis axis : {SettingSpace::stash_axis, SettingSpace::prefetch_depth_axis, SettingSpace::gradient_axis,
                          SettingSpace::weight_axis, SettingSpace::state_axis, SettingSpace::code_axis}) {
    const std::size_t n = space_.lengths()[axis];
    for (std::size_t b = n; b-- > 0;) {
      for (std::size_t a = 0; a < space_.lengths()[axis]; ++a) {
        if (a == b || !no_worse(axis, a, b) || (a > b && no_worse(axis, b, a))) continue;
        erase(axis, b);
        break;
      }
    }
  }
  // Frees memory that only comparisons need, since a search keeps many SettingParts.
  at_ends_ = {};
  for (std::vector<std::int64_t>& adds : adds_) adds.shrink_to_fit();
}

void SettingParts::erase(Axis axis, std::size_t value) {
  const auto drop = [&](auto& list) { list.erase(list.begin() + static_cast<std::ptrdiff_t>(value)); };
  const auto added_by = adds_[axis].begin() + static_cast<std::ptrdiff_t>(value * added(axis));
  adds_[axis].erase(added_by, added_by + static_cast<std::ptrdiff_t>(added(axis)));
  switch (axis) {
    case SettingSpace::load_axis:
      break;
    case SettingSpace::stash_axis:
      drop(space_.stashes);
      break;
    case SettingSpace::prefetch_depth_axis:
      drop(space_.prefetch_depths);
      break;
    case SettingSpace::code_axis:
      drop(space_.codes);
      break;
    case SettingSpace::weight_axis:
      drop(space_.weights), drop(load_), drop(weight_degree_);
      break;
    case SettingSpace::gradient_axis:
      drop(space_.gradients), drop(accumulators_), drop(gradient_degree_);
      break;
    case SettingSpace::state_axis:
      drop(space_.states), drop(code_), drop(update_), drop(state_degree_);
      if (!exact()) drop(at_ends_);
      break;
  }
}

}  // namespace superstep
