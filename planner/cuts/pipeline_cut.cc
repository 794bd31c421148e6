// SPDX-License-Identifier: Apache-2.0
// Cuts a model into the stages of one pipeline. The last stage may return to the first IPU group.
#include "planner/cuts/cuts.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>

#include "planner/cuts/pipeline_stages.h"

namespace superstep {
namespace {

// Thrown when the programme has to end with the best cut so far.
struct TimeIsUp {};
// The time at which the programme has to end.
class Deadline {
 public:
  explicit Deadline(const CutLimits& limits) : at_(limits.deadline) {}
  // Throws TimeIsUp after the deadline. Reads the clock once in kCallsPerLook calls.
  void check() {
    constexpr int kCallsPerLook = 64;
    if (calls_++ % kCallsPerLook == 0 && std::chrono::steady_clock::now() > at_) throw TimeIsUp();
  }

 private:
  std::chrono::steady_clock::time_point at_;
  unsigned calls_ = 0;
};

// The label of a partial cut: cycles and bytes of the stages from one unit to the last unit. `ties` is a sum, all other
// numbers are maxima over the stages. For sequential schedules `forward` and `copy` are sums as well. `forward` counts
// both passes where the schedule is sequential or grouped.
struct PipelineLabel {
  std::int64_t forward = 0, backward = 0, update = 0, copy = 0, weights = 0, ties = 0;
  std::int32_t end = 0;               // where the label's first stage ends
  std::int32_t next = -1;             // the label of the stages behind it; -1: there are none
  Recompute mode = Recompute::layer;  // of the label's first stage
};

// True if label `a` dominates label `b`.
bool no_worse(const PipelineLabel& a, const PipelineLabel& b) {
  return a.forward <= b.forward && a.backward <= b.backward && a.update <= b.update && a.copy <= b.copy &&
         a.weights <= b.weights && a.ties <= b.ties;
}

// The labels of all partial cuts. Row k has the labels of units [u, end) in k + 1 stages, in places by u.
class Labels {
 public:
  void clear() { labels_.clear(), places_.clear(), rows_.clear(), first_ = 0; }
  void begin_row() { rows_.push_back(places_.size()); }
  // Ends a place: all labels offered since the last place are of unit `u`. Within a row, `u` falls from place to place.
  void end_place(std::int64_t u) {
    if (first_ < labels_.size()) places_.push_back({u, first_, labels_.size()});
    first_ = labels_.size();
  }
  // Adds a new label unless a label of the same place dominates the new label. Removes labels of that place that the
  // new label dominates.
  void offer(const PipelineLabel& label) {
    const auto first = labels_.begin() + static_cast<std::ptrdiff_t>(first_);
    for (auto l = first; l != labels_.end(); ++l) {
      if (no_worse(*l, label)) return;
    }
    labels_.erase(std::remove_if(first, labels_.end(), [&](const PipelineLabel& l) { return no_worse(label, l); }),
                  labels_.end());
    labels_.push_back(label);
  }

  // Labels [begin, end) of one row, all of cuts that begin with unit u.
  struct Place {
    std::int64_t u;
    std::size_t begin, end;
  };
  // Returns the places of row k with unit `begin` or a later unit, from the last unit down. Places without labels are
  // left out.
  std::span<const Place> from(std::int64_t k, std::int64_t begin) const {
    const auto row = static_cast<std::size_t>(k);
    const std::size_t end = row + 1 < rows_.size() ? rows_[row + 1] : places_.size();
    const std::span all(places_.data() + rows_[row], end - rows_[row]);
    const auto below = std::ranges::partition_point(all, [&](const Place& p) { return p.u >= begin; });
    return all.first(static_cast<std::size_t>(below - all.begin()));
  }
  // Returns the place of unit u in row k, without labels if there are none.
  Place at(std::int64_t k, std::int64_t u) const {
    const std::span<const Place> places = from(k, u);
    return !places.empty() && places.back().u == u ? places.back() : Place{u, 0, 0};
  }
  const PipelineLabel& operator[](std::size_t i) const { return labels_[i]; }

