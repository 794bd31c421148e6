// SPDX-License-Identifier: Apache-2.0
// Values of fields that are never better than others.
#include <algorithm>

#include "model/lower/placement.h"
#include "planner/setting_parts.h"

namespace superstep {
namespace {

bool same_kind(Location a, Location b) { return kind_of(a) == kind_of(b); }
bool no_slower(const LinearCycles& a, const LinearCycles& b) { return a.fixed <= b.fixed && a.per_byte <= b.per_byte; }

}  // namespace

bool SettingParts::no_worse_stash(std::size_t a, std::size_t b) const {
  return base_.phased_ || no_slower(rate(space_.stashes[a].at), rate(space_.stashes[b].at));
}

bool SettingParts::no_worse_weight(std::size_t a, std::size_t b) const {
  const Storage &x = space_.weights[a], &y = space_.weights[b];
  if (!no_slower(rate(x.at), rate(y.at))) return false;
  // Shards move alike; what is joined takes a place.
  const bool waits = std::find(space_.loads.begin(), space_.loads.end(), LoadSchedule::preload) != space_.loads.end();
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
  for (std::size_t k = 0; k < code_[a].size(); ++k) {
    const CodeOfRow &mine = code_[a][k], &theirs = code_[b][k];
    if (mine.exchange > theirs.exchange || (mine.vertices & theirs.vertices) != mine.vertices) return false;
  }
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

bool SettingParts::no_worse(Axis axis, std::size_t a, std::size_t b) const {
  switch (axis) {
    case SettingSpace::kLoad:
      return false;
    case SettingSpace::kStash:
      return same_kind(space_.stashes[a].at, space_.stashes[b].at) && no_worse_stash(a, b) && no_more(axis, a, b);
    case SettingSpace::kWeight:
      return no_slower(load_[a], load_[b]) && no_more(axis, a, b) && no_worse_weight(a, b);
    case SettingSpace::kGradient:
      return no_slower(scatter(a), scatter(b)) && no_more(axis, a, b) && no_worse_gradient(a, b);
    case SettingSpace::kState:
      return same_kind(space_.states[a].at, space_.states[b].at) && no_more(axis, a, b) && no_worse_state(a, b);
    case SettingSpace::kPrefetchDepth:
      return no_more(axis, a, b);
  }
  return false;
}

// Gradients and new values of tied weights travel by themselves.
bool SettingParts::has_lenders() const {
  for (std::size_t u = 0; u < base_.table_->units(); ++u) {
    if (base_.table_->lender(u) >= 0) return true;
  }
  return false;
}

void SettingParts::drop_dominated() {
  for (const Axis axis : {SettingSpace::kStash, SettingSpace::kPrefetchDepth, SettingSpace::kGradient,
                          SettingSpace::kWeight, SettingSpace::kState}) {
    const std::size_t n = space_.lengths()[axis];
    for (std::size_t b = n; b-- > 0;) {
      for (std::size_t a = 0; a < space_.lengths()[axis]; ++a) {
        if (a == b || !no_worse(axis, a, b) || (a > b && no_worse(axis, b, a))) continue;
        erase(axis, b);
        break;
      }
    }
  }
}

void SettingParts::erase(Axis axis, std::size_t value) {
  const auto drop = [&](auto& list) { list.erase(list.begin() + static_cast<std::ptrdiff_t>(value)); };
  drop(adds_[axis]);
  switch (axis) {
    case SettingSpace::kLoad:
      break;
    case SettingSpace::kStash:
      drop(space_.stashes);
      break;
    case SettingSpace::kPrefetchDepth:
      drop(space_.prefetch_depths);
      break;
    case SettingSpace::kWeight:
      drop(space_.weights), drop(load_), drop(weight_degree_);
      break;
    case SettingSpace::kGradient:
      drop(space_.gradients), drop(accumulators_), drop(gradient_degree_);
      break;
    case SettingSpace::kState:
      drop(space_.states), drop(code_), drop(update_), drop(state_degree_);
      break;
  }
}

}  // namespace superstep
