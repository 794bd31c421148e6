// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/phase_programme.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace superstep {

using namespace phase_labels;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

// A list has an end, if it is beyond what there can be; two phases are the least whatever is pinned.
PhaseProgramme::RowsOfPhases::RowsOfPhases(const IntegerPin* pinned, std::int64_t units, std::int64_t phase_groups)
    : pin(pinned),
      least(pinned && pinned->least() > 2 ? at(std::min(pinned->least(), units + 1)) : 0),
      groups(at(phase_groups)),
      bounded(pinned && (!pinned->values.empty() || pinned->high < units)),
      count(bounded ? at(std::min(pinned->most(), units)) + 1 : least + groups) {}

PhaseProgramme::PhaseProgramme(const Setting& s, const CutRules& rules, const CutLimits& limits)
    : s_(s),
      rules_(rules),
      rest_(s, limits),
      stages_(s, rules, limits),
      runs_(s.table().runs()),
      n_(s.units()),
      groups_(s.plan().phase_groups),
      depth_(s.plan().pipeline_stages / groups_),
      rows_(rules.phase_count, n_, groups_),
      outer_(s.plan().phase_order == PhaseOrder::phase_outer),
      g_(outer_ ? s.plan().gradient_accumulation : 1),
      repeats_(outer_ ? 1 : s.plan().gradient_accumulation),
      overlap_(s.moves_overlap()),
      hidden_(s.loads_ahead()),
      training_(s.table().training()),
      within_(at(n_)),
      most_work_(limits.most_work),
      deadline_(limits.deadline),
      start_(depth_),
      recurs_(at(n_)) {
  heads_ = std::move(spare_heads());
  if (training_) find_borrowers();
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
  std::vector<double> together(at(stages_.accounts()), 0);
  for (std::int64_t account : tracked) {
    std::vector<double> alone(together.size(), 0);
    alone[at(account)] = together[at(account)] = 1;
    least_tracked_.push_back(stages_.find_ways(alone));
  }
  if (!tracked.empty()) least_together_ = stages_.find_ways(together);
}

PhaseProgramme::Found PhaseProgramme::least_cycles(const Prices& prices, std::int64_t best, std::size_t most_labels) {
  prices_ = &prices;
  pricing_ = false;
  state_.clear();
  for (const std::int64_t account : tracked_) {
    state_.push_back({account, 0});
    for (std::uint64_t left = stages_.shared_from(0); left != 0; left &= left - 1)
      state_.push_back({account, left & -left});
  }
  held_state_ = counted_;
  best_ = best;
  most_labels_ = most_labels;
  left_out_ = kNever;
  const Head* last = run();
  if (exhausted()) return {std::nullopt, 0};
  return {last ? std::optional(cuts_of(*last)) : std::nullopt, left_out_};
}

std::optional<std::int64_t> PhaseProgramme::least_sum(std::int64_t best) {
  const Prices none{std::vector<double>(at(stages_.accounts()))};
  prices_ = &none;
  pricing_ = false;
  state_.clear();
  held_state_.clear();
  best_ = best;
  const Head* last = run();
  if (exhausted()) return std::nullopt;
  return last ? sum(*last) : kNever;
}

bool PhaseProgramme::find_least_sum(Prices& prices, std::int64_t best) {
  prices.of_limits = 0;
  for (std::int64_t account : tracked_) {
    const double of_limit = prices.of[at(account)] * static_cast<double>(stages_.limit(account));
    prices.of_limits += static_cast<std::int64_t>(std::ceil(of_limit));
  }
  Prices none{prices.of};  // lets nothing fall but by what follows at least
  none.rest = prices.rest;
  prices_ = &none;
  pricing_ = true;
  state_.clear();
  held_state_.clear();
  best_ = best > kNever - prices.of_limits ? kNever : best + prices.of_limits;
  edges_.clear();
  const Head* last = run();
  prices.bound = last ? sum(*last) - prices.of_limits : kNever;
  if (exhausted()) return false;
  if (!last) return true;
  prices.least = cuts_of(*last);
  prices.rest.assign(at(groups_), std::vector<std::int64_t>(at(n_) + 1, kNever));
  for (std::vector<std::int64_t>& rest : prices.rest) rest.back() = 0;
  for (auto e = edges_.rbegin(); e != edges_.rend(); ++e) {
    const std::int64_t behind = prices.rest[at((e->group + 1) % groups_)][at(e->end)];
    std::int64_t& rest = prices.rest[at(e->group)][at(e->begin)];
    rest = std::min(rest, later(e->sum, behind));
  }
  return true;
}

// ---- phase after phase