 private:
  std::vector<PipelineLabel> labels_;
  std::vector<Place> places_;
  std::vector<std::size_t> rows_;  // index of the first place of each row
  std::size_t first_ = 0;          // index of the first label of the place that offer() fills
};

// The programme of cut_pipeline() for one set of limits.
class PipelineCut {
 public:
  // Reads from `limits` only the cycles to beat and the deadline. `ways` keeps to the limits on memory.
  PipelineCut(PipelineStages& ways, const CutLimits& limits)
      : s_(ways.setting()),
        rules_(ways.rules()),
        options_(ways),
        n_(s_.units()),
        stages_(ways.count()),
        serial_(ways.serial()),
        best_(limits.best),
        least_copy_(options_.least_copy()),
        deadline_(limits) {
    grouped_ = s_.plan().schedule == Schedule::grouped;
    copies_ = s_.table().training() ? 2 : 1;
  }

  // Returns the fastest cut; empty: no cut fits and is fast enough. Sets `late` if the deadline came first.
  std::optional<Cuts> run(bool& late) {
    try {
      search();
    } catch (const TimeIsUp&) {
      late = true;
    }
    if (found_) options_.finish(*found_);
    return found_;
  }

 private:
  const Setting& s_;
  const CutRules& rules_;
  PipelineStages& options_;
  std::int64_t n_, stages_, copies_ = 1;  // units; stages; copies of a boundary per micro-batch
  bool grouped_ = false, serial_;
  std::int64_t best_, least_copy_;  // cycles that a cut must beat; lower bound on the widest copy of a better cut
  std::optional<Cuts> found_;       // the incumbent, of best_ cycles; empty: no cut yet
  std::int64_t longest_found_ = 0;  // cycles of the incumbent's slowest stage, one micro-batch
  // Lower bounds on the slowest stage and on the ties of a better cut, in cycles.
  std::int64_t least_longest_ = 0, least_ties_ = 0;
  Deadline deadline_;
  Labels labels_;

  void search() {
    begin_with_even_stages();
    if (!rules_.wrap && (serial_ || may_be_better())) straight();
    // Tries last stages that return, from the last unit alone to longer stages. Each shares an IPU group with the first
    // stage.
    for (std::int64_t w = n_ - 1; rules_.wrap && w >= stages_ - 1; --w) {
      if (!options_.pinned_other(stages_ - 1, w) && !wrapped(w)) break;
    }
  }

  // Returns the cycles of a cut; for a partial cut, a lower bound on all cuts that end with its stages.
  std::int64_t objective(const PipelineLabel& l) const {
    return options_.rounds() * std::max(work(l), least_longest_) + beside(l);
  }
  // Cycles of one micro-batch in the slowest stage; for serial schedules, in all stages.
  std::int64_t work(const PipelineLabel& l) const { return serial_ || grouped_ ? l.forward : l.forward + l.backward; }
  // Cycles of a step besides the stages' work, at least.
  std::int64_t beside(const PipelineLabel& l) const {
    const std::int64_t copy = std::max(l.copy, least_copy_);
    return options_.beside(serial_ ? copy * copies_ : copy, l.weights, std::max(l.update, options_.least_update())) +
           std::max(l.ties, least_ties_);
  }

