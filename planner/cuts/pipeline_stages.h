// SPDX-License-Identifier: Apache-2.0
// The stages that a pipeline may be cut into: which fit, in which mode. What they take is known once for all limits.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/cost/code_memo.h"
#include "planner/cuts/cuts.h"

namespace superstep {

class PipelineStages {
 public:
  PipelineStages(const Setting& setting, const CutRules& rules);
  // Before all else, and for what follows.
  void keep_within(const CutLimits& limits);

  const Setting& setting() const { return s_; }
  const CutRules& rules() const { return rules_; }
  std::int64_t count() const { return count_; }  // stages of the pipeline
  bool serial() const { return serial_; }        // one after the other
  // Least cycles of one micro-batch through units [begin, end), both passes.
  std::int64_t work(std::int64_t begin, std::int64_t end) const {
    return work_[static_cast<std::size_t>(end)] - work_[static_cast<std::size_t>(begin)];
  }
  // The same where none of them is in the last stage, which alone need not run again what it has not kept.
  std::int64_t work_before_last(std::int64_t begin, std::int64_t end) const {
    return work_before_last_[static_cast<std::size_t>(end)] - work_before_last_[static_cast<std::size_t>(begin)];
  }
  std::int64_t work(Range units, std::int64_t from_end) const {
    return from_end == 0 ? work(units.begin, units.end) : work_before_last(units.begin, units.end);
  }
  // Cycles of a step, and what it takes beside the stages' work, where the widest copy takes `copy` cycles.
  std::int64_t cycles() const { return cycles_; }
  std::int64_t beside(std::int64_t copy, std::int64_t weights, std::int64_t update) const {
    return cycles_ * (copy + fixed_) + (weights > 0 ? s_.whole_weights_cycles(weights) : 0) + update_fixed_ +
           (training_ ? update : 0);
  }
  // Cycles per step that a stage of these units takes for weights it shares with others (Tie), which are on other IPUs;
  // `beside`: units up to there are on its own.
  std::int64_t ties(Range units, std::int64_t beside = 0) const {
    std::int64_t cycles = 0;
    for (const Borrower& b : borrowers_) {
      if (b.unit >= units.begin && b.unit < units.end && b.before < units.begin && b.owner >= beside)
        cycles += b.cycles;
    }
    return cycles;
  }
  // What the stages of a pipeline without one that returns take so at least, where none has more work than `most`.
  std::int64_t least_ties(std::int64_t most) const {
    std::int64_t cycles = 0;
    for (const Borrower& b : borrowers_) cycles += work(b.before, b.unit + 1) > most ? b.cycles : 0;
    return cycles;
  }
  // No cut has a widest copy (one after the other: all copies) or a longest update of fewer cycles.
  std::int64_t least_copy() const { return least_copy_; }
  std::int64_t least_update() const { return least_update_; }

  bool pinned_other(std::int64_t stage, std::int64_t begin) const {
    return rules_.stages && (*rules_.stages)[static_cast<std::size_t>(stage)] != begin;
  }
  bool other_mode(std::int64_t stage, Recompute mode) const {
    return rules_.stage_modes && stage < static_cast<std::int64_t>(rules_.stage_modes->size()) &&
           (*rules_.stage_modes)[static_cast<std::size_t>(stage)] != mode;
  }
  // Cycles of one micro-batch, both passes, that a last stage from unit `begin` on takes at least, be there room for it
  // or not.
  std::int64_t least_last(std::int64_t begin) {
    std::int64_t least = INT64_MAX;
    for (const Recompute mode : rules_.modes) {
      const Setting::Stage& x = known({begin, s_.units()}, true, mode).stage;
      least = std::min(least, x.forward + x.backward);
    }
    return least;
  }
  // Calls f(stage without its stash, mode) for the ways to run these units as the from_end-th stage from the end, alone
  // on its IPU, that fit, take at most so many cycles and of which no other is as fast in both passes. False: none
  // fits, nor do longer stages.
  template <class F>
  bool for_each(Range units, std::int64_t from_end, std::int64_t most, F f);

  // A last stage that returns to the first IPU, and the first stage beside it: units [0, begin).
  struct Ends {
    std::int64_t begin = 0;
    Setting::Stage first, last;
    Recompute first_mode = Recompute::layer, last_mode = Recompute::layer;
  };
  // Whether units [w, end of the model) fit on an IPU at all.
  bool may_return(std::int64_t w);
  // Calls f(ends) for all pairs that fit where the last stage begins with unit w, of so much work.
  struct Work {
    std::int64_t least, most;
  };
  template <class F>
  void for_each_ends(std::int64_t w, Work of_both, F f);
  // The same where no IPU takes more than `most`: then the others leave the first one at least so much.
  Work of_first_ipu(std::int64_t w, std::int64_t most) const {
    return {work_before_last(0, w) + work(w, s_.units()) - (s_.plan().pipeline_stages - 1) * most, most};
  }

  // What follows from the stages' first units.
  void finish(Cuts& cuts) const;

