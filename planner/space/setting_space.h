// SPDX-License-Identifier: Apache-2.0
// Sets of settings as products of lists, as settings are too many to be listed one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/program/cap_range.h"
#include "model/program/plan.h"

namespace superstep {

// Returns the kind of a place: Streaming Memory, whether of this machine or another, is one kind.
Location kind_of(Location place);
// Returns the kind of a plan: mesh and stages, and either phases, or schedule and the kinds of place of state and
// stash. Runners-up are of different kinds.
std::string kind_of(const Plan& plan);

// Where a kind of tensor is kept between its uses, and over how many replicas it is sharded.
struct Storage {
  Location at = Location::in_processor;
  std::int64_t degree = 1;  // number of shards; 1: whole
  friend auto operator<=>(const Storage&, const Storage&) = default;
};

// Where and how activations are kept: the stash of a stage for its backward pass, and boundaries between phases.
struct Stash {
  Location at = Location::in_processor;
  ActivationSharding sharding = ActivationSharding::none;
  friend auto operator<=>(const Stash&, const Stash&) = default;
};

// How a plan runs the model: in phases, as a pipeline, or as a pipeline that gathers its weights for every micro-batch.
enum class Execution : std::uint8_t { phases, pipeline, gathering_pipeline };
inline constexpr std::array kExecutions = {Execution::phases, Execution::pipeline, Execution::gathering_pipeline};

// The settings that agree in `common`. A setting takes one value of each list; legal() tells which combinations count.
struct SettingSpace {
  Plan common;  // every field but the cuts and the fields with a list
  // Bounds on temporary memory that the plans may have; `common` has one of these bounds. Several bounds are chosen
  // from like cuts, and are not counted as settings.
  Caps caps;
  bool phased = false;  // true: cut into phases; false: cut into the stages of one pipeline
  bool training = true;
  bool groups_matter = false;  // only settings with a degree between 1 and r, which other shard groups would change
  std::vector<LoadSchedules> loads;
  std::vector<Stash> stashes;                       // either all or none are ActivationSharding::throughout
  std::vector<Storage> weights, gradients, states;  // weights of a pipeline: either all or none are whole
  std::vector<std::int64_t> prefetch_depths;        // micro-batches
  std::vector<Location> codes;  // where the code of a phase is while other phases run; pipelines keep code on the tiles

  Execution execution() const;  // the execution of all settings

  // Returns the space of one setting.
  static SettingSpace just(const Plan& plan, bool phased, bool training);

  // The fields with a list.
  enum Axis : std::uint8_t {
    load_axis,
    stash_axis,
    weight_axis,
    gradient_axis,
    state_axis,
    prefetch_depth_axis,
    code_axis
  };
  static constexpr std::size_t kAxes = 7;
  std::array<std::size_t, kAxes> lengths() const;
  // True if another space has the same lists.
  bool has_lists_of(const SettingSpace& other) const;

  // True if storage of weights and of the state go together: a shard of the update lies inside a shard of the weights.
  bool go_together(const Storage& weight, const Storage& state) const {
    return !training || state.degree % weight.degree == 0;
  }
  // True if an update of this state can take these gradients: a shard of the update needs the gradients of that shard.
  bool take_gradients(const Storage& gradient, const Storage& state) const {
    return !training || gradient.degree == 1 || state.degree == 1 || gradient.degree == state.degree;
  }
  // True if a load schedule goes with a place of code. Code that stays in the processor is not loaded: of schedules
  // that differ only in loads of code, the first stands for all.
  bool go_together(std::size_t load, Location code) const;
  // True if all replicas share a tensor, or none do. Such a tensor is in the same place with any shard groups.
  bool is_whole(const Storage& s) const { return s.degree == 1 || s.degree == common.replicas; }
  // True if the values of all axes go together. `values`: an index into each list.
  bool legal(const std::array<std::size_t, kAxes>& values) const;
  // Calls f(values) for each legal setting.
  template <class F>
  void for_each(const F& f) const {
    const auto ends = lengths();
    std::array<std::size_t, kAxes> at{};
    for (std::size_t axis = 0; axis < kAxes;) {
      if (legal(at)) f(at);
      for (axis = 0; axis < kAxes && ++at[axis] == ends[axis]; ++axis) at[axis] = 0;
    }
  }
  // Returns the plan of a setting, without cuts.
  Plan plan(const std::array<std::size_t, kAxes>& values) const;
  // Sets the fields with a list, in a plan that has the common fields.
  void set(Plan& plan, const std::array<std::size_t, kAxes>& values) const;

  // Entries [begin, end) of each list.
  struct Subset {
    std::array<std::size_t, kAxes> begin{}, end{};
    bool single() const;  // true if each list has one entry
  };
  Subset all() const;
  double size(const Subset& subset) const {
    return storage_combinations(subset) * other_combinations(subset);
  }  // number of settings
  // The factors of size(): combinations of weights, gradients and states that go together, and of all other fields.
  double storage_combinations(const Subset& subset) const;
  double other_combinations(const Subset& subset) const;
  double size() const { return size(all()); }
  std::vector<std::string> kinds(const Subset& subset) const;  // kinds of the plans, each once
  bool uses_remote_tile(const Subset& subset) const;  // true if all plans keep a tensor, not just code, on remote tiles
};

}  // namespace superstep