  // Returns the most cycles of one micro-batch that a stage of a better cut, or an IPU group, may take. Sums over all
  // stages do not overflow.
  std::int64_t longest() const {
    return std::min((best_ - beside(PipelineLabel{})) / options_.rounds(), INT64_MAX / (stages_ + 1));
  }
  // Raises least_ties_, least_copy_ and least_longest_, the lower bounds on a better cut. A better cut has shorter
  // stages, narrower copies or shorter updates. Returns false if there is no better cut.
  bool may_be_better() {
    least_ties_ = options_.least_ties(longest());
    std::set<std::int64_t> copies;
    for (std::int64_t u = 1; u < n_; ++u) copies.insert(s_.copy_cycles(u));
    for (const std::int64_t copy : copies) {
      least_copy_ = std::max(least_copy_, copy);
      if (may_keep_to(longest(), copy, most_update())) break;
    }
    if (found_ && !may_keep_to(longest_found_ - 1, INT64_MAX, most_update())) least_longest_ = longest_found_;
    return may_keep_to(longest(), INT64_MAX, most_update());
  }
  // Returns the most cycles that the longest update of a better cut may take; INT64_MAX in inference.
  std::int64_t most_update() const {
    const std::int64_t others = options_.rounds() * least_longest_ + beside(PipelineLabel{}) - options_.least_update();
    return s_.table().training() ? best_ - 1 - others : INT64_MAX;
  }
  // False only if no pipeline, with one stage on each IPU group, keeps to these cycles. `most`: work per stage and
  // micro-batch. `copy`: cycles per copy. `most_update`: cycles per update. Memory is ignored, so that the longest
  // stages reach farthest. All last stages are tried: a longer last stage may take less than a shorter one, which
  // begins at another boundary.
  bool may_keep_to(std::int64_t most, std::int64_t copy, std::int64_t most_update) {
    std::int64_t begin = 0;
    for (std::int64_t j = 1; j < stages_; ++j) {
      std::int64_t next = begin, update = 0;
      for (std::int64_t v = begin + 1; v < n_ && options_.work_before_last(begin, v) <= most; ++v) {
        update += s_.update(v - 1);
        if (update > most_update) break;
        if (s_.copy_cycles(v) <= copy) next = v;
      }
      begin = next;
    }
    std::int64_t update = 0;
    for (std::int64_t u = n_; u-- > 0 && options_.work({u, n_}, 0) <= most;) {
      update += s_.update(u);
      if (update > most_update) return false;
      if (u <= begin && options_.least_last(u) <= most) return true;
    }
    return false;
  }

  // A cut, or its first stages.
  struct Chain {
    PipelineLabel all;  // of all its stages
    Cuts cuts;
    void add(std::int64_t begin, Recompute mode) { cuts.stages.push_back(begin), cuts.recompute.push_back(mode); }
  };

  // Makes a whole cut the incumbent if it is faster.
  void keep_if_better(const Chain& chain) {
    const std::int64_t cycles = objective(chain.all);
    if (cycles >= best_) return;
    best_ = cycles;
    found_ = chain.cuts;
    longest_found_ = work(chain.all);
  }

  // Finds the first incumbent: a cut into stages of about the same work, where such a cut fits. A stage that returns to
  // the first IPU group has the last unit only.
  void begin_with_even_stages() {
    Chain start;
    if (!rules_.wrap) return try_even_stages(start, {0, n_}, {});
    const std::int64_t w = n_ - 1;
    const std::int64_t most = (options_.work_before_last(0, w) + options_.work(w, n_)) / s_.plan().pipeline_stages;
    std::int64_t begin = 0;
    std::optional<Recompute> returns;
    options_.for_each_end_stages(w, {0, std::max(most, options_.work_before_last(0, 1) + options_.work(w, n_))},
                                 [&](const PipelineStages::EndStages& ends) {
                                   if (ends.begin == begin) return;  // same units in another mode
                                   start = {at_ends(w, ends), {}};
                                   start.add(0, ends.first_mode);
                                   begin = ends.begin;
                                   returns = ends.last_mode;
                                 });
    if (returns && !options_.pinned_other(stages_ - 1, w)) try_even_stages(start, {begin, w}, returns);
  }