// Of the cuts with the least sum of cycles, prices included where they are part of them; null: there are none.
const PhaseProgramme::Head* PhaseProgramme::run() {
  kept_cuts_.clear();
  for (auto& [place, start] : known_) start.begin = -1;
  heads_.resize(rows_.count);
  for (std::vector<std::vector<Head>>& row : heads_) {
    row.resize(at(n_) + 1);
    for (std::vector<Head>& list : row) list.clear();
  }
  heads_[0][0].push_back(Head{});
  heads_[0][0][0].taken.assign(state_.size(), 0);
  holdings_.clear();
  if (!held_state_.empty()) heads_[0][0][0].held = &holdings_.emplace_back(held_state_.size());
  for (std::int64_t u = 0; u < n_; ++u) {
    for (std::int64_t group = 0; group < groups_; ++group) {
      if (ways_[at(group * depth_)][at(u)] < PhaseStages::kNoWay) extend(u, group);
    }
  }
  const Head* best = nullptr;
  for (std::size_t c = 0; c < rows_.count; ++c) {
    if (!rows_.may_end(c)) continue;
    for (const Head& h : heads_[c].back()) {
      if (!best || sum(h) < sum(*best)) best = &h;
    }
  }
  return best;
}

// All phases that begin at `u` on a group of IPU groups, behind every head that ends there.
void PhaseProgramme::extend(std::int64_t u, std::int64_t group) {
  if (exhausted()) return;
  work_ += kWorkOfLabel;
  const std::size_t end = rows_.extended();
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
    const std::size_t to = rows_.next(c);
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
  h.bound = std::max(later(h.cycles + h.forward, rest_.from(place.end)),
                     with_rest(h.cycles + h.forward + h.price, place.group, place.end));
  if (h.bound >= best_) return;
  work_ += kWorkOfLabel + std::ssize(to);
  if (!within_limits(from, phase, place, h.taken)) return;
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

// Whether tracked accounts keep their limits, with what is still to come.
bool PhaseProgramme::within_limits(const Head& from, const Phase& phase, const Place& place, Sizes& sums) {
  std::int64_t room = 0;
  std::size_t tracked = 0;
  for (std::size_t i = 0, next = 0; i < state_.size(); i = next) {
    const std::int64_t account = state_[i].account, sum = from.taken[i] + phase.taken[i];
    sums.push_back(sum);
    std::uint64_t rows = 0, shared = 0;
    for (next = i + 1; next < state_.size() && state_[next].shared != 0; ++next) {
      sums.push_back(from.taken[next] | phase.taken[next]);
      shared |= sums.back() != 0 ? state_[next].shared : 0;
    }
    const auto counted = std::ranges::find(held_state_, stages_.ipu_of(account)) - held_state_.begin();
    const bool holds_code = counted < std::ssize(held_state_);
    if (holds_code) rows = (*from.held)[at(counted)].kept.rows | (*phase.held)[at(counted)].kept.rows;
    const std::int64_t left = stages_.limit(account, rows, shared) - sum;
    if (static_cast<double>(left) < stages_.least_behind(least_tracked_[tracked++], place.group * depth_, place.end))
      return false;
    room += left;
    // What can no longer reach the limit is all the same.
    const std::int64_t least_limit = stages_.limit(account, holds_code ? rows | stages_.rows_from(place.end) : 0,
                                                   shared | stages_.shared_from(place.end));
    sums[i] = std::max(sum, least_limit - stages_.most_taken(account, place.end));
  }
  return state_.empty() ||
         static_cast<double>(room) >= stages_.least_behind(least_together_, place.group * depth_, place.end);
}

// The same of the tiles: whether the stages so far fit beside what is kept so far.
bool PhaseProgramme::room_on_tiles(Holdings& all, std::int64_t end) {
  for (Held& held : all) {
    if (!stages_.fits_beside(held.needs, held.kept)) return false;
    // What can no longer be too much is all the same.
    const GroupLoad most = with(held.kept, {stages_.rows_from(end), stages_.most_lent(end)});
    held.needs = std::max(held.needs, stages_.room_beside(most));
  }
  return true;
}

Held PhaseProgramme::held_on(const Cell& cell, std::int64_t ipu) {
  return {stages_.kept_on(cell, ipu), stages_.least_needs(cell)};
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
  if (rules_.stages) return true;  // they are not single units
  return std::ranges::all_of(stages_.needs_from(end), [&](const PhaseStages::Need& need) {
    return std::ranges::any_of(all, [&](const Held& held) {
      return stages_.fits_beside(std::max(need.bytes, held.needs), with(held.kept, {need.rows}));
    });
  });
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

}  // namespace superstep
