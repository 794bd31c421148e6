// SPDX-License-Identifier: Apache-2.0
// Phases one after the other, each spread over the IPU groups.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "model/error.h"
#include "planner/phase_labels.h"
#include "planner/phase_rest.h"
#include "planner/phase_stages.h"

namespace superstep {

using namespace phase_labels;

namespace {

// Beyond these the rest is left unsearched, and its bound is told to the caller.
constexpr int kMostProgrammes = 400;  // runs with different limits on code, for one setting
// Of one partial cut, where Streaming Memory binds, one after the other: what few of them find lets most others fall.
constexpr std::size_t kMostLabels[] = {50, 500, 5000};
constexpr int kMostPrices = 12;         // of it that are tried one after the other
constexpr std::int64_t kMostRise = 64;  // of cycles, by the price of all of it

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Run with promises about the code that each IPU group holds: without any each stage counts its own code only,
// which bounds every cut; where the result does not fit, promises about its fullest IPU group divide the cuts in
// cases.
class PhaseCut {
 public:
  PhaseCut(const Setting& s, const CutRules& rules, const CutLimits& limits)
      : s_(s),
        rules_(rules),
        limits_(limits),
        rest_(s, limits),
        stages_(s, rules, limits),
        n_(s.units()),
        groups_(s.plan().phase_groups),
        ipus_(s.plan().pipeline_stages),
        depth_(ipus_ / groups_),
        outer_(s.plan().phase_order == PhaseOrder::phase_outer),
        g_(outer_ ? s.plan().gradient_accumulation : 1),
        repeats_(outer_ ? 1 : s.plan().gradient_accumulation),
        overlap_(s.moves_overlap()),
        hidden_(s.overlapped()),
        training_(s.table().training()),
        within_(at(n_)),
        parts_(at(depth_), ByEnd<Part>(n_)),
        phases_(n_) {}

  // The least cycles of cuts of which each stage is counted with its own code only; kNever: none fits.
  std::int64_t bound() {
    only_bound_ = true;
    const std::optional<Cuts> cuts = run(nullptr);
    return std::min(open_, cuts ? cuts->cycles : kNever);
  }

  std::int64_t bound_by_prices() {
    by_prices_ = true;
    std::int64_t open = kNever;
    const std::optional<Cuts> cuts = run(&open);
    return std::min(open, cuts ? cuts->cycles : kNever);
  }

  bool ran_out() const { return open_ < kNever; }

  std::optional<Cuts> run(std::int64_t* open) {
    if (rest_.least() >= limits_.best || stages_.none()) return std::nullopt;
    CodePromise promise{std::vector<std::uint64_t>(at(ipus_)), std::vector<std::uint64_t>(at(ipus_))};
    if (ipus_ == 1) promise.present[0] = stages_.all_rows();  // it runs everything
    stages_.keep(promise);
    first_ways_ = stages_.find_ways(std::vector<double>(at(ipus_), 1));
    if (first_ways_[0][0] >= PhaseStages::kNoWay) return std::nullopt;
    first_lacks_ddr_ = stages_.lacks_ddr();
    // Most partial cuts fall to the best one known: it is guessed ever larger until one is found.
    const auto enough = [&] { return found_ || (by_prices_ && ran_out()); };
    for (const double guess : {1.1, 1.4, 2.0}) {
      const auto cycles = static_cast<std::int64_t>(guess * static_cast<double>(rest_.least()));
      if (cycles < limits_.best && !enough()) try_below(cycles, promise);
    }
    if (!enough()) try_below(limits_.best, promise);
    if (open && open_ < best_) *open = open_;
    return std::move(found_);
  }

 private:
  static constexpr std::int64_t kNever = PhaseRest::kNever;
  static std::int64_t later(std::int64_t cycles, std::int64_t rest) { return rest == kNever ? kNever : cycles + rest; }
  using Cell = PhaseStages::Cell;
  using Ways = PhaseStages::Ways;

  // Cycles per byte of a tracked IPU group's. Cuts that keep the limits take no less than the least sum of cycles and
  // price of any cuts, less the price of the limits. Rounded so that this holds: the price of a stage down, that of the
  // limits up.
  struct Prices {
    std::vector<double> of;
    std::int64_t of_limits = 0;
    Cuts least;              // the cuts with the least sum
    std::int64_t bound = 0;  // cycles of all cuts that keep the limits: that sum, less the limits' price
    // By phase group and unit: the least sum for what follows a phase that ends there, kNever where nothing better than
    // the best cuts does. Loads are left out: they overlap with what is counted. Empty: there are no prices.
    std::vector<std::vector<std::int64_t>> rest;
  };

