// SPDX-License-Identifier: Apache-2.0
// Stages one after the other in a pipeline, or with the last one back on the first IPU group.
#include "planner/cuts/cuts.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>

#include "planner/cuts/pipeline_stages.h"

namespace superstep {
namespace {

// The time at which a search ends with the best cut so far.
struct TimeIsUp {};
class Deadline {
 public:
  explicit Deadline(const CutLimits& limits) : at_(limits.deadline) {}
  // Throws TimeIsUp. The clock is asked now and then.
  void check() {
    constexpr int kCallsPerLook = 64;
    if (calls_++ % kCallsPerLook == 0 && std::chrono::steady_clock::now() > at_) throw TimeIsUp();
  }

 private:
  std::chrono::steady_clock::time_point at_;
  unsigned calls_ = 0;
};

// The state of a partial cut. `ties` is a sum, the others maxima; for sequential schedules so are `forward` and `copy`.
struct Label {
  std::int64_t forward = 0, backward = 0, update = 0, copy = 0, weights = 0, ties = 0;
  std::int32_t end = 0;    // where this stage ends
  std::int32_t next = -1;  // the label behind it; -1: none
  Recompute mode = Recompute::layer;
};

bool no_worse(const Label& a, const Label& b) {
  return a.forward <= b.forward && a.backward <= b.backward && a.update <= b.update && a.copy <= b.copy &&
         a.weights <= b.weights && a.ties <= b.ties;
}

// Ways to run units [u, end) in k + 1 stages, in rows by k.
class Labels {
 public:
  void clear() { labels_.clear(), places_.clear(), rows_.clear(), first_ = 0; }
  void begin_row() { rows_.push_back(places_.size()); }
  // Those offered since the place before are of unit `u`, which in a row is less than the one before.
  void end_place(std::int64_t u) {
    if (first_ < labels_.size()) places_.push_back({u, first_, labels_.size()});
    first_ = labels_.size();
  }
  void offer(const Label& label) {
    const auto first = labels_.begin() + static_cast<std::ptrdiff_t>(first_);
    for (auto l = first; l != labels_.end(); ++l) {
      if (no_worse(*l, label)) return;
    }
    labels_.erase(std::remove_if(first, labels_.end(), [&](const Label& l) { return no_worse(label, l); }),
                  labels_.end());
    labels_.push_back(label);
  }

  // Labels of units [u, end) in k + 1 stages, by number.
  struct Place {
    std::int64_t u;
    std::size_t begin, end;
  };
  // Of row k the places with units [begin, last] that have labels, from the last one down.
  std::span<const Place> from(std::int64_t k, std::int64_t begin) const {
    const auto row = static_cast<std::size_t>(k);
    const std::size_t end = row + 1 < rows_.size() ? rows_[row + 1] : places_.size();
    const std::span all(places_.data() + rows_[row], end - rows_[row]);
    const auto below = std::ranges::partition_point(all, [&](const Place& p) { return p.u >= begin; });
    return all.first(static_cast<std::size_t>(below - all.begin()));
  }
  // Of unit u; empty: none.
  Place at(std::int64_t k, std::int64_t u) const {
    const std::span<const Place> places = from(k, u);
    return !places.empty() && places.back().u == u ? places.back() : Place{u, 0, 0};
  }
  const Label& operator[](std::size_t i) const { return labels_[i]; }

 private:
  std::vector<Label> labels_;
  std::vector<Place> places_;
  std::vector<std::size_t> rows_;  // the first place of each
  std::size_t first_ = 0;          // label of the place at hand
};

class PipelineCut {
 public:
  // Of `limits` the cycles that a cut must beat, and the time.
  PipelineCut(PipelineStages& ways, const CutLimits& limits)
      : s_(ways.setting()),
        rules_(ways.rules()),
        ways_(ways),
        n_(s_.units()),
        stages_(ways.count()),
        serial_(ways.serial()),
        best_(limits.best),
        least_copy_(ways_.least_copy()),
        deadline_(limits) {
    grouped_ = s_.plan().schedule == Schedule::grouped;
    copies_ = s_.table().training() ? 2 : 1;
  }

  // `late` receives whether the deadline came first.
  std::optional<Cuts> run(bool& late) {
    try {
      search();
    } catch (const TimeIsUp&) {
      late = true;
    }
    if (found_) ways_.finish(*found_);
    return found_;
  }

