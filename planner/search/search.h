// SPDX-License-Identifier: Apache-2.0
// The best plan of the declared space, or why there is none.
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

struct SearchOptions {
  std::int64_t top = 5;
  double time_limit = 0;  // seconds; 0: none
  double patience = 0;    // seconds after which a search that has found nothing ends; 0: the time limit
  // Cut programmes after which no further cell of the space is opened; 0: none. What is found by then is the same
  // everywhere, as it is not with a time limit.
  std::int64_t programme_limit = 0;
  bool pareto = true;
  bool find_fix = true;
  bool explain = true;         // what is in the way when nothing fits
  bool record = false;         // cells
  int threads = 0;             // 0: all cores; the result does not depend on it
  bool defaults = false;       // estimate: fields that are not pinned take their default instead of being searched
  double rank_of = 0;          // score; above 0: count the kinds of plan that are better, instead of the best few
  double at_least = 0;         // score: plans that are worse are of no interest
  const Job* asked = nullptr;  // of whose parts (job_parts.h) this is one: fixes are looked for in all; null: in itself
  WarmTables* warm = nullptr;  // where the tables of other parts are; null: they are made for the question
  std::function<void(double share, const std::string& what)> progress;  // may be empty
  std::function<bool()> stop;  // may be empty; asked by all threads: true ends the search with Stopped
};

// Somebody else's wish, no error: what a search throws that its options told to stop.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

SearchResult search(Tables& tables, const SearchOptions& options);

class BestFirst;
class FrontBoard;

// The same in steps: the first and the last of a job's parts may be taken side by side.
class SearchSteps {
 public:
  SearchSteps(Tables& tables, const SearchOptions& options);
  ~SearchSteps();
  // What needs no other part. Throws Error where pins leave nothing legal.
  void prepare();
  // The best plan, and what else is found on the way. `known`: of other parts of the same job; what is no better than
  // these is left out.
  void find_best(const std::vector<Candidate>& known = {});
  // `known`: what they have found since.
  void find_runners_up(const std::vector<Candidate>& known = {});
  // The front; or what is in the way of a plan. `board`: of this part of a job; may be null.
  void complete(FrontBoard* board = nullptr, std::size_t part = 0);
  // All plans so far, which all fit, in the order they came, but for known ones.
  const std::vector<Candidate>& found() const { return out_.candidates; }
  bool proved() const { return out_.stats.optimal; }
  SearchResult result();
  // From now on; as in SearchOptions.
  void set_time(double limit, double patience);

 private:
  struct Prepared;
  Tables& tables_;
  SearchOptions options_;
  std::unique_ptr<Prepared> prepared_;
  std::unique_ptr<BestFirst> space_;  // null: what was proved before says it all
  double of_tables_ = 0, seconds_ = 0;
  SearchResult out_;
  // The part's, where none that it was told of before is better; it is in the result and a point of the front, whatever
  // others find later.
  std::optional<Candidate> own_best_;

  void make_space();
  bool is_proved(const std::vector<Candidate>& known);
  void take_found();
};

// By the job's goal.
double score(const Job& job, const Candidate& candidate);

}  // namespace superstep
