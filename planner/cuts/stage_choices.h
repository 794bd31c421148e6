// SPDX-License-Identifier: Apache-2.0
// For uneven_cut.cc: the stages that a pipeline may be cut into, and what they take at least.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/cuts/pipeline_stages.h"

namespace superstep {

// Cycles per micro-batch.
struct Passes {
  std::int64_t forward = 0, backward = 0;
  std::int64_t both() const { return forward + backward; }
};

// Upper limit on the cycles of every later stage: of both passes in x, or with an interleaved schedule of the forward
// pass in x and of the backward pass in y.
struct StageCap {
  std::int64_t x = 0, y = 0;
  friend auto operator<=>(const StageCap&, const StageCap&) = default;
};

class StageChoices {
 public:
  static constexpr std::int64_t kNever = INT64_MAX / 4;

  StageChoices(const Setting& setting, PipelineStages& ways);

  // All ways to run `units` in these stages of the pipeline, numbered here from 0, that fit and may be part of cuts
  // faster than `best`. Of the first stage any beginning where another stage stands in front of it.
  void open(Range stages, Range units, std::int64_t best);

  struct Choice : Passes {
    std::int64_t end = 0, update = 0, weights = 0;
    Recompute mode = Recompute::layer;
  };
  std::int64_t count() const { return stages_.end - stages_.begin; }
  const std::vector<Choice>& at(std::int64_t stage, std::int64_t unit) const {
    return choices_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(unit)];
  }
  StageCap takes(const Passes& p) const { return grouped_ ? StageCap{p.both(), 0} : StageCap{p.forward, p.backward}; }

  // What stages from one on that begins with a unit take at least, each number for itself: their slowest, in x, y and
  // both passes, and what they add to the boundaries of the pipeline, with and without the one in front of them.
  // kNever: none fit.
  struct Least {
    std::int64_t x = kNever, y = kNever, cycle = kNever, added = kNever, added_behind = kNever;
  };
  const Least& least(std::int64_t stage, std::int64_t unit) const {
    return least_[static_cast<std::size_t>(stage)][static_cast<std::size_t>(unit)];
  }

  // Calls f for each cap between `low` and `most` that some stage reaches exactly.
  template <class F>
  void for_each_cap(const StageCap& low, const StageCap& most, F f) const {
    for (auto x = std::lower_bound(xs_.begin(), xs_.end(), low.x); x != xs_.end() && *x <= most.x; ++x) {
      for (auto y = std::lower_bound(ys_.begin(), ys_.end(), low.y); y != ys_.end() && *y <= most.y; ++y)
        f(StageCap{*x, *y});
    }
  }

  // Stages with their first units.
  using Stages = std::vector<std::pair<std::int64_t, const Choice*>>;
  // Of those from `unit` on of which none takes longer than `cap` the most even: the squares of their times add up to
  // the least. Empty: there are none.
  Stages evenest(std::int64_t unit, std::int64_t cap) const;

 private:
  void collect(std::int64_t stage, std::int64_t unit, std::int64_t best);
  void tabulate();

  const Setting& s_;
  PipelineStages& ways_;
  bool grouped_;
  Range stages_{}, units_{};
  std::vector<std::vector<std::vector<Choice>>> choices_;  // by stage, first unit
  std::vector<std::vector<Least>> least_;                  // by stage, first unit
  std::vector<std::int64_t> xs_, ys_;                      // the caps that are worth trying, ascending
};

}  // namespace superstep
