// SPDX-License-Identifier: Apache-2.0
// A search by several threads: which branches and cells are worked on next, side by side.
#include <algorithm>
#include <mutex>
#include <ranges>

#include "model/parallel.h"
#include "planner/search/best_first.h"

namespace superstep {
bool BestFirst::branch_comes_first(const Frontier& open) const {
  const bool branch = !open.branches.empty() && open.branches.top().bound > enough();
  const bool cell = !open.cells.empty() && open.cells.top().bound > enough();
  const double share = is_seeking_first_plan() && options_.rank_of == 0 ? kBudget.first_plan_share : 1;
  return branch && (!cell || open.branches.top().bound >= share * open.cells.top().bound);
}

// Whatever is on top is worked on. What comes of it is merged when all before it are, and only then the next is taken:
// in the same order, against the same plans, for any number of threads.
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

// None: there is nothing left to do. Whoever has to wait makes rows of others' tables, or works on what comes later.
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

void BestFirst::take(Frontier& open, TaskWindow& window) {
  while (window.tasks.size() < kBudget.nodes_at_a_time && open.bound() > enough() && !time_is_up()) {
    if (!is_seeking_first_plan()) open.release();
    if (branch_comes_first(open)) {
      take_branch(open, window);
    } else if (!open.cells.empty() && open.cells.top().bound > enough()) {
      window.tasks.push_back(cell_task(open));
    } else if (window.tasks.empty()) {
      open.release();
    } else {
      return;  // what comes of them decides
    }
  }
}

// Where tiles are small, most settings that keep something on other IPUs' tiles do not fit and have the highest bounds:
// they wait until there is a plan, or nothing else.
bool BestFirst::puts_off(const OpenNode& o) const { return is_seeking_first_plan() && !o.waited && o.branch.lends(); }

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

// As it stands now.
NodeTask BestFirst::branch_task(OpenNode o) const {
  const double least = std::max(floor(), floor_of_kinds(o));
  NodeTask task{std::move(o)};
  const bool for_best = wants_one_ || task.open.again;
  task.least = for_best ? std::max(least, score_to_beat()) : least;
  task.for_best = wants_one_ && task.least > least;
  if (credit_ >= kBudget.least_credit && task.open.branch.lends())
    task.most_work = std::min(credit_, kBudget.most_credit);
  return task;
}

// The first branch that is not taken, and that may be if nothing better comes of those that are. What comes of it
// counts if it is the same task then.
NodeTask* BestFirst::begin_early(const Frontier& open, TaskWindow& window) const {
  if (window.early.size() >= kBudget.nodes_ahead) return nullptr;
  for (const OpenNode& o : open.branches) {
    if (o.bound <= enough()) break;
    if (puts_off(o) || std::ranges::any_of(window.early, [&](const NodeTask& t) { return t.is_turn_of(o); })) continue;
    window.early.push_back(branch_task(o));
    window.early.back().begun = true;
    return &window.early.back();
  }
  return nullptr;
}

// Of the first task for which something can be done. While those that are left wait for others' tables, a table that
// may be needed next.
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

std::optional<TableKey> BestFirst::table_ahead(const Frontier& open, const TaskWindow& window) {
  for (const OpenNode& o : open.cells | std::views::take(kBudget.tables_ahead)) {
    const CellPart& cell = cells_[o.cell];
    if (o.sure || o.bound <= floor()) continue;
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
    piece.task->visit = piece.task->is_cell() ? visit_cell(*piece.task) : visit(*piece.task);
}

// The piece is done, and with it the tasks that waited for nothing else.
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
