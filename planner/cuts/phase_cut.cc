// SPDX-License-Identifier: Apache-2.0
// Best cuts into phases within the limits. Branch and bound over cases of what each IPU group holds for all its phases:
// code and data of other IPUs. Lagrangian prices bound the cuts where Streaming Memory is too small.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "model/error.h"
#include "planner/cuts/phase_programme.h"
#include "planner/cuts/search_budget.h"

namespace superstep {
namespace {

// Runs PhaseProgramme under assumptions about the load of each IPU group. The first case assumes only what every cut
// holds: each stage counts its own load, and the result bounds every cut. Where the resulting cuts do not fit,
// assumptions about their fullest IPU group divide the case.
class PhaseCut {
 public:
  PhaseCut(const Setting& s, const CutRules& rules, const CutLimits& limits)
      : s_(s),
        limits_(limits),
        programme_(s, rules, limits),
        stages_(programme_.stages()),
        ipus_(s.plan().pipeline_stages),
        n_(s.units()),
        remote_tile_step_(ipus_ > 1 ? s.remote_tile() / kBudget.remote_steps : 0),
        least_(limits.least) {}

  // Returns the cycles of the fastest cuts in which each stage counts only its own load, inputs from the host included.
  // kNever: no cuts fit or take less than limits.best. `exact`, if not null, receives false if the budget is exhausted
  // and the result is only a lower bound, else true.
  std::int64_t bound(bool* exact) {
    if (exact) *exact = true;
    if (!begin() || first_is_infeasible_) return kNever;
    programme_.set(first_bounds_, {});
    std::int64_t least = kNever, none_below = programme_.rest().least();
    for_limits([&](std::int64_t best) {
      const std::optional<std::int64_t> sum = programme_.least_sum(best);
      if (!sum && exact) *exact = false;
      least = sum.value_or(none_below);
      none_below = best;
      return least < kNever;
    });
    return least < kNever ? s_.with_host(least, s_.plan().gradient_accumulation) : kNever;
  }

  // Returns a lower bound on the cycles of all cuts, by run(). A case with an overdrawn account ends with the bound by
  // prices. kNever: no cuts fit or take less than limits.best.
  std::int64_t bound_by_prices() {
    by_prices_ = true;
    least_ = std::max(least_, programme_.rest().least());
    std::int64_t open = kNever;
    const std::optional<Cuts> cuts = run(&open);
    return std::min(open, cuts ? cuts->cycles : kNever);
  }

  // True if a budget left cuts open.
  bool ran_out() const { return open_ < kNever; }
  std::int64_t work() const { return programme_.work(); }

  // Returns the fastest cuts that fit; nullopt: no cuts were found. `open`, if not null, receives a lower bound on the
  // cycles of cuts left open that may be faster. `open` stays as it is if no such cuts were left open.
  std::optional<Cuts> run(std::int64_t* open) {
    if (!begin()) return std::nullopt;
    for_limits([&](std::int64_t best) {
      try_below(best);
      least_ = std::max(least_, std::min(best, open_));
      return found_ || (by_prices_ && ran_out());
    });
    if (ran_out()) open_ = std::max(open_, least_);
    if (open && open_ < best_) *open = open_;
    return std::move(found_);
  }

 private:
  static constexpr std::int64_t kNever = PhaseProgramme::kNever;
  using StageOption = PhaseStages::StageOption;
  using SuffixBounds = PhaseStages::SuffixBounds;