  const Setting& s_;
  const CutRules& rules_;
  const CutLimits& limits_;
  PhaseRest rest_;  // bounds on what is to come
  PhaseStages stages_;
  std::int64_t n_, groups_, ipus_, depth_;
  bool outer_;
  std::int64_t g_, repeats_;
  bool overlap_, hidden_, training_;
  bool only_bound_ = false, by_prices_ = false;
  std::int64_t best_ = 0;        // cycles that a cut must beat
  std::int64_t open_ = kNever;   // bound on cuts that were left out
  std::int64_t case_bound_ = 0;  // bound on the cuts of the case at hand
  std::optional<Cuts> found_;
  int programmes_ = 0;
  std::vector<std::int64_t> tracked_;  // IPU groups whose Streaming Memory is part of the state
  std::size_t most_labels_ = 0;        // of a partial cut
  Prices prices_;                      // of the case at hand
  bool pricing_ = false;               // the price is part of the cycles
  struct Edge {
    std::int64_t begin, end, group, sum;
  };
  std::vector<Edge> edges_;  // the phases of the last such programme, and their least sums
  Ways ways_, first_ways_;   // of the case at hand, and of the one that promises nothing
  bool first_lacks_ddr_ = false;
  std::vector<Ways> least_tracked_;                       // of each tracked IPU group
  Ways least_together_;                                   // of all tracked ones
  std::vector<std::optional<PhaseRest::Within>> within_;  // by where a phase began
  // Of the phases at hand: where they begin, their parts by stages, the phases, and the cuts of those that follow some
  // head, one phase's after the other's.
  std::int64_t began_ = 0;
  std::vector<ByEnd<Part>> parts_;
  ByEnd<Phase> phases_;
  std::vector<StageCut> kept_cuts_;

  void try_below(std::int64_t cycles, const CodePromise& promise) {
    best_ = cycles;
    open_ = kNever;
    programmes_ = 0;
    explore(promise, 0);
  }

  // ---- cases of what code an IPU holds

  // The best of all cuts that keep the promise; `bound`: no such cut takes less.
  void explore(const CodePromise& promise, std::int64_t bound) {
    if (bound >= best_) return;
    if (programmes_ >= kMostProgrammes) {
      open_ = std::min(open_, bound);
      return;
    }
    stages_.keep(promise);
    case_bound_ = bound;
    const bool first = programmes_++ == 0;
    ways_ = first ? first_ways_ : stages_.find_ways(std::vector<double>(at(ipus_), 1));
    if (ways_[0][0] >= PhaseStages::kNoWay) return;
    if (first ? first_lacks_ddr_ : stages_.lacks_ddr()) {
      if (stages_.counts_twice()) leave_open(bound);
      return;
    }
    // Streaming Memory is part of the state only where it turns out to be too little, IPU group by IPU group:
    // code more often decides, and without it the programme is far smaller.
    tracked_.clear();
    Prices none{std::vector<double>(at(ipus_))};  // the cuts have all the Streaming Memory they like
    prices_ = none;
    for (;;) {
      track();
      const std::int64_t open = open_;
      std::optional<Cuts> cuts;
      std::vector<std::uint64_t> rows;
      std::int64_t full = -1;
      for (const std::size_t labels : kMostLabels) {
        most_labels_ = labels;
        open_ = open;
        cuts = least_cycles();
        if (only_bound_) {
          found_ = std::move(cuts);
          return;
        }
        if (cuts) rows = rows_of(*cuts), full = settle_modes(*cuts, rows);
        if (cuts && (full >= 0 || !keep_within_ddr(*cuts))) break;
        cuts.reset();
        if (open_ == open) break;  // none was left out
      }
      if (!cuts) return;
      open_ = open;
      const std::int64_t fullest = full < 0 ? fullest_ddr(*cuts, rows) : -1;
      if (full < 0 && std::ranges::count(tracked_, fullest) > 0) full = fullest;  // it is the code that is too much
      if (full >= 0) {
        divide(promise, full, rows[at(full)], cuts->cycles);
        return;
      }
      tracked_.push_back(fullest);
      case_bound_ = std::max(case_bound_, cuts->cycles);
      if (stages_.counts_twice()) leave_open(case_bound_);
      if (tracked_.size() == 1) none.least = *cuts, none.bound = cuts->cycles;
      raise_prices(none);
      if (case_bound_ >= best_) return;
      if (by_prices_) {
        leave_open(case_bound_);
        return;
      }
    }
  }

