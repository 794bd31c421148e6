// SPDX-License-Identifier: Apache-2.0
// Label-setting dynamic programme over phases one after the other, each cut into stages on the IPU groups of its phase
// group. Finds the fastest cuts, and lower bounds on the cycles of all cuts.
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

// Lagrangian prices of bytes kept outside of the tiles, and the lower bound they give. Cuts within the limits take no
// fewer cycles than the least sum of cycles and price over all cuts, less the price of the limits. The price of a stage
// is rounded down and the price of the limits is rounded up, so that the bound holds.
struct Prices {
  std::vector<double> of;      // cycles per byte, by account of PhaseStages
  std::int64_t of_limits = 0;  // cycles: price of the limits of all tracked accounts
  Cuts least;                  // the cuts with the least sum of cycles and price
  std::int64_t bound = 0;      // lower bound on the cycles of cuts within the limits: the least sum less `of_limits`
  // Suffix bounds, by phase group and unit: least sum of cycles and price of the phases from the unit on. The first of
  // these phases is on the phase group. kNever: no such phases are part of cuts below the incumbent. Loads that may
  // hide behind other phases are left out. Empty: not known.
  std::vector<std::vector<std::int64_t>> rest;
};

// The programme of one setting, for any number of runs. set() gives the bounds and the state; least_cycles(),
// least_sum() and find_least_sum() each run the programme. All runs share one budget of work (CutLimits::most_work) and
// one deadline.
class PhaseProgramme {
 public:
  static constexpr std::int64_t kNever = PhaseRest::kNever;

  PhaseProgramme(const Setting& setting, const CutRules& rules, const CutLimits& limits);
  ~PhaseProgramme();

  PhaseStages& stages() { return stages_; }
  const PhaseRest& rest() const { return rest_; }
  std::int64_t work() const { return work_; }  // of all runs so far, in comparisons of two labels
  // True if the deadline has passed.
  bool late() const { return std::chrono::steady_clock::now() > deadline_; }

  // Sets what all runs use until the next call. `bounds` are PhaseStages::find_suffix_bounds() under the assumption
  // that stages() keeps: stages that no feasible stages follow are left out. `tracked` are the accounts whose limits
  // hold, by labels or by prices. `counted` are the IPU groups whose whole load is in labels. On any other IPU group a
  // stage counts only its own load.
  void set(const PhaseStages::SuffixBounds& bounds, const std::vector<std::int64_t>& tracked,
           const std::vector<std::int64_t>& counted = {});

  struct Found {
    std::optional<Cuts> cuts;        // nullopt: no cuts below `best` were found
    std::int64_t left_out = kNever;  // lower bound on the cycles of all cuts dropped because of `most_labels`
  };
  // Finds the fastest cuts below `best` cycles within the limits of what is tracked and counted. Labels are pruned by
  // the bounds of `prices`. If anything is tracked or counted, each list keeps at most `most_labels` labels. Where the
  // work or the time is exhausted, `cuts` is nullopt and `left_out` is 0.
  Found least_cycles(const Prices& prices, std::int64_t best, std::size_t most_labels);
  // Returns the cycles of the fastest cuts if no limit holds but those of single stages. kNever: no cuts take less than
  // `best`. nullopt: the work or the time is exhausted.
  std::optional<std::int64_t> least_sum(std::int64_t best);
  // Finds the cuts with the least sum of cycles and price, within no limits but those of single stages. Reads
  // `prices.of` and sets the other fields. `prices.rest` is read first, to prune labels, and must be empty or hold for
  // prices of 0. If no cuts within the limits take less than `best`, `bound` is kNever, and `least` and `rest` stay.
  // Returns false if the work or the time is exhausted; `prices.bound` then bounds nothing.
  bool find_least_sum(Prices& prices, std::int64_t best);

 private:
  using StageOption = PhaseStages::StageOption;
  using SuffixBounds = PhaseStages::SuffixBounds;
  using StageLabel = phase_labels::StageLabel;
  using PhaseLabel = phase_labels::PhaseLabel;
  using CutLabel = phase_labels::CutLabel;
  using Sizes = phase_labels::Sizes;
  using HeldLoads = phase_labels::HeldLoads;
  using CutLabels = std::vector<std::vector<std::vector<CutLabel>>>;  // by row of RowsOfPhases, end

