// SPDX-License-Identifier: Apache-2.0
// One phase of a programme, stage after stage.
#include <algorithm>
#include <utility>

#include "planner/cuts/phase_programme.h"

namespace superstep {

using namespace phase_labels;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t price(double of, std::int64_t bytes) { return static_cast<std::int64_t>(of * static_cast<double>(bytes)); }

}  // namespace

// Those that are known from an equal run are not looked for again.
PhaseProgramme::Start& PhaseProgramme::phases_from(std::int64_t u, std::int64_t group, std::int64_t before,
                                                   std::int64_t last) {
  Start* start = &start_;
  if (recurs_[at(u)]) {
    start = &known_.try_emplace({group, runs_.number(u, u + 1)}, depth_).first->second;
    if (covers(*start, u, group, before, last)) return *start;
  }
  start->begin = u, start->before = before, start->last = last;
  find_phases(*start, group);
  return *start;
}

// Whether the phases that begin at `u` and end at `last` or before are among those: of each length no bound there let
// any fall that it would not let fall here.
bool PhaseProgramme::covers(const Start& known, std::int64_t u, std::int64_t group, std::int64_t before,
                            std::int64_t last) const {
  if (known.begin < 0 || last <= u || last - u > known.last - known.begin ||
      runs_.number(known.begin, known.begin + last - u) != runs_.number(u, last) || stages_.owns_shared(u, last) ||
      stages_.owns_shared(known.begin, known.last))
    return false;
  const std::vector<std::int64_t>& here = within_[at(u)]->behind;
  const std::vector<std::int64_t>& there = within_[at(known.begin)]->behind;
  for (std::int64_t length = 1; length <= last - u; ++length) {
    if (later(known.before, there[at(length)]) > later(before, here[at(length)]) ||
        later(known.before, rest_.from(known.begin + length)) > later(before, rest_.from(u + length)))
      return false;
    if (prices_->rest.empty()) continue;
    const std::vector<std::int64_t>& rest = prices_->rest[at((group + 1) % groups_)];
    if (later(known.before, rest[at(known.begin + length)]) > later(before, rest[at(u + length)])) return false;
  }
  for (std::int64_t ipu = group * depth_; ipu < (group + 1) * depth_; ++ipu) {
    const PhaseStages::WaysOn& on = ways_on_[at(ipu)];
    for (std::int64_t length = 1; length <= last - u; ++length) {
      if (on[at(u + length)] & ~on[at(known.begin + length)]) return false;
    }
  }
  return true;
}

void PhaseProgramme::find_phases(Start& start, std::int64_t group) {
  const std::int64_t u = start.begin;
  for (ByEnd<Part>& parts : start.parts) parts.begin_at(u);
  start.phases.begin_at(u);
  start.parts[0][u].resize(1);
  start.parts[0][u][0].taken.assign(state_.size(), 0);
  start.parts[0][u][0].held = heads_[0][0][0].held;  // none so far
  const std::vector<std::int64_t>& behind = within_[at(u)]->behind;
  for (std::int64_t i = 0; i < depth_; ++i) {
    const std::int64_t ipu = group * depth_ + i, slots = (g_ + i) * repeats_;
    start.parts[at(i)].for_each([&](std::int64_t w, const std::vector<Part>& parts) {
      stages_.for_stages(ipu, w, start.last, [&](const Cell& cell) {
        const std::int64_t v = cell.end, least = start.before + slots * busy(cell.stage);
        // A longer stage takes no less, and behind it no less is left.
        if (later(least, behind[at(v - u)]) >= best_) return false;
        const std::uint8_t on = ways_on_[at(ipu)][at(v)];
        const bool goes_on = (on & PhaseStages::kGoesOn) != 0;
        // One phase alone is a pipeline, not phased execution.
        const bool closes =
            (on & PhaseStages::kEnds) != 0 && !(u == 0 && v == n_) && with_rest(least, group, v) < best_;
        if (!goes_on && !closes) return true;
        const int mode = stages_.mode_on(cell, ipu);
        if (mode < 0) return true;
        Part stage;
        stage.from = static_cast<std::int32_t>(cell.begin);
        stage.mode = stages_.mode(mode);
        stage.load = cell.run.loads.ahead;
        stage.load_at_once = cell.run.loads.at_once;
        stage.copy = i > 0 ? s_.copy_cycles(cell.begin) : 0;
        if (training_) stage.fixed = tied_cycles(u, cell, ipu);
        for (std::int64_t a = ipu; a < stages_.accounts(); a += depth_ * groups_) {
          if (prices_->of[at(a)] > 0)
            (pricing_ ? stage.fixed : stage.price) += price(prices_->of[at(a)], stages_.least_taken(a, cell));
        }
        for (const Entry& e : state_) stage.taken.push_back(taken(e, cell, ipu, u));
        if (!held_state_.empty()) {
          Holdings& all = holdings_.emplace_back();
          for (std::int64_t k : held_state_) all.push_back(k == ipu ? held_on(cell, ipu) : Held{});
          stage.held = &all;
        }
        if (goes_on) join(start, parts, cell.stage, stage, v, i);
        if (closes) close(start, parts, cell.stage, stage, v, ipu);
        return true;
      });
    });
  }
}

