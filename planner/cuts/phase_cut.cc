// SPDX-License-Identifier: Apache-2.0
// Phases one after the other: what an IPU keeps for all of them, its code and what others keep there, and what
// Streaming Memory is worth where it is too little.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "model/error.h"
#include "planner/cuts/phase_programme.h"
#include "planner/cuts/search_budget.h"

namespace superstep {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Run with assumptions about what each IPU group keeps: without any each stage counts its own only, which bounds every
// cut; where the result does not fit, assumptions about its fullest IPU group divide the cuts in cases.
class PhaseCut {
 public:
  PhaseCut(const Setting& s, const CutRules& rules, const CutLimits& limits)
      : s_(s),
        limits_(limits),
        programme_(s, rules, limits),
        stages_(programme_.stages()),
        ipus_(s.plan().pipeline_stages),
        n_(s.units()),
        lent_step_(ipus_ > 1 ? s.lent() / kBudget.remote_steps : 0),
        least_(limits.least) {}

  // The least cycles of cuts of which each stage is counted with what it keeps itself; kNever: none fits.
  // `exact`, when not null: false where less than that was found out.
  std::int64_t bound(bool* exact) {
    if (exact) *exact = true;
    if (!begin() || first_lacks_) return kNever;
    programme_.set(first_ways_, {});
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

  std::int64_t bound_by_prices() {
    by_prices_ = true;
    least_ = std::max(least_, programme_.rest().least());
    std::int64_t open = kNever;
    const std::optional<Cuts> cuts = run(&open);
    return std::min(open, cuts ? cuts->cycles : kNever);
  }

  bool ran_out() const { return open_ < kNever; }
  std::int64_t work() const { return programme_.work(); }

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
  using Cell = PhaseStages::Cell;
  using Ways = PhaseStages::Ways;

  const Setting& s_;
  const CutLimits& limits_;
  PhaseProgramme programme_;
  PhaseStages& stages_;
  std::int64_t ipus_, n_;
  std::int64_t lent_step_;  // bytes per IPU: smaller differences are left to labels; 0: all are
  bool by_prices_ = false;
  std::int64_t best_ = 0;       // cycles that a cut must beat
  std::int64_t least_ = 0;      // cycles that none takes less than
  std::int64_t open_ = kNever;  // bound on cuts that were left out
  // Cuts that agree with an assumption, and cycles that none of them takes less than.
  struct Case {
    Assumption assumption;
    std::int64_t bound;
    bool is_first = false;
  };
  std::vector<Case> cases_;      // still to be explored
  std::int64_t case_bound_ = 0;  // bound on the cuts of the case at hand
  std::optional<Cuts> found_;
  int programmes_ = 0;
  int most_programmes_ = kBudget.cases;
  std::vector<std::int64_t> tracked_;            // accounts of which more than the limit has been taken
  std::vector<std::int64_t> counted_;            // IPU groups of which labels hold all that they keep
  bool divides_ = true;                          // else all that keep too much become such ones
  Prices prices_;                                // of them, in the case at hand
  Ways ways_;                                    // of the case at hand
  std::vector<std::vector<std::int64_t>> rest_;  // Prices::rest where nothing has a price; empty: not known
  Assumption first_;                             // of the first case: nothing that a cut need not keep
  Ways first_ways_;
  bool first_lacks_ = false;

  // Which lead to the end, whatever they take.
  Ways find_ways() { return stages_.find_ways(std::vector<double>(at(stages_.accounts()))); }

  // False: nothing fits, or is better.
  bool begin() {
    if (programme_.rest().least() >= limits_.best || stages_.none()) return false;
    std::int64_t most_lent = 0;
    if (stages_.lends()) most_lent = std::min(stages_.most_lent(0), s_.tiles() * stages_.most_room());
    first_ = {std::vector<std::uint64_t>(at(ipus_)), std::vector<std::uint64_t>(at(ipus_)),
              std::vector<std::int64_t>(at(ipus_)), std::vector<std::int64_t>(at(ipus_), most_lent)};
    if (ipus_ == 1) first_.present[0] = stages_.rows_from(0);  // it runs everything
    expect_lent(first_);
    stages_.keep(first_);
    first_ways_ = find_ways();
    if (first_ways_[0][0] >= PhaseStages::kNoWay) return false;
    first_lacks_ = stages_.lacks();
    return true;
  }

  // Most partial cuts fall to the best one known: it is guessed ever larger until f(it) is true.
  template <class F>
  void for_limits(F f) {
    for (const double guess : {1.1, 1.4, 2.0}) {
      const auto cycles = static_cast<std::int64_t>(guess * static_cast<double>(programme_.rest().least()));
      if (cycles > limits_.least && cycles < limits_.best && f(cycles)) return;
    }
    f(limits_.best);
  }

  void try_below(std::int64_t cycles) {
    best_ = cycles;
    if (stages_.lends() && by_prices_) return explore_all(true, kBudget.few_cases_with_remote);
    explore_all(true, limits_.few_cases);
    if (!ran_out() || programmes_ < limits_.few_cases) return;
    explore_again(false, 1);
    if (ran_out() && !by_prices_ && !limits_.reduced_budget && limits_.most_work == 0)
      explore_again(true, kBudget.cases);
  }

  // Another way to see the same cuts: what either leaves open, the other bounds too.
  void explore_again(bool divides, int most_programmes) {
    const std::int64_t open = open_;
    explore_all(divides, most_programmes);
    if (ran_out()) open_ = std::max(open, open_);
  }

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

  // The one that came last; where others keep something, the one with the lowest bound.
  Case take_case() {
    const auto next =
        stages_.lends() ? std::ranges::min_element(cases_.rbegin(), cases_.rend(), {}, &Case::bound) : cases_.rbegin();
    Case out = std::move(*next);
    cases_.erase(std::next(next).base());
    return out;
  }

  void explore(const Case& at_hand) {
    const Assumption& assumption = at_hand.assumption;
    stages_.keep(assumption);
    case_bound_ = at_hand.bound;
    ways_ = at_hand.is_first ? first_ways_ : find_ways();
    if (ways_[0][0] >= PhaseStages::kNoWay || (at_hand.is_first ? first_lacks_ : stages_.lacks())) return;
    ++programmes_;
    // An account is part of the state only where more than its limit is taken, one by one: code more often decides, and
    // without them the programme is far smaller.
    tracked_.clear();
    counted_.clear();
    Prices none{std::vector<double>(at(stages_.accounts()))};  // the cuts take all they like
    programme_.set(ways_, tracked_, counted_);
    std::optional<PhaseProgramme::Found> known;
    if (at_hand.is_first) known = find_rest(none);
    none.rest = rest_;
    prices_ = none;
    std::optional<Misfit> misfit;
    do {
      misfit = settle_case(std::exchange(known, std::nullopt));
    } while (misfit && look_closer(assumption, *misfit, none));
  }

  // The least cuts of the first case, of which what follows a phase bounds that of all others: they assume more. None:
  // it takes more work than there is.
  std::optional<PhaseProgramme::Found> find_rest(Prices none) {
    rest_.clear();
    if (!programme_.find_least_sum(none, best_)) return std::nullopt;
    PhaseProgramme::Found found;
    if (none.bound < kNever) found.cuts = std::move(none.least);
    rest_ = std::move(none.rest);
    return found;
  }

  // Cuts that need more than was counted, what bounds all cuts of the case, the code of each IPU group, and the group
  // that has no room for its code; -1: they keep too much outside of the tiles.
  struct Misfit {
    Cuts cuts;
    std::int64_t bound;
    std::vector<GroupLoad> kept;
    std::int64_t full;
  };

  // Counts what is too much from now on, or divides the case by it. False: the case is done with.
  bool look_closer(const Assumption& assumption, const Misfit& misfit, Prices& none) {
    const std::int64_t account = overdrawn(misfit);
    const bool is_tracked = std::ranges::count(tracked_, account) > 0;
    // With its Streaming Memory tracked, it is the code that is too much.
    const std::int64_t full = account < 0 ? misfit.full : is_tracked ? stages_.ipu_of(account) : -1;
    const bool is_counted = full >= 0 && std::ranges::count(counted_, full) > 0;
    if ((is_tracked || is_counted) && stages_.shares_unevenly()) {
      leave_open(misfit.bound);
      return false;
    }
    SUPERSTEP_CHECK(!is_counted, "labels hold what an IPU group keeps, and it is too much");
    if (account < 0 && divides_ && may_divide_lent(assumption, full)) {
      divide_lent(assumption, full, misfit.bound);
      return false;
    }
    if (full >= 0 && divides_ && !(account < 0 && lends_too_much(assumption, full, misfit))) {
      divide(assumption, full, misfit.kept[at(full)].rows, misfit.bound);
      return false;
    }
    case_bound_ = std::max(case_bound_, misfit.bound);
    if (full >= 0) {
      counted_.push_back(full);
      programme_.set(ways_, tracked_, counted_);
      return true;
    }
    tracked_.push_back(account);
    if (tracked_.size() == 1) none.least = misfit.cuts, none.bound = misfit.bound;
    programme_.set(ways_, tracked_, counted_);
    raise_prices(none);
    if (case_bound_ >= best_) return false;
    if (by_prices_) leave_open(case_bound_);
    return !by_prices_;
  }

  // The least cuts of the case are found_, but for what is open, unless they turn out to need more than was counted.
  // `known`: what a programme finds first, if that is known.
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

  bool keep_within_limits(const Cuts& cuts) {
    const Estimate e = evaluate(s_, with_cuts(s_.plan(), cuts));
    if (e.ddr > limits_.ddr || e.tile_peak > limits_.tile) return false;
    best_ = cuts.cycles;
    found_ = cuts;
    return true;
  }

  void keep_if_it_fits(Cuts cuts) {
    if (cuts.cycles < best_ && settle_modes(cuts, kept_by(cuts)) < 0) keep_within_limits(cuts);
  }

  void leave_open(std::int64_t bound) { open_ = std::min(open_, std::max(bound, case_bound_)); }

  // By IPU group.
  std::vector<GroupLoad> kept_by(const Cuts& cuts) {
    std::vector<GroupLoad> out(at(ipus_));
    for (std::size_t i = 0; i < cuts.stages.size(); ++i) {
      const Cell cell = stage_of(cuts, i);
      GroupLoad& kept = out[at(cuts.stage_ipu[i])];
      kept = with(kept, stages_.kept_on(cell, cuts.stage_ipu[i]));
    }
    return out;
  }

  // Each IPU group keeps what all others cannot.
  void expect_lent(Assumption& assumption) {
    const std::int64_t all = stages_.least_lent(0);
    std::int64_t most = 0;
    for (const std::int64_t bytes : assumption.most_lent) most += bytes;
    for (std::int64_t i = 0; i < ipus_; ++i) {
      const std::int64_t least = all - (most - assumption.most_lent[at(i)]);
      assumption.least_lent[at(i)] = std::max(assumption.least_lent[at(i)], least);
    }
  }

  // Whether an IPU group has room for its code, so that it is what others keep for it, and it for them, that is too
  // much.
  bool lends_too_much(const Assumption& assumption, std::int64_t full, const Misfit& misfit) {
    if (!stages_.lends()) return false;
    const GroupLoad kept{misfit.kept[at(full)].rows, assumption.least_lent[at(full)]};
    for (std::size_t i = 0; i < misfit.cuts.stages.size(); ++i) {
      if (misfit.cuts.stage_ipu[i] != full) continue;
      if (stages_.mode_beside(stage_of(misfit.cuts, i), kept) < 0) return false;
    }
    return true;
  }

  bool may_divide_lent(const Assumption& assumption, std::int64_t full) const {
    return lent_step_ > 0 && assumption.most_lent[at(full)] - assumption.least_lent[at(full)] > lent_step_;
  }

  // Cuts of which IPU group `full` keeps more, and those of which it keeps less, so that others keep more.
  void divide_lent(const Assumption& assumption, std::int64_t full, std::int64_t bound) {
    const std::int64_t least = assumption.least_lent[at(full)],
                       middle = least + (assumption.most_lent[at(full)] - least) / 2;
    Case more{assumption, bound}, less{assumption, bound};
    more.assumption.least_lent[at(full)] = middle + 1;
    cases_.push_back(std::move(more));
    less.assumption.most_lent[at(full)] = middle;
    expect_lent(less.assumption);
    if (less.assumption.least_lent[at(full)] <= middle) cases_.push_back(std::move(less));
  }

  // IPU group `full` has not enough room for the code of `rows`. First all of it counted; then, row by row, the
  // cuts that hold one of them less.
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

  // Gives each stage the first mode that fits beside all that its IPU keeps. Returns an IPU group where none does, -1
  // when all do.
  std::int64_t settle_modes(Cuts& cuts, const std::vector<GroupLoad>& kept) {
    if (s_.code_moves() && !stages_.lends()) return -1;  // each phase brings its own
    for (std::size_t i = 0; i < cuts.stages.size(); ++i) {
      const int mode = stages_.mode_beside(stage_of(cuts, i), kept[at(cuts.stage_ipu[i])]);
      if (mode < 0) return cuts.stage_ipu[i];
      cuts.recompute[i] = stages_.mode(mode);
    }
    return -1;
  }

  Cell stage_of(const Cuts& cuts, std::size_t i) {
    return stages_.cell(cuts.stage_ipu[i], cuts.stages[i], i + 1 < cuts.stages.size() ? cuts.stages[i + 1] : n_);
  }

  // By account, code excluded.
  std::vector<std::int64_t> taken_by(const Cuts& cuts, const std::vector<GroupLoad>& kept) {
    std::vector<std::int64_t> bytes(at(stages_.accounts()));
    for (std::size_t i = 0, phase = 0; i < cuts.stages.size(); ++i) {
      if (std::ranges::binary_search(cuts.phases, static_cast<std::int64_t>(i))) phase = i;
      const Cell cell = stage_of(cuts, i);
      for (std::int64_t a = cuts.stage_ipu[i]; a < stages_.accounts(); a += ipus_)
        bytes[at(a)] += stages_.taken(a, cell, cuts.stages[phase]);
    }
    for (std::int64_t a = 0; a < stages_.accounts(); ++a)
      bytes[at(a)] += stages_.shared_taken(a, kept[at(stages_.ipu_of(a))].shared);
    return bytes;
  }

  // The account that is most over its limit: of what is assumed, else of Streaming Memory if that is what is too
  // little; -1: none.
  std::int64_t overdrawn(const Misfit& misfit) {
    std::vector<std::int64_t> bytes = taken_by(misfit.cuts, misfit.kept);
    const auto over = [&](std::int64_t a) { return bytes[at(a)] - stages_.limit(a); };
    if (stages_.lends()) {
      std::int64_t most = stages_.account_of_lent(0);
      for (std::int64_t a = most + 1; a < stages_.accounts(); ++a) most = over(a) > over(most) ? a : most;
      if (over(most) > 0) return most;
    }
    if (misfit.full >= 0) return -1;
    for (std::int64_t a = 0; a < ipus_; ++a) bytes[at(a)] += s_.stored_code(misfit.kept[at(a)].rows);
    return std::max_element(bytes.begin(), bytes.begin() + ipus_) - bytes.begin();
  }

  // ---- prices

  // Cycles of a cut, and how much it is over the limits of the accounts whose prices rise.
  struct Point {
    double cycles, over;
  };
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

  // Prices that bound the case well: those of all tracked accounts together, then of single ones.
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

  // The prices of some accounts raised together until they bound the case best, or it is closed. The least sum is
  // concave in them: each next price is where a cut over the limits and one within them sum to the same.
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