  // Cuts the units into even stages behind the stages of `start`, and keeps better cuts. `returns`: the mode of a last
  // stage behind the units; empty: there is no such stage.
  void try_even_stages(const Chain& start, Range units, std::optional<Recompute> returns) {
    const auto keep = [&](Chain chain) {
      if (returns) chain.add(units.end, *returns);
      keep_if_better(chain);
    };
    const std::int64_t first = std::ssize(start.cuts.stages), stages = s_.plan().pipeline_stages - first;
    const std::int64_t work = options_.work_before_last(units.begin, units.end);
    const auto even = cut(units, start, [&](std::int64_t k, std::int64_t u) {
      const std::int64_t left = stages - 1 - k;
      std::int64_t next = left == 0 ? units.end : u + 1;
      while (next < units.end - left && options_.work_before_last(units.begin, next) * stages < work * (k + 1)) ++next;
      return fastest({u, next}, stages_ - 1 - first - k, INT64_MAX);
    });
    if (!even) return;
    keep(*even);
    if (serial_) return;
    // Where units are few, a cut is better whose stages are each as long as a cap on their cycles allows. Bisects the
    // cap between a lower bound and the best cap so far. Other plans do not prune here, so the cut depends on this
    // setting alone.
    std::int64_t least = work / stages, most = even->all.forward + even->all.backward;
    while (most - least > least / 128) {
      const std::int64_t middle = least + (most - least) / 2;
      const auto capped = cut(units, start, [&](std::int64_t k, std::int64_t u) {
        const std::int64_t left = stages - 1 - k;
        return longest_stage({u, units.end - left}, left == 0, stages_ - 1 - first - k, middle);
      });
      if (!capped) {
        least = middle;
        continue;
      }
      keep(*capped);
      most = std::min(middle, capped->all.forward + capped->all.backward);
    }
  }

  // One way to run a stage: where it ends, its numbers without its stash, and its mode.
  struct Way {
    std::int64_t end;
    Setting::Stage stage;
    Recompute mode;
  };

  // Cuts the units into stages behind the stages of `chain`. The callback next(number of the new stage, its first unit)
  // returns the way to run the stage. Empty: some stage has no way, or is pinned to another unit.
  template <class Next>
  std::optional<Chain> cut(Range units, Chain chain, Next next) {
    const std::int64_t first = std::ssize(chain.cuts.stages);
    std::int64_t begin = units.begin;
    for (std::int64_t k = 0; begin < units.end; ++k) {
      if (options_.pinned_other(first + k, begin)) return std::nullopt;
      const std::optional<Way> way = next(k, begin);
      if (!way) return std::nullopt;
      chain.all = join(way->stage, begin, options_.ties({begin, way->end}), chain.all, begin > 0);
      chain.add(begin, way->mode);
      begin = way->end;
    }
    return chain;
  }

  // Returns the longest stage from units.begin on that fits and takes no more than `most` cycles per micro-batch.
  // `all`: only a stage of all the units will do. Empty: there is none.
  std::optional<Way> longest_stage(Range units, bool all, std::int64_t from_end, std::int64_t most) {
    std::int64_t v = units.begin + 1;
    while (v < units.end && options_.work({units.begin, v + 1}, from_end) <= most) ++v;
    for (; all ? v == units.end : v > units.begin; --v) {
      if (auto way = fastest({units.begin, v}, from_end, most)) return way;
    }
    return std::nullopt;
  }

  // Returns the stage in the first mode that fits and takes no more than `most` cycles; empty: there is none.
  std::optional<Way> fastest(Range units, std::int64_t from_end, std::int64_t most) {
    std::optional<Way> fastest;
    options_.for_each(units, from_end, most, [&](const Setting::Stage& x, Recompute mode) {
      if (!fastest) fastest = Way{units.end, x, mode};
    });
    return fastest;
  }

  // Returns the label of the first and the last stage together, on one IPU group. The last stage begins with unit w.
  PipelineLabel at_ends(std::int64_t w, const PipelineStages::EndStages& ends) const {
    PipelineLabel label;
    label.copy = s_.copy_cycles(w);
    return join(together(ends.first, ends.last), 0, options_.ties({w, n_}, ends.begin), label, false);
  }