  const Setting& s_;
  const CutLimits& limits_;
  PhaseProgramme programme_;
  PhaseStages& stages_;
  std::int64_t ipus_, n_;  // IPU groups, units
  // Bytes per IPU: cases divide the remote-tile bytes of an IPU group down to ranges of this size. Labels do the rest.
  // 0: cases never divide remote-tile bytes.
  std::int64_t remote_tile_step_;
  bool by_prices_ = false;      // only a lower bound is wanted: stop a case at its prices
  std::int64_t best_ = 0;       // incumbent: cycles that cuts must stay below
  std::int64_t least_ = 0;      // proved lower bound on the cycles of all cuts
  std::int64_t open_ = kNever;  // lower bound on the cycles of cuts left out by a budget; kNever: none left out
  // All cuts that agree with an assumption.
  struct Case {
    Assumption assumption;
    std::int64_t bound;     // lower bound on the cycles of these cuts
    bool is_first = false;  // the assumption is first_, with which all cuts agree
  };
  std::vector<Case> cases_;      // still to be explored
  std::int64_t case_bound_ = 0;  // lower bound on the cycles of cuts in the current case
  std::optional<Cuts> found_;    // incumbent cuts; nullopt: none yet
  int programmes_ = 0;           // cases explored since explore_all() began
  int most_programmes_ = kBudget.cases;
  std::vector<std::int64_t> tracked_;            // accounts whose limits cuts of the current case exceeded
  std::vector<std::int64_t> counted_;            // IPU groups whose whole load is in labels
  bool divides_ = true;                          // divide a case by the load of a full IPU group; else count that group
  Prices prices_;                                // of the tracked accounts, in the current case
  SuffixBounds suffix_bounds_;                   // of the current case
  std::vector<std::vector<std::int64_t>> rest_;  // Prices::rest for prices of 0; empty: not known
  Assumption first_;                             // of the first case: only what every cut holds
  SuffixBounds first_bounds_;                    // under first_
  bool first_is_infeasible_ = false;             // no cut fits under first_

  // Suffix bounds with weights of 0 under the current assumption: they only say which stages lead to the model's end.
  SuffixBounds find_suffix_bounds() { return stages_.find_suffix_bounds(std::vector<double>(at(stages_.accounts()))); }

  // Sets first_ and its bounds. Returns false if no cut fits or takes less than limits.best.
  bool begin() {
    if (programme_.rest().least() >= limits_.best || stages_.has_no_stages()) return false;
    std::int64_t most_remote_tile = 0;
    if (stages_.uses_remote_tile())
      most_remote_tile = std::min(stages_.most_remote_tile(0), s_.tiles() * stages_.most_room());
    first_ = {std::vector<std::uint64_t>(at(ipus_)), std::vector<std::uint64_t>(at(ipus_)),
              std::vector<std::int64_t>(at(ipus_)), std::vector<std::int64_t>(at(ipus_), most_remote_tile)};
    if (ipus_ == 1) first_.present[0] = stages_.rows_from(0);  // the only IPU group runs all units
    expect_remote_tile(first_);
    stages_.assume(first_);
    first_bounds_ = find_suffix_bounds();
    if (first_bounds_[0][0] >= PhaseStages::kInfeasible) return false;
    first_is_infeasible_ = stages_.is_infeasible();
    return true;
  }

  // Calls f(cycles) with growing incumbents until f returns true, the last time with limits.best. A low incumbent
  // prunes most labels, so guesses near the lower bound come first.
  template <class F>
  void for_limits(F f) {
    for (const double guess : {1.1, 1.4, 2.0}) {
      const auto cycles = static_cast<std::int64_t>(guess * static_cast<double>(programme_.rest().least()));
      if (cycles > limits_.least && cycles < limits_.best && f(cycles)) return;
    }
    f(limits_.best);
  }

  // Explores all cuts below `cycles`. The first run divides few cases. If cases are left over, a second run holds the
  // loads in labels instead. If cuts are still open and the budget is not reduced, a third run divides more cases.
  void try_below(std::int64_t cycles) {
    best_ = cycles;
    if (stages_.uses_remote_tile() && by_prices_) return explore_all(true, kBudget.few_cases_with_remote);
    explore_all(true, limits_.few_cases);
    if (!ran_out() || programmes_ < limits_.few_cases) return;
    explore_again(false, 1);
    if (ran_out() && !by_prices_ && !limits_.reduced_budget && limits_.most_work == 0)
      explore_again(true, kBudget.cases);
  }

  // Explores all cuts once more in another way. Each way covers all cuts, so that the higher bound on open cuts holds.
  void explore_again(bool divides, int most_programmes) {
    const std::int64_t open = open_;
    explore_all(divides, most_programmes);
    if (ran_out()) open_ = std::max(open, open_);
  }

  // Explores all cuts, from the first case on. Cases beyond `most_programmes` or the deadline are left open.
  void explore_all(bool divides, int most_programmes) {
    divides_ = divides;
    most_programmes_ = most_programmes;
    open_ = kNever;
    programmes_ = 0;
    cases_.clear();
    cases_.push_back({first_, least_, true});
    while (!cases_.empty()) {
      const Case next = take_case();
      if (next.bound >= best_) continue;
      if (programmes_ < most_programmes_ && !programme_.late())
        explore(next);
      else
        open_ = std::min(open_, next.bound);
    }
  }

