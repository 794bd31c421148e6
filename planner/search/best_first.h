// SPDX-License-Identifier: Apache-2.0
// Sweeps over the declared space, from the highest bounds down, until nothing that is left can be better than what was
// found.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "planner/cuts/cuts.h"
#include "planner/search/branch.h"
#include "planner/search/cell_bound.h"
#include "planner/search/search.h"
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
    // Score that no plan exceeds: what reaches it is the best.
    double ceiling = std::numeric_limits<double>::infinity();
    bool allows(const Candidate& c) const { return c.estimate.tile_peak <= tile && c.estimate.cycles < below_cycles; }
  };

  // Of all cells of the job's space (cells()). Throws Error where pins leave nothing legal.
  BestFirst(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells);
  ~BestFirst();

  // Time limits count from now on.
  void start_clock() { start_ = std::chrono::steady_clock::now(); }
  // What other parts of the job found: what is no better is left out.
  void know(std::vector<Candidate> list);
  // The best cuts of a plan's setting, if what they make is a plan of the space: what sweeps find has to be better.
  void try_first(const Plan& plan);
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
  double ceiling() const { return ceiling_; }  // of the sweep over all kinds, if it did not stop
  // From the most promising, then from those that spread a model furthest; of placements and groups one.
  std::vector<Cell> cells() const;
  std::vector<Candidate> found() const { return all_found_; }
  std::vector<SearchedCell> searched_cells() const;
  PinnedCuts& cuts() { return cuts_; }
  void report(double share, const std::string& what) const;

 private:
  // A branch of a cell, and cycles that no plan of it takes less than, in any sweep that follows.
  struct Root {
    Branch branch;
    std::int64_t least = 0;
  };
  // The plans of a cell with the same execution, and cycles that none of them takes less than; INT64_MAX: none fits.
  struct CellPart {
    Cell cell;
    std::size_t of = 0;  // the cell's place among all
    Execution execution = Execution::pipeline;
    std::int64_t least = 0;
    CellBounds::Step step = CellBounds::Step::times;  // the tables that bound it next
    bool settled = false, opened = false;             // none does; it has branches
    double settings() const { return cell.settings[static_cast<std::size_t>(execution)]; }
    std::vector<Root> roots;  // kept for the sweeps that follow; empty: not opened, or not kept
  };
  struct Open;
  struct Frontier;
  struct Visit;
  struct Task;
  struct Window;
  struct Piece;

  Tables& tables_;
  const Job& job_;
  const SearchOptions& options_;
  PinnedCuts cuts_;
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
  double ceiling_ = 0;  // score that no plan of the space exceeds
  // Score: where a phase programme ran out of its budget, what was left out; of the first sweep, and of the last one.
  double open_bound_ = 0, open_in_front_ = 0;
  std::size_t made_ = 0;  // Open, so far
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
  void leave(const Open& o);
  bool branch_comes_first(const Frontier& open) const;
  void work(Frontier& open);
  void take(Frontier& open, Window& window);
  Piece next_piece(const Frontier& open, Window& window);
  std::optional<TableKey> table_ahead(const Frontier& open, const Window& window);
  Piece wait_for_piece(const Frontier& open, Window& window);
  void work_on(const Piece& piece);
  void settle_all(const Piece& piece, Window& window, Frontier& open);
  void settle(Task& task, Frontier& open);
  void cut_again(Task& task, Frontier& open);
  void look_later(Task& task, Frontier& open);
  bool late() const;

  void raise(Root* root, std::int64_t least) const;
  Task cell_task(Frontier& open);
  Visit visit_cell(Task& task);
  Visit open_cell(const Task& task);
  void settle_cell(Task& task, Frontier& open);
  double cells_done(const Frontier& open) const;

  std::int64_t quick_bound(const Branch& b) const;
  Open branch(const Open& from, const Branch& b, std::int64_t least) const;
  void push(std::vector<Open>& branches, Frontier& open);
  Task branch_task(Open o) const;
  bool puts_off(const Open& o) const;
  void take_branch(Frontier& open, Window& window);
  Task* begin_early(const Frontier& open, Window& window) const;
  Visit visit(const Task& task) const;

  double incumbent() const;
  // Until there is a plan that was not guessed, what is likely to give one comes first.
  bool dives() const { return !found_one_; }
  double floor() const;
  double enough() const { return wants_one_ ? std::max(floor(), worth_it()) : floor(); }
  double worth_it() const;
  double floor_of_kinds(const Open& o) const;
  bool gave_up(const std::string& kind) const;
  void note_given_up(const Open& o);
  void leave_open(const std::string& kind, double bound);
  CutLimits limits_of(const Setting& s, double least) const;
  std::int64_t cycles_of(std::int64_t global_batch, double score) const;
  Visit bound(const Branch& branch, double least, std::int64_t most_work) const;
  Visit leaf(const Setting& setting, CutLimits limits) const;
  void guess_plans(const Task& task, Visit& out) const;
  void merge(Open& o, const Visit& v);
  void count(Open& o, const Visit& v);
  void note_faster(const Open& o, const Visit& v);
  void keep(const Candidate& c, bool guessed = false);
};

}  // namespace superstep