 private:
  // A unit that uses a weight of an earlier one: the last and the first of those in front of it that have it.
  struct Borrower {
    std::int64_t unit, before, owner;
    std::int64_t cycles;  // where none of these is on its IPU
  };
  // Without its stash. The farthest from the pipeline's end where it fits, -1: nowhere.
  struct Known {
    Setting::Stage stage;
    bool last = false;
    std::int64_t farthest = -1;
  };
  bool fits(const Setting::Stage& x, std::int64_t code, const Setting::Stash& stash = {}) const {
    return code <= limits_.executable && x.always + stash.always + x.transient + code <= limits_.tile &&
           x.ddr + stash.ddr <= limits_.ddr;
  }
  bool fit_together(const Setting::Stage& x, const Setting::Stage& y, std::int64_t code) const {
    return code <= limits_.executable &&
           x.always + y.always + std::max(x.transient, y.transient) + code <= limits_.tile &&
           x.ddr + y.ddr <= limits_.ddr;
  }
  // Computed when first asked for.
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
  // With the stash in the processor modes come from the fastest, and one that fits leaves the others nothing, for a
  // stage has its IPU to itself. Only the last stage may gain by `stage`, which recomputes nothing there. A stash
  // elsewhere, or one that t shares and joins again, takes time by its size, so that no mode is always fastest.
  bool settles(Recompute mode, std::int64_t from_end) const {
    return keeping_is_fastest_ && (mode == Recompute::none || from_end > 0);
  }
  // The first stage beside the last one, and the other way round.
  Setting::Stage first_stage(std::int64_t end, std::int64_t w, Recompute mode);
  Setting::Stage last_stage(std::int64_t w, std::int64_t end, Recompute mode);
  // At its leanest a last stage borrows nothing: all that others lend stands on its IPU.
  Setting::Stage leanest(std::int64_t w, Recompute mode) { return last_stage(w, w, mode); }

  const Setting& s_;
  const CutRules& rules_;
  CutLimits limits_;
  const EqualRuns& runs_;
  std::int64_t count_, cycles_, fixed_, update_fixed_ = 0, least_copy_ = 0, least_update_ = 0;
  bool serial_, training_, keeping_is_fastest_ = false;
  std::vector<std::int64_t> work_, work_before_last_;  // of units up to each
  std::vector<Borrower> borrowers_;                    // in training
  std::vector<std::int32_t> index_[2][3];              // by number of the run; -1: not yet known
  std::vector<Known> known_;
  std::vector<Setting::Places> places_up_to_, places_from_;  // of units [0, v) and [w, end); empty: no stage returns
  CodeMemo code_;
};

// Two stages on one IPU.
Setting::Stage together(Setting::Stage x, const Setting::Stage& y);

template <class F>
bool PipelineStages::for_each(Range units, std::int64_t from_end, std::int64_t most, F f) {
  bool any = false;
  std::int64_t forward = INT64_MAX, backward = INT64_MAX;  // of the modes that fit so far
  for (const Recompute mode : rules_.modes) {
    if (other_mode(count_ - 1 - from_end, mode)) continue;
    const Known& base = known(units, from_end == 0, mode);
    if (base.stage.forward >= forward && base.stage.backward >= backward) continue;
    if (base.stage.forward + base.stage.backward > most) {
      any = true;  // it may fit
      continue;
    }
    if (from_end > base.farthest) continue;
    any = true;
    const Setting::Stage& x = base.stage;
    // One that is slower in one pass and faster in the other counts as no better than both.
    if (x.forward <= forward && x.backward <= backward) forward = x.forward, backward = x.backward;
    f(x, mode);
    if (settles(mode, from_end)) break;
  }
  return any || rules_.stages;  // for a fixed start and place a longer stage needs no less
}

template <class F>
void PipelineStages::for_each_ends(std::int64_t w, Work of_both, F f) {
  std::vector<Setting::Stage> lean, last;
  for (const Recompute mode : rules_.modes) lean.push_back(leanest(w, mode));
  const std::int64_t last_work = work(w, s_.units());
  for (std::int64_t v = 1; v < w && work_before_last(0, v) + last_work <= of_both.most; ++v) {
    if (pinned_other(1, v) || work_before_last(0, v) + last_work < of_both.least) continue;
    last.clear();
    for (const Recompute mode : rules_.modes) last.push_back(last_stage(w, v, mode));
    bool longer_may_fit = false;
    for (const Recompute mode : rules_.modes) {
      if (other_mode(0, mode)) continue;
      const Setting::Stage first = first_stage(v, w, mode);
      for (std::size_t i = 0; i < last.size(); ++i) {
        if (other_mode(count_ - 1, rules_.modes[i])) continue;
        const std::int64_t both = code_(first.rows | last[i].rows);
        longer_may_fit = longer_may_fit || fit_together(first, lean[i], both);
        if (fit_together(first, last[i], both)) f(Ends{v, first, last[i], mode, rules_.modes[i]});
      }
    }
    if (!longer_may_fit) return;
  }
}

}  // namespace superstep
