// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/phase_stages.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "planner/cuts/search_budget.h"

namespace superstep {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

PhaseStages::PhaseStages(const Setting& setting, const CutRules& rules, const CutLimits& limits)
    : s_(setting),
      rules_(rules),
      limits_(limits),
      n_(setting.units()),
      groups_(setting.plan().phase_groups),
      ipus_(setting.plan().pipeline_stages),
      depth_(ipus_ / groups_),
      lends_(setting.lends()),
      least_lent_(ipus_ == 1 ? setting.lent() : 0),
      code_(setting) {
  for (Recompute mode : rules.modes) {
    // A phase's forward is long gone when its backward begins.
    if (mode != Recompute::none) modes_.push_back(mode);
  }
  if (!modes_.empty()) tabulate();
}

bool PhaseStages::pinned_out(std::int64_t u) const {
  return rules_.stages && u < n_ && !std::binary_search(rules_.stages->begin(), rules_.stages->end(), u);
}

// With pinned phases, their first stages and no others begin one.
bool PhaseStages::begins_phase(std::int64_t u) const {
  return std::any_of(rules_.phases->begin(), rules_.phases->end(), [&](std::int64_t p) {
    return p < static_cast<std::int64_t>(rules_.stages->size()) && (*rules_.stages)[at(p)] == u;
  });
}

bool PhaseStages::other_mode(std::int64_t u, Recompute mode) const {
  if (!rules_.stages || !rules_.stage_modes) return false;
  const auto stage = std::lower_bound(rules_.stages->begin(), rules_.stages->end(), u) - rules_.stages->begin();
  const auto modes = static_cast<std::ptrdiff_t>(rules_.stage_modes->size());
  return stage < modes && (*rules_.stage_modes)[at(stage)] != mode;
}

void PhaseStages::keep(const Assumption& assumption) {
  assumption_ = &assumption;
  const auto some = [](std::uint64_t rows) { return rows != 0; };
  assumes_ = std::ranges::any_of(assumption.present, some) || std::ranges::any_of(assumption.absent, some) ||
             std::ranges::max(assumption.least_lent) > least_lent_;
  limits_of_.clear();
  for (const std::uint64_t rows : assumption.present) limits_of_.push_back(limits_.ddr - s_.stored_code(rows));
  if (lends_) limits_of_.insert(limits_of_.end(), assumption.most_lent.begin(), assumption.most_lent.end());
}

int PhaseStages::mode_beside(const Cell& cell, const GroupLoad& kept) {
  const std::int64_t moved = moved_code(cell);
  if ((s_.code_moves() ? moved : code_(kept.rows)) > limits_.executable) return -1;
  const std::int64_t room = room_beside(kept) - moved;
  for (std::size_t k = 0; k < modes_.size(); ++k) {
    if (!other_mode(cell.begin, modes_[k]) && needs(cell, k) <= room) return static_cast<int>(k);
  }
  return -1;
}

std::int64_t PhaseStages::room_beside(const GroupLoad& kept) {
  const std::int64_t room = limits_.tile - (s_.code_moves() ? 0 : code_(kept.rows));
  if (!lends_) return room;
  const std::int64_t lent_code = s_.lends_code() ? code_(kept.rows) : 0;
  const std::int64_t lent = std::max(kept.lent + shared_lent(kept.shared), least_lent_);
  return room - lent_code - ceil_div(lent, s_.tiles());
}

std::int64_t PhaseStages::most_room() {
  std::int64_t most = 0;
  for (std::int64_t u = 0; u < n_; ++u) {
    if (ends_[at(u)].least > ends_[at(u)].most) continue;
    const Cell least = cell(0, u, ends_[at(u)].least);
    most = std::max(most, room_beside({least.stage.rows}) - least_needs(least));
  }
  return most + ceil_div(least_lent_, s_.tiles());  // where that is known it is part of it
}

std::int64_t PhaseStages::needs(const Cell& cell, std::size_t mode) {
  std::int64_t& bytes = cell.run.needs[mode];
  if (bytes == 0) {
    const Setting::Stage x = s_.stage(cell.begin, cell.end, 0, modes_[mode]);
    bytes = x.always + x.transient;
  }
  return bytes;
}

std::int64_t PhaseStages::least_needs(const Cell& cell) {
  std::int64_t least = INT64_MAX;
  for (std::size_t k = 0; k < modes_.size(); ++k) {
    if (!other_mode(cell.begin, modes_[k])) least = std::min(least, needs(cell, k));
  }
  return least + moved_code(cell);
}

const std::vector<PhaseStages::Need>& PhaseStages::needs_from(std::int64_t begin) {
  if (tail_needs_.empty()) {
    tail_needs_.resize(at(n_) + 1);
    for (std::int64_t u = n_; u-- > 0;) {
      std::vector<Need>& needs = tail_needs_[at(u)] = tail_needs_[at(u) + 1];
      const Cell alone = cell(0, u, u + 1);
      const Need need{least_needs(alone), alone.stage.rows};
      if (std::ranges::any_of(needs, [&](const Need& o) { return o.covers(need); })) continue;
      std::erase_if(needs, [&](const Need& o) { return need.covers(o); });
      needs.push_back(need);
    }
  }
  return tail_needs_[at(begin)];
}

int PhaseStages::mode_on(const Cell& cell, std::int64_t ipu) {
  const std::uint64_t present = assumption_->present[at(ipu)], absent = assumption_->absent[at(ipu)];
  const std::int64_t lent = assumption_->least_lent[at(ipu)];
  if (cell.run.mode < 0 || (present == 0 && absent == 0 && lent <= least_lent_)) return cell.run.mode;
  if (cell.stage.rows & absent) return -1;
  if (s_.code_moves() && !lends_) return cell.run.mode;
  return mode_beside(cell, {cell.stage.rows | present, std::max(lent, cell.stage.lent)});
}

void PhaseStages::tabulate() {
  run_of_.assign(rules_.stages ? at(n_) : s_.table().runs().count(), -1);
  ends_.assign(at(n_), {});
  tail_ddr_.assign(at(n_) + 1, 0);
  tail_lent_ = tail_least_lent_ = tail_ddr_;
  tail_rows_.assign(at(n_) + 1, 0);
  find_sharers();
  for (std::int64_t u = n_; u-- > 0;) {
    const Setting::Stage unit = s_.stage(u, u + 1, 0, modes_[0]);
    tail_ddr_[at(u)] = tail_ddr_[at(u) + 1] + unit.ddr;
    tail_lent_[at(u)] = tail_lent_[at(u) + 1] + unit.lent;
    tail_least_lent_[at(u)] = tail_least_lent_[at(u) + 1] + s_.lent(u);
    tail_rows_[at(u)] = tail_rows_[at(u) + 1] | unit.rows;
    if (!pinned_out(u)) ends_[at(u)] = find_ends(u);
  }
}

// A pinned stage ends at the next pinned cut. Of others a longer one needs no less.
PhaseStages::Ends PhaseStages::find_ends(std::int64_t begin) {
  Ends ends{begin + 1, begin};
  while (pinned_out(ends.least)) ++ends.least;
  for (std::int64_t end = ends.least; end <= (rules_.stages ? ends.least : n_); ++end) {
    std::int32_t& run = run_of_[number(begin, end)];
    if (run < 0) run = static_cast<std::int32_t>(runs_.size()), add_run(begin, end);
    if (runs_[at(run)].mode < 0) break;
    ends.most = end;
  }
  return ends;
}

void PhaseStages::add_run(std::int64_t begin, std::int64_t end) {
  Run& run = runs_.emplace_back();
  run.first = s_.stage(begin, end, 0, modes_[0]);
  run.needs[0] = run.first.always + run.first.transient;
  const Cell cell{begin, end, run, run.first};
  const std::int64_t moved = moved_code(cell);
  const bool training = s_.table().training();  // else only a phase's first stage keeps what comes in
  run.loads = s_.loads(run.first, moved);
  if (s_.waiting(run.first, moved) <= limits_.io_tile)
    run.mode = mode_beside(cell, {run.first.rows, depth_ == 1 || training ? run.first.lent : 0});
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

void PhaseStages::share(std::int64_t owner, const std::vector<std::int64_t>& borrowers) {
  const auto bytes = [&](std::int64_t u) { return Bytes{s_.borrowed_ddr(u), s_.borrowed_lent(u)}; };
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

// Those that a stage of its own units alone does not have once already.
template <class F>
void PhaseStages::for_sharers(const Cell& cell, F f) const {
  for (std::size_t i = sharers_before_[at(cell.begin)]; i < sharers_before_[at(cell.end)]; ++i) {
    const Sharer& x = sharers_[i];
    if (x.unit == x.owner || s_.borrows(x.unit, cell.begin)) f(x);
  }
}

PhaseStages::Bytes PhaseStages::outside(const Cell& cell, std::int64_t ipu) const {
  Bytes out{cell.stage.ddr, cell.stage.lent};
  for_sharers(cell, [&](const Sharer& x) {
    const bool is_there = x.owner == 0 && ipu == 0;
    const bool may_be_there = x.unit != x.owner && !x.is_first;
    if (is_there || x.bit != 0 || may_be_there) out.ddr -= x.bytes.ddr, out.lent -= x.bytes.lent;
  });
  return out;
}

std::uint64_t PhaseStages::shared_on(const Cell& cell, std::int64_t ipu) const {
  std::uint64_t shared = 0;
  for_sharers(cell, [&](const Sharer& x) { shared |= x.owner == 0 && ipu == 0 ? 0 : x.bit; });
  return shared;
}

std::int64_t PhaseStages::limit(std::int64_t account, std::uint64_t rows, std::uint64_t shared) {
  std::int64_t bytes = limit(account);
  if (account < ipus_ && rows != 0 && s_.stores_code())
    bytes = limits_.ddr - s_.tiles() * code_(assumption_->present[at(account)] | rows);
  return shared == 0 ? bytes : bytes - shared_taken(account, shared);
}

// A gradient that another stage of the phase takes over does not leave the tiles.
std::int64_t PhaseStages::taken(std::int64_t account, const Cell& cell, std::int64_t phase) const {
  std::int64_t bytes = of(account, outside(cell, ipu_of(account)));
  if (account >= ipus_) return bytes;
  for_sharers(cell, [&](const Sharer& x) {
    if (x.unit != x.owner && x.owner >= phase) bytes -= s_.tied_gradient_ddr(x.unit);
  });
  return bytes;
}

std::int64_t PhaseStages::least_taken(std::int64_t account, const Cell& cell) const {
  const std::int64_t ipu = ipu_of(account);
  std::int64_t bytes = of(account, outside(cell, ipu));
  for_sharers(cell, [&](const Sharer& x) {
    if (x.is_first && x.bit != 0 && (x.owner > 0 || ipu > 0)) bytes += of(account, x.bytes);
    const bool is_late = ipu % depth_ == 0 || (x.owner == 0 && cell.end == n_);  // one phase alone is a pipeline
    if (account < ipus_ && x.unit != x.owner && !is_late) bytes -= s_.tied_gradient_ddr(x.unit);
  });
  return bytes;
}

PhaseStages::Bytes PhaseStages::sum_of(std::uint64_t shared) const {
  Bytes sum;
  for (; shared != 0; shared &= shared - 1) {
    const Bytes& bytes = shared_[static_cast<std::size_t>(std::countr_zero(shared))];
    sum.ddr += bytes.ddr, sum.lent += bytes.lent;
  }
  return sum;
}

bool PhaseStages::owns_shared(std::int64_t begin, std::int64_t end) const {
  for (std::size_t i = sharers_before_[at(begin)]; i < sharers_before_[at(end)]; ++i) {
    if (sharers_[i].unit == sharers_[i].owner) return true;
  }
  return false;
}

PhaseStages::Ways PhaseStages::find_ways(const std::vector<double>& weights) {
  Ways ways(at(ipus_), std::vector<double>(at(n_) + 1, kNoWay));
  std::vector<double> rest(at((n_ + 1) * ipus_));  // by unit and IPU group: behind a stage that ends there
  std::vector<double> least(at(ipus_));
  for (std::int64_t w = n_; w-- > 0;) {
    std::ranges::fill(least, kNoWay);
    for (std::int64_t end = ends_[at(w)].least; end <= ends_[at(w)].most; ++end) {
      if (may_begin_phase(w)) take_least(cell_of(w, end, true), 0, 1, weights, &rest[at(end * ipus_)], least);
      if (may_continue_phase(w)) take_least(cell_of(w, end, false), 1, depth_, weights, &rest[at(end * ipus_)], least);
    }
    for (std::int64_t ipu = 0; ipu < ipus_; ++ipu) ways[at(ipu)][at(w)] = least[at(ipu)];
    for (std::int64_t ipu = 0; ipu < ipus_; ++ipu)
      rest[at(w * ipus_ + ipu)] = std::min(least_behind(ways, ipu, w), least_within(ways, ipu, w));
  }
  return ways;
}

double PhaseStages::weighted(const Cell& cell, std::int64_t ipu, const std::vector<double>& weights) const {
  double sum = 0;
  for (std::int64_t account = ipu; account < accounts(); account += ipus_) {
    if (weights[at(account)] != 0) sum += weights[at(account)] * static_cast<double>(least_taken(account, cell));
  }
  return sum;
}

// With the stage on each IPU group whose position in its phase is one of [begin, end).
void PhaseStages::take_least(const Cell& cell, std::int64_t begin, std::int64_t end, const std::vector<double>& weights,
                             const double* behind, std::vector<double>& least) {
  for (std::int64_t group = 0; group < ipus_; group += depth_) {
    for (std::int64_t ipu = group + begin; ipu < group + end; ++ipu) {
      if (assumes_ && mode_on(cell, ipu) < 0) continue;
      least[at(ipu)] = std::min(least[at(ipu)], behind[ipu] + weighted(cell, ipu, weights));
    }
  }
}

std::vector<PhaseStages::WaysOn> PhaseStages::ways_on(const Ways& ways) const {
  std::vector<WaysOn> out;
  const std::vector<double> none(at(n_), kNoWay);
  for (std::int64_t ipu = 0; ipu < ipus_; ++ipu) {
    const std::vector<double>& within = (ipu + 1) % depth_ == 0 ? none : ways[at(ipu) + 1];
    const std::vector<double>& behind = ways[at(first_behind(ipu))];
    WaysOn& on = out.emplace_back(at(n_) + 1);
    for (std::size_t u = 0; u < at(n_); ++u)
      on[u] = static_cast<std::uint8_t>((within[u] < kNoWay ? kGoesOn : 0) | (behind[u] < kNoWay ? kEnds : 0));
    on.back() = kEnds;
  }
  return out;
}

bool PhaseStages::lacks() { return lacks(0) || (lends_ && lacks(ipus_)); }

// Of Streaming Memory, or of other IPUs' tiles. Nothing fits where the least weighted sum is more than the limits'
// weighted sum, whatever the weights. They grow where the leanest cut by the last ones has too little.
bool PhaseStages::lacks(std::int64_t first) {
  std::vector<double> weights(at(accounts())), limits(at(accounts()));
  for (std::int64_t a = first; a < first + ipus_; ++a)
    weights[at(a)] = 1, limits[at(a)] = static_cast<double>(limit(a));
  for (int step = 1; step <= kBudget.infeasibility_steps; ++step) {
    const Ways ways = find_ways(weights);
    if (ways[0][0] > std::inner_product(weights.begin(), weights.end(), limits.begin(), 0.0) * (1 + 1e-9)) return true;
    const std::vector<std::int64_t> bytes = follow(ways, weights);
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

// By account of a cut with the least weighted sum.
std::vector<std::int64_t> PhaseStages::follow(const Ways& ways, const std::vector<double>& weights) {
  std::vector<std::int64_t> bytes(at(accounts()));
  for (std::int64_t ipu = 0, w = 0; w < n_;) {
    double least = kNoWay;
    std::int64_t next_ipu = 0, next = n_;
    for_stages(ipu, w, n_, [&](const Cell& cell) {
      if (mode_on(cell, ipu) < 0) return true;
      const double within = least_within(ways, ipu, cell.end), behind = least_behind(ways, ipu, cell.end);
      const double sum = std::min(within, behind) + weighted(cell, ipu, weights);
      if (sum < least) {
        least = sum, next = cell.end;
        next_ipu = within < behind ? ipu + 1 : first_behind(ipu);
      }
      return true;
    });
    const Cell taken = cell(ipu, w, next);
    for (std::int64_t a = ipu; a < accounts(); a += ipus_) bytes[at(a)] += least_taken(a, taken);
    ipu = next_ipu;
    w = next;
  }
  return bytes;
}

}  // namespace superstep
