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
// from the left, x and y are not: a label caps them, no later stage takes longer, and the cap may fall behind a
// stage that reaches it. That loses nothing: the caps that hold with equality are among those tried, and the
// others cost more than their cuts take.
#include "planner/cuts/uneven_cut.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/cuts/pipeline_stages.h"
#include "planner/cuts/stage_choices.h"

namespace superstep {
namespace {

using Choice = StageChoices::Choice;
using Stages = StageChoices::Stages;
constexpr std::int64_t kNever = StageChoices::kNever;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The first and the last stage on one IPU; zero: all stages have their own, and are all to be chosen.
struct Ends {
  Passes first, last;
  std::int64_t copy = 0, update = 0, weights = 0, ties = 0;
  std::int64_t last_begin = 0;  // unit
  Recompute first_mode = Recompute::layer, last_mode = Recompute::layer;
};

struct Label {
  Passes before;                                               // the slowest
  std::int64_t cycles = 0, copy = 0, update = 0, weights = 0;  // cycles: of the boundaries so far, and of ties
  StageCap cap;                                                // of the stages behind
  std::int32_t begin = 0, option = 0, from = 0;                // its last stage, and the label in front of that
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
    std::map<StageCap, std::vector<std::int32_t>> by_cap;
  };
  std::vector<Place> places;

  void offer(std::int64_t unit, const Label& label) {
    Place& place = places[at(unit)];
    std::vector<std::int32_t>& rivals = place.by_cap[label.cap];
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
  UnevenCut(PipelineStages& ways, const CutLimits& limits, const Cuts& start)
      : s_(ways.setting()),
        rules_(ways.rules()),
        ways_(ways),
        choices_(s_, ways_),
        n_(s_.units()),
        stages_(ways_.count()),
        grouped_(s_.plan().schedule == Schedule::grouped),
        full_(s_.plan().gradient_accumulation - (grouped_ ? 2 : 1) * (stages_ - 1)),
        least_(limits.best),
        deadline_(limits) {
    note(start);
  }

  // May throw TimeIsUp.
  void run() {
    if (!rules_.wrap) {
      choices_.open({0, stages_}, {0, n_}, least_);
      return solve(0, Ends{});
    }
    for (std::int64_t w = n_ - 1; w >= stages_ - 1; --w) {
      if (ways_.pinned_other(stages_ - 1, w)) continue;
      if (s_.plan().gradient_accumulation * ways_.work(w, n_) + ways_.beside(0, 0, 0) >= least_) break;
      if (ways_.may_return(w)) returning(w);
    }
  }
  const std::optional<Cuts>& best() const { return best_; }

 private:
  const Setting& s_;
  const CutRules& rules_;
  PipelineStages& ways_;
  StageChoices choices_;
  const std::int64_t n_, stages_;
  const bool grouped_;
  const std::int64_t full_;  // cycles in which all stages do both passes
  std::int64_t least_;       // cycles that cuts must beat
  Deadline deadline_;
  std::optional<Cuts> best_;

  void note(const Cuts& cuts) {
    if (cuts.cycles >= least_) return;
    least_ = cuts.cycles;
    best_ = cuts;
  }

  // ---- times

  std::int64_t full_cycle(const Ends& e, const StageCap& p) const {
    if (grouped_) return std::max(e.first.both() + e.last.both(), p.x);
    return std::max(e.first.forward + e.last.forward, p.x) + std::max(e.first.backward + e.last.backward, p.y);
  }
  // The cycles of fill and drain that belong to a boundary.
  std::int64_t boundary(const Ends& e, const Passes& before, const StageCap& p) const {
    const std::int64_t forward = std::max(e.first.forward, before.forward),
                       backward = std::max(e.first.backward, before.backward);
    if (!grouped_) return forward + backward + std::max(e.last.forward, p.x) + std::max(e.last.backward, p.y);
    return forward + backward + std::max({e.first.forward + e.last.both(), before.forward, p.x}) +
           std::max({e.first.backward + e.last.both(), before.backward, p.x});
  }
  bool returns() const { return rules_.wrap; }
  // No less than what boundaries behind stage k take, where it begins with unit u.
  std::int64_t least_behind(const Ends& e, std::int64_t k, std::int64_t u, const Passes& before) const {
    const std::int64_t count = choices_.count() - k - (returns() ? 0 : 1);
    return std::max(count * boundary(e, before, {}), choices_.least(k, u).added_behind + last_boundary(e));
  }
  // What x and y are there is the last stage alone.
  std::int64_t last_boundary(const Ends& e) const {
    if (!returns()) return 0;
    return grouped_ ? e.first.both() + 2 * e.last.both() : e.last.both();
  }
  // No less than what all takes.
  std::int64_t least_from(const Ends& e, std::int64_t u) const {
    const StageChoices::Least& rest = choices_.least(0, u);
    if (rest.added == kNever) return kNever;
    std::int64_t boundaries = least_behind(e, 0, u, {});
    if (returns())
      boundaries =
          std::max((choices_.count() + 1) * boundary(e, {}, {}), e.first.both() + rest.added + last_boundary(e));
    return full_ * std::max(e.first.both() + e.last.both(), rest.cycle) + boundaries +
           ways_.beside(e.copy, e.weights, e.update) + e.ties;
  }

  // ---- labels

  std::vector<Layer> layers_;

  struct Last {
    std::int64_t cycles = kNever;
    std::int64_t begin = 0;
    std::int32_t option = 0, from = 0;
  };

  // Cuts whose stages to choose begin with unit u, faster than the best so far.
  void solve(std::int64_t u, const Ends& ends) {
    if (least_from(ends, u) >= least_) return;
    for (const int percent : {100, 102, 105, 110, 120, 150, 200})
      if (const Stages stages = choices_.evenest(u, choices_.least(0, u).cycle * percent / 100); !stages.empty())
        finish(stages, ends);
    begin(u, ends);
    for (std::int64_t k = 0; k + 1 < choices_.count(); ++k) {
      for (std::int64_t from = 0; from < n_; ++from) extend(k, from, ends);
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

  void begin(std::int64_t u, const Ends& ends) {
    layers_.assign(at(choices_.count()), {});
    for (Layer& layer : layers_) layer.places.resize(at(n_) + 1);
    Label label;
    label.copy = ends.copy, label.update = ends.update, label.weights = ends.weights;
    const StageChoices::Least& rest = choices_.least(0, u);
    choices_.for_each_cap({rest.x, rest.y}, {kNever, kNever}, [&](const StageCap& p) {
      label.cap = p;
      label.cycles = full_ * full_cycle(ends, p) + (returns() ? boundary(ends, {}, p) : 0) + ends.ties;
      offer(ends, 0, u, label);
    });
  }

  void offer(const Ends& ends, std::int64_t k, std::int64_t u, const Label& l) {
    const std::int64_t whole =
        l.cycles + least_behind(ends, k, u, l.before) + ways_.beside(l.copy, l.weights, l.update);
    if (whole < least_) layers_[at(k)].offer(u, l);
  }

  // The label with one more stage, the boundary behind it left out.
  Label with(const Label& l, std::int64_t begin, const Choice& o, std::int32_t option, std::int32_t from) const {
    Label out = l;
    out.cycles += ways_.ties({begin, o.end});
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
    const std::vector<Choice>& options = choices_.at(k, u);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i].dropped) continue;
      for (std::size_t j = 0; j < options.size(); ++j) {
        const StageCap p = choices_.takes(options[j]);
        if (p.x <= labels[i].cap.x && p.y <= labels[i].cap.y)
          f(options[j], static_cast<std::int32_t>(j), labels[i], static_cast<std::int32_t>(i));
      }
    }
  }

