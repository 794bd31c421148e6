// SPDX-License-Identifier: Apache-2.0
// The part of PhaseProgramme that finds the phases from one unit on, stage after stage.
#include <algorithm>
#include <utility>

#include "planner/cuts/phase_programme.h"

namespace superstep {

using namespace phase_labels;

namespace {

// Price of `bytes` at `of` cycles per byte, in cycles, rounded down.
std::int64_t price(double of, std::int64_t bytes) { return static_cast<std::int64_t>(of * static_cast<double>(bytes)); }

}  // namespace

// Returns the phases that begin at unit `u` on `group` and end at `last` or before, after phases of `before` cycles.
// May return the phases of an equal run that begins elsewhere, at PhasesFrom::begin.
PhaseProgramme::PhasesFrom& PhaseProgramme::phases_from(std::int64_t u, std::int64_t group, std::int64_t before,
                                                        std::int64_t last) {
  PhasesFrom* start = &start_;
  if (recurs_[at(u)]) {
    start = &known_.try_emplace({group, runs_.number(u, u + 1)}, depth_).first->second;
    if (has_all_phases(*start, u, group, before, last)) return *start;
  }
  start->begin = u, start->before = before, start->last = last;
  find_phases(*start, group);
  return *start;
}

// True if `known` has every phase that begins at unit `u` and ends at `last` or before. The units must be equal and own
// no shared weights. For each length, no bound at Start::begin may be higher than the bound at `u`: then no phase was
// pruned there that would stay here. Each continuation that is feasible here must be feasible there too.
bool PhaseProgramme::has_all_phases(const PhasesFrom& known, std::int64_t u, std::int64_t group, std::int64_t before,
                                    std::int64_t last) const {
  if (known.begin < 0 || last <= u || last - u > known.last - known.begin ||
      runs_.number(known.begin, known.begin + last - u) != runs_.number(u, last) || stages_.owns_shared(u, last) ||
      stages_.owns_shared(known.begin, known.last))
    return false;
  const std::vector<std::int64_t>& here = within_[at(u)]->behind;
  const std::vector<std::int64_t>& there = within_[at(known.begin)]->behind;
  for (std::int64_t length = 1; length <= last - u; ++length) {
    if (plus_bound(known.before, there[at(length)]) > plus_bound(before, here[at(length)]) ||
        plus_bound(known.before, rest_.from(known.begin + length)) > plus_bound(before, rest_.from(u + length)))
      return false;
    if (prices_->rest.empty()) continue;
    const std::vector<std::int64_t>& rest = prices_->rest[at((group + 1) % groups_)];
    if (plus_bound(known.before, rest[at(known.begin + length)]) > plus_bound(before, rest[at(u + length)]))
      return false;
  }
  for (std::int64_t ipu = group * depth_; ipu < (group + 1) * depth_; ++ipu) {
    const PhaseStages::Continuations& on = continuations_[at(ipu)];
    for (std::int64_t length = 1; length <= last - u; ++length) {
      if (on[at(u + length)] & ~on[at(known.begin + length)]) return false;
    }
  }
  return true;
}

// Fills `start` with all partial and whole phases from unit start.begin on.
void PhaseProgramme::find_phases(PhasesFrom& start, std::int64_t group) {
  const std::int64_t u = start.begin;
  for (ByEnd<StageLabel>& parts : start.parts) parts.begin_at(u);
  start.phases.begin_at(u);
  start.parts[0][u].resize(1);
  start.parts[0][u][0].taken.assign(state_.size(), 0);
  start.parts[0][u][0].held = cut_labels_[0][0][0].held;  // empty loads, or null
  const std::vector<std::int64_t>& behind = within_[at(u)]->behind;
  for (std::int64_t i = 0; i < depth_; ++i) {
    const std::int64_t ipu = group * depth_ + i, slots = (micro_batches_ + i) * repeats_;
    start.parts[at(i)].for_each([&](std::int64_t w, const std::vector<StageLabel>& parts) {
      stages_.for_stages(ipu, w, start.last, [&](const StageOption& option) {
        const std::int64_t v = option.end, least = start.before + slots * busy(option.stage);
        // Longer stages take no fewer cycles, and the bound on what follows never falls: all longer stages are pruned.
        if (plus_bound(least, behind[at(v - u)]) >= best_) return false;
        const std::uint8_t on = continuations_[at(ipu)][at(v)];
        const bool goes_on = (on & PhaseStages::kGoesOn) != 0;
        // One phase alone is a pipeline, not phased execution.
        const bool closes =
            (on & PhaseStages::kEnds) != 0 && !(u == 0 && v == n_) && with_rest(least, group, v) < best_;
        if (!goes_on && !closes) return true;
        const int mode = stages_.mode_on(option, ipu);
        if (mode < 0) return true;
        StageLabel stage;
        stage.from = static_cast<std::int32_t>(option.begin);
        stage.mode = stages_.mode(mode);
        stage.load = option.run.loads.ahead;
        stage.load_at_once = option.run.loads.at_once;
        stage.copy = i > 0 ? s_.copy_cycles(option.begin) : 0;
        if (training_) stage.fixed = tied_cycles(u, option, ipu);
        for (std::int64_t a = ipu; a < stages_.accounts(); a += depth_ * groups_) {
          if (prices_->of[at(a)] > 0)
            (pricing_ ? stage.fixed : stage.price) += price(prices_->of[at(a)], stages_.least_taken(a, option));
        }
        for (const Entry& e : state_) stage.taken.push_back(taken(e, option, ipu, u));
        if (!held_state_.empty()) {
          HeldLoads& all = holdings_.emplace_back();
          for (std::int64_t k : held_state_) all.push_back(k == ipu ? held_on(option, ipu) : HeldLoad{});
          stage.held = &all;
        }
        if (goes_on) join(start, parts, option.stage, stage, v, i);
        if (closes) close(start, parts, option.stage, stage, v, ipu);
        return true;
      });
    });
  }
}

// What a stage on IPU group `ipu` takes of a state entry, if its phase begins with unit `phase`. Bytes per IPU, or for
// a shared weight 1 if the stage has the weight and 0 if not. 0 for an account of another IPU group.
std::int64_t PhaseProgramme::taken(const Entry& e, const StageOption& option, std::int64_t ipu,
                                   std::int64_t phase) const {
  if (stages_.ipu_of(e.account) != ipu) return 0;
  if (e.shared == 0) return stages_.taken(e.account, option, phase);
  return (stages_.kept_on(option, ipu).shared & e.shared) != 0 ? 1 : 0;
}

// Fills borrowers_. Cycles are computed once for all units of a class.
void PhaseProgramme::find_borrowers() {
  for (const TiedUnit& t : s_.table().facts().tied) {
    const auto like = [&](const Borrower& b) { return s_.class_of(b.unit) == s_.class_of(t.borrower); };
    const auto known = std::ranges::find_if(borrowers_, like);
    Borrower b{t.borrower, t.owner};
    if (known != borrowers_.end()) {
      b.in_phase = known->in_phase, b.on_ipu = known->on_ipu, b.elsewhere = known->elsewhere;
    } else {
      b.in_phase = s_.tied_cycles({t.owner, t.borrower, 0, 1});
      b.on_ipu = s_.tied_cycles({t.owner, t.borrower, 0, 0, false, 0, 1});
      b.elsewhere = s_.tied_cycles({t.owner, t.borrower, 0, 1, false, 0, 1});
    }
    borrowers_.push_back(b);
  }
  std::ranges::stable_sort(borrowers_, {}, &Borrower::unit);
}

// Returns a lower bound on the cycles per step that a stage on IPU group `ipu` takes for tied weights of earlier
// stages. The stage's phase begins with unit `phase`. Unit 0 is always on the first IPU group. Any other owner in an
// earlier phase may be on any IPU group, so that the cheaper place `ipu` is assumed.
std::int64_t PhaseProgramme::tied_cycles(std::int64_t phase, const StageOption& option, std::int64_t ipu) const {
  std::int64_t cycles = 0;
  for (auto b = std::ranges::lower_bound(borrowers_, option.begin, {}, &Borrower::unit);
       b != borrowers_.end() && b->unit < option.end; ++b) {
    if (!s_.borrows(b->unit, option.begin)) continue;
    if (b->owner >= phase)  // the owner is in another stage of this phase, hence on another IPU group
      cycles += b->in_phase;
    else
      cycles += b->owner == 0 && ipu != 0 ? b->elsewhere : b->on_ipu;
  }
  return cycles;
}

// Calls offer() for `label`, with the joint holdings of `a` and `b`. The holdings are stored only if the label was
// added. Null `a`: labels have no holdings.
template <class Label>
void PhaseProgramme::offer_with(std::vector<Label>& to, Label&& label, const HeldLoads* a, const HeldLoads* b) {
  HeldLoads both;
  if (a != nullptr) label.held = &(both = combined(*a, *b));
  if (offer(to, std::move(label)) && a != nullptr) to.back().held = &holdings_.emplace_back(std::move(both));
}

// Returns the label of the partial phase `part` with one stage more, of numbers `x` and label `stage`. Held loads are
// left to offer_with().
PhaseProgramme::StageLabel PhaseProgramme::joined(const StageLabel& part, const Setting::Stage& x,
                                                  const StageLabel& stage) const {
  StageLabel p = stage;
  p.forward = std::max(part.forward, x.busy_forward(overlap_));
  p.backward = std::max(part.backward, training_ ? x.busy_backward(overlap_) : 0);
  p.load = std::max(part.load, stage.load);
  p.load_at_once = std::max(part.load_at_once, stage.load_at_once);
  p.update = std::max(part.update, x.update);
  p.weights = outer_ ? 0 : std::max(part.weights, x.weights);
  p.copy = std::max(part.copy, stage.copy);
  p.fixed = part.fixed + stage.fixed;
  p.price = part.price + stage.price;
  for (std::size_t k = 0; k < p.taken.size(); ++k) p.taken[k] += part.taken[k];
  return p;
}

// Adds the stage to each of `parts` and offers the results to the partial phases that end at unit `v`. `i` is the
// stage's position in its phase, from 0.
void PhaseProgramme::join(PhasesFrom& start, const std::vector<StageLabel>& parts, const Setting::Stage& x,
                          const StageLabel& stage, std::int64_t v, std::int64_t i) {
  const std::int64_t behind = within_[at(start.begin)]->behind[at(v - start.begin)];
  const std::int64_t slots = (micro_batches_ + i) * repeats_;
  std::vector<StageLabel>& to = start.parts[at(i) + 1][v];
  for (std::size_t k = 0; k < parts.size(); ++k) {
    StageLabel p = joined(parts[k], x, stage);
    const std::int64_t bound = plus_bound(start.before + slots * (p.forward + p.backward), behind);
    if (bound >= best_) continue;
    work_ += kWorkOfLabel + std::ssize(to);
    p.previous = static_cast<std::int32_t>(k);
    if (limits_labels() && to.size() >= most_labels_)
      left_out_ = std::min(left_out_, bound);
    else
      offer_with(to, std::move(p), parts[k].held, stage.held);
  }
}

// Adds the stage to each of `parts` as the last stage of the phase, and offers the phases that end at unit `v`. Only a
// last stage moves the boundary that leaves the phase, hence the copy of `x`.
void PhaseProgramme::close(PhasesFrom& start, const std::vector<StageLabel>& parts, Setting::Stage x,
                           const StageLabel& stage, std::int64_t v, std::int64_t ipu) {
  const std::int64_t i = ipu % depth_;
  std::vector<PhaseLabel>& to = start.phases[v];
  s_.leave_phase(x, v, v < n_);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const StageLabel p = joined(parts[k], x, stage);
    const std::int64_t per_cycle = p.copy + s_.pass_fixed();
    PhaseLabel phase;
    phase.forward = repeats_ * (micro_batches_ + i) * (p.forward + per_cycle);
    phase.backward = training_ ? repeats_ * (micro_batches_ + i) * (p.backward + per_cycle) : 0;
    phase.load = repeats_ * p.load;
    // In training a phase is loaded for each pass. The last phase is loaded once, as its backward follows at once.
    phase.fixed = p.fixed + repeats_ * p.load_at_once * (training_ && v < n_ ? 2 : 1);
    if (training_) phase.fixed += p.update + s_.update_fixed() + (outer_ ? 0 : repeats_ * s_.spill_cycles(p.weights));
    if (!loads_hide_) {
      phase.fixed += phase.forward + phase.backward;
      phase.forward = phase.backward = 0;
    } else if (start.begin == 0) {
      // Nothing hides the first load. In training the first phase is still loaded for the next micro-batch, so that the
      // load counts once a step. The backward of the first phase comes last and hides no load.
      phase.fixed += phase.backward + (training_ ? p.load : phase.load);
      phase.backward = 0;
    }
    const std::int64_t least = start.before + phase.fixed + phase.forward + phase.backward;
    if (plus_bound(least, rest_.from(v)) >= best_ || with_rest(least + p.price, ipu / depth_, v) >= best_) continue;
    phase.taken = p.taken;
    phase.price = p.price;
    phase.stages = i + 1;
    phase.last = stage.from;
    phase.previous = static_cast<std::int32_t>(k);
    phase.mode = stage.mode;
    offer_with(to, std::move(phase), parts[k].held, stage.held);
  }
}

// Appends the stages of `phase` to kept_cuts_, unless stored already.
void PhaseProgramme::keep_cuts(const PhasesFrom& start, PhaseLabel& phase) {
  if (phase.cuts >= 0) return;
  phase.cuts = std::ssize(kept_cuts_);
  kept_cuts_.resize(kept_cuts_.size() + at(phase.stages));
  StageCut last{phase.last, phase.mode};
  std::int32_t k = phase.previous;
  for (std::int64_t i = phase.stages - 1;; --i) {
    kept_cuts_[at(phase.cuts + i)] = {last.begin - start.begin, last.mode};
    if (i == 0) return;
    const StageLabel& p = start.parts[at(i)][last.begin][at(k)];
    last = {p.from, p.mode};
    k = p.previous;
  }
}

}  // namespace superstep
