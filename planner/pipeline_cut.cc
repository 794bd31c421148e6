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
  std::int32_t next = -1;  // label at `end`
  Recompute mode = Recompute::layer;
};

bool no_worse(const Label& a, const Label& b) {
  return a.forward <= b.forward && a.backward <= b.backward && a.update <= b.update && a.copy <= b.copy &&
         a.weights <= b.weights;
}

void offer(std::vector<Label>& labels, const Label& label) {
  for (const Label& l : labels) {
    if (no_worse(l, label)) return;
  }
  std::erase_if(labels, [&](const Label& l) { return no_worse(label, l); });
  labels.push_back(label);
}

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
      if (best) best_ = std::min(best_, best->cycles);
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

  // Cycles of a cut, or of any that a partial one is the end of.
  std::int64_t objective(const Label& l) const {
    const std::int64_t work = serial_ || grouped_ ? l.forward : l.forward + l.backward;
    const std::int64_t copy = std::max(l.copy, ways_.least_copy());
    return ways_.cycles() * work +
           ways_.beside(serial_ ? copy * copies_ : copy, l.weights, std::max(l.update, ways_.least_update()));
  }

  // Of a stage of cuts that are of interest, and of an IPU's.
  std::int64_t longest() const { return (best_ - objective(Label{})) / ways_.cycles(); }
  std::int64_t most_work() const { return std::min(ways_.work(0, n_), longest()); }

  // Cuts are no slower than those into stages of about the same work, where these fit. A stage that returns to the
  // first IPU is the last unit.
  void begin_with_even_stages() {
    Label all;
    std::int64_t begin = 0, end = n_, first = 0;
    const std::int64_t ipus = s_.plan().pipeline_stages;
    if (rules_.wrap) {
      end = n_ - 1;
      const std::int64_t most = ways_.work(0, n_) / ipus;
      bool found = false;
      ways_.for_each_ends(end, {0, std::max(most, ways_.work(0, 1) + ways_.work(end, n_))},
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
    const std::int64_t start = begin, stages = ipus - first;
    for (std::int64_t k = 0; k < stages; ++k) {
      const std::int64_t left = stages - 1 - k;
      std::int64_t next = left == 0 ? end : begin + 1;
      while (next < end - left && ways_.work(start, next) * stages < ways_.work(start, end) * (k + 1)) ++next;
      if (next > end || ways_.pinned_other(first + k, begin)) return;
      std::optional<Setting::Stage> fastest;
      ways_.for_each({begin, next}, stages_ - 1 - first - k, [&](const Setting::Stage& x, Recompute) {
        if (!fastest) fastest = x;
      });
      if (!fastest) return;
      all = join(*fastest, begin, all, begin > 0);
      begin = next;
    }
    best_ = std::min(best_, objective(all) + 1);
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

  // labels[k][u]: ways to run units [u, end) in k + 1 stages, `last` being the from_end of the last one.
  using Table = std::vector<std::vector<std::vector<Label>>>;
  Table fill(std::int64_t end, std::int64_t count, std::int64_t last, std::int64_t begin) {
    Table labels(static_cast<std::size_t>(count), std::vector<std::vector<Label>>(static_cast<std::size_t>(n_) + 1));
    const std::int64_t most = most_work();
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from_end = k + last;
      const std::int64_t in_front = stages_ - 1 - from_end;
      for (std::int64_t u = end - 1; u >= begin; --u) {
        if (ways_.work(u, end) > (k + 1) * most) break;
        // The first IPU also has what comes behind `end`.
        if (ways_.work(0, u) + ways_.work(end, n_) > in_front * most || ways_.pinned_other(in_front, u)) continue;
        auto& here = labels[static_cast<std::size_t>(k)][static_cast<std::size_t>(u)];
        extend(labels, here, k, u, end, from_end, most);
      }
    }
    return labels;
  }

  void extend(const Table& labels, std::vector<Label>& here, std::int64_t k, std::int64_t u, std::int64_t end,
              std::int64_t from_end, std::int64_t most) {
    const bool copies = u > 0 && stages_ > 1;
    for (std::int64_t v = k == 0 ? end : u + 1; v <= end - k; ++v) {
      if (ways_.work(u, v) > most) return;  // longer stages do no less
      const bool may_go_on = ways_.for_each({u, v}, from_end, [&](const Setting::Stage& x, Recompute mode) {
        offer_all(labels, here, x, mode, {k, u, v}, copies);
      });
      if (!may_go_on) break;
    }
  }

  struct Place {
    std::int64_t k, begin, end;
  };
  // A stage in front of all that may follow it.
  void offer_all(const Table& labels, std::vector<Label>& here, const Setting::Stage& x, Recompute mode,
                 const Place& place, bool copies) const {
    static const std::vector<Label> nothing = {Label{}};
    const auto& rest =
        place.k == 0 ? nothing : labels[static_cast<std::size_t>(place.k) - 1][static_cast<std::size_t>(place.end)];
    for (std::size_t i = 0; i < rest.size(); ++i) {
      Label l = join(x, place.begin, rest[i], copies);
      l.end = static_cast<std::int32_t>(place.end);
      l.next = place.k == 0 ? -1 : static_cast<std::int32_t>(i);
      l.mode = mode;
      if (objective(l) < best_) offer(here, l);
    }
  }

  std::optional<Cuts> straight() {
    const Table labels = fill(n_, stages_, 0, 0);
    const auto& first = labels[static_cast<std::size_t>(stages_) - 1][0];
    if (first.empty()) return std::nullopt;
    std::size_t at = 0;
    for (std::size_t i = 1; i < first.size(); ++i) {
      if (objective(first[i]) < objective(first[at])) at = i;
    }
    Cuts cuts;
    trace(labels, stages_ - 1, 0, static_cast<std::int32_t>(at), cuts);
    ways_.finish(cuts);
    return cuts;
  }

  // Tries every first stage [0, v) beside the last one [w, n). False when the last stage alone takes too long.
  bool wrapped(std::int64_t w, std::optional<Cuts>& best) {
    if (ways_.work(w, n_) > most_work()) return false;
    if (!ways_.may_return(w)) return true;  // a longer one may still fit: boundaries inside a layer are wider
    const Table middle = fill(w, stages_ - 2, 1, 1);
    const std::int64_t most = longest();
    ways_.for_each_ends(w, ways_.of_first_ipu(most_work()), [&](const PipelineStages::Ends& ends) {
      if (ends.first.forward + ends.first.backward + ends.last.forward + ends.last.backward > most) return;
      Label base;
      base.copy = s_.copy_cycles(w);
      consider(middle, w, ends, join(together(ends.first, ends.last), 0, base, false), best);
    });
    return true;
  }

  void consider(const Table& middle, std::int64_t w, const PipelineStages::Ends& at, const Label& ends,
                std::optional<Cuts>& best) const {
    auto offer_cut = [&](std::int64_t cycles, std::int32_t label) {
      if (cycles >= (best ? best->cycles : best_)) return;
      Cuts cuts;
      cuts.stages = {0};
      cuts.recompute = {at.first_mode};
      trace(middle, stages_ - 3, at.begin, label, cuts);
      cuts.stages.push_back(w);
      cuts.recompute.push_back(at.last_mode);
      ways_.finish(cuts);
      best = cuts;
    };
    const auto& options = middle[static_cast<std::size_t>(stages_) - 3][static_cast<std::size_t>(at.begin)];
    for (std::size_t i = 0; i < options.size(); ++i) {
      Label l = options[i];
      if (serial_)
        l.forward += ends.forward, l.copy += ends.copy;
      else
        l.forward = std::max(l.forward, ends.forward), l.backward = std::max(l.backward, ends.backward),
        l.copy = std::max(l.copy, ends.copy);
      l.update = std::max(l.update, ends.update);
      l.weights = std::max(l.weights, ends.weights);
      offer_cut(objective(l), static_cast<std::int32_t>(i));
    }
  }

  static void trace(const Table& labels, std::int64_t k, std::int64_t u, std::int32_t at, Cuts& cuts) {
    while (k >= 0) {
      const Label& l = labels[static_cast<std::size_t>(k)][static_cast<std::size_t>(u)][static_cast<std::size_t>(at)];
      cuts.stages.push_back(u);
      cuts.recompute.push_back(l.mode);
      u = l.end;
      at = l.next;
      --k;
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