  void extend(std::int64_t k, std::int64_t u, const Ends& ends) {
    deadline_.check();
    for_each_pair(k, u, [&](const Choice& o, std::int32_t option, const Label& l, std::int32_t from) {
      const StageChoices::Least& rest = choices_.least(k + 1, o.end);
      if (rest.added == kNever || rest.x > l.cap.x || rest.y > l.cap.y) return;
      Label label = with(l, u, o, option, from);
      const StageCap taken = choices_.takes(o), &most = l.cap;
      const std::int64_t cycles = label.cycles;
      const StageCap low{taken.x == most.x ? rest.x : most.x, taken.y == most.y ? rest.y : most.y};
      choices_.for_each_cap(low, most, [&](const StageCap& p) {
        label.cap = p;
        label.cycles = cycles + boundary(ends, label.before, p);
        offer(ends, k + 1, o.end, label);
      });
    });
  }

  Last cheapest(const Ends& ends) const {
    Last best;
    for (std::int64_t u = 0; u < n_; ++u) {
      for_each_pair(choices_.count() - 1, u,
                    [&](const Choice& o, std::int32_t option, const Label& l, std::int32_t from) {
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
    for (std::int64_t k = choices_.count() - 1;; --k) {
      stages.emplace_back(u, &choices_.at(k, u)[at(option)]);
      const Label& l = layers_[at(k)].places[at(u)].labels[at(from)];
      if (k == 0) break;
      u = l.begin, option = l.option, from = l.from;
    }
    std::reverse(stages.begin(), stages.end());
    return stages;
  }

  // The last stage is [w, end of the model), on the first one's IPU. Pairs with the lowest bound come first.
  void returning(std::int64_t w) {
    choices_.open({1, stages_ - 1}, {1, w}, least_);
    struct Pair {
      std::int64_t least, begin;  // cycles; the unit behind the first stage
      Ends ends;
    };
    std::vector<Pair> pairs;
    const std::int64_t most_work = (least_ - ways_.beside(0, 0, 0)) / s_.plan().gradient_accumulation;
    ways_.for_each_ends(w, ways_.of_first_ipu(w, most_work), [&](const PipelineStages::Ends& e) {
      const Setting::Stage both = together(e.first, e.last);
      const Ends ends{{e.first.forward, e.first.backward},
                      {e.last.forward, e.last.backward},
                      s_.copy_cycles(w),
                      both.update,
                      s_.weights_move() ? both.weights : 0,
                      ways_.ties({w, n_}, e.begin),
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

std::optional<Cuts> cut_unevenly(PipelineStages& stages, const CutLimits& limits, const Cuts& start, bool& late) {
  UnevenCut cut(stages, limits, start);
  try {
    cut.run();
  } catch (const TimeIsUp&) {
    late = true;
  }
  return cut.best();
}

}  // namespace superstep