// By a stage of a phase that begins at `phase`.
std::int64_t PhaseProgramme::taken(const Entry& e, const Cell& cell, std::int64_t ipu, std::int64_t phase) const {
  if (stages_.ipu_of(e.account) != ipu) return 0;
  if (e.shared == 0) return stages_.taken(e.account, cell, phase);
  return (stages_.kept_on(cell, ipu).shared & e.shared) != 0 ? 1 : 0;
}

// Those of equal units are known once.
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

// In a phase that begins at `phase`. The first unit is on the first IPU group; other owners in an earlier phase may be
// on any, so that nothing is said to go there: it bounds the cuts.
std::int64_t PhaseProgramme::tied_cycles(std::int64_t phase, const Cell& cell, std::int64_t ipu) const {
  std::int64_t cycles = 0;
  for (auto b = std::ranges::lower_bound(borrowers_, cell.begin, {}, &Borrower::unit);
       b != borrowers_.end() && b->unit < cell.end; ++b) {
    if (!s_.borrows(b->unit, cell.begin)) continue;
    if (b->owner >= phase)  // another stage, and IPU group, of the phase has it
      cycles += b->in_phase;
    else
      cycles += b->owner == 0 && ipu != 0 ? b->elsewhere : b->on_ipu;
  }
  return cycles;
}

// Among what is no worse, if it is, with what both hold.
template <class Label>
void PhaseProgramme::offer_with(std::vector<Label>& to, Label&& label, const Holdings* a, const Holdings* b) {
  Holdings both;
  if (a != nullptr) label.held = &(both = with(*a, *b));
  if (offer(to, std::move(label)) && a != nullptr) to.back().held = &holdings_.emplace_back(std::move(both));
}

// A part with one stage more, the (i + 1)-th of its phase; what it keeps comes later.
PhaseProgramme::Part PhaseProgramme::joined(const Part& part, const Setting::Stage& x, const Part& stage) const {
  Part p = stage;
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

void PhaseProgramme::join(Start& start, const std::vector<Part>& parts, const Setting::Stage& x, const Part& stage,
                          std::int64_t v, std::int64_t i) {
  const std::int64_t behind = within_[at(start.begin)]->behind[at(v - start.begin)];
  const std::int64_t slots = (g_ + i) * repeats_;
  std::vector<Part>& to = start.parts[at(i) + 1][v];
  for (std::size_t k = 0; k < parts.size(); ++k) {
    Part p = joined(parts[k], x, stage);
    const std::int64_t bound = later(start.before + slots * (p.forward + p.backward), behind);
    if (bound >= best_) continue;
    work_ += kWorkOfLabel + std::ssize(to);
    p.part = static_cast<std::int32_t>(k);
    if (limits_labels() && to.size() >= most_labels_)
      left_out_ = std::min(left_out_, bound);
    else
      offer_with(to, std::move(p), parts[k].held, stage.held);
  }
}

// Phases whose last stage ends at `v`: only they know what leaves the phase.
void PhaseProgramme::close(Start& start, const std::vector<Part>& parts, Setting::Stage x, const Part& stage,
                           std::int64_t v, std::int64_t ipu) {
  const std::int64_t i = ipu % depth_;
  std::vector<Phase>& to = start.phases[v];
  s_.leave_phase(x, v, v < n_);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Part p = joined(parts[k], x, stage);
    const std::int64_t per_cycle = p.copy + s_.micro_batch_fixed() + (i > 0 ? s_.cycle_fixed() : 0);
    Phase phase;
    phase.forward = repeats_ * (g_ + i) * (p.forward + per_cycle);
    phase.backward = training_ ? repeats_ * (g_ + i) * (p.backward + per_cycle) : 0;
    phase.load = repeats_ * p.load;
    // The last phase stays for its backward.
    phase.fixed = p.fixed + repeats_ * p.load_at_once * (training_ && v < n_ ? 2 : 1);
    if (training_) phase.fixed += p.update + s_.update_fixed() + (outer_ ? 0 : repeats_ * s_.spill_cycles(p.weights));
    if (!hidden_) {
      phase.fixed += phase.forward + phase.backward;
      phase.forward = phase.backward = 0;
    } else if (start.begin == 0) {  // nothing hides the first load, which in training stays for the next micro-batch
      phase.fixed += phase.backward + (training_ ? p.load : phase.load);
      phase.backward = 0;
    }
    const std::int64_t least = start.before + phase.fixed + phase.forward + phase.backward;
    if (later(least, rest_.from(v)) >= best_ || with_rest(least + p.price, ipu / depth_, v) >= best_) continue;
    phase.taken = p.taken;
    phase.price = p.price;
    phase.stages = i + 1;
    phase.last = stage.from;
    phase.part = static_cast<std::int32_t>(k);
    phase.mode = stage.mode;
    offer_with(to, std::move(phase), parts[k].held, stage.held);
  }
}

void PhaseProgramme::keep_cuts(const Start& start, Phase& phase) {
  if (phase.cuts >= 0) return;
  phase.cuts = std::ssize(kept_cuts_);
  kept_cuts_.resize(kept_cuts_.size() + at(phase.stages));
  StageCut last{phase.last, phase.mode};
  std::int32_t k = phase.part;
  for (std::int64_t i = phase.stages - 1;; --i) {
    kept_cuts_[at(phase.cuts + i)] = {last.begin - start.begin, last.mode};
    if (i == 0) return;
    const Part& p = start.parts[at(i)][last.begin][at(k)];
    last = {p.from, p.mode};
    k = p.part;
  }
}

}  // namespace superstep
