// SPDX-License-Identifier: Apache-2.0
// Stages one after the other in a pipeline, or with the last one back on the first IPU group.
#include "planner/cuts.h"

#include <algorithm>
#include <deque>

#include "model/error.h"
#include "planner/equal_runs.h"

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
      : s_(s), rules_(rules), limits_(limits), runs_(s), n_(s.units()) {
    groups_ = s.plan().pipeline_stages;
    stages_ = groups_ + (rules.wrap ? 1 : 0);
    const Plan& p = s.plan();
    grouped_ = p.schedule == Schedule::grouped;
    serial_ = p.schedule == Schedule::sequential || stages_ == 1;
    const bool training = s.table().training();
    cycles_ = p.gradient_accumulation + (serial_ ? 0 : (training ? 2 : 1) * (stages_ - 1));
    fixed_ = s.micro_batch_fixed() + (stages_ > 1 ? s.cycle_fixed() : 0);
    copies_ = training ? 2 : 1;
    best_ = limits.best;
    SUPERSTEP_CHECK(!rules.wrap || groups_ > 1,
                    "a last stage returns to the first IPU group only where there are others");
  }

  std::optional<Cuts> run() {
    if (stages_ > n_ || least_cycles(s_, limits_) >= best_) return std::nullopt;
    if (!rules_.wrap) return straight();
    std::optional<Cuts> best;
    // The returning stage: the head alone or with units before it, and the first stage it shares its IPU with.
    for (std::int64_t w = n_ - 1; w >= stages_ - 1; --w) {
      if (pinned_other(stages_ - 1, w)) continue;
      if (!wrapped(w, best)) break;
      if (best) best_ = std::min(best_, best->cycles);
    }
    return best;
  }

 private:
  const Setting& s_;
  const CutRules& rules_;
  const CutLimits& limits_;
  EqualRuns runs_;
  std::int64_t n_, groups_, stages_, cycles_, fixed_, copies_;
  bool grouped_, serial_;
  mutable std::int64_t best_ = INT64_MAX;  // cycles that a cut must beat

  bool pinned_other(std::int64_t stage, std::int64_t begin) const {
    return rules_.stages && (*rules_.stages)[static_cast<std::size_t>(stage)] != begin;
  }

  bool other_mode(std::int64_t stage, Recompute mode) const {
    return rules_.stage_modes && stage < static_cast<std::int64_t>(rules_.stage_modes->size()) &&
           (*rules_.stage_modes)[static_cast<std::size_t>(stage)] != mode;
  }

  std::int64_t objective(const Label& l) const {
    const std::int64_t work = serial_ || grouped_ ? l.forward : l.forward + l.backward;
    const std::int64_t copy = serial_ ? l.copy * copies_ : l.copy;
    return cycles_ * (work + copy + fixed_) + s_.whole_weights_cycles(l.weights) +
           (s_.table().training() ? l.update + s_.update_fixed() : 0);
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

  bool fits(const Setting::Stage& x, std::int64_t code) const {
    return code <= limits_.executable && x.always + x.transient + code <= limits_.tile && x.ddr <= limits_.ddr;
  }
  bool fits(const Setting::Stage& x) const { return fits(x, s_.code(x.rows)); }

  // Stages by last or not, mode, and what is equal in them, computed when first asked for: only the stash depends on
  // the place in the pipeline.
  struct Known {
    Setting::Stage stage;
    std::int64_t code = 0;
  };
  mutable std::vector<std::int32_t> index_[2][3];  // by number of the run; -1: not yet known
  mutable std::deque<Known> known_;
  const Known& known(std::int64_t u, std::int64_t v, bool last, Recompute mode) const {
    auto& index = index_[last ? 1 : 0][static_cast<std::size_t>(mode)];
    if (index.empty()) index.assign(runs_.count(), -1);
    std::int32_t& at = index[runs_.number(u, v)];
    if (at < 0) {
      at = static_cast<std::int32_t>(known_.size());
      const Setting::Stage stage = s_.stage_without_stash(u, v, last, mode);
      known_.push_back({stage, s_.code(stage.rows)});
    }
    return known_[static_cast<std::size_t>(at)];
  }

  // With the stash in the processor modes come from the fastest, and one that fits leaves the others
  // nothing, for a stage has its IPU to itself. Only the last stage may gain by `stage`, which recomputes
  // nothing there. A stash elsewhere, or one that t shares and joins again, takes time by its size, so that no mode is
  // always fastest.
  bool settles(Recompute mode, std::int64_t from_end) const {
    const bool joins = s_.plan().activation_sharding != ActivationSharding::none;
    return !s_.stash_moves() && !joins && (mode == Recompute::none || from_end > 0);
  }

  // labels[k][u]: ways to run units [u, end) in k + 1 stages, `last` being the from_end of the last one.
  using Table = std::vector<std::vector<std::vector<Label>>>;
  Table fill(std::int64_t end, std::int64_t count, std::int64_t last, std::int64_t begin) const {
    Table labels(static_cast<std::size_t>(count), std::vector<std::vector<Label>>(static_cast<std::size_t>(n_) + 1));
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from_end = k + last;
      for (std::int64_t u = end - 1; u >= begin; --u) {
        if (pinned_other(stages_ - 1 - from_end, u)) continue;
        auto& here = labels[static_cast<std::size_t>(k)][static_cast<std::size_t>(u)];
        extend(labels, here, k, u, end, from_end);
      }
    }
    return labels;
  }

  void extend(const Table& labels, std::vector<Label>& here, std::int64_t k, std::int64_t u, std::int64_t end,
              std::int64_t from_end) const {
    const bool copies = u > 0 && stages_ > 1;
    for (std::int64_t v = k == 0 ? end : u + 1; v <= end - k; ++v) {
      bool any = false;
      std::int64_t forward = INT64_MAX, backward = INT64_MAX;  // of the modes that fit so far
      for (Recompute mode : rules_.modes) {
        if (other_mode(stages_ - 1 - from_end, mode)) continue;
        const Known& base = known(u, v, from_end == 0, mode);
        if (base.stage.forward >= forward && base.stage.backward >= backward) continue;
        Setting::Stage x = base.stage;
        s_.add_stash(x, from_end);
        if (!fits(x, base.code)) continue;
        any = true;
        // One that is slower in one pass and faster in the other counts as no better than both.
        if (x.forward <= forward && x.backward <= backward) forward = x.forward, backward = x.backward;
        offer_all(labels, here, x, mode, {k, u, v}, copies);
        if (settles(mode, from_end)) break;
      }
      if (!any && !rules_.stages) break;  // for a fixed start and place a longer stage needs no less
    }
  }

  struct Place {
    std::int64_t k, begin, end;
  };
  // A stage in front of all that may follow it.
  void offer_all(const Table& labels, std::vector<Label>& here, const Setting::Stage& x, Recompute mode,
                 const Place& place, bool copies) const {
    const std::vector<Label> nothing = {Label{}};
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

  std::optional<Cuts> straight() const {
    const Table labels = fill(n_, stages_, 0, 0);
    const auto& first = labels[static_cast<std::size_t>(stages_) - 1][0];
    if (first.empty()) return std::nullopt;
    std::size_t at = 0;
    for (std::size_t i = 1; i < first.size(); ++i) {
      if (objective(first[i]) < objective(first[at])) at = i;
    }
    Cuts cuts;
    trace(labels, stages_ - 1, 0, static_cast<std::int32_t>(at), cuts);
    finish(cuts);
    return cuts;
  }

  // Tries every first stage [0, v) beside the last one [w, n). False when the last stage alone no longer fits.
  bool wrapped(std::int64_t w, std::optional<Cuts>& best) const {
    if (cycles_ * (s_.work(w, n_) + fixed_) >= best_) return false;
    // At its leanest the last stage borrows nothing: all that others lend stands on its IPU.
    std::vector<Setting::Stage> leanest;
    for (Recompute mode : rules_.modes) leanest.push_back(s_.stage(w, n_, 0, mode, true, Range{0, w}));
    if (std::none_of(leanest.begin(), leanest.end(), [&](const Setting::Stage& y) { return fits(y); }))
      return true;  // a longer one may still fit: boundaries inside a layer are wider
    const Table middle = fill(w, stages_ - 2, 1, 1);
    for (std::int64_t v = 1; v < w; ++v) {
      if (pinned_other(1, v)) continue;
      bool longer_may_fit = false;
      for (Recompute a : rules_.modes) {
        if (other_mode(0, a)) continue;
        const Setting::Stage x = s_.stage(0, v, stages_ - 1, a, true, Range{w, n_});
        for (std::size_t b = 0; b < rules_.modes.size(); ++b) {
          if (other_mode(stages_ - 1, rules_.modes[b])) continue;
          longer_may_fit = longer_may_fit || fits(together(x, leanest[b]));
          const Setting::Stage both = together(x, s_.stage(w, n_, 0, rules_.modes[b], true, Range{0, v}));
          if (!fits(both)) continue;
          Label base;
          base.copy = s_.copy_cycles(w);
          consider(middle, v, w, join(both, 0, base, false), a, rules_.modes[b], best);
        }
      }
      if (!longer_may_fit) break;
    }
    return true;
  }

  // Two stages on one IPU.
  static Setting::Stage together(Setting::Stage x, const Setting::Stage& y) {
    x.forward += y.forward, x.backward += y.backward, x.always += y.always, x.update += y.update, x.ddr += y.ddr,
        x.weights += y.weights;
    x.transient = std::max(x.transient, y.transient);
    x.rows |= y.rows;
    return x;
  }

  void consider(const Table& middle, std::int64_t v, std::int64_t w, const Label& ends, Recompute a, Recompute b,
                std::optional<Cuts>& best) const {
    auto offer_cut = [&](std::int64_t cycles, std::int32_t label) {
      if (cycles >= (best ? best->cycles : best_)) return;
      Cuts cuts;
      cuts.stages = {0};
      cuts.recompute = {a};
      trace(middle, stages_ - 3, v, label, cuts);
      cuts.stages.push_back(w);
      cuts.recompute.push_back(b);
      finish(cuts);
      best = cuts;
    };
    const auto& options = middle[static_cast<std::size_t>(stages_) - 3][static_cast<std::size_t>(v)];
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

  void finish(Cuts& cuts) const {
    cuts.phases = {0};
    cuts.stage_ipu.clear();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(cuts.stages.size()); ++i)
      cuts.stage_ipu.push_back(i % groups_);
    cuts.cycles = evaluate(s_, with_cuts(s_.plan(), cuts)).cycles;
  }
};

}  // namespace

std::optional<Cuts> cut_pipeline(const Setting& setting, const CutRules& rules, const CutLimits& limits) {
  return PipelineCut(setting, rules, limits).run();
}

}  // namespace superstep
