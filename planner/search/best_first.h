// SPDX-License-Identifier: Apache-2.0
// Branch and bound over the declared space, in best-first order: the node with the highest bound is taken next. A sweep
// ends when no open node can improve its result.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "planner/cuts/cuts.h"
#include "planner/cuts/phase_bounds.h"
#include "planner/cuts/search_budget.h"
#include "planner/search/branch.h"
#include "planner/search/cell_bound.h"
#include "planner/search/frontier.h"
#include "planner/search/search_result.h"
#include "planner/space/space.h"

namespace superstep {

class BestFirst {
 public:
  // Share of a search's progress that its first sweep takes. The front takes the rest.
  static constexpr double kFirstSweep = 0.9;

  // The question of a sweep: either the best plan of each kind, or the fastest plan within limits.
  struct Sweep {
    Goal goal;                              // scores plans
    bool front = false;                     // true: one plan is sought, for a point of a front
    std::int64_t tile = INT64_MAX;          // bytes per tile that a plan may use; INT64_MAX: no limit but the options'
    bool limits_may_widen = false;          // the next sweep may have wider limits: bounds of this sweep are not kept
    std::int64_t below_cycles = INT64_MAX;  // a plan's step takes fewer cycles than this; INT64_MAX: no limit
    bool whole_tile = false;                // plans may fill a tile, whatever probability of fitting is asked for
    // True if a plan is within the limits.
    bool allows(const Candidate& c) const { return c.estimate.tile_peak <= tile && c.estimate.cycles < below_cycles; }
  };

  // Bounds `cells`, all cells of the job's space (cells() in space.h), and orders them. Throws Error if the pins leave
  // nothing legal. `tables` and `options` must outlive this object.
  BestFirst(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells);
  ~BestFirst();

  // Restarts the clock of the time limits.
  void start_clock() { start_ = std::chrono::steady_clock::now(); }
  // Adds plans that other parts of the job found. Nodes that are no better than these plans are
  // pruned.
  void know(std::vector<Candidate> list);
  // Runs the first sweep until no open node can hold the best plan. Only the first sweep counts settings in stats() and
  // ranks kinds of plan.
  void find_best(const Sweep& how);
  // Continues the first sweep: for the best plan, if a limit of time stopped it, and then, if the options ask for
  // runners-up, until no open node can hold one of interest.
  void find_runners_up();
  // Runs a further sweep, for a point of a front. The plans and root branches of earlier sweeps are its start.
  void sweep(const Sweep& how);

  // Returns the best plan of each kind, ordered by the goal of the last sweep, best first. Plans with no more than
  // kBudget.runner_up_share of the best score are left out.
  std::vector<Candidate> best() const;
  const SearchStats& stats() const { return stats_; }
  // True if a limit of time or of programmes ended a sweep early.
  bool stopped() const { return stopped_; }
  // Returns the searched cells, highest bound first, then the cells held back, widest spread of the model first. Cells
  // that differ only in placement or shard groups are listed once.
  std::vector<Cell> cells() const;
  // Returns all plans of all sweeps in the order found, plans from know() included.
  std::vector<Candidate> found() const { return all_found_; }
  // Returns all cells with their bounds and fates.
  std::vector<SearchedCell> searched_cells() const;
  // Reports progress: `share` of the whole search, 0 to 1, and the current activity. Calls from other threads than the
  // sweep's are ignored.
  void report(double share, const std::string& what) const;

 private:
  // The plans of one cell with one execution: a cell node of the search tree.
  struct CellPart {
    Cell cell;
    std::size_t of = 0;  // index of the cell in the constructor's list
    Execution execution = Execution::pipeline;
    std::int64_t least = 0;                           // lower bound in cycles on every plan; INT64_MAX: no plan fits
    CellBounds::Step step = CellBounds::Step::times;  // tables of the next bound
    // settled: no further step raises `least`. opened: the part was divided into branches.
    bool settled = false, opened = false;
    // Returns the number of settings.
    double settings() const { return cell.settings[static_cast<std::size_t>(execution)]; }
    std::vector<RootBranch> roots;  // kept for later sweeps; empty: the part is not opened, or its roots are not kept
  };

