// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/phase_programme.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace superstep {

using namespace phase_labels;

// A pinned list of numbers always has a maximum, even one above the number of units. A pinned least of 2 or less needs
// no rows, as every phased plan has two phases at least.
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
      micro_batches_(outer_ ? s.plan().gradient_accumulation : 1),
      repeats_(outer_ ? 1 : s.plan().gradient_accumulation),
      overlap_(s.moves_overlap()),
      loads_hide_(s.loads_ahead()),
      training_(s.table().training()),
      within_(at(n_)),
      most_work_(limits.most_work),
      deadline_(limits.deadline),
      start_(depth_),
      recurs_(at(n_)) {
  cut_labels_ = std::move(spare_cut_labels());
  if (training_) find_borrowers();
  if (rules.stages || rules.phases) return;  // equal units have different pins, so that no phases are kept
  std::map<std::size_t, std::int64_t> count;
  for (std::int64_t u = 0; u < n_; ++u) ++count[runs_.number(u, u + 1)];
  for (std::int64_t u = 0; u < n_; ++u) recurs_[at(u)] = count[runs_.number(u, u + 1)] > 1;
}

// Leaves the memory of the label lists to the next programme of this thread. A short programme has hundreds of lists
// and fills each only once, so that allocation would dominate. Long lists are few and are freed.
PhaseProgramme::~PhaseProgramme() {
  constexpr std::size_t kMostKept = 32;
  for (std::vector<std::vector<CutLabel>>& row : cut_labels_) {
    for (std::vector<CutLabel>& list : row) {
      if (list.capacity() > kMostKept) list = {};
    }
  }
  spare_cut_labels() = std::move(cut_labels_);
}

// Empty or used lists, whose memory the next programme of this thread takes over.
PhaseProgramme::CutLabels& PhaseProgramme::spare_cut_labels() {
  thread_local CutLabels spare;
  return spare;
}

void PhaseProgramme::set(const SuffixBounds& bounds, const std::vector<std::int64_t>& tracked,
                         const std::vector<std::int64_t>& counted) {
  suffix_bounds_ = bounds;
  continuations_ = stages_.continuations(bounds);
  tracked_ = tracked;
  counted_ = counted;
  least_tracked_.clear();
  std::vector<double> together(at(stages_.accounts()), 0);
  for (std::int64_t account : tracked) {
    std::vector<double> alone(together.size(), 0);
    alone[at(account)] = together[at(account)] = 1;
    least_tracked_.push_back(stages_.find_suffix_bounds(alone));
  }
  if (!tracked.empty()) least_all_tracked_ = stages_.find_suffix_bounds(together);
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
  const CutLabel* last = run();
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
  const CutLabel* last = run();
  if (exhausted()) return std::nullopt;
  return last ? sum(*last) : kNever;
}

bool PhaseProgramme::find_least_sum(Prices& prices, std::int64_t best) {
  prices.of_limits = 0;
  for (std::int64_t account : tracked_) {
    const double of_limit = prices.of[at(account)] * static_cast<double>(stages_.limit(account));
    prices.of_limits += static_cast<std::int64_t>(std::ceil(of_limit));
  }
  Prices none{prices.of};  // prunes by `rest` alone: `of_limits` is 0, as the least sum is wanted and not its bound
  none.rest = prices.rest;
  prices_ = &none;
  pricing_ = true;
  state_.clear();
  held_state_.clear();
  best_ = best > kNever - prices.of_limits ? kNever : best + prices.of_limits;
  edges_.clear();
  const CutLabel* last = run();
  prices.bound = last ? sum(*last) - prices.of_limits : kNever;
  if (exhausted()) return false;
  if (!last) return true;
  prices.least = cuts_of(*last);
  prices.rest.assign(at(groups_), std::vector<std::int64_t>(at(n_) + 1, kNever));
  for (std::vector<std::int64_t>& rest : prices.rest) rest.back() = 0;
  for (auto e = edges_.rbegin(); e != edges_.rend(); ++e) {
    const std::int64_t behind = prices.rest[at((e->group + 1) % groups_)][at(e->end)];
    std::int64_t& rest = prices.rest[at(e->group)][at(e->begin)];
    rest = std::min(rest, plus_bound(e->sum, behind));
  }
  return true;
}

// ---- phase after phase