  // ---- cases of what an IPU keeps

  // Removes and returns the case that was added last (depth first). With data on remote tiles returns the case with the
  // lowest bound instead (best first).
  Case take_case() {
    const auto next = stages_.uses_remote_tile()
                          ? std::ranges::min_element(cases_.rbegin(), cases_.rend(), {}, &Case::bound)
                          : cases_.rbegin();
    Case out = std::move(*next);
    cases_.erase(std::next(next).base());
    return out;
  }

  // Finds the fastest cuts of a case, or divides the case.
  void explore(const Case& at_hand) {
    const Assumption& assumption = at_hand.assumption;
    stages_.assume(assumption);
    case_bound_ = at_hand.bound;
    suffix_bounds_ = at_hand.is_first ? first_bounds_ : find_suffix_bounds();
    if (suffix_bounds_[0][0] >= PhaseStages::kInfeasible ||
        (at_hand.is_first ? first_is_infeasible_ : stages_.is_infeasible()))
      return;
    ++programmes_;
    // Accounts become part of the state one by one, when cuts exceed their limits. Code decides more often than
    // accounts do, and without accounts the programme is far smaller.
    tracked_.clear();
    counted_.clear();
    Prices none{std::vector<double>(at(stages_.accounts()))};  // prices of 0
    programme_.set(suffix_bounds_, tracked_, counted_);
    std::optional<PhaseProgramme::Found> known;
    if (at_hand.is_first) known = find_rest(none);
    none.rest = rest_;
    prices_ = none;
    std::optional<Misfit> misfit;
    do {
      misfit = settle_case(std::exchange(known, std::nullopt));
    } while (misfit && look_closer(assumption, *misfit, none));
  }

  // Finds the fastest cuts of the first case, and their suffix bounds rest_. These hold in all other cases, which
  // assume more. Returns nullopt if the work or the time is exhausted.
  std::optional<PhaseProgramme::Found> find_rest(Prices none) {
    rest_.clear();
    if (!programme_.find_least_sum(none, best_)) return std::nullopt;
    PhaseProgramme::Found found;
    if (none.bound < kNever) found.cuts = std::move(none.least);
    rest_ = std::move(none.rest);
    return found;
  }

  // Cuts of a case that need more memory than the labels counted.
  struct Misfit {
    Cuts cuts;
    std::int64_t bound;           // lower bound on the cycles of all cuts of the case
    std::vector<GroupLoad> kept;  // by IPU group
    std::int64_t full;            // IPU group with a stage that does not fit on the tiles; -1: an account is overdrawn
  };

  // Divides the case by the load that is too much, or makes labels or prices count that load. Returns true if the case
  // is to be settled again, false if the case is done.
  bool look_closer(const Assumption& assumption, const Misfit& misfit, Prices& none) {
    const std::int64_t account = overdrawn(misfit);
    const bool is_tracked = std::ranges::count(tracked_, account) > 0;
    // If the overdrawn account is tracked already, the code of its IPU group is too much.
    const std::int64_t full = account < 0 ? misfit.full : is_tracked ? stages_.ipu_of(account) : -1;
    const bool is_counted = full >= 0 && std::ranges::count(counted_, full) > 0;
    if ((is_tracked || is_counted) && stages_.shares_unevenly()) {
      leave_open(misfit.bound);
      return false;
    }
    SUPERSTEP_CHECK(!is_counted, "labels hold what an IPU group keeps, and it is too much");
    if (account < 0 && divides_ && may_divide_remote_tile(assumption, full)) {
      divide_remote_tile(assumption, full, misfit.bound);
      return false;
    }
    if (full >= 0 && divides_ && !(account < 0 && remote_tile_is_too_much(assumption, full, misfit))) {
      divide(assumption, full, misfit.kept[at(full)].rows, misfit.bound);
      return false;
    }
    case_bound_ = std::max(case_bound_, misfit.bound);
    if (full >= 0) {
      counted_.push_back(full);
      programme_.set(suffix_bounds_, tracked_, counted_);
      return true;
    }
    tracked_.push_back(account);
    if (tracked_.size() == 1) none.least = misfit.cuts, none.bound = misfit.bound;
    programme_.set(suffix_bounds_, tracked_, counted_);
    raise_prices(none);
    if (case_bound_ >= best_) return false;
    if (by_prices_) leave_open(case_bound_);
    return !by_prices_;
  }

