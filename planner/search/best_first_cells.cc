// SPDX-License-Identifier: Apache-2.0
// The cells of a search: their order, their bounds by tables, and their branches.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "model/parallel.h"
#include "planner/job/check_pins.h"
#include "planner/search/best_first.h"

namespace superstep {

double BestFirst::bound_of(const CellPart& c) const {
  if (c.least >= how_.below_cycles) return 0;
  return score(c.cell.micro_batch * c.cell.accumulation * c.cell.replicas, c.least);
}

void BestFirst::order_cells(const std::vector<Cell>& list) {
  if (frees_caps(job_, options_.defaults)) caps_per_setting_ = free_caps(job_).size();
  bounds_.prepare(list, options_.threads, options_.defaults);
  const std::int64_t least = std::ranges::min(list, {}, &Cell::micro_batch).micro_batch;
  check_pins(job_, static_cast<std::int64_t>(tables_.facts(least).graph.units.size()));
  std::vector<CellPart> parts;
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const Execution execution : kExecutions) {
      CellPart part{list[i], i, execution};
      // A cell without settings keeps one part, so that a result can say why there are none.
      const bool stands_for_all = execution == Execution::pipeline && list[i].all_settings() == 0;
      if (part.settings() > 0 || stands_for_all) parts.push_back(std::move(part));
    }
  }
  if (!options_.defaults) {
    parallel_for(parts.size(), options_.threads, [&](std::size_t i) {
      check_stop();
      parts[i].least = late() ? bounds_.bound_by_work(parts[i].cell)
                              : bounds_.bound_without_tables(parts[i].cell, parts[i].execution);
    });
  }
  for (CellPart& part : parts) {
    // A rank counts dominated cells too.
    const bool opens = part.least < INT64_MAX && (options_.rank_of > 0 || !bounds_.dominated()[part.of]);
    if (!opens) stats_.pruned += size_of(part);
    (opens ? cells_ : held_back_).push_back(std::move(part));
  }
  if (cells_.empty() && !held_back_.empty() && options_.explain != nullptr) cells_.push_back(widest());
  std::stable_sort(cells_.begin(), cells_.end(),
                   [&](const CellPart& a, const CellPart& b) { return bound_of(a) > bound_of(b); });
}

namespace {

// True if `a` gives a model more room: more IPUs per replica, then more IPUs per mesh, then a smaller micro-batch.
bool spreads_further(const Cell& a, const Cell& b) {
  const auto key = [](const Cell& c) { return std::tuple(c.mesh.size() * c.stages, c.mesh.size(), -c.micro_batch); };
  return key(a) > key(b);
}

}  // namespace

// Takes the part that spreads the model furthest out of the parts held back. The search of this part shows what
// overflows.
BestFirst::CellPart BestFirst::widest() {
  const auto widest = std::ranges::min_element(held_back_, spreads_further, &CellPart::cell);
  CellPart out = *widest;
  stats_.pruned -= size_of(out);
  held_back_.erase(widest);
  return out;
}

std::vector<Cell> BestFirst::cells() const {
  std::vector<Cell> all;
  for (const CellPart& c : cells_) all.push_back(c.cell);
  const auto held_back = static_cast<std::ptrdiff_t>(all.size());
  for (const CellPart& c : held_back_) all.push_back(c.cell);
  std::stable_sort(all.begin() + held_back, all.end(), spreads_further);
  std::vector<Cell> out;
  std::set<std::array<std::int64_t, 6>> seen;
  for (const Cell& c : all) {
    if (seen.insert({c.mesh.t1, c.mesh.t2, c.stages, c.replicas, c.micro_batch, c.accumulation}).second)
      out.push_back(c);
  }
  return out;
}

// The fate of a cell is the furthest fate of its parts.
std::vector<SearchedCell> BestFirst::searched_cells() const {
  std::vector<SearchedCell> out;
  std::map<std::size_t, std::size_t> row_of;
  using Fate = SearchedCell::Fate;
  const auto add = [&](const CellPart& part, Fate fate) {
    const Cell& c = part.cell;
    const double seconds = static_cast<double>(part.least) / job_.machine.chip.clock.value;
    const bool fits = part.least < INT64_MAX;
    if (!fits && fate != Fate::opened) fate = Fate::does_not_fit;
    const auto [row, fresh] = row_of.try_emplace(part.of, out.size());
    if (fresh)
      out.push_back({c.mesh, c.stages, c.replicas, c.micro_batch, c.accumulation, c.placement, c.groups,
                     c.all_settings(), 0, fate});
    SearchedCell& cell = out[row->second];
    cell.fate = std::min(cell.fate, fate);
    if (fits)
      cell.bound = std::max(cell.bound, static_cast<double>(c.micro_batch * c.accumulation * c.replicas) / seconds);
  };
  for (const CellPart& c : cells_) add(c, c.opened ? Fate::opened : Fate::excluded);
  for (const CellPart& c : held_back_) add(c, Fate::dominated);
  return out;
}