  // Returns the label of a stage together with the stages of `rest`. `boundary`: the stage's first unit. `copies`: the
  // boundary in front of the stage is copied from another IPU group.
  PipelineLabel join(const Setting::Stage& x, std::int64_t boundary, std::int64_t ties, const PipelineLabel& rest,
                     bool copies) const {
    PipelineLabel l = rest;
    l.ties += ties;
    const std::int64_t copy = copies ? s_.copy_cycles(boundary) : 0;
    if (serial_) {
      l.forward += x.forward + x.backward;
      l.copy += copy;
    } else {
      l.forward = std::max(l.forward, grouped_ ? x.forward + x.backward : x.forward);
      l.backward = grouped_ ? 0 : std::max(l.backward, x.backward);
      l.copy = std::max(l.copy, copy);
    }
    l.update = std::max(l.update, x.update);
    l.weights = s_.weights_move() ? std::max(l.weights, x.weights) : 0;
    return l;
  }

  // Fills labels_ with the cuts of units [u, end) into up to `count` stages, for every u from `begin` on. `last`: the
  // from_end of the last of these stages.
  void fill(std::int64_t end, std::int64_t count, std::int64_t last, std::int64_t begin) {
    labels_.clear();
    const std::int64_t most = longest();
    const std::vector<std::int64_t> farthest = farthest_begins(end, most);
    std::int64_t nearest = end;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from_end = k + last, in_front = stages_ - 1 - from_end;
      const std::int64_t behind = nearest;
      while (nearest > begin && options_.work({nearest - 1, behind}, from_end) <= most) --nearest;
      const std::int64_t first = std::min(farthest[static_cast<std::size_t>(in_front)], end - 1 - k);
      labels_.begin_row();
      for (std::int64_t u = first; u >= nearest; --u) {
        if (!options_.pinned_other(in_front, u)) extend(k, u, end, from_end, most);
        labels_.end_place(u);
      }
    }
  }

  // Returns the last unit with which a stage may begin, by the number of stages in front, if no IPU group takes longer
  // than `most`.
  std::vector<std::int64_t> farthest_begins(std::int64_t end, std::int64_t most) const {
    std::vector<std::int64_t> farthest = {0};
    const std::int64_t beside = options_.work(end, n_);  // the last stage, on the first IPU group; 0: none returns
    for (std::int64_t j = 1; j < stages_; ++j) {
      std::int64_t v = farthest.back();
      while (v < end && options_.work_before_last(farthest.back(), v + 1) + (j == 1 ? beside : 0) <= most) ++v;
      farthest.push_back(v);
    }
    return farthest;
  }

  // Offers the labels of units [u, end) in k + 1 stages. Each joins a stage from u on to a label of row k - 1.
  void extend(std::int64_t k, std::int64_t u, std::int64_t end, std::int64_t from_end, std::int64_t most) {
    deadline_.check();
    const bool copies = u > 0 && stages_ > 1;
    const Labels::Place none{end, 0, 0};
    const std::span<const Labels::Place> ends = k == 0 ? std::span(&none, 1) : labels_.from(k - 1, u + 1);
    for (auto behind = ends.rbegin(); behind != ends.rend(); ++behind) {
      const std::int64_t v = behind->u;
      if (options_.work({u, v}, from_end) > most) return;  // longer stages have no less work
      const std::int64_t ties = options_.ties({u, v});
      const bool may_go_on = options_.for_each({u, v}, from_end, most, [&](const Setting::Stage& x, Recompute mode) {
        const auto add = [&](const PipelineLabel& rest, std::int32_t next) {
          PipelineLabel l = join(x, u, ties, rest, copies);
          l.end = static_cast<std::int32_t>(v), l.next = next, l.mode = mode;
          if (objective(l) < best_) labels_.offer(l);
        };
        if (k == 0) add({}, -1);
        for (std::size_t i = behind->begin; i < behind->end; ++i) add(labels_[i], static_cast<std::int32_t>(i));
      });
      if (!may_go_on) return;
    }
  }