  Tables& tables_;
  const Job& job_;
  const SearchOptions& options_;
  PinnedCuts cuts_;
  mutable PhaseBounds phase_bounds_;  // bounds of branches, reused by all sweeps
  CellBounds bounds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<CellPart> cells_;
  std::vector<CellPart> held_back_;  // not searched: no plan fits, or another placement dominates the cell
  SearchStats stats_;
  Sweep how_;                       // the current sweep, or the last sweep
  std::unique_ptr<Frontier> open_;  // open nodes of the first sweep; null after find_runners_up()
  bool only_best_ = false;          // only the best plan is sought: runners-up wait for find_runners_up()
  bool stopped_ = false;            // a limit ended a sweep early
  bool found_unguessed_ = false;    // a plan is known that was not guessed
  std::thread::id reporter_ = std::this_thread::get_id();  // thread that runs the sweep and reports progress
  std::map<std::string, Candidate> by_kind_;               // best plan found so far, by kind (kind_of())
  // Work of leaf cut programmes that found no plan, by kind. In steps (CutLimits::most_work).
  std::map<std::string, std::int64_t> in_vain_of_;
  // The work of such programmes in this sweep, less the work on bounds of branches that stayed open
  // (SearchBudget::least_credit).
  std::int64_t credit_ = 0;
  std::map<std::string, double> left_of_;  // by kind: score that no plan of the kind exceeds that was left out
  std::vector<Candidate> all_found_;       // plans of all sweeps, in the order found
  double caps_per_setting_ = 1;            // number of bounds on temporary memory that each setting may have
  // Sum of Branch::size of the leaves that were cut. stats_.pruned has the same unit until count_all().
  double explored_ = 0;
  // Numbers of settings (OpenNode::setting): settings with a cut programme run, and settings with a plan that fits.
  std::set<std::size_t> settings_cut_, settings_fit_;
  std::atomic<bool> found_any_ = false;  // a plan is known, guesses included
  // Score that no cut exceeds which an exhausted budget or evaluate() left out; 0: nothing was left out. First value:
  // of the first sweep. Second value: of the last sweep of a front.
  double open_bound_ = 0, open_in_front_ = 0;
  std::size_t made_ = 0;  // number of open nodes made so far, for OpenNode::order
  int kept_cells_ = 0;    // number of cell parts whose roots are kept
  // With rank_of, pairs of a cell and a kind: kinds with a plan better than rank_of, and kinds that may have such a
  // plan.
  std::set<std::pair<std::size_t, std::string>> faster_, maybe_faster_;

  double score(std::int64_t global_batch, std::int64_t cycles) const;
  double score(const Candidate& c) const { return score(c.plan.global_batch(), c.estimate.cycles); }
  double bound_of(const CellPart& c) const;
  double size_of(const CellPart& c) const { return c.settings() * caps_per_setting_; }  // in the unit of Branch::size
  bool better(const Candidate& a, const Candidate& b) const;
  void check_stop() const;
  bool time_is_up();
  double seconds() const;

  void order_cells(const std::vector<Cell>& list);
  CellPart widest();
  void start(const Sweep& how);
  Frontier all_cells();
  void conclude();
  void count_all();
  void leave(const OpenNode& o);
  bool branch_comes_first(const Frontier& open) const;
  void work(Frontier& open);
  void take(Frontier& open, TaskWindow& window);
  WorkPiece next_piece(const Frontier& open, TaskWindow& window);
  std::optional<TableKey> table_ahead(const Frontier& open, const TaskWindow& window);
  WorkPiece wait_for_piece(const Frontier& open, TaskWindow& window);
  void work_on(const WorkPiece& piece);
  void settle_all(const WorkPiece& piece, TaskWindow& window, Frontier& open);
  void settle(NodeTask& task, Frontier& open);
  void settle_branch(NodeTask& task, Frontier& open);
  SearchStep step_of(const NodeTask& task) const;
  std::string name_of(const OpenNode& o) const;
  std::string outcome_of(const NodeTask& task) const;
  bool is_cut_again(const NodeTask& task) const;
  void cut_again(NodeTask& task, Frontier& open);
  void look_later(NodeTask& task, Frontier& open);
  bool late() const;

  void raise(RootBranch* root, std::int64_t least) const;
  NodeTask cell_task(Frontier& open);
  NodeResult visit_cell(NodeTask& task);
  NodeResult open_cell(const NodeTask& task);
  void settle_cell(NodeTask& task, Frontier& open);
  double cells_done(const Frontier& open) const;

  std::int64_t quick_bound(const Branch& b) const;
  OpenNode branch(const OpenNode& from, const Branch& b, std::int64_t least) const;
  void push(std::vector<OpenNode>& branches, Frontier& open);
  NodeTask branch_task(OpenNode o) const;
  bool puts_off(const OpenNode& o) const;
  void take_branch(Frontier& open, TaskWindow& window);
  NodeTask* begin_early(const Frontier& open, TaskWindow& window) const;
  NodeResult visit(const NodeTask& task) const;

  double incumbent() const;
  // True while all known plans are guesses. Nodes that are likely to give a plan then come first.
  bool is_seeking_first_plan() const { return !found_unguessed_; }
  double floor() const;
  std::int64_t sought_kinds() const { return options_.runners_up ? options_.top : 1; }
  double score_to_exceed() const { return only_best_ ? std::max(floor(), score_to_beat()) : floor(); }
  double score_to_beat() const;
  double floor_of_kinds(const OpenNode& o) const;
  bool gave_up(const std::string& kind) const;
  void note_given_up(const OpenNode& o);
  void leave_open(const std::string& kind, double bound);
  std::int64_t likely_tile(const Setting& s) const;
  CutLimits limits_of(const Setting& s, double least) const;
  std::int64_t cycles_of(std::int64_t global_batch, double score) const;
  NodeResult bound(const Branch& branch, double least, std::int64_t most_work) const;
  NodeResult leaf(const Setting& setting, CutLimits limits) const;
  void guess_plans(const NodeTask& task, NodeResult& out) const;
  void merge(OpenNode& o, const NodeResult& v);
  void count(OpenNode& o, const NodeResult& v);
  void note_faster(const OpenNode& o, const NodeResult& v);
  void keep(const Candidate& c, bool guessed = false);
};

}  // namespace superstep