// Runs the programme. Returns the label of the whole cuts with the least sum of cycles (and price with pricing_). Null:
// no cuts below best_ were found. The label stays valid until the next run.
const PhaseProgramme::CutLabel* PhaseProgramme::run() {
  kept_cuts_.clear();
  for (auto& [place, start] : known_) start.begin = -1;
  cut_labels_.resize(rows_.count);
  for (std::vector<std::vector<CutLabel>>& row : cut_labels_) {
    row.resize(at(n_) + 1);
    for (std::vector<CutLabel>& list : row) list.clear();
  }
  cut_labels_[0][0].push_back(CutLabel{});
  cut_labels_[0][0][0].taken.assign(state_.size(), 0);
  holdings_.clear();
  if (!held_state_.empty()) cut_labels_[0][0][0].held = &holdings_.emplace_back(held_state_.size());
  for (std::int64_t u = 0; u < n_; ++u) {
    for (std::int64_t group = 0; group < groups_; ++group) {
      if (suffix_bounds_[at(group * depth_)][at(u)] < PhaseStages::kInfeasible) extend(u, group);
    }
  }
  const CutLabel* best = nullptr;
  for (std::size_t c = 0; c < rows_.count; ++c) {
    if (!rows_.may_end(c)) continue;
    for (const CutLabel& h : cut_labels_[c].back()) {
      if (!best || sum(h) < sum(*best)) best = &h;
    }
  }
  return best;
}

// Extends every cut label that ends at unit `u` by every phase that begins there on the phase group `group`.
void PhaseProgramme::extend(std::int64_t u, std::int64_t group) {
  if (exhausted()) return;
  work_ += kWorkOfLabel;
  const std::size_t end = rows_.extended();
  std::int64_t before = kNever;
  for (auto c = at(group); c < end; c += at(groups_)) {
    for (const CutLabel& h : cut_labels_[c][at(u)]) before = std::min(before, sum(h));
  }
  if (before == kNever || plus_bound(before, rest_.from(u)) >= best_) return;
  if (!within_[at(u)]) within_[at(u)] = rest_.within(u);
  // The bound of a phase and what follows never falls when the phase gets longer. All phases that end after `last` are
  // pruned.
  const std::vector<std::int64_t>& whole = within_[at(u)]->whole;
  const auto too_long =
      std::ranges::partition_point(whole, [&](std::int64_t c) { return plus_bound(before, c) < best_; });
  const std::int64_t last = u + (too_long - whole.begin()) - 1;
  PhasesFrom& start = phases_from(u, group, before, last);
  const auto for_phases = [&](auto f) {
    start.phases.for_each([&](std::int64_t there, std::vector<PhaseLabel>& phases) {
      const std::int64_t v = there - start.begin + u;
      for (std::size_t k = 0; k < phases.size() && v <= last; ++k) f(v, phases[k]);
    });
  };
  if (pricing_)
    for_phases([&](std::int64_t v, const PhaseLabel& p) {
      edges_.push_back({u, v, group, p.fixed + p.forward + p.backward});
    });
  for (auto c = at(group); c < end; c += at(groups_)) {
    const std::size_t to = rows_.next(c);
    const std::vector<CutLabel>& from = cut_labels_[c][at(u)];
    for (std::size_t k = 0; k < from.size(); ++k) {
      for_phases([&](std::int64_t v, PhaseLabel& phase) {
        append(cut_labels_[to][at(v)], from[k], start, phase, {u, v, group, c, k});
      });
    }
  }
}

