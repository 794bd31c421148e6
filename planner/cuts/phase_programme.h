// SPDX-License-Identifier: Apache-2.0
// The least cycles of phases one after the other, each spread over the IPU groups, and the cuts that take them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/cuts/cuts.h"
#include "planner/cuts/phase_labels.h"
#include "planner/cuts/phase_rest.h"
#include "planner/cuts/phase_stages.h"
#include "planner/job/job.h"

namespace superstep {

// Prices of what is kept outside of tiles. Cuts that keep its limits take no less than the least sum of cycles and
// price of any cuts, less the price of the limits. Rounded so that this holds: the price of a stage down, that of the
// limits up.
struct Prices {
  std::vector<double> of;      // cycles per byte, by account of PhaseStages
  std::int64_t of_limits = 0;  // cycles
  Cuts least;                  // the cuts with the least sum
  std::int64_t bound = 0;      // cycles of all cuts that keep the limits: that sum, less the limits' price
  // By phase group and unit: the least sum for what follows a phase that ends there, kNever where nothing better than
  // the best cuts does. Loads are left out: they overlap with what is counted. Empty: not known.
  std::vector<std::vector<std::int64_t>> rest;
};

class PhaseProgramme {
 public:
  static constexpr std::int64_t kNever = PhaseRest::kNever;

  PhaseProgramme(const Setting& setting, const CutRules& rules, const CutLimits& limits);
  ~PhaseProgramme();

  PhaseStages& stages() { return stages_; }
  const PhaseRest& rest() const { return rest_; }
  std::int64_t work() const { return work_; }  // of all runs, as comparisons of two partial cuts
  bool late() const { return std::chrono::steady_clock::now() > deadline_; }

  // What all runs have until the next call: stages by an assumption that stages() keeps, of which `ways` lead to the
  // end, the accounts `tracked` whose limits count, without a price or with one, and the IPU groups `counted` of which
  // all that is kept through the phases does: of others each stage counts its own.
  void set(const PhaseStages::Ways& ways, const std::vector<std::int64_t>& tracked,
           const std::vector<std::int64_t>& counted = {});

  struct Found {
    std::optional<Cuts> cuts;        // none: nothing takes less than was asked for
    std::int64_t left_out = kNever;  // no cut that fell to `most_labels` takes less
  };
  // The cuts with the least cycles below `best` that keep the limits of what is tracked and counted. Prices let
  // partial cuts fall, of which no more than `most_labels` are kept where anything is.
  Found least_cycles(const Prices& prices, std::int64_t best, std::size_t most_labels);
  // Cycles of the cuts that take least if limits are no matter; kNever: none takes less than `best`; none: it takes
  // more work than there is.
  std::optional<std::int64_t> least_sum(std::int64_t best);
  // The cuts with the least sum of cycles and price, whatever they take, and what it bounds. What `prices.rest` says
  // before must hold where nothing has a price.
  // `bound` kNever: no cuts that keep the limits take less than `best`. False: it takes more work than there is.
  bool find_least_sum(Prices& prices, std::int64_t best);

 private:
  using Cell = PhaseStages::Cell;
  using Ways = PhaseStages::Ways;
  using Part = phase_labels::Part;
  using Phase = phase_labels::Phase;
  using Head = phase_labels::Head;
  using Sizes = phase_labels::Sizes;
  using Holdings = phase_labels::Holdings;
  using Heads = std::vector<std::vector<std::vector<Head>>>;  // by row of RowsOfPhases, end

  // How many phases there are so far, as far as it matters: up to the most there may be, or the least, from where on
  // only the group that is next does.
  struct RowsOfPhases {
    const IntegerPin* pin;  // null: free
    std::size_t least, groups;
    bool bounded;
    std::size_t count;
    RowsOfPhases(const IntegerPin* pin, std::int64_t units, std::int64_t groups);
    std::size_t extended() const { return bounded ? count - 1 : count; }  // those that another phase may follow
    std::size_t next(std::size_t row) const { return row + 1 < count ? row + 1 : count - groups; }
    bool may_end(std::size_t row) const { return bounded ? pin->allows(static_cast<std::int64_t>(row)) : row >= least; }
  };

