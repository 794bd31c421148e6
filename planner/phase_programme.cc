// SPDX-License-Identifier: Apache-2.0
#include "planner/phase_programme.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace superstep {

using namespace phase_labels;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t later(std::int64_t cycles, std::int64_t rest) {
  return rest == PhaseRest::kNever ? PhaseRest::kNever : cycles + rest;
}

std::int64_t price(double of, std::int64_t bytes) { return static_cast<std::int64_t>(of * static_cast<double>(bytes)); }

}  // namespace

PhaseProgramme::PhaseProgramme(const Setting& s, const CutRules& rules, const CutLimits& limits)
    : s_(s),
      rules_(rules),
      rest_(s, limits),
      stages_(s, rules, limits),
      runs_(s.table().runs()),
      n_(s.units()),
      groups_(s.plan().phase_groups),
      depth_(s.plan().pipeline_stages / groups_),
      outer_(s.plan().phase_order == PhaseOrder::phase_outer),
      g_(outer_ ? s.plan().gradient_accumulation : 1),
      repeats_(outer_ ? 1 : s.plan().gradient_accumulation),
      overlap_(s.moves_overlap()),
      hidden_(s.loads_ahead()),
      training_(s.table().training()),
      within_(at(n_)),
      start_(depth_),
      recurs_(at(n_)) {
  heads_ = std::move(spare_heads());
  if (rules.stages || rules.phases) return;  // there it depends on the place
  std::map<std::size_t, std::int64_t> count;
  for (std::int64_t u = 0; u < n_; ++u) ++count[runs_.number(u, u + 1)];
  for (std::int64_t u = 0; u < n_; ++u) recurs_[at(u)] = count[runs_.number(u, u + 1)] > 1;
}

// The room of lists goes on to the next programme of this thread: a short one has hundreds and fills each once. Long
// ones are few.
PhaseProgramme::~PhaseProgramme() {
  constexpr std::size_t kMostKept = 32;
  for (std::vector<std::vector<Head>>& row : heads_) {
    for (std::vector<Head>& list : row) {
      if (list.capacity() > kMostKept) list = {};
    }
  }
  spare_heads() = std::move(heads_);
}

PhaseProgramme::Heads& PhaseProgramme::spare_heads() {
  thread_local Heads spare;
  return spare;
}

void PhaseProgramme::set(const Ways& ways, const std::vector<std::int64_t>& tracked,
                         const std::vector<std::int64_t>& counted) {
  ways_ = ways;
  ways_on_ = stages_.ways_on(ways);
  tracked_ = tracked;
  counted_ = counted;
  least_tracked_.clear();
  std::vector<double> together(at(depth_ * groups_), 0);
  for (std::int64_t ipu : tracked) {
    std::vector<double> alone(together.size(), 0);
    alone[at(ipu)] = together[at(ipu)] = 1;
    least_tracked_.push_back(stages_.find_ways(alone));
  }
  if (!tracked.empty()) least_together_ = stages_.find_ways(together);
}

PhaseProgramme::Found PhaseProgramme::least_cycles(const DdrPrices& prices, std::int64_t best,
                                                   std::size_t most_labels) {
  prices_ = &prices;
  pricing_ = false;
  state_ = tracked_;
  held_state_ = counted_;
  best_ = best;
  most_labels_ = most_labels;
  left_out_ = kNever;
  const Head* last = run();
  return {last ? std::optional(cuts_of(*last)) : std::nullopt, left_out_};
}

std::int64_t PhaseProgramme::least_sum(std::int64_t best) {
  const DdrPrices none{std::vector<double>(at(depth_ * groups_))};
  prices_ = &none;
  pricing_ = false;
  state_.clear();
  held_state_.clear();
  best_ = best;
  const Head* last = run();
  return last ? sum(*last) : kNever;
}