  bool keep_within_ddr(const Cuts& cuts) {
    if (evaluate(s_, with_cuts(s_.plan(), cuts)).ddr > limits_.ddr) return false;
    best_ = cuts.cycles;
    found_ = cuts;
    return true;
  }

  void leave_open(std::int64_t bound) { open_ = std::min(open_, std::max(bound, case_bound_)); }

  // The code of each IPU.
  std::vector<std::uint64_t> rows_of(const Cuts& cuts) {
    std::vector<std::uint64_t> rows(at(ipus_));
    for (std::size_t i = 0; i < cuts.stages.size(); ++i) rows[at(cuts.stage_ipu[i])] |= stage_of(cuts, i).stage.rows;
    return rows;
  }

  // IPU group `full` has not enough room for the code of `rows`. First all of it counted; then, row by row, the
  // cuts that hold one of them less.
  void divide(const CodePromise& promise, std::int64_t full, std::uint64_t rows, std::int64_t bound) {
    std::uint64_t left = rows & ~promise.present[at(full)];
    SUPERSTEP_CHECK(left != 0, "a stage fits beside the code that was promised but not beside less");
    CodePromise some = promise;
    some.present[at(full)] |= left;
    explore(some, bound);
    some = promise;
    for (; left != 0; left &= left - 1) {
      const std::uint64_t row = left & -left;
      CodePromise without = some;
      without.absent[at(full)] |= row;
      explore(without, bound);
      some.present[at(full)] |= row;
    }
  }

  // Gives each stage the first mode that fits beside all the code of its IPU. Returns an IPU group where none does, -1
  // when all do.
  std::int64_t settle_modes(Cuts& cuts, const std::vector<std::uint64_t>& rows) {
    if (s_.code_moves()) return -1;  // each phase brings its own
    for (std::size_t i = 0; i < cuts.stages.size(); ++i) {
      const int mode = stages_.mode_beside(stage_of(cuts, i), rows[at(cuts.stage_ipu[i])]);
      if (mode < 0) return cuts.stage_ipu[i];
      cuts.recompute[i] = stages_.mode(mode);
    }
    return -1;
  }

  Cell& stage_of(const Cuts& cuts, std::size_t i) {
    return stages_.cell(cuts.stages[i], i + 1 < cuts.stages.size() ? cuts.stages[i + 1] : n_);
  }

  void track() {
    least_tracked_.clear();
    std::vector<double> together(at(ipus_), 0);
    for (std::int64_t ipu : tracked_) {
      std::vector<double> alone(at(ipus_), 0);
      alone[at(ipu)] = together[at(ipu)] = 1;
      least_tracked_.push_back(stages_.find_ways(alone));
    }
    least_together_ = stages_.find_ways(together);
  }

  // By IPU group, code excluded.
  std::vector<std::int64_t> ddr_of(const Cuts& cuts) {
    std::vector<std::int64_t> bytes(at(ipus_));
    for (std::size_t i = 0; i < cuts.stages.size(); ++i) {
      bytes[at(cuts.stage_ipu[i])] += stages_.ddr_on(stage_of(cuts, i), cuts.stage_ipu[i]);
    }
    return bytes;
  }

  std::int64_t fullest_ddr(const Cuts& cuts, const std::vector<std::uint64_t>& rows) {
    std::vector<std::int64_t> bytes = ddr_of(cuts);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += s_.stored_code(rows[i]);
    return std::max_element(bytes.begin(), bytes.end()) - bytes.begin();
  }

  // ---- prices of Streaming Memory

  static std::int64_t price(double of, std::int64_t bytes) {
    return static_cast<std::int64_t>(of * static_cast<double>(bytes));
  }