  // Makes the fastest cuts of the case found_, and lowers open_ to the bound of what labels left out. Tries more and
  // more labels per list. Returns the cuts if they need more memory than was counted; nullopt: the case is settled.
  // `known` is the result of the first run, where that is known already.
  std::optional<Misfit> settle_case(std::optional<PhaseProgramme::Found> known) {
    const std::int64_t open = open_;
    for (const std::size_t labels : kBudget.labels) {
      if (!counted_.empty() && labels > kBudget.labels_with_code) break;
      const PhaseProgramme::Found least =
          known ? *std::exchange(known, std::nullopt) : programme_.least_cycles(prices_, best_, labels);
      if (least.cuts) {
        Misfit misfit{*least.cuts, std::min(least.cuts->cycles, least.left_out), kept_by(*least.cuts), -1};
        misfit.full = settle_modes(misfit.cuts, misfit.kept);
        if (misfit.full >= 0 || !keep_within_limits(misfit.cuts)) {
          open_ = open;
          return misfit;
        }
      }
      open_ = open;
      leave_open(least.left_out);
      if (open_ == open) break;
    }
    return std::nullopt;
  }

  // Makes `cuts` the incumbent if evaluate() says that they fit. Returns false if they do not fit.
  bool keep_within_limits(const Cuts& cuts) {
    const Estimate e = evaluate(s_, with_cuts(s_.plan(), cuts));
    if (e.ddr > limits_.ddr || e.tile_peak > limits_.tile) return false;
    best_ = cuts.cycles;
    found_ = cuts;
    return true;
  }

  // Makes `cuts` the incumbent if they are faster and fit, each stage with the first mode that fits.
  void keep_if_it_fits(Cuts cuts) {
    if (cuts.cycles < best_ && settle_modes(cuts, kept_by(cuts)) < 0) keep_within_limits(cuts);
  }

  // Records that cuts of the current case with `bound` or more cycles are left out.
  void leave_open(std::int64_t bound) { open_ = std::min(open_, std::max(bound, case_bound_)); }

  // Load of each IPU group with these cuts.
  std::vector<GroupLoad> kept_by(const Cuts& cuts) {
    std::vector<GroupLoad> out(at(ipus_));
    for (std::size_t i = 0; i < cuts.stages.size(); ++i) {
      const StageOption option = stage_of(cuts, i);
      GroupLoad& kept = out[at(cuts.stage_ipu[i])];
      kept = combined(kept, stages_.kept_on(option, cuts.stage_ipu[i]));
    }
    return out;
  }

  // Raises the least remote-tile bytes assumed of each IPU group to a lower bound. The bound is what all units need,
  // less the most assumed of the other IPU groups.
  void expect_remote_tile(Assumption& assumption) {
    const std::int64_t all = stages_.least_remote_tile(0);
    std::int64_t most = 0;
    for (const std::int64_t bytes : assumption.most_remote_tile) most += bytes;
    for (std::int64_t i = 0; i < ipus_; ++i) {
      const std::int64_t least = all - (most - assumption.most_remote_tile[at(i)]);
      assumption.least_remote_tile[at(i)] = std::max(assumption.least_remote_tile[at(i)], least);
    }
  }

  // True if the stages of IPU group `full` all fit beside the code that the cuts hold there and the least remote-tile
  // bytes assumed. Then remote-tile bytes beyond these are too much, and not the code. False if remote tiles hold
  // nothing.
  bool remote_tile_is_too_much(const Assumption& assumption, std::int64_t full, const Misfit& misfit) {
    if (!stages_.uses_remote_tile()) return false;
    const GroupLoad kept{misfit.kept[at(full)].rows, assumption.least_remote_tile[at(full)]};
    for (std::size_t i = 0; i < misfit.cuts.stages.size(); ++i) {
      if (misfit.cuts.stage_ipu[i] != full) continue;
      if (stages_.mode_beside(stage_of(misfit.cuts, i), kept) < 0) return false;
    }
    return true;
  }

  // True if the range of remote-tile bytes assumed for IPU group `full` is wide enough to divide.
  bool may_divide_remote_tile(const Assumption& assumption, std::int64_t full) const {
    return remote_tile_step_ > 0 &&
           assumption.most_remote_tile[at(full)] - assumption.least_remote_tile[at(full)] > remote_tile_step_;
  }