  // Rows of cut labels, by the number of phases so far. With a pinned maximum each number has its own row. Without a
  // maximum, only the numbers below the pinned least have their own rows. All larger numbers share one row for each
  // phase group that may be next.
  struct RowsOfPhases {
    const IntegerPin* pin;      // pinned numbers of phases; null: free
    std::size_t least, groups;  // least number of phases, 0 for any; phase groups
    bool bounded;               // the pin has a maximum
    std::size_t count;          // rows
    RowsOfPhases(const IntegerPin* pin, std::int64_t units, std::int64_t groups);
    // Number of rows, from the first row on, that another phase may follow.
    std::size_t extended() const { return bounded ? count - 1 : count; }
    // Row after one more phase.
    std::size_t next(std::size_t row) const { return row + 1 < count ? row + 1 : count - groups; }
    // True if the cut may have as many phases as the labels of the row.
    bool may_end(std::size_t row) const { return bounded ? pin->allows(static_cast<std::int64_t>(row)) : row >= least; }
  };

  const Setting& s_;
  const CutRules& rules_;
  PhaseRest rest_;  // suffix bounds on the cycles of phases
  PhaseStages stages_;
  const EqualRuns& runs_;
  std::int64_t n_, groups_, depth_;  // units, phase groups, IPU groups of a phase group
  const RowsOfPhases rows_;
  bool outer_;                            // PhaseOrder::phase_outer
  std::int64_t micro_batches_, repeats_;  // micro-batches that run through a phase in a row, and how often per step
  bool overlap_, loads_hide_, training_;  // boundaries move while tiles compute; loads hide behind neighbouring phases
  SuffixBounds suffix_bounds_;            // as given to set()
  std::vector<PhaseStages::Continuations> continuations_;
  std::vector<std::int64_t> tracked_, counted_;
  std::vector<SuffixBounds> least_tracked_;               // least bytes of each tracked account, in order of tracked_
  SuffixBounds least_all_tracked_;                        // least bytes of all tracked accounts together
  std::vector<std::optional<PhaseRest::Within>> within_;  // by first unit of a phase; nullopt: not computed yet
  // A unit that uses a tied weight of an earlier unit (its owner), and the cycles per step for that. These depend on
  // the owner's place: in the borrower's phase, in an earlier phase on its IPU group, or elsewhere in an earlier phase.
  struct Borrower {
    std::int64_t unit = 0, owner = 0, in_phase = 0, on_ipu = 0, elsewhere = 0;
  };
  std::vector<Borrower> borrowers_;  // by growing unit; empty for inference
  // ---- of the current run
  const Prices* prices_ = nullptr;
  bool pricing_ = false;  // true if labels count the price of a stage as cycles, in StageLabel::fixed
  // One element of a label's Sizes. A tracked account has one entry for its bytes, shared weights excluded, and then
  // one entry for each shared weight.
  struct Entry {
    std::int64_t account;
    std::uint64_t shared;  // bit of the shared weight; 0: the entry is in bytes
  };
  std::vector<Entry> state_;
  std::vector<std::int64_t> held_state_;  // IPU groups whose load is part of a label; empty: labels have no holdings
  std::int64_t best_ = 0;                 // incumbent: cycles, or sum with price, that cuts must stay below
  std::size_t most_labels_ = 0;           // most labels in a list, where labels have sizes or holdings
  std::int64_t left_out_ = kNever;        // as Found::left_out
  // ---- of all runs so far. A run that exceeds the work or the deadline finds nothing
  const std::int64_t most_work_;  // 0: no limit
  const std::chrono::steady_clock::time_point deadline_;
  std::int64_t work_ = 0;
  static constexpr std::int64_t kWorkOfLabel = 16;  // work to make a label, before the label is compared
  struct Edge {
    std::int64_t begin, end, group, sum;
  };
  std::vector<Edge> edges_;  // with pricing_: all phases, `sum` of cycles and price without loads that may hide
  // All phases that begin at unit `begin` on one phase group, and their partial phases. Two kinds are left out: phases
  // that end after `last`, and phases pruned by the incumbent if the phases before take `before` cycles.
  struct PhasesFrom {
    explicit PhasesFrom(std::int64_t depth) : parts(static_cast<std::size_t>(depth)) {}
    std::int64_t begin = -1, last = 0, before = 0;       // begin -1: nothing found in this run
    std::vector<phase_labels::ByEnd<StageLabel>> parts;  // by number of stages
    phase_labels::ByEnd<PhaseLabel> phases;
  };
  PhasesFrom start_;  // of a first unit whose phases are not kept for equal units
  CutLabels cut_labels_;
  // Phases kept for units that begin equal runs, as their phases are equal too. By phase group and run number of the
  // first unit.
  std::map<std::pair<std::int64_t, std::size_t>, PhasesFrom> known_;
  std::vector<bool> recurs_;        // by unit: true if another unit has an equal run, so that known_ keeps its phases
  std::deque<HeldLoads> holdings_;  // of all labels of the run; a deque keeps their addresses
  // Stages of all phases that are part of a cut label, phase after phase.
  std::vector<phase_labels::StageCut> kept_cuts_;

