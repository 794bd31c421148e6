// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/phase_stages.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "planner/cuts/search_budget.h"

namespace superstep {
PhaseStages::PhaseStages(const Setting& setting, const CutRules& rules, const CutLimits& limits)
    : s_(setting),
      rules_(rules),
      limits_(limits),
      n_(setting.units()),
      groups_(setting.plan().phase_groups),
      ipus_(setting.plan().pipeline_stages),
      depth_(ipus_ / groups_),
      uses_remote_tile_(setting.uses_remote_tile()),
      least_remote_tile_(ipus_ == 1 ? setting.remote_tile() : 0),
      code_(setting) {
  for (Recompute mode : rules.modes) {
    // A phase's backward begins long after its forward, so that the forward always runs again.
    if (mode != Recompute::none) modes_.push_back(mode);
  }
  if (!modes_.empty()) tabulate();
}

bool PhaseStages::pinned_out(std::int64_t u) const {
  return rules_.stages && u < n_ && !std::binary_search(rules_.stages->begin(), rules_.stages->end(), u);
}

// Pinned phases are positions in the list of pinned stages.
bool PhaseStages::begins_phase(std::int64_t u) const {
  return std::any_of(rules_.phases->begin(), rules_.phases->end(), [&](std::int64_t p) {
    return p < static_cast<std::int64_t>(rules_.stages->size()) && (*rules_.stages)[at(p)] == u;
  });
}

bool PhaseStages::pinned_to_other_mode(std::int64_t u, Recompute mode) const {
  if (!rules_.stages || !rules_.stage_modes) return false;
  const auto stage = std::lower_bound(rules_.stages->begin(), rules_.stages->end(), u) - rules_.stages->begin();
  const auto modes = static_cast<std::ptrdiff_t>(rules_.stage_modes->size());
  return stage < modes && (*rules_.stage_modes)[at(stage)] != mode;
}

void PhaseStages::assume(const Assumption& assumption) {
  assumption_ = &assumption;
  const auto some = [](std::uint64_t rows) { return rows != 0; };
  assumes_ = std::ranges::any_of(assumption.present, some) || std::ranges::any_of(assumption.absent, some) ||
             std::ranges::max(assumption.least_remote_tile) > least_remote_tile_;
  limits_of_.clear();
  for (const std::uint64_t rows : assumption.present) limits_of_.push_back(limits_.ddr - s_.stored_code(rows));
  if (uses_remote_tile_)
    limits_of_.insert(limits_of_.end(), assumption.most_remote_tile.begin(), assumption.most_remote_tile.end());
}

int PhaseStages::mode_beside(const StageOption& option, const GroupLoad& kept) {
  const std::int64_t moved = moved_code(option);
  if ((s_.code_moves() ? moved : code_(kept.rows)) > limits_.executable) return -1;
  const std::int64_t room = room_beside(kept) - moved;
  for (std::size_t k = 0; k < modes_.size(); ++k) {
    if (!pinned_to_other_mode(option.begin, modes_[k]) && needs(option, k) <= room) return static_cast<int>(k);
  }
  return -1;
}

std::int64_t PhaseStages::room_beside(const GroupLoad& kept) {
  const std::int64_t room = limits_.tile - (s_.code_moves() ? 0 : code_(kept.rows));
  if (!uses_remote_tile_) return room;
  const std::int64_t remote_tile_code = s_.keeps_code_on_remote_tile() ? code_(kept.rows) : 0;
  const std::int64_t remote_tile = std::max(kept.remote_tile + shared_remote_tile(kept.shared), least_remote_tile_);
  return room - remote_tile_code - ceil_div(remote_tile, s_.tiles());
}

std::int64_t PhaseStages::most_room() {
  std::int64_t most = 0;
  for (std::int64_t u = 0; u < n_; ++u) {
    if (end_ranges_[at(u)].least > end_ranges_[at(u)].most) continue;
    const StageOption least = option(0, u, end_ranges_[at(u)].least);
    most = std::max(most, room_beside({least.stage.rows}) - least_needs(least));
  }
  return most + ceil_div(least_remote_tile_, s_.tiles());  // room_beside() has taken off least_remote_tile_
}

std::int64_t PhaseStages::needs(const StageOption& option, std::size_t mode) {
  std::int64_t& bytes = option.run.needs[mode];
  if (bytes == 0) {
    const Setting::Stage x = s_.stage(option.begin, option.end, 0, modes_[mode]);
    bytes = x.always + x.transient;
  }
  return bytes;
}

std::int64_t PhaseStages::least_needs(const StageOption& option) {
  std::int64_t least = INT64_MAX;
  for (std::size_t k = 0; k < modes_.size(); ++k) {
    if (!pinned_to_other_mode(option.begin, modes_[k])) least = std::min(least, needs(option, k));
  }
  return least + moved_code(option);
}

const std::vector<PhaseStages::Need>& PhaseStages::needs_from(std::int64_t begin) {
  if (tail_needs_.empty()) {
    tail_needs_.resize(at(n_) + 1);
    for (std::int64_t u = n_; u-- > 0;) {
      std::vector<Need>& needs = tail_needs_[at(u)] = tail_needs_[at(u) + 1];
      const StageOption alone = option(0, u, u + 1);
      const Need need{least_needs(alone), alone.stage.rows};
      if (std::ranges::any_of(needs, [&](const Need& o) { return o.covers(need); })) continue;
      std::erase_if(needs, [&](const Need& o) { return need.covers(o); });
      needs.push_back(need);
    }
  }
  return tail_needs_[at(begin)];
}

int PhaseStages::mode_on(const StageOption& option, std::int64_t ipu) {
  const std::uint64_t present = assumption_->present[at(ipu)], absent = assumption_->absent[at(ipu)];
  const std::int64_t remote_tile = assumption_->least_remote_tile[at(ipu)];
  if (option.run.mode < 0 || (present == 0 && absent == 0 && remote_tile <= least_remote_tile_)) return option.run.mode;
  if (option.stage.rows & absent) return -1;
  if (s_.code_moves() && !uses_remote_tile_) return option.run.mode;
  return mode_beside(option, {option.stage.rows | present, std::max(remote_tile, option.stage.remote_tile)});
}

void PhaseStages::tabulate() {
  run_of_.assign(rules_.stages ? at(n_) : s_.table().runs().count(), -1);
  end_ranges_.assign(at(n_), {});
  tail_ddr_.assign(at(n_) + 1, 0);
  tail_remote_tile_ = tail_least_remote_tile_ = tail_ddr_;
  tail_rows_.assign(at(n_) + 1, 0);
  find_sharers();
  for (std::int64_t u = n_; u-- > 0;) {
    const Setting::Stage unit = s_.stage(u, u + 1, 0, modes_[0]);
    tail_ddr_[at(u)] = tail_ddr_[at(u) + 1] + unit.ddr;
    tail_remote_tile_[at(u)] = tail_remote_tile_[at(u) + 1] + unit.remote_tile;
    tail_least_remote_tile_[at(u)] = tail_least_remote_tile_[at(u) + 1] + s_.remote_tile(u);
    tail_rows_[at(u)] = tail_rows_[at(u) + 1] | unit.rows;
    if (!pinned_out(u)) end_ranges_[at(u)] = find_end_range(u);
  }
}

// A pinned stage ends at the next pinned cut. A longer free stage never needs less memory: the range ends at the first
// stage that does not fit.
PhaseStages::EndRange PhaseStages::find_end_range(std::int64_t begin) {
  EndRange ends{begin + 1, begin};
  while (pinned_out(ends.least)) ++ends.least;
  for (std::int64_t end = ends.least; end <= (rules_.stages ? ends.least : n_); ++end) {
    std::int32_t& run = run_of_[number(begin, end)];
    if (run < 0) run = static_cast<std::int32_t>(runs_.size()), add_run(begin, end);
    if (runs_[at(run)].mode < 0) break;
    ends.most = end;
  }
  return ends;
}

// Fills the numbers of a run and finds its first mode that fits.
void PhaseStages::add_run(std::int64_t begin, std::int64_t end) {
  Run& run = runs_.emplace_back();
  run.first = s_.stage(begin, end, 0, modes_[0]);
  run.needs[0] = run.first.always + run.first.transient;
  const StageOption option{begin, end, run, run.first};
  const std::int64_t moved = moved_code(option);
  // In inference only the first stage of a phase keeps its incoming boundary on remote tiles. If phases may have
  // several stages, a mode counts as fitting without the remote-tile bytes.
  const bool training = s_.table().training();
  run.loads = s_.loads(run.first, moved);
  if (s_.waiting(run.first, moved) <= limits_.io_tile)
    run.mode = mode_beside(option, {run.first.rows, depth_ == 1 || training ? run.first.remote_tile : 0});
  if (depth_ > 1 && run.mode >= 0) run.behind = s_.stage(begin, end, 0, modes_[0], false);
}

// ---- weights that several stages use

void PhaseStages::find_sharers() {
  std::map<std::int64_t, std::vector<std::int64_t>> borrowers;  // by owner
  for (const std::int64_t u : s_.table().borrowers()) borrowers[s_.lender(u)].push_back(u);
  for (const auto& [owner, units] : borrowers) share(owner, units);
  std::ranges::sort(sharers_, {}, &Sharer::unit);
  for (std::int64_t u = 0; u <= n_; ++u) {
    const auto behind = std::ranges::lower_bound(sharers_, u, {}, &Sharer::unit);
    sharers_before_.push_back(at(behind - sharers_.begin()));
  }
  tail_shared_.assign(at(n_) + 1, 0);
  for (std::int64_t u = n_; u-- > 0;) {
    tail_shared_[at(u)] = tail_shared_[at(u) + 1];
    for (std::size_t i = sharers_before_[at(u)]; i < sharers_before_[at(u) + 1]; ++i)
      tail_shared_[at(u)] |= sharers_[i].bit;
  }
}

// Adds the users of the tied weights of one owner to sharers_. The weights get a bit if several stages of an IPU group
// may use them, all borrowers count equal bytes, and a bit is free.
void PhaseStages::share(std::int64_t owner, const std::vector<std::int64_t>& borrowers) {
  const auto bytes = [&](std::int64_t u) { return Bytes{s_.borrowed_ddr(u), s_.borrowed_remote_tile(u)}; };
  const Bytes all = bytes(borrowers[0]);
  const bool may_meet = owner > 0 || borrowers.size() > 1;
  const bool even = std::ranges::all_of(borrowers, [&](std::int64_t u) { return bytes(u) == all; });
  std::uint64_t bit = 0;
  if (may_meet && even && shared_.size() < 64) {
    bit = std::uint64_t{1} << shared_.size();
    shared_.push_back(all);
  }
  shares_unevenly_ = shares_unevenly_ || (may_meet && bit == 0);
  if (owner > 0) sharers_.push_back({owner, owner, all, bit, true});
  for (const std::int64_t u : borrowers) sharers_.push_back({u, owner, bytes(u), bit, owner == 0 && u == borrowers[0]});
}

// Calls f(sharer) for each unit of the stage that owns tied weights, or borrows them from a unit before the stage. A
// unit is left out if an earlier unit of the stage has the weights already.
template <class F>
void PhaseStages::for_sharers(const StageOption& option, F f) const {
  for (std::size_t i = sharers_before_[at(option.begin)]; i < sharers_before_[at(option.end)]; ++i) {
    const Sharer& x = sharers_[i];
    if (x.unit == x.owner || s_.borrows(x.unit, option.begin)) f(x);
  }
}

// Bytes that a stage on IPU group `ipu` certainly adds outside of its tiles, shared weights excluded. Weights without a
// bit are left out too where an earlier stage of the IPU group may have them.
PhaseStages::Bytes PhaseStages::outside(const StageOption& option, std::int64_t ipu) const {
  Bytes out{option.stage.ddr, option.stage.remote_tile};
  for_sharers(option, [&](const Sharer& x) {
    const bool is_there = x.owner == 0 && ipu == 0;
    const bool may_be_there = x.unit != x.owner && !x.is_first;
    if (is_there || x.bit != 0 || may_be_there) out.ddr -= x.bytes.ddr, out.remote_tile -= x.bytes.remote_tile;
  });
  return out;
}

// Shared weights that a stage on IPU group `ipu` has, without those of unit 0 on the first IPU group.
std::uint64_t PhaseStages::shared_on(const StageOption& option, std::int64_t ipu) const {
  std::uint64_t shared = 0;
  for_sharers(option, [&](const Sharer& x) { shared |= x.owner == 0 && ipu == 0 ? 0 : x.bit; });
  return shared;
}

std::int64_t PhaseStages::limit(std::int64_t account, std::uint64_t rows, std::uint64_t shared) {
  std::int64_t bytes = limit(account);
  if (account < ipus_ && rows != 0 && s_.stores_code())
    bytes = limits_.ddr - s_.tiles() * code_(assumption_->present[at(account)] | rows);
  return shared == 0 ? bytes : bytes - shared_taken(account, shared);
}

// The gradient of tied weights takes no Streaming Memory if the owner is in the same phase, as it is copied there.
std::int64_t PhaseStages::taken(std::int64_t account, const StageOption& option, std::int64_t phase) const {
  std::int64_t bytes = of(account, outside(option, ipu_of(account)));
  if (account >= ipus_) return bytes;
  for_sharers(option, [&](const Sharer& x) {
    if (x.unit != x.owner && x.owner >= phase) bytes -= s_.tied_gradient_ddr(x.unit);
  });
  return bytes;
}

std::int64_t PhaseStages::least_taken(std::int64_t account, const StageOption& option) const {
  const std::int64_t ipu = ipu_of(account);
  std::int64_t bytes = of(account, outside(option, ipu));
  for_sharers(option, [&](const Sharer& x) {
    if (x.is_first && x.bit != 0 && (x.owner > 0 || ipu > 0)) bytes += of(account, x.bytes);
    // The owner is certainly in an earlier phase: the stage is the first of its phase, or its phase would be the whole
    // model. One phase alone is a pipeline.
    const bool is_late = ipu % depth_ == 0 || (x.owner == 0 && option.end == n_);
    if (account < ipus_ && x.unit != x.owner && !is_late) bytes -= s_.tied_gradient_ddr(x.unit);
  });
  return bytes;
}

PhaseStages::Bytes PhaseStages::sum_of(std::uint64_t shared) const {
  Bytes sum;
  for (; shared != 0; shared &= shared - 1) {
    const Bytes& bytes = shared_[static_cast<std::size_t>(std::countr_zero(shared))];
    sum.ddr += bytes.ddr, sum.remote_tile += bytes.remote_tile;
  }
  return sum;
}

bool PhaseStages::owns_shared(std::int64_t begin, std::int64_t end) const {
  for (std::size_t i = sharers_before_[at(begin)]; i < sharers_before_[at(end)]; ++i) {
    if (sharers_[i].unit == sharers_[i].owner) return true;
  }
  return false;
}

PhaseStages::SuffixBounds PhaseStages::find_suffix_bounds(const std::vector<double>& weights) {
  SuffixBounds bounds(at(ipus_), std::vector<double>(at(n_) + 1, kInfeasible));
  std::vector<double> rest(at((n_ + 1) * ipus_));  // least sum after a stage, by its end and its IPU group
  std::vector<double> least(at(ipus_));
  for (std::int64_t w = n_; w-- > 0;) {
    std::ranges::fill(least, kInfeasible);
    for (std::int64_t end = end_ranges_[at(w)].least; end <= end_ranges_[at(w)].most; ++end) {
      if (may_begin_phase(w)) take_least(option_of(w, end, true), 0, 1, weights, &rest[at(end * ipus_)], least);
      if (may_continue_phase(w))
        take_least(option_of(w, end, false), 1, depth_, weights, &rest[at(end * ipus_)], least);
    }
    for (std::int64_t ipu = 0; ipu < ipus_; ++ipu) bounds[at(ipu)][at(w)] = least[at(ipu)];
    for (std::int64_t ipu = 0; ipu < ipus_; ++ipu)
      rest[at(w * ipus_ + ipu)] = std::min(least_behind(bounds, ipu, w), least_within(bounds, ipu, w));
  }
  return bounds;
}

// Weighted sum of the least bytes that a stage on IPU group `ipu` adds to its accounts.
double PhaseStages::weighted(const StageOption& option, std::int64_t ipu, const std::vector<double>& weights) const {
  double sum = 0;
  for (std::int64_t account = ipu; account < accounts(); account += ipus_) {
    if (weights[at(account)] != 0) sum += weights[at(account)] * static_cast<double>(least_taken(account, option));
  }
  return sum;
}

// Lowers `least`, by IPU group, to the sum of the stage and what follows (`behind`, by IPU group). Only for IPU groups
// at positions [begin, end) of their phase group where the stage fits.
void PhaseStages::take_least(const StageOption& option, std::int64_t begin, std::int64_t end,
                             const std::vector<double>& weights, const double* behind, std::vector<double>& least) {
  for (std::int64_t group = 0; group < ipus_; group += depth_) {
    for (std::int64_t ipu = group + begin; ipu < group + end; ++ipu) {
      if (assumes_ && mode_on(option, ipu) < 0) continue;
      least[at(ipu)] = std::min(least[at(ipu)], behind[ipu] + weighted(option, ipu, weights));
    }
  }
}

std::vector<PhaseStages::Continuations> PhaseStages::continuations(const SuffixBounds& bounds) const {
  std::vector<Continuations> out;
  const std::vector<double> none(at(n_), kInfeasible);
  for (std::int64_t ipu = 0; ipu < ipus_; ++ipu) {
    const std::vector<double>& within = (ipu + 1) % depth_ == 0 ? none : bounds[at(ipu) + 1];
    const std::vector<double>& behind = bounds[at(first_behind(ipu))];
    Continuations& on = out.emplace_back(at(n_) + 1);
    for (std::size_t u = 0; u < at(n_); ++u)
      on[u] =
          static_cast<std::uint8_t>((within[u] < kInfeasible ? kGoesOn : 0) | (behind[u] < kInfeasible ? kEnds : 0));
    on.back() = kEnds;
  }
  return out;
}

bool PhaseStages::is_infeasible() { return is_infeasible(0) || (uses_remote_tile_ && is_infeasible(ipus_)); }

// Checks the accounts of Streaming Memory (`first` 0) or of remote tiles (`first` ipus_). No cut fits if for any
// weights the least weighted sum of bytes exceeds the weighted sum of the limits. Each step raises the weights of
// accounts that the cut with the least sum exceeds, and lowers the other weights.
bool PhaseStages::is_infeasible(std::int64_t first) {
  std::vector<double> weights(at(accounts())), limits(at(accounts()));
  for (std::int64_t a = first; a < first + ipus_; ++a)
    weights[at(a)] = 1, limits[at(a)] = static_cast<double>(limit(a));
  for (int step = 1; step <= kBudget.infeasibility_steps; ++step) {
    const SuffixBounds bounds = find_suffix_bounds(weights);
    if (bounds[0][0] > std::inner_product(weights.begin(), weights.end(), limits.begin(), 0.0) * (1 + 1e-9))
      return true;
    const std::vector<std::int64_t> bytes = follow(bounds, weights);
    bool fits = true;
    for (std::int64_t a = first; a < first + ipus_; ++a) {
      const double over = (static_cast<double>(bytes[at(a)]) - limits[at(a)]) / std::max(1.0, limits[at(a)]);
      fits = fits && over <= 0;
      weights[at(a)] = std::max(0.0, weights[at(a)] + over * 4 / step);
    }
    if (fits) return false;
  }
  return false;
}

// Returns the bytes per IPU, by account, of the cut with the least weighted sum.
std::vector<std::int64_t> PhaseStages::follow(const SuffixBounds& bounds, const std::vector<double>& weights) {
  std::vector<std::int64_t> bytes(at(accounts()));
  for (std::int64_t ipu = 0, w = 0; w < n_;) {
    double least = kInfeasible;
    std::int64_t next_ipu = 0, next = n_;
    for_stages(ipu, w, n_, [&](const StageOption& option) {
      if (mode_on(option, ipu) < 0) return true;
      const double within = least_within(bounds, ipu, option.end), behind = least_behind(bounds, ipu, option.end);
      const double sum = std::min(within, behind) + weighted(option, ipu, weights);
      if (sum < least) {
        least = sum, next = option.end;
        next_ipu = within < behind ? ipu + 1 : first_behind(ipu);
      }
      return true;
    });
    const StageOption taken = option(ipu, w, next);
    for (std::int64_t a = ipu; a < accounts(); a += ipus_) bytes[at(a)] += least_taken(a, taken);
    ipu = next_ipu;
    w = next;
  }
  return bytes;
}

}  // namespace superstep