  // Divides a case in two by the remote-tile bytes of IPU group `full`: the upper and the lower half of the range. In
  // the lower half the other IPU groups keep more; the case is left out if they cannot.
  void divide_remote_tile(const Assumption& assumption, std::int64_t full, std::int64_t bound) {
    const std::int64_t least = assumption.least_remote_tile[at(full)],
                       middle = least + (assumption.most_remote_tile[at(full)] - least) / 2;
    Case more{assumption, bound}, less{assumption, bound};
    more.assumption.least_remote_tile[at(full)] = middle + 1;
    cases_.push_back(std::move(more));
    less.assumption.most_remote_tile[at(full)] = middle;
    expect_remote_tile(less.assumption);
    if (less.assumption.least_remote_tile[at(full)] <= middle) cases_.push_back(std::move(less));
  }

  // Divides a case by the code of `rows`, for which IPU group `full` has no room. In the first new case all rows are
  // present. One case follows for each row not assumed yet: the row is absent and all rows before are present.
  void divide(const Assumption& assumption, std::int64_t full, std::uint64_t rows, std::int64_t bound) {
    std::uint64_t left = rows & ~assumption.present[at(full)];
    SUPERSTEP_CHECK(left != 0, "a stage fits beside the code that is assumed but not beside less");
    std::vector<Case> cases(1, {assumption, bound});
    cases[0].assumption.present[at(full)] |= left;
    Assumption some = assumption;
    for (; left != 0; left &= left - 1) {
      const std::uint64_t row = left & -left;
      cases.push_back({some, bound});
      cases.back().assumption.absent[at(full)] |= row;
      some.present[at(full)] |= row;
    }
    std::move(cases.rbegin(), cases.rend(), std::back_inserter(cases_));
  }

  // Gives each stage the first mode that fits beside the load of its IPU group. Returns the IPU group of the first
  // stage where no mode fits; -1: all stages fit.
  std::int64_t settle_modes(Cuts& cuts, const std::vector<GroupLoad>& kept) {
    if (s_.code_moves() && !stages_.uses_remote_tile()) return -1;  // code comes with each phase
    for (std::size_t i = 0; i < cuts.stages.size(); ++i) {
      const int mode = stages_.mode_beside(stage_of(cuts, i), kept[at(cuts.stage_ipu[i])]);
      if (mode < 0) return cuts.stage_ipu[i];
      cuts.recompute[i] = stages_.mode(mode);
    }
    return -1;
  }

  // The i-th stage of the cuts.
  StageOption stage_of(const Cuts& cuts, std::size_t i) {
    return stages_.option(cuts.stage_ipu[i], cuts.stages[i], i + 1 < cuts.stages.size() ? cuts.stages[i + 1] : n_);
  }

  // Bytes per IPU that the cuts take of each account, code excluded.
  std::vector<std::int64_t> taken_by(const Cuts& cuts, const std::vector<GroupLoad>& kept) {
    std::vector<std::int64_t> bytes(at(stages_.accounts()));
    for (std::size_t i = 0, phase = 0; i < cuts.stages.size(); ++i) {
      if (std::ranges::binary_search(cuts.phases, static_cast<std::int64_t>(i))) phase = i;
      const StageOption option = stage_of(cuts, i);
      for (std::int64_t a = cuts.stage_ipu[i]; a < stages_.accounts(); a += ipus_)
        bytes[at(a)] += stages_.taken(a, option, cuts.stages[phase]);
    }
    for (std::int64_t a = 0; a < stages_.accounts(); ++a)
      bytes[at(a)] += stages_.shared_taken(a, kept[at(stages_.ipu_of(a))].shared);
    return bytes;
  }

  // Returns the account that makes the cuts too large: the remote-tile account that is most over its assumed limit. If
  // no such account is over its limit, the fullest Streaming Memory account, code included. -1: neither, as an IPU
  // group has no room on its tiles.
  std::int64_t overdrawn(const Misfit& misfit) {
    std::vector<std::int64_t> bytes = taken_by(misfit.cuts, misfit.kept);
    const auto over = [&](std::int64_t a) { return bytes[at(a)] - stages_.limit(a); };
    if (stages_.uses_remote_tile()) {
      std::int64_t most = stages_.remote_tile_account(0);
      for (std::int64_t a = most + 1; a < stages_.accounts(); ++a) most = over(a) > over(most) ? a : most;
      if (over(most) > 0) return most;
    }
    if (misfit.full >= 0) return -1;
    for (std::int64_t a = 0; a < ipus_; ++a) bytes[at(a)] += s_.stored_code(misfit.kept[at(a)].rows);
    return std::max_element(bytes.begin(), bytes.begin() + ipus_) - bytes.begin();
  }