 private:
  const Setting& s_;
  const CutRules& rules_;
  PipelineStages& ways_;
  std::int64_t n_, stages_, copies_ = 1;
  bool grouped_ = false, serial_;
  std::int64_t best_, least_copy_;
  std::optional<Cuts> found_;       // of these cycles; none: no cut yet
  std::int64_t longest_found_ = 0;  // cycles of its longest stage, one micro-batch
  // No better cut has a shorter one, and ties of fewer cycles.
  std::int64_t least_longest_ = 0, least_ties_ = 0;
  Deadline deadline_;
  Labels labels_;

  void search() {
    begin_with_even_stages();
    if (!rules_.wrap && (serial_ || may_be_better())) straight();
    // The returning stage: the head alone or with units before it, and the first stage it shares its IPU with.
    for (std::int64_t w = n_ - 1; rules_.wrap && w >= stages_ - 1; --w) {
      if (!ways_.pinned_other(stages_ - 1, w) && !wrapped(w)) break;
    }
  }

  // Cycles of a cut, or of any that a partial one is the end of.
  std::int64_t objective(const Label& l) const {
    return ways_.cycles() * std::max(work(l), least_longest_) + beside(l);
  }
  std::int64_t work(const Label& l) const { return serial_ || grouped_ ? l.forward : l.forward + l.backward; }
  std::int64_t beside(const Label& l) const {
    const std::int64_t copy = std::max(l.copy, least_copy_);
    return ways_.beside(serial_ ? copy * copies_ : copy, l.weights, std::max(l.update, ways_.least_update())) +
           std::max(l.ties, least_ties_);
  }

  // Of a stage of cuts that are of interest, and of an IPU's. All stages' together do not overflow.
  std::int64_t longest() const {
    return std::min((best_ - beside(Label{})) / ways_.cycles(), INT64_MAX / (stages_ + 1));
  }
  // Raises what no better cut has less of. One that is better has shorter stages, narrower copies or shorter updates.
  // False: there is none.
  bool may_be_better() {
    least_ties_ = ways_.least_ties(longest());
    std::set<std::int64_t> copies;
    for (std::int64_t u = 1; u < n_; ++u) copies.insert(s_.copy_cycles(u));
    for (const std::int64_t copy : copies) {
      least_copy_ = std::max(least_copy_, copy);
      if (may_keep_to(longest(), copy, most_update())) break;
    }
    if (found_ && !may_keep_to(longest_found_ - 1, INT64_MAX, most_update())) least_longest_ = longest_found_;
    return may_keep_to(longest(), INT64_MAX, most_update());
  }
  std::int64_t most_update() const {
    const std::int64_t others = ways_.cycles() * least_longest_ + beside(Label{}) - ways_.least_update();
    return s_.table().training() ? best_ - 1 - others : INT64_MAX;
  }
  // Whether stages, one on each IPU, might all take no more cycles: of work, of copies and of updates. With room for
  // any the longest ones reach farthest; but a last one may take less than a shorter one, which begins at another
  // boundary.
  bool may_keep_to(std::int64_t most, std::int64_t copy, std::int64_t most_update) {
    std::int64_t begin = 0;
    for (std::int64_t j = 1; j < stages_; ++j) {
      std::int64_t next = begin, update = 0;
      for (std::int64_t v = begin + 1; v < n_ && ways_.work_before_last(begin, v) <= most; ++v) {
        update += s_.update(v - 1);
        if (update > most_update) break;
        if (s_.copy_cycles(v) <= copy) next = v;
      }
      begin = next;
    }
    std::int64_t update = 0;
    for (std::int64_t u = n_; u-- > 0 && ways_.work({u, n_}, 0) <= most;) {
      update += s_.update(u);
      if (update > most_update) return false;
      if (u <= begin && ways_.least_last(u) <= most) return true;
    }
    return false;
  }

  // A cut, or the stages of it so far.
  struct Chain {
    Label all;
    Cuts cuts;
    void add(std::int64_t begin, Recompute mode) { cuts.stages.push_back(begin), cuts.recompute.push_back(mode); }
  };

  void keep_if_better(const Chain& chain) {
    const std::int64_t cycles = objective(chain.all);
    if (cycles >= best_) return;
    best_ = cycles;
    found_ = chain.cuts;
    longest_found_ = work(chain.all);
  }

