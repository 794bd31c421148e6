// SPDX-License-Identifier: Apache-2.0
// Stages in a pipeline whose fill and drain take as long as the slowest stage that works.
//
// At the boundary in front of stage b let f and w be the slowest forward and backward pass of the stages before it.
// From it on, let x be the slowest stage, both passes; with an interleaved schedule x is the slowest forward and y the
// slowest backward pass. Then (uneven_fill.cc adds up the same)
//
//   grouped      T = (g - 2 (S - 1)) x_0 + sum over boundaries of f + w + max(f, x) + max(w, x)
//   interleaved  T = (g - (S - 1)) (x_0 + y_0) + sum over boundaries of f + w + x + y
//
// and all of it with the ends' times beside these where the last stage stands on the first one's IPU. f and w are known
// from the left, x and y are not: a label promises them, no later stage takes longer, and may promise less behind a
// stage that takes all of it. That loses nothing: the promises that hold with equality are among those tried, and the
// others cost more than their cuts take.
#include "planner/uneven_cut.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "planner/pipeline_stages.h"

namespace superstep {
namespace {

constexpr std::int64_t kNever = INT64_MAX / 4;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Passes {
  std::int64_t forward = 0, backward = 0;
  std::int64_t both() const { return forward + backward; }
};

// A stage that begins where the option is found.
struct Option : Passes {
  std::int64_t end = 0, update = 0, weights = 0;
  Recompute mode = Recompute::layer;
};

// The first and the last stage on one IPU; zero: all stages have their own.
struct Ends {
  Passes first, last;
  std::int64_t copy = 0, update = 0, weights = 0;
  std::int64_t last_begin = 0;  // unit
  Recompute first_mode = Recompute::layer, last_mode = Recompute::layer;
};

struct Promise {
  std::int64_t x = 0, y = 0;  // y: 0 with a grouped schedule
  friend auto operator<=>(const Promise&, const Promise&) = default;
};

struct Label {
  Passes before;  // the slowest
  std::int64_t cycles = 0, copy = 0, update = 0, weights = 0;
  Promise promise;                               // of the stages behind
  std::int32_t begin = 0, option = 0, from = 0;  // its last stage, and the label in front of that
  bool dropped = false;
};

bool no_worse(const Label& a, const Label& b) {
  return a.before.forward <= b.before.forward && a.before.backward <= b.before.backward && a.cycles <= b.cycles &&
         a.copy <= b.copy && a.update <= b.update && a.weights <= b.weights;
}

// Labels in front of a stage, by the unit that it begins with.
struct Layer {
  struct Place {
    std::vector<Label> labels;
    std::map<Promise, std::vector<std::int32_t>> by_promise;
  };
  std::vector<Place> places;

  void offer(std::int64_t unit, const Label& label) {
    Place& place = places[at(unit)];
    std::vector<std::int32_t>& rivals = place.by_promise[label.promise];
    for (const std::int32_t i : rivals) {
      if (no_worse(place.labels[at(i)], label)) return;
    }
    std::erase_if(rivals, [&](std::int32_t i) {
      Label& rival = place.labels[at(i)];
      rival.dropped = no_worse(label, rival);
      return rival.dropped;
    });
    rivals.push_back(static_cast<std::int32_t>(place.labels.size()));
    place.labels.push_back(label);
  }
};

class UnevenCut {
 public:
  UnevenCut(const Setting& s, const CutRules& rules, const CutLimits& limits, const Cuts& start)
      : s_(s),
        rules_(rules),
        ways_(s, rules, limits),
        n_(s.units()),
        stages_(ways_.count()),
        grouped_(s.plan().schedule == Schedule::grouped),
        full_(s.plan().gradient_accumulation - (grouped_ ? 2 : 1) * (stages_ - 1)),
        least_(limits.best) {
    note(start);
  }