// Makes the label of `from` with one phase more and adds it to the list `to`, unless the label is pruned, infeasible or
// dominated. A full list drops the label with the highest bound.
void PhaseProgramme::append(std::vector<CutLabel>& to, const CutLabel& from, const PhasesFrom& start, PhaseLabel& phase,
                            const Place& place) {
  CutLabel h;
  h.cycles = phase.fixed;
  if (place.begin > 0)
    h.cycles +=
        from.cycles + std::max(from.forward, phase.load) + (training_ ? std::max(phase.backward, from.load) : 0);
  h.forward = phase.forward;
  h.load = phase.load;
  h.price = from.price + phase.price;
  h.bound = std::max(plus_bound(h.cycles + h.forward, rest_.from(place.end)),
                     with_rest(h.cycles + h.forward + h.price, place.group, place.end));
  if (h.bound >= best_) return;
  work_ += kWorkOfLabel + std::ssize(to);
  if (!within_limits(from, phase, place, h.taken)) return;
  HeldLoads held;
  if (phase.held != nullptr) {
    held = combined(*from.held, *phase.held);
    if (!room_on_tiles(held, place.end)) return;
    h.held = &held;
  }
  h.from = place.begin;
  h.count = place.count;
  h.previous = place.previous;
  if (std::any_of(to.begin(), to.end(), [&](const CutLabel& other) { return other.no_worse(h); })) return;
  if (h.held != nullptr && !room_for_rest(held, place.end)) return;
  std::erase_if(to, [&](const CutLabel& other) { return h.no_worse(other); });
  if (limits_labels() && to.size() >= most_labels_) {
    const auto last = std::ranges::max_element(to, {}, &CutLabel::bound);
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

// True unless the tracked accounts exceed their limits, each alone or all together. Counts the phases so far and the
// least bytes of the units that follow. Appends the sizes of the new label to `sums`.
bool PhaseProgramme::within_limits(const CutLabel& from, const PhaseLabel& phase, const Place& place, Sizes& sums) {
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
    // Bytes too few to reach the limit, even with the most that may follow, are all rounded up to the same size. So
    // more labels dominate each other.
    const std::int64_t least_limit = stages_.limit(account, holds_code ? rows | stages_.rows_from(place.end) : 0,
                                                   shared | stages_.shared_from(place.end));
    sums[i] = std::max(sum, least_limit - stages_.most_taken(account, place.end));
  }
  return state_.empty() ||
         static_cast<double>(room) >= stages_.least_behind(least_all_tracked_, place.group * depth_, place.end);
}

// True if on each counted IPU group the stages so far fit on the tiles beside the load so far. Rounds up the needs in
// `all`, as within_limits() does with bytes.
bool PhaseProgramme::room_on_tiles(HeldLoads& all, std::int64_t end) {
  for (HeldLoad& held : all) {
    if (!stages_.fits_beside(held.needs, held.kept)) return false;
    // Needs small enough for any load that may follow are all rounded up to the same size.
    const GroupLoad most = combined(held.kept, {stages_.rows_from(end), stages_.most_remote_tile(end)});
    held.needs = std::max(held.needs, stages_.room_beside(most));
  }
  return true;
}

// Load that a stage adds to IPU group `ipu`, and bytes per tile that the stage needs beside the load.
HeldLoad PhaseProgramme::held_on(const StageOption& option, std::int64_t ipu) {
  return {stages_.kept_on(option, ipu), stages_.least_needs(option)};
}

// True if the units from `end` on may still find room beside the loads `all`. Checks all IPU groups together for the
// load of all these units, and each unit alone beside the load of one IPU group. Always true unless `all` has every IPU
// group.
bool PhaseProgramme::room_for_rest(const HeldLoads& all, std::int64_t end) {
  if (std::ssize(all) < depth_ * groups_) return true;
  std::int64_t room = 0;
  for (const HeldLoad& held : all) room += stages_.room_beside(held.kept) - held.needs + 1;  // was rounded down
  if (s_.tiles() * room < stages_.least_remote_tile(end)) return false;
  if (s_.code_moves()) return true;
  const std::int64_t none = stages_.code(0);
  room = none;
  std::uint64_t rows = stages_.rows_from(end);
  for (const HeldLoad& held : all) {
    room += stages_.most_code(held.needs) - none;
    rows |= held.kept.rows;
  }
  if (stages_.code(rows) > room) return false;
  if (rules_.stages) return true;  // what single units need is only known for free stages
  return std::ranges::all_of(stages_.needs_from(end), [&](const PhaseStages::Need& need) {
    return std::ranges::any_of(all, [&](const HeldLoad& held) {
      return stages_.fits_beside(std::max(need.bytes, held.needs), combined(held.kept, {need.rows}));
    });
  });
}

// Cuts of a label that ends at the last unit, with their cycles from evaluate().
Cuts PhaseProgramme::cuts_of(const CutLabel& last) const {
  std::vector<const CutLabel*> phases;
  for (const CutLabel* h = &last; h->from >= 0; h = &cut_labels_[h->count][at(h->from)][h->previous])
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
