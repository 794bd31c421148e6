// SPDX-License-Identifier: Apache-2.0
// The threads of a search: which nodes they work on side by side, and the order in which results are merged.
#include <algorithm>
#include <mutex>
#include <ranges>

#include "model/parallel.h"
#include "planner/search/best_first.h"

namespace superstep {
// True if the next node is a branch. While no plan is known, a branch comes first even where the best cell's bound is a
// little higher.
bool BestFirst::branch_comes_first(const Frontier& open) const {
  const bool branch = !open.branches.empty() && open.branches.top().bound > score_to_exceed();
  const bool cell = !open.cells.empty() && open.cells.top().bound > score_to_exceed();
  const double share = is_seeking_first_plan() && options_.rank_of == 0 ? kBudget.first_plan_share : 1;
  return branch && (!cell || open.branches.top().bound >= share * open.cells.top().bound);
}

// Works on the nodes with the highest bounds, kBudget.nodes_at_a_time side by side. Results are merged in the order in
// which nodes were taken, and new nodes are taken only after a merge. So the order of nodes and the incumbents that
// they meet are the same for any number of threads.
void BestFirst::work(Frontier& open) {
  TaskWindow window;
  take(open, window);
  parallel_for(std::min(kBudget.nodes_at_a_time, thread_count(options_.threads)), options_.threads, [&](std::size_t) {
    try {
      while (const WorkPiece piece = wait_for_piece(open, window)) {
        work_on(piece);
        settle_all(piece, window, open);
        wake_helpers();
      }
    } catch (...) {
      window.fail();
      wake_helpers();
      throw;
    }
  });
}

// Waits for a piece of work and returns it; an empty piece ends the thread's work. A thread that has to wait makes rows
// of other threads' tables, or begins a node ahead of its turn.
WorkPiece BestFirst::wait_for_piece(const Frontier& open, TaskWindow& window) {
  WorkPiece piece;
  const auto next = [&] {
    const auto lock = lock_soon(window.mutex);
    if (!window.failed) piece = next_piece(open, window);
    return window.failed || window.tasks.empty() || piece;
  };
  const auto early = [&] {
    const auto lock = lock_soon(window.mutex);
    if (window.tasks.empty() || window.failed) return false;
    piece.task = begin_early(open, window);
    return piece.task != nullptr;
  };
  help_until(next, early);
  return piece;
}

// Fills the window with tasks for the nodes with the highest bounds. Branches that were put off come back once a plan
// is known, or once no other node is left.
void BestFirst::take(Frontier& open, TaskWindow& window) {
  while (window.tasks.size() < kBudget.nodes_at_a_time && open.bound() > score_to_exceed() && !time_is_up()) {
    if (!is_seeking_first_plan()) open.release();
    if (branch_comes_first(open)) {
      take_branch(open, window);
    } else if (!open.cells.empty() && open.cells.top().bound > score_to_exceed()) {
      window.tasks.push_back(cell_task(open));
    } else if (window.tasks.empty()) {
      open.release();
    } else {
      return;  // the results of the tasks in the window decide what comes next
    }
  }
}

// True if a branch is put off until a plan is known or no other node is left. Branches that use remote tiles have the
// highest bounds, but most of them do not fit where tiles are small.
bool BestFirst::puts_off(const OpenNode& o) const {
  return is_seeking_first_plan() && !o.waited && o.branch.uses_remote_tile();
}

// Takes the branch with the highest bound, or puts it off. A task begun ahead of its turn is used only if nothing about
// it has changed since.
void BestFirst::take_branch(Frontier& open, TaskWindow& window) {
  if (puts_off(open.branches.top())) return open.put_off();
  NodeTask task = branch_task(open.branches.pop());
  const auto early = std::ranges::find_if(window.early, [&](const NodeTask& t) { return t.is_turn_of(task.open); });
  if (early != window.early.end() && early->least == task.least && early->for_best == task.for_best &&
      early->most_work == task.most_work)
    return window.tasks.splice(window.tasks.end(), window.early, early);
  if (early != window.early.end()) early->in_vain = true;
  window.tasks.push_back(std::move(task));
}

// Returns the task of a branch against the incumbents and the credit of this moment.
NodeTask BestFirst::branch_task(OpenNode o) const {
  const double least = std::max(floor(), floor_of_kinds(o));
  NodeTask task{std::move(o)};
  const bool for_best = only_best_ || task.open.again;
  task.least = for_best ? std::max(least, score_to_beat()) : least;
  task.for_best = only_best_ && task.least > least;
  if (credit_ >= kBudget.least_credit && task.open.branch.uses_remote_tile())
    task.most_work = std::min(credit_, kBudget.most_credit);
  return task;
}

// Begins the first branch of the queue that no thread has begun, for a thread that would wait. The result counts if the
// task is the same at the branch's turn. Returns null if no branch may be begun.
NodeTask* BestFirst::begin_early(const Frontier& open, TaskWindow& window) const {
  if (window.early.size() >= kBudget.nodes_ahead) return nullptr;
  for (const OpenNode& o : open.branches) {
    if (o.bound <= score_to_exceed()) break;
    if (puts_off(o) || std::ranges::any_of(window.early, [&](const NodeTask& t) { return t.is_turn_of(o); })) continue;
    window.early.push_back(branch_task(o));
    window.early.back().begun = true;
    return &window.early.back();
  }
  return nullptr;
}

// Returns work for the first task that can go on: the task itself if its tables are made, else one of its tables. If
// all tasks wait for tables of other threads, returns a table that a later cell needs. Empty: nothing can be done now.
WorkPiece BestFirst::next_piece(const Frontier& open, TaskWindow& window) {
  bool waits = false;
  for (NodeTask& task : window.tasks) {
    if (task.begun) continue;
    std::erase_if(task.tables, [&](const TableKey& key) { return tables_.has(key); });
    if (task.tables.empty() || late()) {
      task.begun = true;
      return {&task, {}};
    }
    for (const TableKey& key : task.tables) {
      if (!window.may_make(key, tables_)) continue;
      window.making.push_back(key);
      return {nullptr, key};
    }
    waits = true;
  }
  const std::optional<TableKey> ahead = waits ? table_ahead(open, window) : std::nullopt;
  if (ahead) window.making.push_back(*ahead);
  return {nullptr, ahead};
}

// Returns a table that one of the next cells in the queue needs; nullopt: none can be made now.
std::optional<TableKey> BestFirst::table_ahead(const Frontier& open, const TaskWindow& window) {
  for (const OpenNode& o : open.cells | std::views::take(kBudget.tables_ahead)) {
    const CellPart& cell = cells_[o.cell];
    if (o.is_tightest || o.bound <= floor()) continue;
    for (const TableKey& key : bounds_.tables_of(cell.cell, cell.execution, cell.step)) {
      if (!tables_.has(key) && window.may_make(key, tables_)) return key;
    }
  }
  return std::nullopt;
}

void BestFirst::work_on(const WorkPiece& piece) {
  check_stop();
  if (piece.table)
    tables_.table(*piece.table);
  else
    piece.task->result = piece.task->is_cell() ? visit_cell(*piece.task) : visit(*piece.task);
}

// Marks a piece as done. Then merges the results of finished tasks in order, up to the first unfinished task.
void BestFirst::settle_all(const WorkPiece& piece, TaskWindow& window, Frontier& open) {
  const auto lock = lock_soon(window.mutex);
  if (piece.table)
    std::erase(window.making, *piece.table);
  else
    piece.task->done = true;
  window.early.remove_if([](const NodeTask& t) { return t.in_vain && t.done; });
  while (!window.tasks.empty() && window.tasks.front().done) {
    settle(window.tasks.front(), open);
    window.tasks.pop_front();
    take(open, window);
  }
}

}  // namespace superstep
