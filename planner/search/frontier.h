// SPDX-License-Identifier: Apache-2.0
// The nodes of a best-first search: open ones in order of their bounds, those that threads work on, and results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "planner/cost/tables.h"
#include "planner/search/branch.h"
#include "planner/search/search_result.h"

namespace superstep {

// A branch of a cell, kept for the sweeps that follow, and a lower bound in cycles on all of its plans in any of them.
struct RootBranch {
  Branch branch;
  std::int64_t least = 0;
};

// An open node: a cell whose branches are not known yet, or a branch of a cell.
struct OpenNode {
  double bound = 0;       // score that no plan of it exceeds
  std::size_t order = 0;  // of equal bounds the first comes first
  std::size_t cell = 0;
  Branch branch;            // without parts: a cell
  bool sure = false;        // the bound is from all of a cell's tables or from a branch's cuts; else from less work
  std::size_t setting = 0;  // of branches of one setting with some of its bounds on temporary memory: the same; 0: none
  RootBranch* root = nullptr;  // of a branch that the sweeps that follow have too, until it is divided
  bool waited = false;         // for others, as no plan was known
  bool again = false;          // of a leaf: it was cut with some of the work, which left something open
  bool counted = false;        // of a leaf: as explored
  friend bool operator>(const OpenNode& a, const OpenNode& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.order < b.order;
  }
};

// The highest bounds first.
struct Frontier {
  struct Queue : std::set<OpenNode, std::greater<>> {
    const OpenNode& top() const { return *begin(); }
    OpenNode pop() { return std::move(extract(begin()).value()); }
  };
  Queue cells, branches;
  std::vector<OpenNode> waiting;  // branches that are last as long as no plan is known but guesses
  double most_waiting = 0;        // the highest bound of these
  double bound() const {
    return std::max({cells.empty() ? 0 : cells.top().bound, branches.empty() ? 0 : branches.top().bound, most_waiting});
  }
  void put_off() {
    most_waiting = std::max(most_waiting, branches.top().bound);
    waiting.push_back(branches.pop());
    waiting.back().waited = true;
  }
  void release() {
    for (OpenNode& o : std::exchange(waiting, {})) branches.insert(std::move(o));
    most_waiting = 0;
  }
};

// What came of a branch: a bound on all of its plans, its parts, or a leaf's best cuts.
struct NodeResult {
  double bound = 0;        // score; 0: no plan of it fits and is better than the floor
  std::int64_t least = 0;  // cycles: no plan of it takes less
  bool feasible = false;
  bool refused = false;  // its fastest cut does not fit by evaluate(): a slower one might
  std::int64_t programmes = 0, evaluations = 0;
  std::int64_t work = 0;  // of cuts into phases (CutLimits)
  double open_bound = 0;  // score: no cut that was left out is better
  double left_out = 0;    // as sizes of branches, of one that has been divided, or of a cell that has been opened
  std::vector<Candidate> found;
  bool opened = false;             // of a cell
  std::vector<OpenNode> children;  // of a branch that has been cut before, or of a cell that has been opened
};

// What is worked on: a branch; or a cell, which is bounded by the tables of its next step, or opened if there is none.
struct NodeTask {
  OpenNode open;
  double least = 0;                       // score: what is no better is of no interest
  bool for_best = false;                  // though it might be a runner-up
  std::vector<TableKey> tables = {};      // that a cell takes, and that are not known to be there
  std::vector<SettingSpace> spaces = {};  // of a cell that is opened for the first time
  bool guesses = false;                   // of a cell that is opened: no plan is known but such
  std::int64_t most_work = 0;             // that cuts of a branch are worth (CutLimits); 0: none, a bound will do
  NodeResult visit = {};
  bool begun = false, done = false;
  bool in_vain = false;  // begun early, and taken as another task
  bool is_cell() const { return !open.branch.parts; }
  bool is_turn_of(const OpenNode& o) const {
    return open.order == o.order && open.sure == o.sure && open.again == o.again;
  }
};

// What all threads work on.
struct TaskWindow {
  std::list<NodeTask> tasks;     // in the order they were taken
  std::list<NodeTask> early;     // branches that were begun before they are
  std::vector<TableKey> making;  // those that are being made
  std::mutex mutex;
  bool failed = false;

  void fail() {
    const std::lock_guard lock(mutex);
    failed = true;
  }

  bool may_make(const TableKey& key, Tables& tables) const {
    return std::ranges::none_of(making, [&](const TableKey& m) { return tables.wait_for_each_other(key, m); });
  }
};

// A task whose tables are all there, or a table that one takes; neither: nothing can be done yet.
struct WorkPiece {
  NodeTask* task = nullptr;
  std::optional<TableKey> table;
  explicit operator bool() const { return task != nullptr || table; }
};

}  // namespace superstep
