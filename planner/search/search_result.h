// SPDX-License-Identifier: Apache-2.0
// What a search is asked, and what it finds.
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

struct Candidate {
  Plan plan;
  Estimate estimate;  // by the tables
  double samples_per_second = 0;
  bool fits = false;
  bool elsewhere = false;  // known from another part of the job
};

// A (t, p, r, m, g), its placement and groups of shards, with all its settings.
struct SearchedCell {
  // excluded: by its bound; dominated: no plan is faster than with another placement. In the order of
  // how far the search came.
  enum class Fate : std::uint8_t { opened, excluded, dominated, does_not_fit };
  TensorParallel mesh;
  std::int64_t stages = 1, replicas = 1, micro_batch = 1, accumulation = 1;
  Placement placement = Placement::t_p_r;
  ShardGroups groups = ShardGroups::consecutive;
  double settings = 0;
  double bound = 0;  // samples per second that none of its plans exceeds; 0: none fits
  Fate fate = Fate::excluded;
};

struct SearchStats {
  double explored = 0;           // settings whose cuts were optimised
  double pruned = 0;             // settings whose bound was no better than the best
  double feasible = 0;           // explored settings with a cut that fits
  std::int64_t evaluations = 0;  // plans whose time and memory were computed one by one
  std::int64_t programmes = 0;   // cut programmes, of settings and of bounds on several
  // In all, and of tables, the model's graphs among them: on average of all threads.
  double seconds = 0, table_seconds = 0;
  double proof_seconds = 0;  // of PartSearch: of these until the best plan was proved; 0: it is not
  // With rank_of, kinds of plan (kinds_of()), each cell's counted apart: with a plan that fits and is faster; that may
  // have one, left out or known by a bound only.
  double faster = 0, undecided = 0;
  // Kinds of plan of which a runner-up may have been left out: after much work none fits, and none would be the best.
  double kinds_left = 0;
  // Points of the front that may be missing, or slower than they could be: phases are more work than a search gives
  // them.
  double points_left = 0;
  bool stopped = false;  // by a limit: before the proof if there is a gap, else before all runners-up or the front
  double best = 0, bound = 0;  // scores: of the best plan, and that no other exceeds; 0: none fits
  bool optimal = false;        // the best is proved best of the declared space by the tables
  double gap = 0;              // 1 - best / bound; 1: stopped before any plan was found
};

// What was searched in two parts of a job.
SearchStats operator+(const SearchStats& a, const SearchStats& b);

// For people: what was left out, and whether more time would help.
std::vector<std::string> left_notes(const SearchStats& stats);

struct SearchResult {
  std::vector<Candidate> best;        // the winner, then runners-up different in kind
  std::vector<Candidate> pareto;      // of the job's two measures, the best of the first ahead
  std::vector<Overflow> overflows;    // not empty when best is
  std::optional<Plan> closest;        // the plan the overflow belongs to
  std::string nearest_fix;            // the single-field change with least loss that fits; empty: none found
  std::vector<Candidate> candidates;  // all plans that were found, which all fit, in the order they came
  std::vector<SearchedCell> cells;    // with `record`, in the order they came
  SearchStats stats;
  std::vector<std::string> notes;
};

struct SearchOptions;

// Fills what a result without a plan says: its overflows, the closest plan, and the nearest fix where the options ask
// for one. `cells`: of the space, the most promising first. See infeasible/explain_infeasible.h.
using ExplainInfeasible = void (*)(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells,
                                   SearchResult& result);

struct SearchOptions {
  std::int64_t top = 5;
  double time_limit = 0;  // seconds; 0: none
  double patience = 0;    // seconds after which a search that has found nothing ends; 0: the time limit
  // Cut programmes after which no further cell of the space is opened; 0: none. What is found by then is the same
  // everywhere, as it is not with a time limit.
  std::int64_t programme_limit = 0;
  bool pareto = true;
  bool find_fix = true;
  ExplainInfeasible explain = nullptr;  // called where no plan fits; null: nobody asks why
  bool record = false;                  // cells
  int threads = 0;                      // 0: all cores; the result does not depend on it
  bool defaults = false;  // estimate: fields that are not pinned take their default instead of being searched
  double rank_of = 0;     // score; above 0: count the kinds of plan that are better, instead of the best few
  double at_least = 0;    // score: plans that are worse are of no interest
  const Job* asked =
      nullptr;  // of whose parts (space/job_parts.h) this is one: fixes are looked for in all; null: in itself
  WarmTables* warm = nullptr;  // where the tables of other parts are; null: they are made for the question
  std::function<void(double share, const std::string& what)> progress;  // may be empty
  std::function<bool()> stop;  // may be empty; asked by all threads: true ends the search with Stopped
};

// Somebody else's wish, no error: what a search throws that its options told to stop.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

// Stands for an overflow where a search stopped before it found a plan.
Overflow stopped_early();

// Returns the value of a candidate by the job's goal.
double score(const Job& job, const Candidate& candidate);

}  // namespace superstep
