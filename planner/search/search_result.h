// SPDX-License-Identifier: Apache-2.0
// Options and results of a search.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/cost/cost.h"
#include "planner/cost/evaluate.h"
#include "planner/cost/overflows.h"
#include "planner/cost/tables.h"
#include "planner/job/job.h"
#include "planner/space/space.h"

namespace superstep {

class WarmTables;

// A plan that a search has found.
struct Candidate {
  Plan plan;
  Estimate estimate;  // by the tables
  double samples_per_second = 0;
  bool fits = false;
  bool from_other_part = false;  // known from another part of the job
};

// A cell with all its settings, and how far the search has come in it.
struct SearchedCell {
  // The furthest fate first. excluded: by its bound. dominated: no plan is faster than with another placement.
  enum class Fate : std::uint8_t { opened, excluded, dominated, does_not_fit };
  TensorParallel mesh;
  std::int64_t stages = 1, replicas = 1, micro_batch = 1, accumulation = 1;
  Placement placement = Placement::t_p_r;
  ShardGroups groups = ShardGroups::consecutive;
  double settings = 0;  // number of settings
  double bound = 0;     // samples per second that no plan of the cell exceeds; 0: no plan fits
  Fate fate = Fate::excluded;
};

// Statistics of a search, and how much it has proved.
struct SearchStats {
  double explored = 0;           // settings whose cuts were optimised
  double pruned = 0;             // all other settings: excluded by a bound, dominated, or left when a limit struck
  double feasible = 0;           // explored settings with a cut that fits
  std::int64_t evaluations = 0;  // plans whose time and memory were computed one by one
  std::int64_t programmes = 0;   // cut programmes that were run, for settings and for bounds of branches
  std::int64_t work = 0;         // of cut programmes, in comparisons of labels (SearchBudget)
  // Seconds in all, and seconds spent on tables and the model's graphs, averaged over the threads.
  double seconds = 0, table_seconds = 0;
  double proof_seconds = 0;  // seconds until the best plan was proved, set by PartSearch; 0: not proved
  // With rank_of, kinds of plan (kinds_of()). faster: kinds with a faster plan that fits. undecided: kinds that may
  // have a faster plan, left out or known by a bound alone. Kinds of each cell are counted apart.
  double faster = 0, undecided = 0;
  // Kinds of plan whose runner-up may be missing, as much work found no plan of the kind that fits. No such kind has a
  // plan better than the best plan.
  double kinds_left = 0;
  // Points of the front that may be missing or too slow: the phase-cut budget was exhausted.
  double points_left = 0;
  // A limit of time or of work struck: before the proof if there is a gap, else before all runners-up or the
  // front.
  bool stopped = false;
  double best = 0, bound = 0;  // score of the best plan, and score that no plan exceeds; 0: no plan fits
  bool optimal = false;        // proved by the tables: the best plan is the best of the space, or no plan fits
  double gap = 0;              // 1 - best / bound; 1: stopped before any plan was found
};

// Returns the statistics of two parts of a job together.
SearchStats operator+(const SearchStats& a, const SearchStats& b);

// True if the software that a job is to run on accepts no plan: all were left out before any was looked at.
bool none_accepted(const SearchStats& stats, const Job& job);

// Returns notes for people: what the search left out, and whether more time would help. Empty: nothing was left out.
std::vector<std::string> left_notes(const SearchStats& stats);

struct SearchResult {
  std::vector<Candidate> best;  // the best plan, then runners-up of other kinds
  // With find_fastest, or if `best` is empty: a plan with a better score than the best one, which may fit with a lower
  // probability than was asked for. Empty: the best plan is the fastest too.
  std::optional<Candidate> fastest;
  std::vector<Candidate> pareto;    // points of the front of the job's two measures (trace_front())
  std::vector<Overflow> overflows;  // why no plan fits, filled by SearchOptions::explain if `best` is empty
  std::optional<Plan> closest;      // the plan that has these overflows
  std::string nearest_fix;  // in words: smallest change of pins and limits with a plan that fits; empty: none found
  std::vector<Candidate> candidates;  // all plans found, which all fit, in the order found
  std::vector<SearchedCell> cells;    // with SearchOptions::record: all cells
  SearchStats stats;
  std::vector<std::string> notes;
};

// One step of a search, for SearchOptions::trace: a node taken from the queue, and what became of the node.
struct SearchStep {
  enum class Level : std::uint8_t { cell, branch, leaf };
  std::int64_t ipus = 0;  // of the machine or partition that is searched
  std::size_t node = 0;   // nodes are numbered in the order in which they entered the queue, from 0 for each part
  std::optional<std::size_t> parent;  // the node that was opened or divided; nullopt: a cell
  Level level = Level::cell;
  std::string name;       // degrees of a cell, number of settings of a branch, places of storage of a leaf
  double bound = 0;       // score that no plan of the node exceeds, after the step; 0: no plan fits and is better
  std::string outcome;    // in words
  double incumbent = 0;   // score of the best plan after the step; 0: none is known
  bool for_best = false;  // false: the best plan is proved, and the search looks for runners-up
};

struct SearchOptions;

// Explains a result without a plan: fills in its overflows, the closest plan, and the nearest fix if the options ask
// for a fix. `cells`: the cells of the space, the most promising first. See infeasible/explain_infeasible.h.
using ExplainInfeasible = void (*)(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells,
                                   SearchResult& result);

// Tells which changes of pins leave a legal plan; see infeasible/legal_changes.h.
using LegalChangesText = std::string (*)(Tables& tables, bool defaults);

struct SearchOptions {
  std::int64_t top = 5;  // the most plans in SearchResult::best
  // True: the search goes on after the proof until the best `top` kinds of plan are known. False: runners-up are the
  // plans of other kinds that were met on the way to the proof.
  bool runners_up = true;
  double time_limit = 0;  // seconds; 0: no limit
  double patience = 0;    // seconds after which a search without any plan ends; 0: the time limit
  // Work after which the search stops, as in SearchStats::work; 0: no limit. Unlike a time limit, this limit gives the
  // same result on every machine, however busy it is.
  std::int64_t work_limit = 0;
  bool pareto = true;                        // trace the front
  bool find_fix = true;                      // look for the nearest fix if no plan fits
  ExplainInfeasible explain = nullptr;       // called if no plan fits; null: no explanation
  LegalChangesText legal_changes = nullptr;  // added to the Error of pins that leave no legal plan; null: nothing
  bool record = false;                       // fill SearchResult::cells
  int threads = 0;                           // 0: all cores; the result does not depend on the number
  bool defaults = false;  // estimate: fields that are not pinned take their default instead of being searched
  // Probability with which plans fit at least (model/cost/fit_probability.h). 0: plans may fill a tile.
  double fit_probability = 0;
  bool find_fastest = false;  // look for SearchResult::fastest
  double rank_of = 0;   // score; above 0: count the kinds of plan that are better, instead of finding the best few
  double at_least = 0;  // score: plans that are worse are of no interest
  // The job of which this search is one part (space/job_parts.h): fixes are sought in all its parts. Null: in this part
  // alone.
  const Job* asked = nullptr;
  WarmTables* warm = nullptr;  // has the tables of other parts; null: a search for fixes makes its own
  std::function<void(double share, const std::string& what)> progress;  // may be empty
  // May be empty. Called for each step of the first sweep, in the same order for any number of threads, by one thread
  // at a time.
  std::function<void(const SearchStep&)> trace;
  std::function<bool()> stop;  // may be empty; asked by all threads: true ends the search with Stopped
};

// Thrown by a search that SearchOptions::stop has stopped. This is the caller's wish and no error.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

// Returns the entry of SearchResult::overflows for a search that stopped before it found a plan.
Overflow stopped_early();

// Returns the value of a candidate by the job's goal.
double score(const Job& job, const Candidate& candidate);

}  // namespace superstep
