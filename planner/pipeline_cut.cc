// SPDX-License-Identifier: Apache-2.0
// Stages one after the other in a pipeline, or with the last one back on the first IPU group.
#include "planner/cuts.h"

#include <algorithm>

#include "planner/pipeline_stages.h"
#include "planner/uneven_cut.h"

namespace superstep {
namespace {

// The state of a partial cut. For sequential schedules `forward` is a sum, else maxima.
struct Label {
  std::int64_t forward = 0, backward = 0, update = 0, copy = 0, weights = 0;
  std::int32_t end = 0;    // where this stage ends
  std::int32_t next = -1;  // the label behind it; -1: none
  Recompute mode = Recompute::layer;
};

bool no_worse(const Label& a, const Label& b) {
  return a.forward <= b.forward && a.backward <= b.backward && a.update <= b.update && a.copy <= b.copy &&
         a.weights <= b.weights;
}

// Ways to run units [u, end) in k + 1 stages, in rows by k, each row of neighbouring units from the last one down.
class Labels {
 public:
  void clear() { labels_.clear(), rows_.clear(), starts_.assign(1, 0); }
  // A row of units up to `last`; no places for their labels yet.
  void begin_row(std::int64_t last) { rows_.push_back({last, starts_.size() - 1}); }
  // Those offered since the place before are of the row's next unit.
  void end_place() { starts_.push_back(labels_.size()); }
  void offer(const Label& label) {
    const auto first = labels_.begin() + static_cast<std::ptrdiff_t>(starts_.back());
    for (auto l = first; l != labels_.end(); ++l) {
      if (no_worse(*l, label)) return;
    }
    labels_.erase(std::remove_if(first, labels_.end(), [&](const Label& l) { return no_worse(label, l); }),
                  labels_.end());
    labels_.push_back(label);
  }

  // Labels of units [u, end) in k + 1 stages by number.
  struct Place {
    std::size_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };
  Place at(std::int64_t k, std::int64_t u) const {
    const auto row = static_cast<std::size_t>(k);
    const std::size_t place = rows_[row].place + static_cast<std::size_t>(rows_[row].last - u);
    const std::size_t behind = row + 1 < rows_.size() ? rows_[row + 1].place : starts_.size() - 1;
    if (u > rows_[row].last || place >= behind) return {};
    return {starts_[place], starts_[place + 1]};
  }
  const Label& operator[](std::size_t i) const { return labels_[i]; }

 private:
  struct Row {
    std::int64_t last;  // unit
    std::size_t place;  // its
  };
  std::vector<Label> labels_;
  std::vector<Row> rows_;
  std::vector<std::size_t> starts_;  // of each place, and the end of the last one
};

class PipelineCut {
 public:
  PipelineCut(const Setting& s, const CutRules& rules, const CutLimits& limits)
      : s_(s), rules_(rules), ways_(s, rules, limits), n_(s.units()), stages_(ways_.count()), serial_(ways_.serial()) {
    grouped_ = s.plan().schedule == Schedule::grouped;
    copies_ = s.table().training() ? 2 : 1;
    best_ = limits.best;
  }

  std::optional<Cuts> run() {
    begin_with_even_stages();
    if (!rules_.wrap) return straight();
    std::optional<Cuts> best;
    // The returning stage: the head alone or with units before it, and the first stage it shares its IPU with.
    for (std::int64_t w = n_ - 1; w >= stages_ - 1; --w) {
      if (ways_.pinned_other(stages_ - 1, w)) continue;
      if (!wrapped(w, best)) break;
    }
    return best;
  }

 private:
  const Setting& s_;
  const CutRules& rules_;
  PipelineStages ways_;
  std::int64_t n_, stages_, copies_ = 1;
  bool grouped_ = false, serial_;
  std::int64_t best_ = INT64_MAX;  // cycles that a cut must beat
  Labels labels_;

  // Cycles of a cut, or of any that a partial one is the end of.
  std::int64_t objective(const Label& l) const {
    const std::int64_t work = serial_ || grouped_ ? l.forward : l.forward + l.backward;
    const std::int64_t copy = std::max(l.copy, ways_.least_copy());
    return ways_.cycles() * work +
           ways_.beside(serial_ ? copy * copies_ : copy, l.weights, std::max(l.update, ways_.least_update()));
  }