  // Place of a phase: its units [begin, end), its phase group, and the row and position of the cut label before it.
  struct Place {
    std::int64_t begin, end, group;
    std::size_t count, previous;
  };
  static CutLabels& spare_cut_labels();
  void find_borrowers();
  const CutLabel* run();
  // Returns a lower bound by prices on the cycles of all cuts that begin with certain phases. The phases end at unit
  // `end`, the last one on phase group `group`, and `cycles` is their sum of cycles and price. 0 where Prices::rest is
  // empty.
  std::int64_t with_rest(std::int64_t cycles, std::int64_t group, std::int64_t end) const {
    if (prices_->rest.empty()) return 0;
    const std::vector<std::int64_t>& rest = prices_->rest[static_cast<std::size_t>((group + 1) % groups_)];
    return phase_labels::plus_bound(cycles - prices_->of_limits, rest[static_cast<std::size_t>(end)]);
  }
  void extend(std::int64_t u, std::int64_t group);
  // True if labels have sizes or holdings: then most_labels_ limits the lists.
  bool limits_labels() const { return !state_.empty() || !held_state_.empty(); }
  // True if the work or the time is used up.
  bool exhausted() const { return (most_work_ > 0 && work_ > most_work_) || late(); }
  template <class Label>
  void offer_with(std::vector<Label>& to, Label&& label, const HeldLoads* a, const HeldLoads* b);
  bool within_limits(const CutLabel& from, const PhaseLabel& phase, const Place& place, Sizes& sums);
  phase_labels::HeldLoad held_on(const StageOption& option, std::int64_t ipu);
  bool room_on_tiles(HeldLoads& all, std::int64_t end);
  bool room_for_rest(const HeldLoads& all, std::int64_t end);
  void append(std::vector<CutLabel>& to, const CutLabel& from, const PhasesFrom& start, PhaseLabel& phase,
              const Place& place);
  // Cycles of the phases of a label (and price with pricing_), as if no phase followed.
  static std::int64_t sum(const CutLabel& last) { return last.cycles + last.forward; }
  Cuts cuts_of(const CutLabel& last) const;
  PhasesFrom& phases_from(std::int64_t u, std::int64_t group, std::int64_t before, std::int64_t last);
  bool has_all_phases(const PhasesFrom& known, std::int64_t u, std::int64_t group, std::int64_t before,
                      std::int64_t last) const;
  void find_phases(PhasesFrom& start, std::int64_t group);
  // Cycles per micro-batch of both passes of a stage, moves of boundaries included.
  std::int64_t busy(const Setting::Stage& x) const {
    return x.busy_forward(overlap_) + (training_ ? x.busy_backward(overlap_) : 0);
  }
  std::int64_t taken(const Entry& e, const StageOption& option, std::int64_t ipu, std::int64_t phase) const;
  std::int64_t tied_cycles(std::int64_t phase, const StageOption& option, std::int64_t ipu) const;
  StageLabel joined(const StageLabel& part, const Setting::Stage& x, const StageLabel& stage) const;
  void join(PhasesFrom& start, const std::vector<StageLabel>& parts, const Setting::Stage& x, const StageLabel& stage,
            std::int64_t v, std::int64_t i);
  void close(PhasesFrom& start, const std::vector<StageLabel>& parts, Setting::Stage x, const StageLabel& stage,
             std::int64_t v, std::int64_t i);
  void keep_cuts(const PhasesFrom& start, PhaseLabel& phase);
};

}  // namespace superstep