  std::optional<Cuts> run() {
    if (!rules_.wrap) {
      open(0, stages_, 0, n_);
      solve(0, Ends{});
      return best_;
    }
    for (std::int64_t w = n_ - 1; w >= stages_ - 1; --w) {
      if (ways_.pinned_other(stages_ - 1, w)) continue;
      if (s_.plan().gradient_accumulation * s_.work(w, n_) + ways_.beside(0, 0, 0) >= least_) break;
      if (ways_.may_return(w)) returning(w);
    }
    return best_;
  }

 private:
  const Setting& s_;
  const CutRules& rules_;
  PipelineStages ways_;
  const std::int64_t n_, stages_;
  const bool grouped_;
  const std::int64_t full_;  // cycles in which all stages do both passes
  std::int64_t least_;       // cycles that cuts must beat
  std::optional<Cuts> best_;

  void note(const Cuts& cuts) {
    if (cuts.cycles >= least_) return;
    least_ = cuts.cycles;
    best_ = cuts;
  }

  // ---- the stages to choose from: `count_` of them, from stage `first_` on, up to unit `end_`

  std::int64_t first_ = 0, count_ = 0, end_ = 0;
  std::vector<std::vector<std::vector<Option>>> options_;  // by stage, first unit
  // By stage and first unit, what no choice of the stages from there on takes less than: their slowest, and what they
  // add to the boundaries (see tabulate()).
  struct Least {
    std::int64_t x = kNever, y = kNever, cycle = kNever, added = kNever, added_behind = kNever;
  };
  std::vector<std::vector<Least>> rest_;
  std::vector<std::int64_t> xs_, ys_;  // what may be promised, ascending

  Promise takes(const Passes& p) const { return grouped_ ? Promise{p.both(), 0} : Promise{p.forward, p.backward}; }

  void open(std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t end) {
    first_ = first, count_ = count, end_ = end;
    options_.assign(at(count), std::vector<std::vector<Option>>(at(n_) + 1));
    std::vector<bool> reached(at(n_) + 1, false);
    // Where the last stage returns, the stage behind the first may begin anywhere.
    for (std::int64_t u = begin; u <= (first > 0 ? end - count : begin); ++u) reached[at(u)] = true;
    for (std::int64_t k = 0; k < count; ++k) {
      std::vector<bool> next(at(n_) + 1, false);
      for (std::int64_t u = begin; u < end; ++u) {
        if (!reached[at(u)] || ways_.pinned_other(first + k, u)) continue;
        collect(k, u);
        for (const Option& o : options_[at(k)][at(u)]) next[at(o.end)] = true;
      }
      reached = std::move(next);
    }
    tabulate();
  }

  void collect(std::int64_t k, std::int64_t u) {
    const std::int64_t g = s_.plan().gradient_accumulation, beside = ways_.beside(0, 0, 0);
    const bool last = k + 1 == count_;
    for (std::int64_t v = last ? end_ : u + 1; v <= end_ - (count_ - 1 - k); ++v) {
      if (g * s_.work(u, v) + beside >= least_) return;  // each IPU does its work for each micro-batch
      const bool may_go_on =
          ways_.for_each({u, v}, stages_ - 1 - first_ - k, [&](const Setting::Stage& x, Recompute mode) {
            const std::int64_t weights = s_.weights_move() ? x.weights : 0;
            if (g * (x.forward + x.backward) + beside < least_)
              options_[at(k)][at(u)].push_back({{x.forward, x.backward}, v, x.update, weights, mode});
          });
      if (!may_go_on) return;
    }
  }

