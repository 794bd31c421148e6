// SPDX-License-Identifier: Apache-2.0
// Sweeps over the declared space, from the highest bounds down, until nothing that is left can be better than what was
// found.
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
  // Of a search's progress, that of its first sweep; the rest is its front's.
  static constexpr double kFirstSweep = 0.9;

  // What a sweep looks for: plans of any kind, of which the best of each are kept, or the one that is fastest within
  // limits.
  struct Sweep {
    Goal goal;
    bool front = false;                     // the one
    std::int64_t tile = INT64_MAX;          // bytes per tile, at most
    bool probes = false;                    // limits of the next sweep may be wider; else they are as tight or tighter
    std::int64_t below_cycles = INT64_MAX;  // of a step
    bool allows(const Candidate& c) const { return c.estimate.tile_peak <= tile && c.estimate.cycles < below_cycles; }
  };

  // Of all cells of the job's space (cells()). Throws Error where pins leave nothing legal.
  BestFirst(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells);
  ~BestFirst();

  // Time limits count from now on.
  void start_clock() { start_ = std::chrono::steady_clock::now(); }
  // What other parts of the job found: what is no better is left out.
  void know(std::vector<Candidate> list);
  // The first sweep, whose work stats() counts and whose kinds are ranked: until no plan that is left can be the best,
  // and then until none is a runner-up of interest.
  void find_best(const Sweep& how);
  void find_runners_up();
  // Others, which start from what was found.
  void sweep(const Sweep& how);

  // By the goal of the last sweep, best first.
  std::vector<Candidate> best() const;
  const SearchStats& stats() const { return stats_; }
  bool stopped() const { return stopped_; }
  // From the most promising, then from those that spread a model furthest; of placements and groups one.
  std::vector<Cell> cells() const;
  std::vector<Candidate> found() const { return all_found_; }
  std::vector<SearchedCell> searched_cells() const;
  void report(double share, const std::string& what) const;

 private:
  // The plans of a cell with the same execution, and cycles that none of them takes less than; INT64_MAX: none fits.
  struct CellPart {
    Cell cell;
    std::size_t of = 0;  // the cell's place among all
    Execution execution = Execution::pipeline;
    std::int64_t least = 0;
    CellBounds::Step step = CellBounds::Step::times;  // the tables that bound it next
    bool settled = false, opened = false;             // none does; it has branches
    double settings() const { return cell.settings[static_cast<std::size_t>(execution)]; }
    std::vector<RootBranch> roots;  // kept for the sweeps that follow; empty: not opened, or not kept
  };

  Tables& tables_;
  const Job& job_;
  const SearchOptions& options_;
  PinnedCuts cuts_;
  mutable PhaseBounds phase_bounds_;  // of branches of all sweeps
  CellBounds bounds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<CellPart> cells_;
  std::vector<CellPart> held_back_;  // those of which none fits, or that have no plan better than another cell's
  SearchStats stats_;
  Sweep how_;                       // the one that runs
  std::unique_ptr<Frontier> open_;  // what the first one has left
  bool wants_one_ = false;          // the best: runners-up are left for later
  bool stopped_ = false;
  bool found_one_ = false;                                 // a plan that was not guessed
  std::thread::id reporter_ = std::this_thread::get_id();  // of progress: who sweeps
  std::map<std::string, Candidate> by_kind_;               // the best of each, so far
  // Work of leaves' cuts that found nothing: by kind; and in this sweep, less that of branches' cuts.
  std::map<std::string, std::int64_t> in_vain_of_;
  std::int64_t credit_ = 0;
  std::map<std::string, double> left_of_;  // by kind: score that no plan of it exceeds that was left out
  std::vector<Candidate> all_found_;
  double caps_ = 1;      // bounds on temporary memory of a setting
  double explored_ = 0;  // as sizes of branches, in which the sweep over all kinds counts what it prunes
  std::set<std::size_t> settings_cut_, settings_fit_;
  std::atomic<bool> found_any_ = false;
  // Score: where a phase programme ran out of its budget, what was left out; of the first sweep, and of the last one.
  double open_bound_ = 0, open_in_front_ = 0;
  std::size_t made_ = 0;  // OpenNode, so far
  int kept_cells_ = 0;
  // With rank_of, by cell: kinds with a plan that is better, and those that may have one.
  std::set<std::pair<std::size_t, std::string>> faster_, maybe_faster_;

  double score(std::int64_t global_batch, std::int64_t cycles) const;
  double score(const Candidate& c) const { return score(c.plan.global_batch(), c.estimate.cycles); }
  double bound_of(const CellPart& c) const;
  double size_of(const CellPart& c) const { return c.settings() * caps_; }  // as of branches
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
  // Until there is a plan that was not guessed, what is likely to give one comes first.
  bool is_seeking_first_plan() const { return !found_one_; }
  double floor() const;
  double enough() const { return wants_one_ ? std::max(floor(), score_to_beat()) : floor(); }
  double score_to_beat() const;
  double floor_of_kinds(const OpenNode& o) const;
  bool gave_up(const std::string& kind) const;
  void note_given_up(const OpenNode& o);
  void leave_open(const std::string& kind, double bound);
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