  // Cycles of a cut, and how much it is over the limits of the IPU groups whose prices rise.
  struct Point {
    double cycles, over;
  };
  Point point_of(const Cuts& cuts, const std::vector<double>& prices, const std::vector<std::int64_t>& rising) {
    Point p{static_cast<double>(cuts.cycles), 0};
    const std::vector<std::int64_t> bytes = ddr_of(cuts);
    const auto over = [&](std::int64_t ipu) { return static_cast<double>(bytes[at(ipu)] - stages_.ddr_limit(ipu)); };
    for (std::int64_t ipu = 0; ipu < ipus_; ++ipu) p.cycles += prices[at(ipu)] * over(ipu);
    for (std::int64_t ipu : rising) p.over += over(ipu);
    return p;
  }

  // Prices that bound the case well: that of all tracked IPU groups together, then of single ones.
  void raise_prices(const Prices& none) {
    if (Prices together = raised(none, tracked_); together.bound > prices_.bound) prices_ = std::move(together);
    for (std::size_t i = 1; i < tracked_.size() && prices_.bound < best_; ++i) {
      const auto over = [&, bytes = ddr_of(prices_.least)](std::int64_t ipu) {
        return bytes[at(ipu)] - stages_.ddr_limit(ipu);
      };
      Prices more = raised(prices_, {*std::ranges::max_element(tracked_, {}, over)});
      if (more.bound <= prices_.bound) break;
      prices_ = std::move(more);
    }
    case_bound_ = std::max(case_bound_, std::min(best_, prices_.bound));
  }

  // The prices of some IPU groups raised together until they bound the case best, or it is closed. The least sum is
  // concave in them: each next price is where a cut over the limits and one within them sum to the same.
  Prices raised(const Prices& from, const std::vector<std::int64_t>& rising) {
    Prices best = from;
    Point high = point_of(from.least, from.of, rising);
    Point low{static_cast<double>(std::min(best_, kMostRise * from.least.cycles)), 0};
    const double most = kMostRise * high.cycles / std::max(1.0, static_cast<double>(limits_.ddr));
    for (int step = 0; step < kMostPrices && high.over > 0 && best.bound < best_; ++step) {
      const double rise = std::clamp((low.cycles - high.cycles) / (high.over - low.over), 0.0, most);
      Prices next{from.of};
      for (std::int64_t ipu : rising) next.of[at(ipu)] += rise;
      find_least(next);
      if (next.bound == kNever) return next;
      const Point p = point_of(next.least, from.of, rising);
      const double line = high.cycles + rise * high.over;
      const bool is_best = p.cycles + rise * p.over >= line - 1e-9 * std::abs(line);
      if (next.bound > best.bound) best = std::move(next);
      if (is_best) break;
      (p.over > 0 ? high : low) = p;
    }
    return best;
  }

  // Cuts with the least sum, and what these prices bound: kNever where nothing is better than the best cuts. They may
  // be the best themselves.
  void find_least(Prices& prices) {
    for (std::int64_t ipu : tracked_) {
      const double of_limit = prices.of[at(ipu)] * static_cast<double>(stages_.ddr_limit(ipu));
      prices.of_limits += static_cast<std::int64_t>(std::ceil(of_limit));
    }
    edges_.clear();
    pricing_ = true;
    const std::vector<std::int64_t> tracked = std::exchange(tracked_, {});
    const Prices before = std::exchange(prices_, prices);
    const std::int64_t best = best_;
    best_ = best > kNever - prices.of_limits ? kNever : best + prices.of_limits;
    std::int64_t sum = kNever;
    std::optional<Cuts> cuts = least_cycles(&sum);
    best_ = best;
    prices_ = before;
    tracked_ = tracked;
    pricing_ = false;
    prices.bound = cuts ? sum - prices.of_limits : kNever;
    if (!cuts) return;
    prices.rest.assign(at(groups_), std::vector<std::int64_t>(at(n_) + 1, kNever));
    for (std::vector<std::int64_t>& rest : prices.rest) rest.back() = 0;
    for (auto e = edges_.rbegin(); e != edges_.rend(); ++e) {
      const std::int64_t behind = prices.rest[at((e->group + 1) % groups_)][at(e->end)];
      std::int64_t& rest = prices.rest[at(e->group)][at(e->begin)];
      rest = std::min(rest, later(e->sum, behind));
    }
    prices.least = *cuts;
    if (cuts->cycles < best_ && settle_modes(*cuts, rows_of(*cuts)) < 0) keep_within_ddr(*cuts);
  }

  // ---- phase after phase

  using Heads = std::vector<std::vector<std::vector<Head>>>;  // by phases so far (modulo groups when free), end