// Returns the progress of the first sweep, 0 to kFirstSweep: the share of cells that have left the queue.
double BestFirst::cells_done(const Frontier& open) const {
  return kFirstSweep * (1 - static_cast<double>(open.cells.size()) / static_cast<double>(cells_.size()));
}

// Raises the lower bound in cycles of a root branch for later sweeps. Does nothing if `root` is null, or if later
// sweeps may have wider limits.
void BestFirst::raise(RootBranch* root, std::int64_t least) const {
  if (root != nullptr && !how_.limits_may_widen) root->least = std::max(root->least, least);
}

// Takes the cell with the highest bound from the queue. Returns the task to bound the cell by the tables of its next
// step, or to open it.
NodeTask BestFirst::cell_task(Frontier& open) {
  NodeTask task{open.cells.pop()};
  const CellPart& cell = cells_[task.open.cell];
  if (!task.open.is_tightest) {
    if (!how_.front) report(cells_done(open), "tabulating " + std::to_string(open.cells.size()) + " cells");
    task.tables = bounds_.tables_of(cell.cell, cell.execution, cell.step);
  } else if (cell.roots.empty()) {
    task.spaces = setting_spaces(job_, cell.cell, options_.defaults, cell.execution);
    if (!how_.front && !task.spaces.empty()) report(cells_done(open), "searching " + label(task.spaces.front().common));
    task.guesses = cell.execution == Execution::phases && is_seeking_first_plan();
    task.least = score_to_beat();
    for (const SettingSpace& space : task.spaces) {
      const ExtremeTables extremes = extreme_tables_of(space, job_.machine.chip);
      task.tables.insert(task.tables.end(), {extremes.fastest, extremes.leanest});
      cuts_.prepare(space.common);
    }
  }
  return task;
}

NodeResult BestFirst::visit_cell(NodeTask& task) {
  if (late()) return {};  // the node stays unchanged
  if (task.open.is_tightest) return open_cell(task);
  CellPart& cell = cells_[task.open.cell];  // later sweeps keep the bound too
  const CellBounds::Tabulated by = bounds_.bound_of_step(cell.cell, cell.execution, cell.step);
  cell.least = std::max(cell.least, by.least);
  cell.settled = by.settled;
  if (!by.settled) cell.step = CellBounds::next(cell.step);
  task.open.bound = cell.least == INT64_MAX ? 0 : bound_of(cell);
  task.open.is_tightest = cell.settled;
  return {};
}

// Opens a cell into its root branches. While no plan is known, also guesses plans of a cell in phases.
NodeResult BestFirst::open_cell(const NodeTask& task) {
  NodeResult out;
  out.opened = true;
  CellPart& cell = cells_[task.open.cell];
  cell.opened = true;
  for (const SettingSpace& space : task.spaces) {
    Branches made = branches_of(tables_, space);
    out.left_out += made.left_out;
    for (Branch& b : made.list) cell.roots.push_back({std::move(b)});
  }
  for (RootBranch& root : cell.roots) {
    const std::int64_t least = root.least > 0 ? root.least : quick_bound(root.branch);
    raise(&root, least);
    out.children.push_back(branch(task.open, root.branch, least));
    out.children.back().root = &root;
  }
  if (task.guesses) guess_plans(task, out);
  return out;
}

// Merges the result of a cell's task. A cell that was only bounded goes back into the queue.
void BestFirst::settle_cell(NodeTask& task, Frontier& open) {
  OpenNode& o = task.open;
  CellPart& cell = cells_[o.cell];
  if (!task.result.opened) {
    open.cells.insert(std::move(o));
    return;
  }
  if (!how_.front) stats_.pruned += task.result.left_out;
  const bool first = !task.spaces.empty();
  const bool keeps = !first || (kept_cells_ < kBudget.kept_cells && !cell.roots.empty());
  if (first && keeps) ++kept_cells_;
  for (OpenNode& child : task.result.children) {
    if (!keeps) child.root = nullptr;
  }
  stats_.programmes += task.result.programmes;
  stats_.evaluations += task.result.evaluations;
  for (const Candidate& c : task.result.found) keep(c, true);
  push(task.result.children, open);
  if (!keeps) cell.roots.clear();
}

}  // namespace superstep