  // A stage is the slowest one before the boundary behind it, and the slowest one behind the boundary before it: at
  // least its passes once and, from there on, as often as x and y are added. Charged to each boundary that way, the sum
  // is no more than T's.
  void tabulate() {
    const std::int64_t behind = grouped_ ? 2 : 1;  // times that x, or x and y, are added
    rest_.assign(at(count_) + 1, std::vector<Least>(at(n_) + 1));
    rest_[at(count_)][at(end_)] = {0, 0, 0, 0, 0};
    std::set<std::int64_t> xs, ys;
    for (std::int64_t k = count_; k-- > 0;) {
      const bool ends_model = first_ + k + 1 == stages_;
      for (std::int64_t u = 0; u < end_; ++u) {
        Least& here = rest_[at(k)][at(u)];
        for (const Option& o : options_[at(k)][at(u)]) {
          const Least& then = rest_[at(k) + 1][at(o.end)];
          if (then.added == kNever) continue;
          const Promise p = takes(o);
          const std::int64_t once = ends_model ? 0 : o.both();
          here.x = std::min(here.x, std::max(p.x, then.x));
          here.y = std::min(here.y, std::max(p.y, then.y));
          here.cycle = std::min(here.cycle, std::max(o.both(), then.cycle));
          here.added = std::min(here.added, behind * o.both() + once + then.added);
          here.added_behind = std::min(here.added_behind, once + then.added);
          xs.insert(p.x), ys.insert(p.y);
        }
      }
    }
    xs_.assign(xs.begin(), xs.end());
    ys_.assign(ys.begin(), ys.end());
  }

  // ---- times

  std::int64_t full_cycle(const Ends& e, const Promise& p) const {
    if (grouped_) return std::max(e.first.both() + e.last.both(), p.x);
    return std::max(e.first.forward + e.last.forward, p.x) + std::max(e.first.backward + e.last.backward, p.y);
  }
  // The cycles of fill and drain that belong to a boundary.
  std::int64_t boundary(const Ends& e, const Passes& before, const Promise& p) const {
    const std::int64_t forward = std::max(e.first.forward, before.forward),
                       backward = std::max(e.first.backward, before.backward);
    if (!grouped_) return forward + backward + std::max(e.last.forward, p.x) + std::max(e.last.backward, p.y);
    return forward + backward + std::max({e.first.forward + e.last.both(), before.forward, p.x}) +
           std::max({e.first.backward + e.last.both(), before.backward, p.x});
  }
  bool returns() const { return first_ > 0; }
  // No less than what boundaries behind stage k take, where it begins with unit u.
  std::int64_t least_behind(const Ends& e, std::int64_t k, std::int64_t u, const Passes& before) const {
    const std::int64_t count = count_ - k - (returns() ? 0 : 1);
    return std::max(count * boundary(e, before, {}), rest_[at(k)][at(u)].added_behind + last_boundary(e));
  }
  // What x and y are there is the last stage alone.
  std::int64_t last_boundary(const Ends& e) const {
    if (!returns()) return 0;
    return grouped_ ? e.first.both() + 2 * e.last.both() : e.last.both();
  }
  // No less than what all takes.
  std::int64_t least_from(const Ends& e, std::int64_t u) const {
    const Least& rest = rest_[0][at(u)];
    if (rest.added == kNever) return kNever;
    std::int64_t boundaries = least_behind(e, 0, u, {});
    if (returns())
      boundaries = std::max((count_ + 1) * boundary(e, {}, {}), e.first.both() + rest.added + last_boundary(e));
    return full_ * std::max(e.first.both() + e.last.both(), rest.cycle) + boundaries +
           ways_.beside(e.copy, e.weights, e.update);
  }

  // ---- labels

  std::vector<Layer> layers_;

  struct Last {
    std::int64_t cycles = kNever;
    std::int64_t begin = 0;
    std::int32_t option = 0, from = 0;
  };

  using Stages = std::vector<std::pair<std::int64_t, const Option*>>;  // with their first units

  // Cuts whose stages to choose begin with unit u, faster than the best so far.
  void solve(std::int64_t u, const Ends& ends) {
    if (least_from(ends, u) >= least_) return;
    for (const int percent : {100, 102, 105, 110, 120, 150, 200})
      if (const Stages stages = evenest(u, rest_[0][at(u)].cycle * percent / 100); !stages.empty())
        finish(stages, ends);
    begin(u, ends);
    for (std::int64_t k = 0; k + 1 < count_; ++k) {
      for (std::int64_t from = 0; from < end_; ++from) extend(k, from, ends);
    }
    const Last last = cheapest(ends);
    if (last.cycles < kNever) finish(path(last), ends);
  }