  // Cuts are no slower than those into stages of about the same work, where these fit. A stage that returns to the
  // first IPU is the last unit.
  void begin_with_even_stages() {
    Chain start;
    if (!rules_.wrap) return try_even_stages(start, {0, n_}, {});
    const std::int64_t w = n_ - 1;
    const std::int64_t most = (ways_.work_before_last(0, w) + ways_.work(w, n_)) / s_.plan().pipeline_stages;
    std::int64_t begin = 0;
    std::optional<Recompute> returns;
    ways_.for_each_ends(w, {0, std::max(most, ways_.work_before_last(0, 1) + ways_.work(w, n_))},
                        [&](const PipelineStages::Ends& ends) {
                          if (ends.begin == begin) return;  // of another mode
                          start = {at_ends(w, ends), {}};
                          start.add(0, ends.first_mode);
                          begin = ends.begin;
                          returns = ends.last_mode;
                        });
    if (returns && !ways_.pinned_other(stages_ - 1, w)) try_even_stages(start, {begin, w}, returns);
  }

  // Of these units, behind the stages of `start`. `returns`: mode of a last stage behind them.
  void try_even_stages(const Chain& start, Range units, std::optional<Recompute> returns) {
    const auto keep = [&](Chain chain) {
      if (returns) chain.add(units.end, *returns);
      keep_if_better(chain);
    };
    const std::int64_t first = std::ssize(start.cuts.stages), stages = s_.plan().pipeline_stages - first;
    const std::int64_t work = ways_.work_before_last(units.begin, units.end);
    const auto even = cut(units, start, [&](std::int64_t k, std::int64_t u) {
      const std::int64_t left = stages - 1 - k;
      std::int64_t next = left == 0 ? units.end : u + 1;
      while (next < units.end - left && ways_.work_before_last(units.begin, next) * stages < work * (k + 1)) ++next;
      return fastest({u, next}, stages_ - 1 - first - k, INT64_MAX);
    });
    if (!even) return;
    keep(*even);
    if (serial_) return;
    // The longest stages that take no more than some time do better where units are few. Half-way between what must
    // be and what is, again and again, whatever is known of other plans: so that the cut depends on none of them.
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

  struct Way {
    std::int64_t end;
    Setting::Stage stage;
    Recompute mode;
  };

  // Units in stages behind others: next(its number among these, its first unit) says how each of them runs; none: there
  // is none.
  template <class Next>
  std::optional<Chain> cut(Range units, Chain chain, Next next) {
    const std::int64_t first = std::ssize(chain.cuts.stages);
    std::int64_t begin = units.begin;
    for (std::int64_t k = 0; begin < units.end; ++k) {
      if (ways_.pinned_other(first + k, begin)) return std::nullopt;
      const std::optional<Way> way = next(k, begin);
      if (!way) return std::nullopt;
      chain.all = join(way->stage, begin, ways_.ties({begin, way->end}), chain.all, begin > 0);
      chain.add(begin, way->mode);
      begin = way->end;
    }
    return chain;
  }

  // The longest stage of at least one of these units, `all`: of all, that takes no more than `most`.
  std::optional<Way> longest_stage(Range units, bool all, std::int64_t from_end, std::int64_t most) {
    std::int64_t v = units.begin + 1;
    while (v < units.end && ways_.work({units.begin, v + 1}, from_end) <= most) ++v;
    for (; all ? v == units.end : v > units.begin; --v) {
      if (auto way = fastest({units.begin, v}, from_end, most)) return way;
    }
    return std::nullopt;
  }

  std::optional<Way> fastest(Range units, std::int64_t from_end, std::int64_t most) {
    std::optional<Way> fastest;
    ways_.for_each(units, from_end, most, [&](const Setting::Stage& x, Recompute mode) {
      if (!fastest) fastest = Way{units.end, x, mode};
    });
    return fastest;
  }

  // The first stage and the last one, which begins with unit w, on one IPU.
  Label at_ends(std::int64_t w, const PipelineStages::Ends& ends) const {
    Label label;
    label.copy = s_.copy_cycles(w);
    return join(together(ends.first, ends.last), 0, ways_.ties({w, n_}, ends.begin), label, false);
  }

  // Joins a stage in front of a label.
  Label join(const Setting::Stage& x, std::int64_t boundary, std::int64_t ties, const Label& rest, bool copies) const {
    Label l = rest;
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

  // Finds labels_ of units from `begin` on in up to `count` stages, `last` being the from_end of the last one.
  void fill(std::int64_t end, std::int64_t count, std::int64_t last, std::int64_t begin) {
    labels_.clear();
    const std::int64_t most = longest();
    const std::vector<std::int64_t> farthest = farthest_begins(end, most);
    std::int64_t nearest = end;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from_end = k + last, in_front = stages_ - 1 - from_end;
      const std::int64_t behind = nearest;
      while (nearest > begin && ways_.work({nearest - 1, behind}, from_end) <= most) --nearest;
      const std::int64_t first = std::min(farthest[static_cast<std::size_t>(in_front)], end - 1 - k);
      labels_.begin_row();
      for (std::int64_t u = first; u >= nearest; --u) {
        if (!ways_.pinned_other(in_front, u)) extend(k, u, end, from_end, most);
        labels_.end_place(u);
      }
    }
  }

  // Where stages may begin at the farthest, by how many are in front of them, none of which takes longer than `most`.
  std::vector<std::int64_t> farthest_begins(std::int64_t end, std::int64_t most) const {
    std::vector<std::int64_t> farthest = {0};
    const std::int64_t beside = ways_.work(end, n_);  // on the first IPU
    for (std::int64_t j = 1; j < stages_; ++j) {
      std::int64_t v = farthest.back();
      while (v < end && ways_.work_before_last(farthest.back(), v + 1) + (j == 1 ? beside : 0) <= most) ++v;
      farthest.push_back(v);
    }
    return farthest;
  }

  void extend(std::int64_t k, std::int64_t u, std::int64_t end, std::int64_t from_end, std::int64_t most) {
    deadline_.check();
    const bool copies = u > 0 && stages_ > 1;
    const Labels::Place none{end, 0, 0};
    const std::span<const Labels::Place> ends = k == 0 ? std::span(&none, 1) : labels_.from(k - 1, u + 1);
    for (auto behind = ends.rbegin(); behind != ends.rend(); ++behind) {
      const std::int64_t v = behind->u;
      if (ways_.work({u, v}, from_end) > most) return;  // longer stages do no less
      const std::int64_t ties = ways_.ties({u, v});
      const bool may_go_on = ways_.for_each({u, v}, from_end, most, [&](const Setting::Stage& x, Recompute mode) {
        const auto add = [&](const Label& rest, std::int32_t next) {
          Label l = join(x, u, ties, rest, copies);
          l.end = static_cast<std::int32_t>(v), l.next = next, l.mode = mode;
          if (objective(l) < best_) labels_.offer(l);
        };
        if (k == 0) add({}, -1);
        for (std::size_t i = behind->begin; i < behind->end; ++i) add(labels_[i], static_cast<std::int32_t>(i));
      });
      if (!may_go_on) return;
    }
  }

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

  // Tries every first stage [0, v) beside the last one [w, n). False when the last stage alone takes too long.
  bool wrapped(std::int64_t w) {
    if (ways_.work(w, n_) > longest()) return false;
    if (!ways_.may_return(w)) return true;  // a longer one may still fit: boundaries inside a layer are wider
    fill(w, stages_ - 2, 1, 1);
    const std::int64_t most = longest();
    ways_.for_each_ends(w, ways_.of_first_ipu(w, most), [&](const PipelineStages::Ends& ends) {
      if (ends.first.forward + ends.first.backward + ends.last.forward + ends.last.backward > most) return;
      consider(w, ends, at_ends(w, ends));
    });
    return true;
  }

  void consider(std::int64_t w, const PipelineStages::Ends& at, const Label& ends) {
    const Labels::Place middle = labels_.at(stages_ - 3, at.begin);
    for (std::size_t i = middle.begin; i < middle.end; ++i) {
      Label l = labels_[i];
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

  // Adds the stages of a label, the first of which begins with unit u.
  void trace(std::int64_t u, std::size_t label, Cuts& cuts) const {
    for (auto i = static_cast<std::int32_t>(label); i >= 0; i = labels_[static_cast<std::size_t>(i)].next) {
      cuts.stages.push_back(u);
      cuts.recompute.push_back(labels_[static_cast<std::size_t>(i)].mode);
      u = labels_[static_cast<std::size_t>(i)].end;
    }
  }
};

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
