// SPDX-License-Identifier: Apache-2.0
#include "planner/space/setting_space.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace superstep {
namespace {

std::string kind_of(const Plan& common, bool phased, Location state, Location stash) {
  const std::string degrees = std::to_string(common.tensor_parallel.t1) + "x" +
                              std::to_string(common.tensor_parallel.t2) + " p" + std::to_string(common.pipeline_stages);
  if (phased) return degrees + " phased";  // state and stash are always outside of the processor
  return degrees + " s" + std::string(name_of(common.schedule)) + " o" + std::string(name_of(kind_of(state))) + " a" +
         std::string(name_of(kind_of(stash)));
}

}  // namespace

Location kind_of(Location place) { return place == Location::remote_machine ? Location::streaming : place; }

std::string kind_of(const Plan& p) {
  return kind_of(p, p.phased(), p.location.optimizer_state, p.location.activations);
}

SettingSpace SettingSpace::just(const Plan& plan, bool phased, bool training) {
  const auto& rts = plan.replicated_tensor_sharding;
  const Locations& at = plan.location;
  SettingSpace space;
  space.common = plan;
  space.phased = phased;
  space.training = training;
  space.loads = {plan.load};
  space.stashes = {{at.activations, plan.activation_sharding}};
  space.weights = {{at.weights, rts.weights}};
  space.gradients = {{at.gradients, rts.gradients}};
  space.states = {{at.optimizer_state, rts.optimizer_state}};
  space.prefetch_depths = {plan.prefetch_depth};
  space.codes = {at.code};
  return space;
}

std::array<std::size_t, SettingSpace::kAxes> SettingSpace::lengths() const {
  return {loads.size(),  stashes.size(),         weights.size(), gradients.size(),
          states.size(), prefetch_depths.size(), codes.size()};
}

bool SettingSpace::has_lists_of(const SettingSpace& other) const {
  const auto lists = [](const SettingSpace& s) {
    return std::tie(s.loads, s.stashes, s.weights, s.gradients, s.states, s.prefetch_depths, s.codes);
  };
  return lists(*this) == lists(other);
}

bool SettingSpace::go_together(std::size_t load, Location code) const {
  if (code != Location::in_processor) return true;
  const auto same = [&](const LoadSchedules& l) { return l.weights == loads[load].weights; };
  return std::ranges::find_if(loads, same) == loads.begin() + static_cast<std::ptrdiff_t>(load);
}

bool SettingSpace::legal(const std::array<std::size_t, kAxes>& v) const {
  const Storage &weight = weights[v[weight_axis]], &gradient = gradients[v[gradient_axis]],
                &state = states[v[state_axis]];
  const bool whole = is_whole(weight) && is_whole(gradient) && is_whole(state);
  return go_together(weight, state) && take_gradients(gradient, state) && !(groups_matter && whole) &&
         go_together(v[load_axis], codes[v[code_axis]]);
}

Plan SettingSpace::plan(const std::array<std::size_t, kAxes>& values) const {
  Plan p = common;
  set(p, values);
  return p;
}

void SettingSpace::set(Plan& p, const std::array<std::size_t, kAxes>& v) const {
  p.load = loads[v[load_axis]];
  p.location.activations = stashes[v[stash_axis]].at;
  p.activation_sharding = stashes[v[stash_axis]].sharding;
  p.location.weights = weights[v[weight_axis]].at;
  p.location.gradients = gradients[v[gradient_axis]].at;
  p.location.optimizer_state = states[v[state_axis]].at;
  p.replicated_tensor_sharding = {weights[v[weight_axis]].degree, gradients[v[gradient_axis]].degree,
                                  states[v[state_axis]].degree, common.replicated_tensor_sharding.groups};
  p.prefetch_depth = prefetch_depths[v[prefetch_depth_axis]];
  p.location.code = codes[v[code_axis]];
}

bool SettingSpace::Subset::single() const {
  for (std::size_t a = 0; a < kAxes; ++a) {
    if (end[a] - begin[a] != 1) return false;
  }
  return true;
}

Execution SettingSpace::execution() const {
  if (phased) return Execution::phases;
  return weights[0].degree > 1 ? Execution::gathering_pipeline : Execution::pipeline;
}

SettingSpace::Subset SettingSpace::all() const { return {{}, lengths()}; }

std::vector<std::string> SettingSpace::kinds(const Subset& subset) const {
  std::set<std::string> kinds;
  for (std::size_t s = subset.begin[state_axis]; s < subset.end[state_axis]; ++s) {
    for (std::size_t a = subset.begin[stash_axis]; a < subset.end[stash_axis]; ++a)
      kinds.insert(kind_of(common, phased, states[s].at, stashes[a].at));
  }
  return {kinds.begin(), kinds.end()};
}

bool SettingSpace::uses_remote_tile(const Subset& subset) const {
  const auto all = [&](Axis axis, const auto& list) {
    return std::all_of(list.begin() + static_cast<std::ptrdiff_t>(subset.begin[axis]),
                       list.begin() + static_cast<std::ptrdiff_t>(subset.end[axis]),
                       [](const auto& s) { return s.at == Location::remote_ipu; });
  };
  return all(weight_axis, weights) || all(stash_axis, stashes) ||
         (training && (all(gradient_axis, gradients) || all(state_axis, states)));
}

double SettingSpace::storage_combinations(const Subset& subset) const {
  double stored = 0;
  for (std::size_t s = subset.begin[state_axis]; s < subset.end[state_axis]; ++s) {
    std::int64_t with_weights = 0, whole_weights = 0, with_gradients = 0, whole_gradients = 0;
    for (std::size_t w = subset.begin[weight_axis]; w < subset.end[weight_axis]; ++w) {
      with_weights += go_together(weights[w], states[s]) ? 1 : 0;
      whole_weights += go_together(weights[w], states[s]) && is_whole(weights[w]) ? 1 : 0;
    }
    for (std::size_t g = subset.begin[gradient_axis]; g < subset.end[gradient_axis]; ++g) {
      with_gradients += take_gradients(gradients[g], states[s]) ? 1 : 0;
      whole_gradients += take_gradients(gradients[g], states[s]) && is_whole(gradients[g]) ? 1 : 0;
    }
    stored += static_cast<double>(with_weights) * static_cast<double>(with_gradients);
    if (groups_matter && is_whole(states[s]))
      stored -= static_cast<double>(whole_weights) * static_cast<double>(whole_gradients);
  }
  return stored;
}

double SettingSpace::other_combinations(const Subset& subset) const {
  std::int64_t loaded = 0;
  for (std::size_t l = subset.begin[load_axis]; l < subset.end[load_axis]; ++l) {
    for (std::size_t c = subset.begin[code_axis]; c < subset.end[code_axis]; ++c)
      loaded += go_together(l, codes[c]) ? 1 : 0;
  }
  auto size = static_cast<double>(loaded);
  for (const Axis a : {stash_axis, prefetch_depth_axis}) size *= static_cast<double>(subset.end[a] - subset.begin[a]);
  return size;
}

}  // namespace superstep