  std::optional<Cuts> least_cycles(std::int64_t* sum = nullptr) {
    const bool counted = rules_.phase_count > 0;
    const auto rows = at(counted ? rules_.phase_count + 1 : groups_);
    kept_cuts_.clear();
    Heads heads(rows, std::vector<std::vector<Head>>(at(n_) + 1));
    heads[0][0].push_back(Head{});
    heads[0][0][0].ddr.assign(tracked_.size(), 0);
    for (std::int64_t u = 0; u < n_; ++u) {
      for (std::int64_t group = 0; group < groups_; ++group) {
        if (ways_[at(group * depth_)][at(u)] < PhaseStages::kNoWay) extend(heads, u, group);
      }
    }
    const Head* best = nullptr;
    for (std::size_t c = counted ? rows - 1 : 0; c < rows; ++c) {
      for (const Head& h : heads[c].back()) {
        if (!best || h.cycles + h.forward < best->cycles + best->forward) best = &h;
      }
    }
    if (!best) return std::nullopt;
    if (sum) *sum = best->cycles + best->forward;
    return cuts_of(heads, *best);
  }

  // All phases that begin at `u` on a group of IPU groups, behind every head that ends there.
  void extend(Heads& heads, std::int64_t u, std::int64_t group) {
    const std::size_t end = rules_.phase_count > 0 ? heads.size() - 1 : heads.size();
    std::int64_t before = kNever;
    for (auto c = at(group); c < end; c += at(groups_)) {
      for (const Head& h : heads[c][at(u)]) before = std::min(before, h.cycles + h.forward);
    }
    if (before == kNever || later(before, rest_.from(u)) >= best_) return;
    phases_from(u, group, before);
    if (pricing_) {
      phases_.for_each([&](std::int64_t v, const std::vector<Phase>& phases) {
        for (const Phase& p : phases) edges_.push_back({u, v, group, p.fixed + p.forward + p.backward});
      });
    }
    for (auto c = at(group); c < end; c += at(groups_)) {
      const std::size_t to = rules_.phase_count > 0 ? c + 1 : (c + 1) % at(groups_);
      const std::vector<Head>& from = heads[c][at(u)];
      for (std::size_t k = 0; k < from.size(); ++k) {
        phases_.for_each([&](std::int64_t v, std::vector<Phase>& phases) {
          for (Phase& phase : phases) append(heads[to][at(v)], from[k], phase, {u, v, group, c, k});
        });
      }
    }
  }

  struct Place {
    std::int64_t begin, end, group;
    std::size_t count, head;
  };
  void append(std::vector<Head>& to, const Head& from, Phase& phase, const Place& place) {
    Head h;
    h.cycles = phase.fixed;
    if (place.begin > 0)
      h.cycles +=
          from.cycles + std::max(from.forward, phase.load) + (training_ ? std::max(phase.backward, from.load) : 0);
    h.forward = phase.forward;
    h.load = phase.load;
    h.price = from.price + phase.price;
    h.bound = later(h.cycles + h.forward, rest_.from(place.end));
    if (!prices_.rest.empty()) {
      const std::int64_t rest = prices_.rest[at((place.group + 1) % groups_)][at(place.end)];
      h.bound = std::max(h.bound, later(h.cycles + h.forward + h.price - prices_.of_limits, rest));
    }
    if (h.bound >= best_) return;
    std::int64_t room = 0;
    for (std::size_t i = 0; i < phase.ddr.size(); ++i) {
      const std::int64_t left = stages_.ddr_limit(tracked_[i]) - from.ddr[i] - phase.ddr[i];
      const double behind = stages_.least_behind(least_tracked_[i], place.group * depth_, place.end);
      if (static_cast<double>(left) < behind) return;
      room += left;
    }
    if (!tracked_.empty() &&
        static_cast<double>(room) < stages_.least_behind(least_together_, place.group * depth_, place.end))
      return;
    for (std::size_t i = 0; i < phase.ddr.size(); ++i) {
      // What can no longer reach the limit is all the same.
      h.ddr.push_back(
          std::max(from.ddr[i] + phase.ddr[i], stages_.ddr_limit(tracked_[i]) - stages_.most_ddr(place.end)));
    }
    h.from = place.begin;
    h.count = place.count;
    h.head = place.head;
    if (std::any_of(to.begin(), to.end(), [&](const Head& other) { return other.no_worse(h); })) return;
    std::erase_if(to, [&](const Head& other) { return h.no_worse(other); });
    if (!tracked_.empty() && to.size() >= most_labels_) {
      const auto last = std::ranges::max_element(to, {}, &Head::bound);
      leave_open(std::max(h.bound, last->bound));
      if (h.bound >= last->bound) return;
      to.erase(last);
    }
    keep_cuts(phase);
    h.stages = phase.stages;
    h.cuts = phase.cuts;
    to.push_back(std::move(h));
  }