void PhaseProgramme::find_least_sum(DdrPrices& prices, std::int64_t best) {
  prices.of_limits = 0;
  for (std::int64_t ipu : tracked_) {
    const double of_limit = prices.of[at(ipu)] * static_cast<double>(stages_.ddr_limit(ipu));
    prices.of_limits += static_cast<std::int64_t>(std::ceil(of_limit));
  }
  const DdrPrices none{prices.of};  // lets nothing fall
  prices_ = &none;
  pricing_ = true;
  state_.clear();
  held_state_.clear();
  best_ = best > kNever - prices.of_limits ? kNever : best + prices.of_limits;
  edges_.clear();
  const Head* last = run();
  prices.bound = last ? sum(*last) - prices.of_limits : kNever;
  if (!last) return;
  prices.least = cuts_of(*last);
  prices.rest.assign(at(groups_), std::vector<std::int64_t>(at(n_) + 1, kNever));
  for (std::vector<std::int64_t>& rest : prices.rest) rest.back() = 0;
  for (auto e = edges_.rbegin(); e != edges_.rend(); ++e) {
    const std::int64_t behind = prices.rest[at((e->group + 1) % groups_)][at(e->end)];
    std::int64_t& rest = prices.rest[at(e->group)][at(e->begin)];
    rest = std::min(rest, later(e->sum, behind));
  }
}

// ---- phase after phase

// Of the cuts with the least sum of cycles, prices included where they are part of them; null: there are none.
const PhaseProgramme::Head* PhaseProgramme::run() {
  const bool counted = rules_.phase_count > 0;
  const auto rows = at(counted ? rules_.phase_count + 1 : groups_);
  kept_cuts_.clear();
  for (auto& [place, start] : known_) start.begin = -1;
  heads_.resize(rows);
  for (std::vector<std::vector<Head>>& row : heads_) {
    row.resize(at(n_) + 1);
    for (std::vector<Head>& list : row) list.clear();
  }
  heads_[0][0].push_back(Head{});
  heads_[0][0][0].ddr.assign(state_.size(), 0);
  holdings_.clear();
  if (!held_state_.empty()) heads_[0][0][0].held = &holdings_.emplace_back(held_state_.size());
  for (std::int64_t u = 0; u < n_; ++u) {
    for (std::int64_t group = 0; group < groups_; ++group) {
      if (ways_[at(group * depth_)][at(u)] < PhaseStages::kNoWay) extend(u, group);
    }
  }
  const Head* best = nullptr;
  for (std::size_t c = counted ? rows - 1 : 0; c < rows; ++c) {
    for (const Head& h : heads_[c].back()) {
      if (!best || sum(h) < sum(*best)) best = &h;
    }
  }
  return best;
}

// All phases that begin at `u` on a group of IPU groups, behind every head that ends there.
void PhaseProgramme::extend(std::int64_t u, std::int64_t group) {
  const std::size_t end = rules_.phase_count > 0 ? heads_.size() - 1 : heads_.size();
  std::int64_t before = kNever;
  for (auto c = at(group); c < end; c += at(groups_)) {
    for (const Head& h : heads_[c][at(u)]) before = std::min(before, sum(h));
  }
  if (before == kNever || later(before, rest_.from(u)) >= best_) return;
  if (!within_[at(u)]) within_[at(u)] = rest_.within(u);
  // No longer phase is part of anything better: the bounds on them rise.
  const std::vector<std::int64_t>& whole = within_[at(u)]->whole;
  const auto too_long = std::ranges::partition_point(whole, [&](std::int64_t c) { return later(before, c) < best_; });
  const std::int64_t last = u + (too_long - whole.begin()) - 1;
  Start& start = phases_from(u, group, before, last);
  const auto for_phases = [&](auto f) {
    start.phases.for_each([&](std::int64_t there, std::vector<Phase>& phases) {
      const std::int64_t v = there - start.begin + u;
      for (std::size_t k = 0; k < phases.size() && v <= last; ++k) f(v, phases[k]);
    });
  };
  if (pricing_)
    for_phases([&](std::int64_t v, const Phase& p) {
      edges_.push_back({u, v, group, p.fixed + p.forward + p.backward});
    });
  for (auto c = at(group); c < end; c += at(groups_)) {
    const std::size_t to = rules_.phase_count > 0 ? c + 1 : (c + 1) % at(groups_);
    const std::vector<Head>& from = heads_[c][at(u)];
    for (std::size_t k = 0; k < from.size(); ++k) {
      for_phases([&](std::int64_t v, Phase& phase) {
        append(heads_[to][at(v)], from[k], start, phase, {u, v, group, c, k});
      });
    }
  }
}

