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

// A branch of a cell that later sweeps start from, with a lower bound in cycles on its plans in any of these sweeps.
struct RootBranch {
  Branch branch;
  std::int64_t least = 0;
};

// An open node: a cell whose branches are not known yet, or a branch of a cell.
struct OpenNode {
  double bound = 0;          // score that no plan of the node exceeds
  std::size_t order = 0;     // of equal bounds the first comes first
  std::size_t cell = 0;      // number of the cell part in BestFirst
  Branch branch;             // without parts where the node is a cell
  bool is_tightest = false;  // the bound is the tightest: by all of a cell's tables, or by a branch's cut programme
  // A number that all branches of one setting share, which differ in bounds on temporary memory; 0: none.
  std::size_t setting = 0;
  RootBranch* root = nullptr;  // of a branch that is not divided yet; null: later sweeps do not start from the branch
  bool waited = false;         // the node was put off while no plan was known
  bool again = false;          // a leaf that the reduced budget left open: its next turn has the full budget
  bool counted = false;        // a leaf that statistics count as explored
  std::optional<std::size_t> parent;  // order of the node that was opened or divided; nullopt: a cell
  friend bool operator>(const OpenNode& a, const OpenNode& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.order < b.order;
  }
};

// The queue of open nodes, those with the highest bounds first.
struct Frontier {
  struct Queue : std::set<OpenNode, std::greater<>> {
    const OpenNode& top() const { return *begin(); }
    OpenNode pop() { return std::move(extract(begin()).value()); }
  };
  Queue cells, branches;
  std::vector<OpenNode> waiting;  // branches that are put off until a plan is known that was not guessed
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

// What work on a node gave: a bound on its plans, its children, or the best plans of a leaf.
struct NodeResult {
  double bound = 0;        // score that no plan exceeds; 0: no plan fits and beats the floor
  std::int64_t least = 0;  // cycles that no plan takes less than
  bool feasible = false;   // a plan fits
  bool refused = false;    // the fastest cut does not fit by evaluate(); a slower one might
  std::int64_t programmes = 0, evaluations = 0;
  std::int64_t work = 0;           // steps of cut programmes over phases (CutLimits::most_work)
  double open_bound = 0;           // score that no cut exceeds which a budget left out
  double left_out = 0;             // settings that dominance left out while the node was divided or opened
  std::vector<Candidate> found;    // plans that fit
  bool opened = false;             // the node was a cell and is opened
  std::vector<OpenNode> children;  // of a branch that was divided, or of a cell that was opened
};

// Work on one node. A branch is bounded or divided. A cell is bounded by the tables of its next step, or opened after
// the last step.
struct NodeTask {
  OpenNode open;
  double least = 0;                       // score that a plan must exceed
  bool for_best = false;                  // `least` is the incumbent's score; a runner-up might be below it
  std::vector<TableKey> tables = {};      // that a cell needs and that may not be made yet
  std::vector<SettingSpace> spaces = {};  // of a cell that is opened for the first time
  bool guesses = false;                   // a cell guesses plans when it is opened, as no other plan is known
  std::int64_t most_work = 0;             // budget of a branch's cuts (CutLimits); 0: a bound suffices
  NodeResult result = {};
  bool begun = false, done = false;
  bool in_vain = false;  // begun ahead of its turn, against another incumbent
  bool is_cell() const { return !open.branch.parts; }
  // True if the work found no plan that beats the incumbent, but the node may hold a runner-up.
  bool is_only_for_runners_up() const {
    return !is_cell() && for_best && !open.is_tightest && result.bound <= 0 && result.found.empty();
  }
  bool is_turn_of(const OpenNode& o) const {
    return open.order == o.order && open.is_tightest == o.is_tightest && open.again == o.again;
  }
};

// The tasks that threads work on at the same time.
struct TaskWindow {
  std::list<NodeTask> tasks;     // in the order they were taken
  std::list<NodeTask> early;     // branches that were begun ahead of their turn
  std::vector<TableKey> making;  // tables that are being made
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

// Work for one thread: a task whose tables are all made, or a table to make; neither: nothing can be done yet.
struct WorkPiece {
  NodeTask* task = nullptr;
  std::optional<TableKey> table;
  explicit operator bool() const { return task != nullptr || table; }
};

}  // namespace superstep