  Cuts cuts_of(const Heads& heads, const Head& last) const {
    std::vector<const Head*> phases;
    for (const Head* h = &last; h->from >= 0; h = &heads[h->count][at(h->from)][h->head])
      phases.insert(phases.begin(), h);
    Cuts cuts;
    for (std::size_t j = 0; j < phases.size(); ++j) {
      cuts.phases.push_back(static_cast<std::int64_t>(cuts.stages.size()));
      std::int64_t ipu = groups_ == 2 && j % 2 == 1 ? depth_ : 0;  // with two groups, phases alternate
      for (std::int64_t i = 0; i < phases[j]->stages; ++i) {
        const StageCut& stage = kept_cuts_[at(phases[j]->cuts + i)];
        cuts.stages.push_back(stage.begin);
        cuts.recompute.push_back(stage.mode);
        cuts.stage_ipu.push_back(ipu++);
      }
    }
    cuts.cycles = evaluate(s_, with_cuts(s_.plan(), cuts)).cycles;
    return cuts;
  }

  // ---- one phase, stage after stage

  // Phases that begin at `u`, `before` cycles into the step at the earliest.
  void phases_from(std::int64_t u, std::int64_t group, std::int64_t before) {
    if (!within_[at(u)]) within_[at(u)] = rest_.within(u);
    began_ = u;
    for (ByEnd<Part>& parts : parts_) parts.clear();
    phases_.clear();
    parts_[0][u].resize(1);
    parts_[0][u][0].ddr.assign(tracked_.size(), 0);
    for (std::int64_t i = 0; i < depth_; ++i) {
      const std::int64_t ipu = group * depth_ + i;
      parts_[at(i)].for_each([&](std::int64_t w, const std::vector<Part>& parts) {
        stages_.for_stages(ipu, w, [&](const Cell& cell, int mode) {
          const std::int64_t v = cell.end;
          Part stage;
          stage.from = static_cast<std::int32_t>(cell.begin);
          stage.mode = stages_.mode(mode);
          stage.load = cell.load;
          stage.copy = i > 0 ? s_.copy_cycles(cell.begin) : 0;
          if (training_) stage.fixed = tied_cycles(cell, ipu);
          (pricing_ ? stage.fixed : stage.price) += price(prices_.of[at(ipu)], stages_.ddr_on(cell, ipu));
          for (std::int64_t k : tracked_) stage.ddr.push_back(k == ipu ? stages_.ddr_on(cell, ipu) : 0);
          if (stages_.least_within(ways_, ipu, v) < PhaseStages::kNoWay) join(parts, cell.stage, stage, v, i, before);
          // One phase alone is a pipeline, not phased execution.
          if (stages_.least_behind(ways_, ipu, v) < PhaseStages::kNoWay && !(u == 0 && v == n_))
            close(parts, cell.stage, stage, u, v, i, before, phases_[v]);
        });
      });
    }
  }

  // Owners are taken to be on the first IPU group, in another phase, as the embedding is.
  std::int64_t tied_cycles(const Cell& cell, std::int64_t ipu) const {
    std::int64_t cycles = 0;
    for (const auto& [owner, borrower] : s_.table().facts().tied) {
      const bool borrows = borrower >= cell.begin && borrower < cell.end && owner < cell.begin;
      if (borrows) cycles += s_.tied_cycles({owner, borrower, 0, ipu, false, 0, 1});
    }
    return cycles;
  }

  // A part with one stage more, the (i + 1)-th of its phase.
  Part joined(const Part& part, const Setting::Stage& x, const Part& stage) const {
    Part p = stage;
    p.forward = std::max(part.forward, x.busy_forward(overlap_));
    p.backward = std::max(part.backward, training_ ? x.busy_backward(overlap_) : 0);
    p.load = std::max(part.load, stage.load);
    p.update = std::max(part.update, x.update);
    p.weights = outer_ ? 0 : std::max(part.weights, x.weights);
    p.copy = std::max(part.copy, stage.copy);
    p.fixed = part.fixed + stage.fixed;
    p.price = part.price + stage.price;
    for (std::size_t k = 0; k < p.ddr.size(); ++k) p.ddr[k] += part.ddr[k];
    return p;
  }

