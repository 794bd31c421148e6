// SPDX-License-Identifier: Apache-2.0
// The best plan of the declared space, or why there is none.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "planner/search/search_result.h"

namespace superstep {

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
  Tables& tables_;
  SearchOptions options_;
  std::unique_ptr<BestFirst> space_;  // from prepare() to complete()
  double of_tables_ = 0, seconds_ = 0;
  SearchResult out_;
  // The part's, where none that it was told of before is better; it is in the result and a point of the front, whatever
  // others find later.
  std::optional<Candidate> own_best_;

  void take_found();
};

}  // namespace superstep
