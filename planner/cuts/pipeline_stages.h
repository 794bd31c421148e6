// SPDX-License-Identifier: Apache-2.0
// The stages that a pipeline may be cut into: which stages fit, in which recompute mode. A stage's numbers are computed
// once and kept for all limits.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/cost/code_memo.h"
#include "planner/cuts/cuts.h"

namespace superstep {

class PipelineStages {
 public:
  // Setting and rules must outlive this object.
  PipelineStages(const Setting& setting, const CutRules& rules);
  // Sets the limits of all calls that follow. Must be called first.
  void keep_within(const CutLimits& limits);

  const Setting& setting() const { return s_; }
  const CutRules& rules() const { return rules_; }
  std::int64_t count() const { return count_; }  // stages of the pipeline, with one that returns
  bool serial() const { return serial_; }        // true if stages never run side by side
  // Least cycles of one micro-batch through units [begin, end), both passes.
  std::int64_t work(std::int64_t begin, std::int64_t end) const {
    return work_[static_cast<std::size_t>(end)] - work_[static_cast<std::size_t>(begin)];
  }
  // The same for units that are not in the last stage. Adds the recompute of a unit that no stage that fits can keep
  // for the backward pass. Only the last stage needs no recompute.
  std::int64_t work_before_last(std::int64_t begin, std::int64_t end) const {
    return work_before_last_[static_cast<std::size_t>(end)] - work_before_last_[static_cast<std::size_t>(begin)];
  }
  // Least work of a stage that is the from_end-th from the end of the pipeline; 0: the last stage.
  std::int64_t work(Range units, std::int64_t from_end) const {
    return from_end == 0 ? work(units.begin, units.end) : work_before_last(units.begin, units.end);
  }
  // Pipeline cycles of a step, filling and draining included. Each takes as long as the slowest stage and the copies.
  std::int64_t rounds() const { return rounds_; }
  // Clock cycles of a step besides the stages' work. `copy`: the widest copy, or the sum of all copies where stages run
  // one after the other. `weights`: bytes per IPU of the stage with most weights. `update`: the longest update.
  std::int64_t beside(std::int64_t copy, std::int64_t weights, std::int64_t update) const {
    return rounds_ * (copy + fixed_) + (weights > 0 ? s_.weight_load_cycles(weights) : 0) + update_fixed_ +
           (training_ ? update : 0);
  }
  // Cycles per step that a stage takes for tied weights (Tie) which earlier stages have on other IPU groups. `beside`:
  // units [0, beside) are on the stage's own IPU group.
  std::int64_t ties(Range units, std::int64_t beside = 0) const {
    std::int64_t cycles = 0;
    for (const Borrower& b : borrowers_) {
      if (b.unit >= units.begin && b.unit < units.end && b.before < units.begin && b.owner >= beside)
        cycles += b.cycles;
    }
    return cycles;
  }
  // Lower bound on the sum of ties() over a pipeline in which no stage returns or has more work than `most`.
  std::int64_t least_ties(std::int64_t most) const {
    std::int64_t cycles = 0;
    for (const Borrower& b : borrowers_) cycles += work(b.before, b.unit + 1) > most ? b.cycles : 0;
    return cycles;
  }
  // Lower bounds, in cycles, on the widest copy and on the longest update of any cut. Where stages run one after the
  // other, the first is on the sum of all copies.
  std::int64_t least_copy() const { return least_copy_; }
  std::int64_t least_update() const { return least_update_; }

  // True if the stage's first unit is pinned to a unit other than `begin`.
  bool pinned_other(std::int64_t stage, std::int64_t begin) const {
    return rules_.stages && (*rules_.stages)[static_cast<std::size_t>(stage)] != begin;
  }
  // True if the stage's mode is pinned to a mode other than `mode`.
  bool other_mode(std::int64_t stage, Recompute mode) const {
    return rules_.stage_modes && stage < static_cast<std::int64_t>(rules_.stage_modes->size()) &&
           (*rules_.stage_modes)[static_cast<std::size_t>(stage)] != mode;
  }
  // The modes that the rules allow for the last stage, or for the others.
  const std::vector<Recompute>& modes_of(bool last) const {
    return last && !rules_.last_modes.empty() ? rules_.last_modes : rules_.modes;
  }
  // True if an IPU group that runs the units for which is_here(unit) holds would have one unit of a pair that must be
  // together, without the other.
  template <class F>
  bool splits(F is_here) const {
    return rules_.together && std::ranges::any_of(*rules_.together, [&](const UnitFacts::Tie& tie) {
             return is_here(tie.owner) != is_here(tie.borrower);
           });
  }
  // Least cycles of one micro-batch, both passes, of a last stage from unit `begin` on, whether or not the stage fits.
  std::int64_t least_last(std::int64_t begin) {
    std::int64_t least = INT64_MAX;
    for (const Recompute mode : modes_of(true)) {
      const Setting::Stage& x = known({begin, s_.units()}, true, mode).stage;
      least = std::min(least, x.forward + x.backward);
    }
    return least;
  }
  // Calls f(stage without its stash, mode) for each mode in which the units fit as a stage. The stage is the
  // from_end-th from the end, and alone on its IPU group. Leaves out modes that take more than `most` cycles per
  // micro-batch, and modes that are faster in neither pass than an earlier mode that fits. Returns false if no mode
  // fits; longer stages from units.begin do not fit either.
  template <class F>
  bool for_each(Range units, std::int64_t from_end, std::int64_t most, F f);

