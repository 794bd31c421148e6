// SPDX-License-Identifier: Apache-2.0
// Cells of a search: in which order they come, their bounds by tables, and their branches.
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
  if (frees_caps(job_, options_.defaults)) caps_ = free_caps(job_).size();
  bounds_.prepare(list, options_.threads, options_.defaults);
  const std::int64_t least = std::ranges::min(list, {}, &Cell::micro_batch).micro_batch;
  check_pins(job_, static_cast<std::int64_t>(tables_.facts(least).graph.units.size()));
  std::vector<CellPart> parts;
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const Execution execution : kExecutions) {
      CellPart part{list[i], i, execution};
      // Without settings one part says for the cell why there are none.
      const bool stands_for_all = execution == Execution::pipeline && list[i].all_settings() == 0;
      if (part.settings() > 0 || stands_for_all) parts.push_back(std::move(part));
    }
  }
  if (!options_.defaults) {
    parallel_for(parts.size(), options_.threads, [&](std::size_t i) {
      check_stop();
      parts[i].least = late() ? bounds_.rough(parts[i].cell) : bounds_.quick(parts[i].cell, parts[i].execution);
    });
  }
  for (CellPart& part : parts) {
    const bool opens =
        part.least < INT64_MAX && (options_.rank_of > 0 || !bounds_.dominated()[part.of]);  // a rank counts all
    if (!opens) stats_.pruned += size_of(part);
    (opens ? cells_ : held_back_).push_back(std::move(part));
  }
  if (cells_.empty() && !held_back_.empty() && options_.explain != nullptr) cells_.push_back(widest());
  std::stable_sort(cells_.begin(), cells_.end(),
                   [&](const CellPart& a, const CellPart& b) { return bound_of(a) > bound_of(b); });
}

namespace {

// Whether a model has more room, as far as degrees tell.
bool spreads_further(const Cell& a, const Cell& b) {
  const auto key = [](const Cell& c) { return std::tuple(c.mesh.size() * c.stages, c.mesh.size(), -c.micro_batch); };
  return key(a) > key(b);
}

}  // namespace

// To say what overflows: of the cells held back, one that spreads the model furthest.
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

// A cell has the fate of the part that came furthest.
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

// The share of all work that is done when only these cells are not open.
double BestFirst::cells_done(const Frontier& open) const {
  return kFirstSweep * (1 - static_cast<double>(open.cells.size()) / static_cast<double>(cells_.size()));
}

// `root` may be null.
void BestFirst::raise(RootBranch* root, std::int64_t least) const {
  if (root != nullptr && !how_.probes) root->least = std::max(root->least, least);
}

// Of the cell on top, which it takes.
NodeTask BestFirst::cell_task(Frontier& open) {
  NodeTask task{open.cells.pop()};
  const CellPart& cell = cells_[task.open.cell];
  if (!task.open.sure) {
    if (!how_.front) report(cells_done(open), "tabulating " + std::to_string(open.cells.size()) + " cells");
    task.tables = bounds_.tables_of(cell.cell, cell.execution, cell.step);
  } else if (cell.roots.empty()) {
    task.spaces = setting_spaces(job_, cell.cell, options_.defaults, cell.execution);
    if (!how_.front && !task.spaces.empty()) report(cells_done(open), "searching " + label(task.spaces.front().common));
    task.guesses = cell.execution == Execution::phases && is_seeking_first_plan();
    task.least = score_to_beat();
    for (const SettingSpace& space : task.spaces) {
      const Ends ends = ends_of(space, job_.machine.chip);
      task.tables.insert(task.tables.end(), {ends.fastest, ends.leanest});
      cuts_.prepare(space.common);
    }
  }
  return task;
}

NodeResult BestFirst::visit_cell(NodeTask& task) {
  if (late()) return {};  // it stays as it is
  if (task.open.sure) return open_cell(task);
  CellPart& cell = cells_[task.open.cell];  // also for the sweeps that follow
  const CellBounds::Tabulated by = bounds_.tabulated(cell.cell, cell.execution, cell.step);
  cell.least = std::max(cell.least, by.least);
  cell.settled = by.settled;
  if (!by.settled) cell.step = CellBounds::next(cell.step);
  task.open.bound = cell.least == INT64_MAX ? 0 : bound_of(cell);
  task.open.sure = cell.settled;
  return {};
}

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

void BestFirst::settle_cell(NodeTask& task, Frontier& open) {
  OpenNode& o = task.open;
  CellPart& cell = cells_[o.cell];
  if (!task.visit.opened) {
    open.cells.insert(std::move(o));
    return;
  }
  if (!how_.front) stats_.pruned += task.visit.left_out;
  const bool first = !task.spaces.empty();
  const bool keeps = !first || (kept_cells_ < kBudget.kept_cells && !cell.roots.empty());
  if (first && keeps) ++kept_cells_;
  for (OpenNode& child : task.visit.children) {
    if (!keeps) child.root = nullptr;
  }
  stats_.programmes += task.visit.programmes;
  stats_.evaluations += task.visit.evaluations;
  for (const Candidate& c : task.visit.found) keep(c, true);
  push(task.visit.children, open);
  if (!keeps) cell.roots.clear();
}

}  // namespace superstep