  void finish(const Stages& stages, const Ends& ends) {
    Cuts cuts;
    const auto add = [&](std::int64_t begin, Recompute mode) {
      cuts.stages.push_back(begin), cuts.recompute.push_back(mode);
    };
    if (returns()) add(0, ends.first_mode);
    for (const auto& [begin, option] : stages) add(begin, option->mode);
    if (returns()) add(ends.last_begin, ends.last_mode);
    ways_.finish(cuts);
    note(cuts);
  }

  // A good cut to begin with: that of which the squares of the stages' times add up to the least, none above a cap.
  Stages evenest(std::int64_t begin, std::int64_t cap) const {
    struct Choice {
      double squares = 1e300;
      const Option* option = nullptr;
    };
    std::vector<std::vector<Choice>> choices(at(count_) + 1, std::vector<Choice>(at(n_) + 1));
    choices[at(count_)][at(end_)].squares = 0;
    for (std::int64_t k = count_; k-- > 0;) {
      for (std::int64_t u = begin; u < end_; ++u) {
        for (const Option& o : options_[at(k)][at(u)]) {
          const auto time = static_cast<double>(o.both());
          const double squares = time * time + choices[at(k) + 1][at(o.end)].squares;
          if (o.both() <= cap && squares < choices[at(k)][at(u)].squares) choices[at(k)][at(u)] = {squares, &o};
        }
      }
    }
    Stages stages;
    for (std::int64_t k = 0, u = begin; k < count_; ++k) {
      const Option* option = choices[at(k)][at(u)].option;
      if (option == nullptr) return {};
      stages.emplace_back(u, option);
      u = option->end;
    }
    return stages;
  }

  void begin(std::int64_t u, const Ends& ends) {
    layers_.assign(at(count_), {});
    for (Layer& layer : layers_) layer.places.resize(at(n_) + 1);
    Label label;
    label.copy = ends.copy, label.update = ends.update, label.weights = ends.weights;
    for_each_promise(Promise{kNever, kNever}, 0, u, [&](const Promise& p) {
      label.promise = p;
      label.cycles = full_ * full_cycle(ends, p) + (returns() ? boundary(ends, {}, p) : 0);
      offer(ends, 0, u, label);
    });
  }

  // Calls f for all promises up to this one that stages from k on, from unit u, can keep.
  template <class F>
  void for_each_promise(const Promise& most, std::int64_t k, std::int64_t u, F f) const {
    const Least& least = rest_[at(k)][at(u)];
    for (auto x = std::lower_bound(xs_.begin(), xs_.end(), least.x); x != xs_.end() && *x <= most.x; ++x) {
      for (auto y = std::lower_bound(ys_.begin(), ys_.end(), least.y); y != ys_.end() && *y <= most.y; ++y)
        f(Promise{*x, *y});
    }
  }

  void offer(const Ends& ends, std::int64_t k, std::int64_t u, const Label& l) {
    const std::int64_t whole =
        l.cycles + least_behind(ends, k, u, l.before) + ways_.beside(l.copy, l.weights, l.update);
    if (whole < least_) layers_[at(k)].offer(u, l);
  }

  // The label with one more stage, the boundary behind it left out.
  Label with(const Label& l, std::int64_t begin, const Option& o, std::int32_t option, std::int32_t from) const {
    Label out = l;
    out.before.forward = std::max(l.before.forward, o.forward);
    out.before.backward = std::max(l.before.backward, o.backward);
    if (begin > 0) out.copy = std::max(l.copy, s_.copy_cycles(begin));
    out.update = std::max(l.update, o.update);
    out.weights = std::max(l.weights, o.weights);
    out.begin = static_cast<std::int32_t>(begin), out.option = option, out.from = from;
    return out;
  }