  // Of a stage of cuts that are of interest, and of an IPU's. All stages' together do not overflow.
  std::int64_t longest() const {
    return std::min((best_ - objective(Label{})) / ways_.cycles(), INT64_MAX / (stages_ + 1));
  }

  // Cuts are no slower than those into stages of about the same work, where these fit. A stage that returns to the
  // first IPU is the last unit.
  void begin_with_even_stages() {
    Label all;
    std::int64_t begin = 0, end = n_, first = 0;
    const std::int64_t ipus = s_.plan().pipeline_stages;
    if (rules_.wrap) {
      end = n_ - 1;
      const std::int64_t most = (ways_.work_before_last(0, end) + ways_.work(end, n_)) / ipus;
      bool found = false;
      ways_.for_each_ends(end, {0, std::max(most, ways_.work_before_last(0, 1) + ways_.work(end, n_))},
                          [&](const PipelineStages::Ends& ends) {
                            if (found && ends.begin == begin) return;  // of another mode
                            all = join(together(ends.first, ends.last), 0, Label{}, false);
                            begin = ends.begin;
                            found = true;
                          });
      if (!found || ways_.pinned_other(stages_ - 1, end)) return;
      all.copy = s_.copy_cycles(end);
      first = 1;
    }
    const std::int64_t stages = ipus - first;
    const std::int64_t work = ways_.work_before_last(begin, end);
    const auto even = cut({begin, end}, first, all, [&](std::int64_t k, std::int64_t u) {
      const std::int64_t left = stages - 1 - k;
      std::int64_t next = left == 0 ? end : u + 1;
      while (next < end - left && ways_.work_before_last(begin, next) * stages < work * (k + 1)) ++next;
      return std::pair(next, fastest({u, next}, stages_ - 1 - first - k, INT64_MAX));
    });
    if (!even) return;
    best_ = std::min(best_, objective(*even) + 1);
    if (!serial_) go_on_with_longest_stages({begin, end}, first, all, work / stages, even->forward + even->backward);
  }

  // The longest stages that take no more than some time do better where units are few. Half-way between what must be,
  // `least`, and what is, `most`, again and again.
  void go_on_with_longest_stages(Range units, std::int64_t first, const Label& all, std::int64_t least,
                                 std::int64_t most) {
    most = std::min(most, longest());
    while (most - least > least / 128) {
      const std::int64_t middle = least + (most - least) / 2;
      const auto capped = cut(units, first, all, [&](std::int64_t k, std::int64_t u) {
        const std::int64_t left = s_.plan().pipeline_stages - first - 1 - k, from_end = stages_ - 1 - first - k;
        const std::int64_t last = units.end - left;
        std::pair<std::int64_t, std::optional<Setting::Stage>> stage;
        for (std::int64_t v = left == 0 ? last : u + 1; v <= last && ways_.work({u, v}, from_end) <= middle; ++v) {
          if (auto x = fastest({u, v}, from_end, middle)) stage = {v, x};
        }
        return stage;
      });
      if (!capped) {
        least = middle;
        continue;
      }
      best_ = std::min(best_, objective(*capped) + 1);
      most = std::min(middle, capped->forward + capped->backward);
    }
  }

  // Units in stages, the first of them the pipeline's `first`-th, each as long as next(its number among these, its
  // first unit) says; none: there is none.
  template <class Next>
  std::optional<Label> cut(Range units, std::int64_t first, Label all, Next next) {
    std::int64_t begin = units.begin;
    for (std::int64_t k = 0; begin < units.end; ++k) {
      if (ways_.pinned_other(first + k, begin)) return std::nullopt;
      const auto [end, stage] = next(k, begin);
      if (!stage || end > units.end) return std::nullopt;
      all = join(*stage, begin, all, begin > 0);
      begin = end;
    }
    return all;
  }

  std::optional<Setting::Stage> fastest(Range units, std::int64_t from_end, std::int64_t most) {
    std::optional<Setting::Stage> fastest;
    ways_.for_each(units, from_end, most, [&](const Setting::Stage& x, Recompute) {
      if (!fastest) fastest = x;
    });
    return fastest;
  }