void PhaseProgramme::append(std::vector<Head>& to, const Head& from, const Start& start, Phase& phase,
                            const Place& place) {
  Head h;
  h.cycles = phase.fixed;
  if (place.begin > 0)
    h.cycles +=
        from.cycles + std::max(from.forward, phase.load) + (training_ ? std::max(phase.backward, from.load) : 0);
  h.forward = phase.forward;
  h.load = phase.load;
  h.price = from.price + phase.price;
  h.bound = later(h.cycles + h.forward, rest_.from(place.end));
  if (!prices_->rest.empty()) {
    const std::int64_t rest = prices_->rest[at((place.group + 1) % groups_)][at(place.end)];
    h.bound = std::max(h.bound, later(h.cycles + h.forward + h.price - prices_->of_limits, rest));
  }
  if (h.bound >= best_) return;
  if (!room_in_ddr(from, phase, place, h.ddr)) return;
  Holdings held;
  if (phase.held != nullptr) {
    held = with(*from.held, *phase.held);
    if (!room_on_tiles(held, place.end)) return;
    h.held = &held;
  }
  h.from = place.begin;
  h.count = place.count;
  h.head = place.head;
  if (std::any_of(to.begin(), to.end(), [&](const Head& other) { return other.no_worse(h); })) return;
  if (h.held != nullptr && !room_for_rest(held, place.end)) return;
  std::erase_if(to, [&](const Head& other) { return h.no_worse(other); });
  if (limits_labels() && to.size() >= most_labels_) {
    const auto last = std::ranges::max_element(to, {}, &Head::bound);
    left_out_ = std::min(left_out_, std::max(h.bound, last->bound));
    if (h.bound >= last->bound) return;
    to.erase(last);
  }
  if (h.held != nullptr) h.held = &holdings_.emplace_back(std::move(held));
  keep_cuts(start, phase);
  h.stages = phase.stages;
  h.cuts = phase.cuts;
  to.push_back(std::move(h));
}

// Whether Streaming Memory is enough, with what is still to come. What can no longer reach the limit is all the same.
bool PhaseProgramme::room_in_ddr(const Head& from, const Phase& phase, const Place& place, Sizes& ddr) const {
  std::int64_t room = 0;
  for (std::size_t i = 0; i < phase.ddr.size(); ++i) {
    const std::int64_t sum = from.ddr[i] + phase.ddr[i];
    std::int64_t limit = stages_.ddr_limit(state_[i]), least_limit = limit;
    if (const auto counted = std::ranges::find(held_state_, state_[i]); counted != held_state_.end()) {
      const auto k = static_cast<std::size_t>(counted - held_state_.begin());
      const std::uint64_t rows = (*from.held)[k].kept.rows | (*phase.held)[k].kept.rows;
      limit = stages_.ddr_limit(state_[i], rows);
      least_limit = stages_.ddr_limit(state_[i], rows | stages_.rows_from(place.end));
    }
    const std::int64_t left = limit - sum;
    if (static_cast<double>(left) < stages_.least_behind(least_tracked_[i], place.group * depth_, place.end))
      return false;
    room += left;
    ddr.push_back(std::max(sum, least_limit - stages_.most_ddr(place.end)));
  }
  return state_.empty() ||
         static_cast<double>(room) >= stages_.least_behind(least_together_, place.group * depth_, place.end);
}