  // A last stage that returns to the first IPU group, and the first stage beside it: units [0, begin).
  struct EndStages {
    std::int64_t begin = 0;
    Setting::Stage first, last;
    Recompute first_mode = Recompute::layer, last_mode = Recompute::layer;
  };
  // True if a last stage of units [w, end of the model) may fit beside some first stage.
  bool may_return(std::int64_t w);
  // Bounds on the work of an IPU group: cycles of one micro-batch.
  struct Work {
    std::int64_t least, most;
  };
  // Calls f(ends) for all pairs of end stages that fit on one IPU group, where the last stage begins with unit w.
  // `of_both`: bounds on the work of the pair.
  template <class F>
  void for_each_end_stages(std::int64_t w, Work of_both, F f);
  // Returns the bounds on the work of the first IPU group, where no IPU group has more than `most`. `least` is the work
  // that all other IPU groups leave to the first.
  Work of_first_ipu(std::int64_t w, std::int64_t most) const {
    return {work_before_last(0, w) + work(w, s_.units()) - (s_.plan().pipeline_stages - 1) * most, most};
  }

  // Fills in the cuts' phases, IPU groups and cycles, from the stages' first units and modes.
  void finish(Cuts& cuts) const;

 private:
  // A unit that uses a weight of an earlier unit. `owner` is the first unit with the weight, `before` the last unit in
  // front that has it.
  struct Borrower {
    std::int64_t unit, before, owner;
    std::int64_t cycles;  // per step, where no earlier unit with the weight is on its IPU group
  };
  // The numbers of a stage, once computed. `farthest` is the greatest from_end at which the stage fits; -1: nowhere.
  struct Known {
    Setting::Stage stage;  // without its stash
    bool last = false;     // the last stage of the pipeline
    std::int64_t farthest = -1;
  };
  // True if a stage alone on its IPU group keeps the limits. `code`: bytes per tile.
  bool fits(const Setting::Stage& x, std::int64_t code, const Setting::Stash& stash = {}) const {
    return code <= limits_.executable && x.always + stash.always + x.transient + code <= limits_.tile &&
           x.ddr + stash.ddr <= limits_.ddr;
  }
  // True if two stages on one IPU group keep the limits, with their stashes. `code`: bytes per tile of both.
  bool fit_together(const Setting::Stage& x, const Setting::Stage& y, std::int64_t code) const {
    return code <= limits_.executable &&
           x.always + y.always + std::max(x.transient, y.transient) + code <= limits_.tile &&
           x.ddr + y.ddr <= limits_.ddr;
  }
  // Returns the numbers of a stage, computed when first asked for. Valid until the next call.
  const Known& known(Range units, bool last, Recompute mode) {
    std::int32_t& at = index_[last ? 1 : 0][static_cast<std::size_t>(mode)][runs_.number(units.begin, units.end)];
    if (at < 0) at = add_known(units, last, mode);
    return known_[static_cast<std::size_t>(at)];
  }
  std::int32_t add_known(Range units, bool last, Recompute mode);
  void find_farthest(Known& known);
  void find_borrowers();
  void find_places();
  std::int64_t end_of_keeping(std::int64_t begin, std::int64_t end);
  // True if a stage that fits in `mode` need not be tried in later modes. With a whole stash in the processor, modes
  // come from the fastest to the slowest. A stage has its IPU group to itself, so a leaner mode gains nothing. Only the
  // last stage may gain by mode `stage`, which recomputes nothing there. A stash elsewhere, or one that is sharded over
  // t and joined again, takes time by its size; then no mode is always the fastest.
  bool settles(Recompute mode, std::int64_t from_end) const {
    return keeping_is_fastest_ && (mode == Recompute::none || from_end > 0);
  }
  // Returns the first stage [0, end) beside a last stage from unit w on, or the last stage beside the first stage. Both
  // are on one IPU group, and their stashes are included.
  Setting::Stage first_stage(std::int64_t end, std::int64_t w, Recompute mode);
  Setting::Stage last_stage(std::int64_t w, std::int64_t end, Recompute mode);
  // Returns a last stage from unit w on at its leanest. The first stage then has all units in front, so that every
  // borrowed weight is on the same IPU group.
  Setting::Stage leanest(std::int64_t w, Recompute mode) { return last_stage(w, w, mode); }