  void join(const std::vector<Part>& parts, const Setting::Stage& x, const Part& stage, std::int64_t v, std::int64_t i,
            std::int64_t before) {
    const std::size_t length = at(v - began_);
    const PhaseRest::Within& within = *within_[at(began_)];
    if (length >= within.whole.size() || later(before, within.whole[length]) >= best_) return;
    const std::int64_t slots = (g_ + i) * repeats_;
    const auto bound_of = [&](std::int64_t forward, std::int64_t backward) {
      return later(before + slots * (forward + backward), within.behind[length]);
    };
    if (bound_of(x.busy_forward(overlap_), training_ ? x.busy_backward(overlap_) : 0) >= best_) return;
    std::vector<Part>& to = parts_[at(i) + 1][v];
    for (std::size_t k = 0; k < parts.size(); ++k) {
      Part p = joined(parts[k], x, stage);
      const std::int64_t bound = bound_of(p.forward, p.backward);
      if (bound >= best_) continue;
      p.part = static_cast<std::int32_t>(k);
      if (!tracked_.empty() && to.size() >= most_labels_)
        leave_open(bound);
      else
        offer(to, std::move(p));
    }
  }

  // Phases whose last stage ends at `v`: only they know what leaves the phase.
  void close(const std::vector<Part>& parts, Setting::Stage x, const Part& stage, std::int64_t u, std::int64_t v,
             std::int64_t i, std::int64_t before, std::vector<Phase>& to) const {
    s_.leave_phase(x, v, v < n_);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Part p = joined(parts[k], x, stage);
      const std::int64_t per_cycle = p.copy + s_.micro_batch_fixed() + (i > 0 ? s_.cycle_fixed() : 0);
      Phase phase;
      phase.forward = repeats_ * (g_ + i) * (p.forward + per_cycle);
      phase.backward = training_ ? repeats_ * (g_ + i) * (p.backward + per_cycle) : 0;
      phase.load = repeats_ * p.load;
      phase.fixed = p.fixed;
      if (training_) phase.fixed += p.update + s_.update_fixed() + (outer_ ? 0 : repeats_ * s_.spill_cycles(p.weights));
      if (!hidden_) {  // the last phase stays for its backward
        phase.fixed += phase.forward + phase.backward + phase.load * (training_ && v < n_ ? 2 : 1);
        phase.forward = phase.backward = phase.load = 0;
      } else if (u == 0) {  // nothing hides the first load, which also stays for the next micro-batch
        phase.fixed += phase.backward + p.load;
        phase.backward = 0;
      }
      if (later(before + phase.fixed + phase.forward + phase.backward, rest_.from(v)) >= best_) continue;
      phase.ddr = p.ddr;
      phase.price = p.price;
      phase.stages = i + 1;
      phase.last = stage.from;
      phase.part = static_cast<std::int32_t>(k);
      phase.mode = stage.mode;
      offer(to, std::move(phase));
    }
  }

  void keep_cuts(Phase& phase) {
    if (phase.cuts >= 0) return;
    phase.cuts = std::ssize(kept_cuts_);
    kept_cuts_.resize(kept_cuts_.size() + at(phase.stages));
    StageCut last{phase.last, phase.mode};
    std::int32_t k = phase.part;
    for (std::int64_t i = phase.stages - 1;; --i) {
      kept_cuts_[at(phase.cuts + i)] = last;
      if (i == 0) return;
      const Part& p = parts_[at(i)][last.begin][at(k)];
      last = {p.from, p.mode};
      k = p.part;
    }
  }
};

}  // namespace

std::int64_t bound_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits, bool* exact) {
  PhaseCut cut(setting, rules, limits);
  const std::int64_t bound = cut.bound();
  if (exact) *exact = !cut.ran_out();
  return bound;
}

std::int64_t bound_phases_by_prices(const Setting& setting, const CutRules& rules, const CutLimits& limits) {
  return PhaseCut(setting, rules, limits).bound_by_prices();
}

std::optional<Cuts> cut_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                               std::int64_t* open) {
  return PhaseCut(setting, rules, limits).run(open);
}

}  // namespace superstep