// The same of the tiles: whether the stages so far fit beside what is kept so far.
bool PhaseProgramme::room_on_tiles(Holdings& all, std::int64_t end) {
  for (Held& held : all) {
    if (!stages_.fits_beside(held.needs, held.kept)) return false;
    // What can no longer be too much is all the same.
    const Kept most{held.kept.rows | stages_.rows_from(end), held.kept.lent + stages_.most_lent(end)};
    held.needs = std::max(held.needs, stages_.room_beside(most));
  }
  return true;
}

Held PhaseProgramme::held_on(const Cell& cell, std::int64_t ipu) {
  return {{cell.stage.rows, stages_.lent_on(cell, ipu)}, stages_.least_needs(cell)};
}

// Whether the units behind may still find room: on all IPU groups together for what all units keep, and each of them
// beside what one IPU group holds.
bool PhaseProgramme::room_for_rest(const Holdings& all, std::int64_t end) {
  if (std::ssize(all) < depth_ * groups_) return true;
  std::int64_t room = 0;
  for (const Held& held : all) room += stages_.room_beside(held.kept) - held.needs + 1;  // it was rounded
  if (s_.tiles() * room < stages_.least_lent(end)) return false;
  if (s_.code_moves()) return true;
  const std::int64_t none = stages_.code(0);
  room = none;
  std::uint64_t rows = stages_.rows_from(end);
  for (const Held& held : all) {
    room += stages_.most_code(held.needs) - none;
    rows |= held.kept.rows;
  }
  if (stages_.code(rows) > room) return false;
  for (std::int64_t u = end; u < n_ && !rules_.stages; ++u) {  // pinned stages are not single units
    const Cell cell = stages_.cell(0, u, u + 1);
    const std::int64_t needs = stages_.least_needs(cell);
    if (std::ranges::none_of(all, [&](const Held& held) {
          return stages_.fits_beside(std::max(needs, held.needs), {held.kept.rows | cell.stage.rows, held.kept.lent});
        }))
      return false;
  }
  return true;
}

Cuts PhaseProgramme::cuts_of(const Head& last) const {
  std::vector<const Head*> phases;
  for (const Head* h = &last; h->from >= 0; h = &heads_[h->count][at(h->from)][h->head])
    phases.insert(phases.begin(), h);
  Cuts cuts;
  for (std::size_t j = 0; j < phases.size(); ++j) {
    cuts.phases.push_back(static_cast<std::int64_t>(cuts.stages.size()));
    std::int64_t ipu = groups_ == 2 && j % 2 == 1 ? depth_ : 0;  // with two groups, phases alternate
    for (std::int64_t i = 0; i < phases[j]->stages; ++i) {
      const StageCut& stage = kept_cuts_[at(phases[j]->cuts + i)];
      cuts.stages.push_back(phases[j]->from + stage.begin);
      cuts.recompute.push_back(stage.mode);
      cuts.stage_ipu.push_back(ipu++);
    }
  }
  cuts.cycles = evaluate(s_, with_cuts(s_.plan(), cuts)).cycles;
  return cuts;
}