  // ---- prices

  // A cut as a line over the rise of the prices: its sum of cycles and price is `cycles` + rise * `over`. `over` are
  // the bytes by which the cut exceeds the limits of the accounts whose prices rise; below 0 within the limits.
  struct Point {
    double cycles, over;
  };
  // Point of `cuts`: `cycles` include the price at `prices`, less the price of the limits.
  Point point_of(const Cuts& cuts, const std::vector<double>& prices, const std::vector<std::int64_t>& rising) {
    Point p{static_cast<double>(cuts.cycles), 0};
    const std::vector<std::int64_t> bytes = taken_by(cuts, kept_by(cuts));
    const auto over = [&](std::int64_t a) { return static_cast<double>(bytes[at(a)] - stages_.limit(a)); };
    for (std::int64_t a = 0; a < stages_.accounts(); ++a) {
      if (prices[at(a)] > 0) p.cycles += prices[at(a)] * over(a);
    }
    for (std::int64_t a : rising) p.over += over(a);
    return p;
  }

  // Finds prices_ that bound the case well, and raises case_bound_ to the bound. Prices of all tracked accounts rise
  // together first, then the price of the account that is most over its limit.
  void raise_prices(const Prices& none) {
    if (Prices together = raised(none, tracked_); together.bound > prices_.bound) prices_ = std::move(together);
    for (std::size_t i = 1; i < tracked_.size() && prices_.bound < best_; ++i) {
      const auto over = [&, bytes = taken_by(prices_.least, kept_by(prices_.least))](std::int64_t a) {
        return bytes[at(a)] - stages_.limit(a);
      };
      Prices more = raised(prices_, {*std::ranges::max_element(tracked_, {}, over)});
      if (more.bound <= prices_.bound) break;
      prices_ = std::move(more);
    }
    case_bound_ = std::max(case_bound_, std::min(best_, prices_.bound));
  }

  // Returns `from` with the prices of the accounts `rising` raised together, for the highest bound on the case. Stops
  // when the bound reaches the incumbent. The least sum is a concave function of the rise. Each step tries the rise at
  // which the lines of a cut over the limits and of a cut within the limits meet.
  Prices raised(const Prices& from, const std::vector<std::int64_t>& rising) {
    Prices best = from;
    Point high = point_of(from.least, from.of, rising);
    Point low{static_cast<double>(std::min(best_, kBudget.price_rise * from.least.cycles)), 0};
    std::int64_t limit = INT64_MAX;
    for (std::int64_t a : rising) limit = std::min(limit, stages_.limit(a));
    const double most = kBudget.price_rise * high.cycles / std::max(1.0, static_cast<double>(limit));
    for (int step = 0; step < kBudget.prices && high.over > 0 && best.bound < best_; ++step) {
      const double rise = std::clamp((low.cycles - high.cycles) / (high.over - low.over), 0.0, most);
      Prices next{from.of};
      next.rest = rest_;
      for (std::int64_t a : rising) next.of[at(a)] += rise;
      if (!programme_.find_least_sum(next, best_)) break;
      if (next.bound == kNever) return next;
      keep_if_it_fits(next.least);
      const Point p = point_of(next.least, from.of, rising);
      const double line = high.cycles + rise * high.over;
      const bool is_best = p.cycles + rise * p.over >= line - 1e-9 * std::abs(line);
      if (next.bound > best.bound) best = std::move(next);
      if (is_best) break;
      (p.over > 0 ? high : low) = p;
    }
    return best;
  }
};

}  // namespace

std::int64_t bound_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits, bool* exact) {
  return PhaseCut(setting, rules, limits).bound(exact);
}

std::int64_t bound_phases_by_prices(const Setting& setting, const CutRules& rules, const CutLimits& limits) {
  return PhaseCut(setting, rules, limits).bound_by_prices();
}

std::optional<Cuts> cut_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                               std::int64_t* open, std::int64_t* work) {
  PhaseCut cut(setting, rules, limits);
  std::optional<Cuts> cuts = cut.run(open);
  if (work) *work = cut.work();
  return cuts;
}

}  // namespace superstep
