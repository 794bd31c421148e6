// SPDX-License-Identifier: Apache-2.0
// The best plan of the declared space, or why there is none.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "planner/search/search_result.h"

namespace superstep {

// Searches a job of one part, by all steps of SearchSteps.
SearchResult search(Tables& tables, const SearchOptions& options);

class BestFirst;
class FrontBoard;

// search() in steps: prepare(), find_best(), find_runners_up(), complete(), result(). Several parts of a job may run
// prepare() side by side, and complete() too.
class SearchSteps {
 public:
  SearchSteps(Tables& tables, const SearchOptions& options);
  ~SearchSteps();
  // Lists and bounds the cells, which needs no other part. Throws Error if the pins leave nothing legal.
  void prepare();
  // Finds the best plan, and other plans on the way. `known`: plans of other parts of the same job, against
  // which nodes are pruned.
  void find_best(const std::vector<Candidate>& known = {});
  // Finds the runners-up. `known`: plans that other parts have found since find_best().
  void find_runners_up(const std::vector<Candidate>& known = {});
  // Traces the front, or explains why no plan fits. `board`: exchanges points with other parts, `part` being the number
  // of this part; null: nothing is exchanged.
  void complete(FrontBoard* board = nullptr, std::size_t part = 0);
  // Returns the plans found so far, in the order found, without known plans of other parts. All these plans
  // fit.
  const std::vector<Candidate>& found() const { return out_.candidates; }
  bool proved() const { return out_.stats.optimal; }
  // Returns the result, once, after complete().
  SearchResult result();
  // Sets SearchOptions::time_limit and patience, in seconds from now on.
  void set_time(double limit, double patience);
  // Sets SearchOptions::work_limit to the work so far and as much more; 0: no limit.
  void set_work(std::int64_t more);
  std::int64_t work() const;  // so far

 private:
  Tables& tables_;
  SearchOptions options_;
  std::unique_ptr<BestFirst> space_;    // from prepare() to complete()
  double of_tables_ = 0, seconds_ = 0;  // Tables::seconds() at the start; seconds of all steps so far
  SearchResult out_;
  // The best plan of this part, unless a plan known from another part was better at that time. This plan stays in
  // the result and in the front, whatever other parts find later.
  std::optional<Candidate> own_best_;

  void take_found();
  void find_fastest();
};

}  // namespace superstep