// ---- one phase, stage after stage

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
      runs_.number(known.begin, known.begin + last - u) != runs_.number(u, last))
    return false;
  const std::vector<std::int64_t>& here = within_[at(u)]->behind;
  const std::vector<std::int64_t>& there = within_[at(known.begin)]->behind;
  for (std::int64_t length = 1; length <= last - u; ++length) {
    if (later(known.before, there[at(length)]) > later(before, here[at(length)]) ||
        later(known.before, rest_.from(known.begin + length)) > later(before, rest_.from(u + length)))
      return false;
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
  start.parts[0][u][0].ddr.assign(state_.size(), 0);
  start.parts[0][u][0].held = heads_[0][0][0].held;  // none so far
  const std::vector<std::int64_t>& behind = within_[at(u)]->behind;
  for (std::int64_t i = 0; i < depth_; ++i) {
    const std::int64_t ipu = group * depth_ + i, slots = (g_ + i) * repeats_;
    start.parts[at(i)].for_each([&](std::int64_t w, const std::vector<Part>& parts) {
      stages_.for_stages(ipu, w, start.last, [&](const Cell& cell, int mode) {
        const std::int64_t v = cell.end;
        // A longer stage takes no less, and behind it no less is left.
        if (later(start.before + slots * busy(cell.stage), behind[at(v - u)]) >= best_) return false;
        const std::uint8_t on = ways_on_[at(ipu)][at(v)];
        const bool goes_on = (on & PhaseStages::kGoesOn) != 0;
        // One phase alone is a pipeline, not phased execution.
        const bool closes = (on & PhaseStages::kEnds) != 0 && !(u == 0 && v == n_);
        if (!goes_on && !closes) return true;
        Part stage;
        stage.from = static_cast<std::int32_t>(cell.begin);
        stage.mode = stages_.mode(mode);
        stage.load = cell.run.loads.ahead;
        stage.load_at_once = cell.run.loads.at_once;
        stage.copy = i > 0 ? s_.copy_cycles(cell.begin) : 0;
        if (training_) stage.fixed = tied_cycles(u, cell, ipu);
        (pricing_ ? stage.fixed : stage.price) += price(prices_->of[at(ipu)], stages_.ddr_on(cell, ipu));
        for (std::int64_t k : state_) stage.ddr.push_back(k == ipu ? stages_.ddr_on(cell, ipu) : 0);
        if (!held_state_.empty()) {
          Holdings& all = holdings_.emplace_back();
          for (std::int64_t k : held_state_) all.push_back(k == ipu ? held_on(cell, ipu) : Held{});
          stage.held = &all;
        }
        if (goes_on) join(start, parts, cell.stage, stage, v, i);
        if (closes) close(start, parts, cell.stage, stage, v, i);
        return true;
      });
    });
  }
}

// In a phase that begins at `phase`. The first unit is on the first IPU group; other owners in an earlier phase may be
// on any, so that nothing is said to go there: it bounds the cuts.
std::int64_t PhaseProgramme::tied_cycles(std::int64_t phase, const Cell& cell, std::int64_t ipu) const {
  std::int64_t cycles = 0;
  for (const TiedUnit& t : s_.table().facts().tied) {
    const bool inside = t.borrower >= cell.begin && t.borrower < cell.end;
    if (!inside || !s_.borrows(t.borrower, cell.begin)) continue;
    const bool same_phase = t.owner >= phase;  // then another stage, and IPU group, of it has the owner
    const std::int64_t owner_ipu = same_phase ? -1 : t.owner == 0 ? 0 : ipu;
    cycles += s_.tied_cycles({t.owner, t.borrower, owner_ipu, ipu, same_phase, 0, same_phase ? 0 : 1});
  }
  return cycles;
}

const PhaseProgramme::Holdings* PhaseProgramme::both(const Holdings* a, const Holdings* b) {
  return a == nullptr ? nullptr : &holdings_.emplace_back(with(*a, *b));
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
  for (std::size_t k = 0; k < p.ddr.size(); ++k) p.ddr[k] += part.ddr[k];
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
    p.held = both(parts[k].held, stage.held);
    p.part = static_cast<std::int32_t>(k);
    if (limits_labels() && to.size() >= most_labels_)
      left_out_ = std::min(left_out_, bound);
    else
      offer(to, std::move(p));
  }
}

// Phases whose last stage ends at `v`: only they know what leaves the phase.
void PhaseProgramme::close(Start& start, const std::vector<Part>& parts, Setting::Stage x, const Part& stage,
                           std::int64_t v, std::int64_t i) {
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
    if (later(start.before + phase.fixed + phase.forward + phase.backward, rest_.from(v)) >= best_) continue;
    phase.ddr = p.ddr;
    phase.held = both(parts[k].held, stage.held);
    phase.price = p.price;
    phase.stages = i + 1;
    phase.last = stage.from;
    phase.part = static_cast<std::int32_t>(k);
    phase.mode = stage.mode;
    offer(to, std::move(phase));
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
