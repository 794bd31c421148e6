// SPDX-License-Identifier: Apache-2.0
// Settings as products of lists: too many to be listed one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/lower/cap_range.h"
#include "model/lower/plan.h"

namespace superstep {

// Plans of one kind differ in degree only, or in where phases keep what is elsewhere; runners-up are of different
// kinds. Streaming Memory is one kind of place, whichever machine's it is.
Location kind_of(Location place);
std::string kind_of(const Plan& plan);

// Where a kind of tensor is kept between its uses, and over how many replicas.
struct Storage {
  Location at = Location::in_processor;
  std::int64_t degree = 1;
  friend auto operator<=>(const Storage&, const Storage&) = default;
};

// What a stage keeps of a micro-batch for its backward pass, and at the boundaries between phases.
struct Stash {
  Location at = Location::in_processor;
  ActivationSharding sharding = ActivationSharding::none;
  friend auto operator<=>(const Stash&, const Stash&) = default;
};

// How a plan runs the model: in phases, as a pipeline, or as one that gathers its weights for every micro-batch.
enum class Execution : std::uint8_t { phases, pipeline, gathering_pipeline };
inline constexpr std::array kExecutions = {Execution::phases, Execution::pipeline, Execution::gathering_pipeline};

// All settings that agree in `common`: a value of each list, where the degrees go together.
struct SettingSpace {
  Plan common;  // every field but the cuts and those of the lists
  // Bounds on temporary memory that its plans may have, of which `common` has one: more than one are chosen from like
  // cuts, not counted.
  Caps caps;
  bool phased = false;  // cut into phases, or into the stages of one pipeline
  bool training = true;
  bool groups_matter = false;  // only settings that other groups of shards would change: a degree between 1 and r
  std::vector<LoadSchedules> loads;
  std::vector<Stash> stashes;                       // all or none of them `throughout`
  std::vector<Storage> weights, gradients, states;  // weights of a pipeline: all of them whole, or none
  std::vector<std::int64_t> prefetch_depths;
  std::vector<Location> codes;  // where the code of phases is between them; without phases it stays

  Execution execution() const;  // of all of them

  // Of one setting.
  static SettingSpace just(const Plan& plan, bool phased, bool training);

  // Fields with a list each.
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
  // Whether another space draws from the same lists.
  bool has_lists_of(const SettingSpace& other) const;

  // A shard of the update lies inside a shard of the weights, and takes the gradients of just that shard.
  bool go_together(const Storage& weight, const Storage& state) const {
    return !training || state.degree % weight.degree == 0;
  }
  bool take_gradients(const Storage& gradient, const Storage& state) const {
    return !training || gradient.degree == 1 || state.degree == 1 || gradient.degree == state.degree;
  }
  // Code that stays is not loaded: of loads that differ in when it would be, the first stands for all.
  bool go_together(std::size_t load, Location code) const;
  // Whether all replicas share a tensor, or none do: it is in the same place whatever the groups of shards.
  bool is_whole(const Storage& s) const { return s.degree == 1 || s.degree == common.replicas; }
  bool legal(const std::array<std::size_t, kAxes>& values) const;
  // Calls f(values) for each setting.
  template <class F>
  void for_each(const F& f) const {
    const auto ends = lengths();
    std::array<std::size_t, kAxes> at{};
    for (std::size_t axis = 0; axis < kAxes;) {
      if (legal(at)) f(at);
      for (axis = 0; axis < kAxes && ++at[axis] == ends[axis]; ++axis) at[axis] = 0;
    }
  }
  Plan plan(const std::array<std::size_t, kAxes>& values) const;
  void set(Plan& plan, const std::array<std::size_t, kAxes>& values) const;  // of a plan with the common fields

  // Runs [begin, end) of each list.
  struct Part {
    std::array<std::size_t, kAxes> begin{}, end{};
    bool single() const;  // one value of each
  };
  Part all() const;
  double size(const Part& part) const { return stores(part) * others(part); }  // settings
  // What that multiplies: values of weights, gradients and states that go together, and of all other fields.
  double stores(const Part& part) const;
  double others(const Part& part) const;
  double size() const { return size(all()); }
  std::vector<std::string> kinds(const Part& part) const;  // of its plans, each once
  bool lends(const Part& part) const;  // whether all of its plans keep something but code on other IPUs' tiles
};

}  // namespace superstep