  // Finds the best cut in which no stage returns.
  void straight() {
    fill(n_, stages_, 0, 0);
    const Labels::Place first = labels_.at(stages_ - 1, 0);
    for (std::size_t i = first.begin; i < first.end; ++i) {
      if (objective(labels_[i]) >= best_) continue;
      best_ = objective(labels_[i]);
      found_.emplace();
      trace(0, i, *found_);
    }
  }

  // Tries every first stage [0, v) beside the last stage [w, n). Returns false if the last stage alone takes too long.
  bool wrapped(std::int64_t w) {
    if (options_.work(w, n_) > longest()) return false;
    if (!options_.may_return(w)) return true;  // a longer stage may still fit: boundaries inside a layer are wider
    fill(w, stages_ - 2, 1, 1);
    const std::int64_t most = longest();
    options_.for_each_end_stages(w, options_.of_first_ipu(w, most), [&](const PipelineStages::EndStages& ends) {
      if (ends.first.forward + ends.first.backward + ends.last.forward + ends.last.backward > most) return;
      consider(w, ends, at_ends(w, ends));
    });
    return true;
  }

  // Joins two end stages with each label of the stages between, and keeps better cuts.
  void consider(std::int64_t w, const PipelineStages::EndStages& at, const PipelineLabel& ends) {
    const Labels::Place middle = labels_.at(stages_ - 3, at.begin);
    for (std::size_t i = middle.begin; i < middle.end; ++i) {
      PipelineLabel l = labels_[i];
      if (serial_)
        l.forward += ends.forward, l.copy += ends.copy;
      else
        l.forward = std::max(l.forward, ends.forward), l.backward = std::max(l.backward, ends.backward),
        l.copy = std::max(l.copy, ends.copy);
      l.update = std::max(l.update, ends.update);
      l.weights = std::max(l.weights, ends.weights);
      l.ties += ends.ties;
      if (objective(l) >= best_) continue;
      best_ = objective(l);
      found_.emplace();
      found_->stages = {0};
      found_->recompute = {at.first_mode};
      trace(at.begin, i, *found_);
      found_->stages.push_back(w);
      found_->recompute.push_back(at.last_mode);
    }
  }

  // Appends the stages of a label to `cuts`. The first of these stages begins with unit u.
  void trace(std::int64_t u, std::size_t label, Cuts& cuts) const {
    for (auto i = static_cast<std::int32_t>(label); i >= 0; i = labels_[static_cast<std::size_t>(i)].next) {
      cuts.stages.push_back(u);
      cuts.recompute.push_back(labels_[static_cast<std::size_t>(i)].mode);
      u = labels_[static_cast<std::size_t>(i)].end;
    }
  }
};

// False if there are fewer units than stages, or if no cut can beat limits.best.
bool may_be_cut(const Setting& setting, const CutRules& rules, const CutLimits& limits) {
  const std::int64_t stages = setting.plan().pipeline_stages + (rules.wrap ? 1 : 0);
  return stages <= setting.units() && least_cycles(setting, limits) < limits.best;
}

std::optional<Cuts> cut(PipelineStages& stages, const CutLimits& limits, std::int64_t* open) {
  stages.keep_within(limits);
  bool late = false;
  std::optional<Cuts> found = PipelineCut(stages, limits).run(late);
  if (late && open != nullptr) *open = std::max(limits.least, least_cycles(stages.setting(), limits));
  return found;
}

}  // namespace

std::optional<Cuts> cut_pipeline(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                                 std::int64_t* open) {
  if (!may_be_cut(setting, rules, limits)) return std::nullopt;
  PipelineStages stages(setting, rules);
  return cut(stages, limits, open);
}

std::optional<Cuts> cut_pipeline(PipelineStages& stages, const CutLimits& limits, std::int64_t* open) {
  if (!may_be_cut(stages.setting(), stages.rules(), limits)) return std::nullopt;
  return cut(stages, limits, open);
}

}  // namespace superstep