  // Joins a stage in front of a label.
  Label join(const Setting::Stage& x, std::int64_t boundary, const Label& rest, bool copies) const {
    Label l = rest;
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
      labels_.begin_row(first);
      for (std::int64_t u = first; u >= nearest; --u) {
        if (!ways_.pinned_other(in_front, u)) extend(k, u, end, from_end, most);
        labels_.end_place();
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
    const bool copies = u > 0 && stages_ > 1;
    for (std::int64_t v = k == 0 ? end : u + 1; v <= end - k; ++v) {
      if (ways_.work({u, v}, from_end) > most) return;  // longer stages do no less
      const Labels::Place behind = k == 0 ? Labels::Place{} : labels_.at(k - 1, v);
      if (k > 0 && behind.empty()) continue;
      const bool may_go_on = ways_.for_each({u, v}, from_end, most, [&](const Setting::Stage& x, Recompute mode) {
        if (k == 0) offer({}, -1, x, mode, {u, v}, copies);
        for (std::size_t i = behind.begin; i < behind.end; ++i)
          offer(labels_[i], static_cast<std::int32_t>(i), x, mode, {u, v}, copies);
      });
      if (!may_go_on) return;
    }
  }

  // A stage in front of a label.
  void offer(const Label& rest, std::int32_t next, const Setting::Stage& x, Recompute mode, Range units, bool copies) {
    Label l = join(x, units.begin, rest, copies);
    if (objective(l) >= best_) return;
    l.end = static_cast<std::int32_t>(units.end);
    l.next = next;
    l.mode = mode;
    labels_.offer(l);
  }

  std::optional<Cuts> straight() {
    fill(n_, stages_, 0, 0);
    const Labels::Place first = labels_.at(stages_ - 1, 0);
    if (first.empty()) return std::nullopt;
    std::size_t best = first.begin;
    for (std::size_t i = first.begin; i < first.end; ++i) {
      if (objective(labels_[i]) < objective(labels_[best])) best = i;
    }
    Cuts cuts;
    trace(0, best, cuts);
    ways_.finish(cuts);
    return cuts;
  }

  // Tries every first stage [0, v) beside the last one [w, n). False when the last stage alone takes too long.
  bool wrapped(std::int64_t w, std::optional<Cuts>& best) {
    if (ways_.work(w, n_) > longest()) return false;
    if (!ways_.may_return(w)) return true;  // a longer one may still fit: boundaries inside a layer are wider
    fill(w, stages_ - 2, 1, 1);
    const std::int64_t most = longest();
    ways_.for_each_ends(w, ways_.of_first_ipu(w, most), [&](const PipelineStages::Ends& ends) {
      if (ends.first.forward + ends.first.backward + ends.last.forward + ends.last.backward > most) return;
      Label base;
      base.copy = s_.copy_cycles(w);
      consider(w, ends, join(together(ends.first, ends.last), 0, base, false), best);
    });
    return true;
  }

  void consider(std::int64_t w, const PipelineStages::Ends& at, const Label& ends, std::optional<Cuts>& best) {
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
      if (objective(l) >= best_) continue;
      best_ = objective(l);
      Cuts cuts;
      cuts.stages = {0};
      cuts.recompute = {at.first_mode};
      trace(at.begin, i, cuts);
      cuts.stages.push_back(w);
      cuts.recompute.push_back(at.last_mode);
      ways_.finish(cuts);
      best = cuts;
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

}  // namespace

std::optional<Cuts> cut_pipeline(const Setting& setting, const CutRules& rules, const CutLimits& limits) {
  const Plan& plan = setting.plan();
  const std::int64_t stages = plan.pipeline_stages + (rules.wrap ? 1 : 0);
  if (stages > setting.units() || least_cycles(setting, limits) >= limits.best) return std::nullopt;
  if (!setting.uneven_fill() || stages == 1) return PipelineCut(setting, rules, limits).run();
  CutLimits any = limits;
  any.best = INT64_MAX;
  const std::optional<Cuts> start = PipelineCut(setting, rules, any).run();
  return start ? cut_unevenly(setting, rules, limits, *start) : std::nullopt;
}

}  // namespace superstep