  // Calls f(option, its number, label in front, its number) for each that may follow each.
  template <class F>
  void for_each_pair(std::int64_t k, std::int64_t u, F f) const {
    const std::vector<Label>& labels = layers_[at(k)].places[at(u)].labels;
    const std::vector<Option>& options = options_[at(k)][at(u)];
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i].dropped) continue;
      for (std::size_t j = 0; j < options.size(); ++j) {
        const Promise p = takes(options[j]);
        if (p.x <= labels[i].promise.x && p.y <= labels[i].promise.y)
          f(options[j], static_cast<std::int32_t>(j), labels[i], static_cast<std::int32_t>(i));
      }
    }
  }

  void extend(std::int64_t k, std::int64_t u, const Ends& ends) {
    for_each_pair(k, u, [&](const Option& o, std::int32_t option, const Label& l, std::int32_t from) {
      const Least& rest = rest_[at(k) + 1][at(o.end)];
      if (rest.added == kNever || rest.x > l.promise.x || rest.y > l.promise.y) return;
      Label label = with(l, u, o, option, from);
      const Promise taken = takes(o);
      for_each_promise(l.promise, k + 1, o.end, [&](const Promise& p) {
        if ((p.x < l.promise.x && taken.x < l.promise.x) || (p.y < l.promise.y && taken.y < l.promise.y)) return;
        label.promise = p;
        label.cycles = l.cycles + boundary(ends, label.before, p);
        offer(ends, k + 1, o.end, label);
      });
    });
  }

  Last cheapest(const Ends& ends) const {
    Last best;
    for (std::int64_t u = 0; u < end_; ++u) {
      for_each_pair(count_ - 1, u, [&](const Option& o, std::int32_t option, const Label& l, std::int32_t from) {
        const Label label = with(l, u, o, option, from);
        const std::int64_t cycles = label.cycles + (returns() ? boundary(ends, label.before, {}) : 0) +
                                    ways_.beside(label.copy, label.weights, label.update);
        if (cycles < best.cycles) best = {cycles, u, option, from};
      });
    }
    return best;
  }

  Stages path(const Last& last) const {
    Stages stages;
    std::int64_t u = last.begin;
    std::int32_t option = last.option, from = last.from;
    for (std::int64_t k = count_ - 1;; --k) {
      stages.emplace_back(u, &options_[at(k)][at(u)][at(option)]);
      const Label& l = layers_[at(k)].places[at(u)].labels[at(from)];
      if (k == 0) break;
      u = l.begin, option = l.option, from = l.from;
    }
    std::reverse(stages.begin(), stages.end());
    return stages;
  }

  // The last stage is [w, end of the model), on the first one's IPU. Pairs that promise most come first.
  void returning(std::int64_t w) {
    open(1, stages_ - 2, 1, w);
    struct Pair {
      std::int64_t least, begin;  // cycles; the unit behind the first stage
      Ends ends;
    };
    std::vector<Pair> pairs;
    ways_.for_each_ends(w, [&](const PipelineStages::Ends& e) {
      const Setting::Stage both = together(e.first, e.last);
      const Ends ends{{e.first.forward, e.first.backward},
                      {e.last.forward, e.last.backward},
                      s_.copy_cycles(w),
                      both.update,
                      s_.weights_move() ? both.weights : 0,
                      w,
                      e.first_mode,
                      e.last_mode};
      pairs.push_back({least_from(ends, e.begin), e.begin, ends});
    });
    std::ranges::stable_sort(pairs, {}, &Pair::least);
    for (const Pair& pair : pairs) solve(pair.begin, pair.ends);
  }
};

}  // namespace

std::optional<Cuts> cut_unevenly(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                                 const Cuts& start) {
  return UnevenCut(setting, rules, limits, start).run();
}

}  // namespace superstep