  const Setting& s_;
  const CutRules& rules_;
  CutLimits limits_;
  const EqualRuns& runs_;
  // count() and cycles(); clock cycles per pipeline cycle and per update; least_copy() and least_update().
  std::int64_t count_, rounds_, fixed_, update_fixed_ = 0, least_copy_ = 0, least_update_ = 0;
  bool serial_, training_, keeping_is_fastest_ = false;  // keeping_is_fastest_: see settles()
  std::vector<std::int64_t> work_, work_before_last_;    // by unit u: of units [0, u)
  std::vector<Borrower> borrowers_;                      // empty in inference
  // Indices in known_, by whether the stage is the last, mode, and EqualRuns::number(); -1: not yet computed.
  std::vector<std::int32_t> index_[2][3];
  std::vector<Known> known_;
  // Places of units [0, v) and of units [w, end of the model); empty: no stage returns.
  std::vector<Setting::Places> places_up_to_, places_from_;
  CodeMemo code_;
};

// Returns the numbers of two stages together, on one IPU group.
Setting::Stage together(Setting::Stage x, const Setting::Stage& y);

template <class F>
bool PipelineStages::for_each(Range units, std::int64_t from_end, std::int64_t most, F f) {
  if (splits([&](std::int64_t u) { return u >= units.begin && u < units.end; })) return true;
  bool any = false;
  std::int64_t forward = INT64_MAX, backward = INT64_MAX;  // cycles of the fastest mode that fits so far
  for (const Recompute mode : modes_of(from_end == 0)) {
    if (other_mode(count_ - 1 - from_end, mode)) continue;
    const Known& base = known(units, from_end == 0, mode);
    if (base.stage.forward >= forward && base.stage.backward >= backward) continue;
    if (base.stage.forward + base.stage.backward > most) {
      any = true;  // not tried: the stage may fit
      continue;
    }
    if (from_end > base.farthest) continue;
    any = true;
    const Setting::Stage& x = base.stage;
    // A mode that is faster in only one pass leaves the comparison as it was.
    if (x.forward <= forward && x.backward <= backward) forward = x.forward, backward = x.backward;
    f(x, mode);
    if (settles(mode, from_end)) break;
  }
  return any || rules_.stages;  // a longer stage from the same unit, as far from the end, needs no less memory
}

template <class F>
void PipelineStages::for_each_end_stages(std::int64_t w, Work of_both, F f) {
  const std::vector<Recompute>& last_modes = modes_of(true);
  std::vector<Setting::Stage> lean, last;
  for (const Recompute mode : last_modes) lean.push_back(leanest(w, mode));
  const std::int64_t last_work = work(w, s_.units());
  for (std::int64_t v = 1; v < w && work_before_last(0, v) + last_work <= of_both.most; ++v) {
    if (pinned_other(1, v) || work_before_last(0, v) + last_work < of_both.least) continue;
    if (splits([&](std::int64_t u) { return u < v || u >= w; })) continue;
    last.clear();
    for (const Recompute mode : last_modes) last.push_back(last_stage(w, v, mode));
    bool longer_may_fit = false;
    for (const Recompute mode : rules_.modes) {
      if (other_mode(0, mode)) continue;
      const Setting::Stage first = first_stage(v, w, mode);
      for (std::size_t i = 0; i < last.size(); ++i) {
        if (other_mode(count_ - 1, last_modes[i])) continue;
        const std::int64_t both = code_(first.rows | last[i].rows);
        longer_may_fit = longer_may_fit || fit_together(first, lean[i], both);
        if (fit_together(first, last[i], both)) f(EndStages{v, first, last[i], mode, last_modes[i]});
      }
    }
    if (!longer_may_fit) return;
  }
}

}  // namespace superstep