  const Setting& s_;
  const CutRules& rules_;
  PhaseRest rest_;  // bounds on what is to come
  PhaseStages stages_;
  const EqualRuns& runs_;
  std::int64_t n_, groups_, depth_;
  const RowsOfPhases rows_;
  bool outer_;
  std::int64_t g_, repeats_;
  bool overlap_, hidden_, training_;
  Ways ways_;
  std::vector<PhaseStages::WaysOn> ways_on_;
  std::vector<std::int64_t> tracked_, counted_;
  std::vector<Ways> least_tracked_;                       // of each tracked account
  Ways least_together_;                                   // of all of them
  std::vector<std::optional<PhaseRest::Within>> within_;  // by where a phase began
  // A unit that uses a weight of an earlier one, and cycles per step that it takes where that is in its phase, or in an
  // earlier one on its IPU group or on another.
  struct Borrower {
    std::int64_t unit = 0, owner = 0, in_phase = 0, on_ipu = 0, elsewhere = 0;
  };
  std::vector<Borrower> borrowers_;  // in order; in training
  // Of the run at hand.
  const Prices* prices_ = nullptr;
  bool pricing_ = false;  // the price is part of the cycles
  // What is part of a label: what an account holds, and then whether that are certain shared weights.
  struct Entry {
    std::int64_t account;
    std::uint64_t shared;  // 0: all others, in bytes
  };
  std::vector<Entry> state_;
  std::vector<std::int64_t> held_state_;  // IPU groups of which what they keep is
  std::int64_t best_ = 0;                 // what a cut must beat
  std::size_t most_labels_ = 0;           // of a partial cut
  std::int64_t left_out_ = kNever;
  // Of all runs so far. Beyond the most, or the deadline, they end with nothing.
  const std::int64_t most_work_;  // 0: no limit
  const std::chrono::steady_clock::time_point deadline_;
  std::int64_t work_ = 0;
  static constexpr std::int64_t kWorkOfLabel = 16;  // to make a partial cut, before it is compared
  struct Edge {
    std::int64_t begin, end, group, sum;
  };
  std::vector<Edge> edges_;  // with prices: all phases, and their least sums
  // The phases that begin at a unit on a group of IPU groups: none that ends behind `last`, or is part of nothing
  // better than the best cuts where the step is `before` cycles old.
  struct Start {
    explicit Start(std::int64_t depth) : parts(static_cast<std::size_t>(depth)) {}
    std::int64_t begin = -1, last = 0, before = 0;
    std::vector<phase_labels::ByEnd<Part>> parts;  // by stages
    phase_labels::ByEnd<Phase> phases;
  };
  Start start_;  // at hand
  Heads heads_;
  // By group and first unit, as a run, where several units begin equal runs: their phases are equal too.
  std::map<std::pair<std::int64_t, std::size_t>, Start> known_;
  std::vector<bool> recurs_;       // by unit: such a one
  std::deque<Holdings> holdings_;  // of all labels of the run
  // The cuts of phases that follow some head, one phase's after the other's.
  std::vector<phase_labels::StageCut> kept_cuts_;

  // Where a phase ends, and behind which head it stands.
  struct Place {
    std::int64_t begin, end, group;
    std::size_t count, head;
  };
  static Heads& spare_heads();
  void find_borrowers();
  const Head* run();
  // No cuts take less that begin with phases up to `end`, the last on `group`, of so many cycles and price.
  std::int64_t with_rest(std::int64_t cycles, std::int64_t group, std::int64_t end) const {
    if (prices_->rest.empty()) return 0;
    const std::vector<std::int64_t>& rest = prices_->rest[static_cast<std::size_t>((group + 1) % groups_)];
    return phase_labels::later(cycles - prices_->of_limits, rest[static_cast<std::size_t>(end)]);
  }
  void extend(std::int64_t u, std::int64_t group);
  bool limits_labels() const { return !state_.empty() || !held_state_.empty(); }
  bool exhausted() const { return (most_work_ > 0 && work_ > most_work_) || late(); }
  template <class Label>
  void offer_with(std::vector<Label>& to, Label&& label, const Holdings* a, const Holdings* b);
  bool within_limits(const Head& from, const Phase& phase, const Place& place, Sizes& sums);
  phase_labels::Held held_on(const Cell& cell, std::int64_t ipu);
  bool room_on_tiles(Holdings& all, std::int64_t end);
  bool room_for_rest(const Holdings& all, std::int64_t end);
  void append(std::vector<Head>& to, const Head& from, const Start& start, Phase& phase, const Place& place);
  static std::int64_t sum(const Head& last) { return last.cycles + last.forward; }
  Cuts cuts_of(const Head& last) const;
  Start& phases_from(std::int64_t u, std::int64_t group, std::int64_t before, std::int64_t last);
  bool covers(const Start& known, std::int64_t u, std::int64_t group, std::int64_t before, std::int64_t last) const;
  void find_phases(Start& start, std::int64_t group);
  // Cycles per micro-batch, of both passes.
  std::int64_t busy(const Setting::Stage& x) const {
    return x.busy_forward(overlap_) + (training_ ? x.busy_backward(overlap_) : 0);
  }
  std::int64_t taken(const Entry& e, const Cell& cell, std::int64_t ipu, std::int64_t phase) const;
  std::int64_t tied_cycles(std::int64_t phase, const Cell& cell, std::int64_t ipu) const;
  Part joined(const Part& part, const Setting::Stage& x, const Part& stage) const;
  void join(Start& start, const std::vector<Part>& parts, const Setting::Stage& x, const Part& stage, std::int64_t v,
            std::int64_t i);
  void close(Start& start, const std::vector<Part>& parts, Setting::Stage x, const Part& stage, std::int64_t v,
             std::int64_t i);
  void keep_cuts(const Start& start, Phase& phase);
};

}  // namespace superstep
