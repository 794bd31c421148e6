// SPDX-License-Identifier: Apache-2.0
#include "planner/search/best_first.h"

#include <algorithm>
#include <limits>

#include "planner/cuts/search_budget.h"

namespace superstep {

BestFirst::BestFirst(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells)
    : tables_(tables), job_(tables.job()), options_(options), cuts_(tables, options.defaults), bounds_(tables) {
  how_.goal = job_.goal;
  order_cells(cells);
}

BestFirst::~BestFirst() = default;

void BestFirst::know(std::vector<Candidate> list) {
  for (Candidate& c : list) {
    c.from_other_part = true;
    keep(c);
  }
}

double BestFirst::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double BestFirst::score(std::int64_t global_batch, std::int64_t cycles) const {
  return how_.goal.score(global_batch, static_cast<double>(cycles) / job_.machine.chip.clock.value);
}

void BestFirst::report(double share, const std::string& what) const {
  if (options_.progress && std::this_thread::get_id() == reporter_) options_.progress(share, what);
}

void BestFirst::check_stop() const {
  if (options_.stop && options_.stop()) throw Stopped();
}

bool BestFirst::time_is_up() {
  if (late()) stopped_ = true;
  if (options_.work_limit > 0 && stats_.work >= options_.work_limit) stopped_ = true;
  return stopped_;
}

// ---- sweeps

// Prepares a sweep. A sweep of a front keeps the earlier plans that its limits allow as incumbents.
void BestFirst::start(const Sweep& how) {
  how_ = how;
  credit_ = 0;
  reporter_ = std::this_thread::get_id();
  open_in_front_ = 0;
  if (!how.front) return;
  by_kind_.clear();
  for (const Candidate& c : std::exchange(all_found_, {})) {
    if (how.allows(c))
      keep(c);
    else
      all_found_.push_back(c);
  }
}

// Cells are opened, and their branches divided, from the highest bound down. While no plan is known, branches come
// before cells whose bounds are only a little higher: a first plan prunes many nodes.
void BestFirst::sweep(const Sweep& how) {
  start(how);
  Frontier open = all_cells();
  work(open);
  if (!stopped_ && open_in_front_ > incumbent()) ++stats_.points_left;
}

void BestFirst::find_best(const Sweep& how) {
  start(how);
  open_ = std::make_unique<Frontier>(all_cells());
  only_best_ = true;
  work(*open_);
  only_best_ = false;
  conclude();
}

void BestFirst::find_runners_up() {
  // A stopped sweep goes on with the best plan first, as its time limit may have grown.
  only_best_ = std::exchange(stopped_, false);
  if (only_best_) work(*open_);
  only_best_ = false;
  if (options_.runners_up) work(*open_);
  conclude();
  open_->release();
  for (auto* queue : {&open_->cells, &open_->branches}) {
    for (const OpenNode& o : *queue) leave(o);
  }
  open_.reset();
  count_all();
}

Frontier BestFirst::all_cells() {
  Frontier open;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    open.cells.insert({bound_of(cells_[i]), made_++, i, {}, options_.defaults || cells_[i].settled});
  return open;
}

// Counts a node as pruned that is still open at the end of the first sweep. For a rank, a node that a limit left open
// may hold faster plans of its kinds.
void BestFirst::leave(const OpenNode& o) {
  if (!o.counted) stats_.pruned += o.branch.parts ? o.branch.size : size_of(cells_[o.cell]);
  if (!stopped_ || options_.rank_of == 0 || o.bound <= options_.rank_of) return;
  const CellPart& cell = cells_[o.cell];
  const std::vector<std::string> kinds =
      o.branch.parts ? o.branch.kinds() : kinds_of(job_, cell.cell, options_.defaults, cell.execution);
  for (const std::string& kind : kinds) maybe_faster_.insert({cell.of, kind});
}

// Sets the bound, the gap and the proof that the first sweep has reached.
void BestFirst::conclude() {
  const double left = open_->bound();  // nodes that wait for runners-up included
  const double best = incumbent();
  const double bound = std::max({best, open_bound_, stopped_ ? left : 0});
  stats_.best = best, stats_.bound = bound;
  if (bound > 0) stats_.gap = 1 - best / bound;  // 1: no plan was found, but a plan may exist
  stats_.optimal = best > 0 ? stats_.gap <= 1e-9 : !stopped_ && open_bound_ == 0;
}

void BestFirst::count_all() {
  for (const auto& kind : faster_) maybe_faster_.erase(kind);
  stats_.faster = static_cast<double>(faster_.size());
  stats_.undecided = static_cast<double>(maybe_faster_.size());
  for (const auto& [kind, most] : left_of_) {
    const auto it = by_kind_.find(kind);
    if (most > std::max(floor(), it != by_kind_.end() ? score(it->second) : 0)) ++stats_.kinds_left;
  }
  const double all = std::round((explored_ + stats_.pruned) / caps_per_setting_);
  stats_.explored = static_cast<double>(settings_cut_.size());
  stats_.feasible = static_cast<double>(settings_fit_.size());
  stats_.pruned = all - stats_.explored;
}

std::int64_t BestFirst::quick_bound(const Branch& b) const {
  const Setting setting = b.setting();
  return least_cycles(setting, limits_of(setting, 0));
}

// Returns the open node of `b`, a branch of `from` whose plans take at least `least` cycles. The bound is 0 if no such
// plan is within the limit of the sweep.
OpenNode BestFirst::branch(const OpenNode& from, const Branch& b, std::int64_t least) const {
  OpenNode o{from.bound, 0, from.cell, b};
  o.parent = from.order;
  if (from.branch.parts && from.branch.divides_caps()) o.setting = from.setting;
  o.bound = least >= how_.below_cycles ? 0 : std::min(o.bound, score(b.parts->space().common.global_batch(), least));
  return o;
}

// Queues the branches that may hold a plan of interest, and counts the rest as pruned.
void BestFirst::push(std::vector<OpenNode>& branches, Frontier& open) {
  for (OpenNode& o : branches) {
    o.order = made_++;
    if (o.setting == 0) o.setting = o.order + 1;
    if (o.bound > std::max(floor(), floor_of_kinds(o)))
      open.branches.insert(std::move(o));
    else if (!how_.front)
      note_given_up(o), stats_.pruned += o.branch.size;
  }
}

// ---- branches and leaves

// True if the time limit has passed, or the patience while no plan is known.
bool BestFirst::late() const {
  const double limit = options_.patience > 0 && !found_any_ ? options_.patience : options_.time_limit;
  return limit > 0 && seconds() > limit;
}

// Works on a branch: divides a branch with the tightest bound, bounds any other branch, and cuts a leaf.
NodeResult BestFirst::visit(const NodeTask& task) const {
  const OpenNode& o = task.open;
  if (o.is_tightest && !o.branch.leaf()) {
    NodeResult out;
    const Branches parts = o.branch.children(tables_);
    for (const Branch& part : parts.list) out.children.push_back(branch(o, part, quick_bound(part)));
    out.left_out = parts.left_out;
    return out;
  }
  if (o.bound <= task.least || o.is_tightest) return {};
  if (!o.branch.leaf()) return bound(o.branch, task.least, task.most_work);
  const Setting setting = o.branch.setting();
  CutLimits limits = limits_of(setting, task.least);
  limits.least = cycles_of(setting.plan().global_batch(), o.bound);
  limits.reduced_budget = !o.again;
  return leaf(setting, limits);
}

void BestFirst::settle(NodeTask& task, Frontier& open) {
  const bool traced = options_.trace && !how_.front;
  SearchStep step = traced ? step_of(task) : SearchStep();
  const std::size_t children = task.result.children.size(), queued = open.branches.size();
  if (task.is_cell())
    settle_cell(task, open);
  else
    settle_branch(task, open);
  if (!traced) return;
  if (children > 0) {
    const std::size_t dropped = children - (open.branches.size() - queued);
    step.outcome += std::to_string(children) + (dropped > 0 ? ", " + std::to_string(dropped) + " dropped" : "");
  }
  step.incumbent = incumbent();
  options_.trace(step);
}

// Describes a task before its result is merged. Where the node has children, their number is to be added to the
// outcome.
SearchStep BestFirst::step_of(const NodeTask& task) const {
  const OpenNode& o = task.open;
  SearchStep step;
  step.ipus = job_.machine.ipus;
  step.node = o.order;
  step.parent = o.parent;
  step.level = task.is_cell()    ? SearchStep::Level::cell
               : o.branch.leaf() ? SearchStep::Level::leaf
                                 : SearchStep::Level::branch;
  step.name = name_of(o);
  step.bound = o.bound;
  if (task.is_only_for_runners_up())
    step.bound = std::min(o.bound, task.least);
  else if (step.level == SearchStep::Level::branch && !o.is_tightest)
    step.bound = std::min(o.bound, task.result.bound);
  step.outcome = outcome_of(task);
  step.for_best = only_best_;
  return step;
}

std::string BestFirst::name_of(const OpenNode& o) const {
  if (!o.branch.parts) {
    const CellPart& cell = cells_[o.cell];
    const char* how = cell.execution == Execution::phases     ? ", phases"
                      : cell.execution == Execution::pipeline ? ", pipeline"
                                                              : ", pipeline that gathers weights";
    return label(cell.cell.plan()) + how;
  }
  const SettingSpace& space = o.branch.parts->space();
  if (o.branch.leaf()) {
    const Locations at = space.plan(o.branch.part.begin).location;
    const auto place = [](Location location) { return std::string(superstep::name_of(location)); };
    return "weights " + place(at.weights) + ", states " + place(at.optimizer_state) + ", stash " +
           place(at.activations) + ", memory cap " + std::to_string(space.caps.range.most) + " bytes, live " +
           std::string(superstep::name_of(space.caps.least_live()));
  }
  const std::string order(space.phased ? superstep::name_of(space.common.phase_order)
                                       : superstep::name_of(space.common.schedule));
  if (o.branch.divides_caps()) return "1 setting, " + order + ", several memory caps";
  return std::to_string(static_cast<std::int64_t>(space.size(o.branch.part))) + " settings, " + order;
}

std::string BestFirst::outcome_of(const NodeTask& task) const {
  const OpenNode& o = task.open;
  const NodeResult& result = task.result;
  if (task.is_cell()) {
    if (result.opened) return result.children.empty() ? "opened: no plan fits" : "opened into ";
    return o.bound > 0 ? "bounded by tables" : "bounded by tables: no plan fits";
  }
  if (o.branch.leaf()) {
    if (is_cut_again(task)) return "cut with the reduced budget, put back";
    double best = 0;
    for (const Candidate& c : result.found) best = std::max(best, score(c));
    if (best > 0) return best > incumbent() ? "cut: a new best plan" : "cut: a plan, but no better";
  } else if (o.is_tightest) {
    return result.children.empty() ? "divided: no plan fits" : "divided into ";
  } else if (result.bound > 0) {
    return "bounded by a cut programme";
  }
  const std::string how = result.programmes == 0 ? "no better bound" : "cut: no better plan";
  return how + (task.is_only_for_runners_up() ? ", put back for runners-up" : ", dropped");
}

// True if a leaf's reduced budget left open cuts that may beat the incumbent.
bool BestFirst::is_cut_again(const NodeTask& task) const {
  const OpenNode& o = task.open;
  return o.branch.leaf() && !o.again && std::min(task.result.open_bound, o.bound) > score_to_beat();
}

void BestFirst::settle_branch(NodeTask& task, Frontier& open) {
  OpenNode& o = task.open;
  task.result.open_bound = std::min(task.result.open_bound, o.bound);
  if (is_cut_again(task)) return cut_again(task, open);
  if (task.is_only_for_runners_up()) return look_later(task, open);
  merge(o, task.result);
  raise(o.root, task.result.least);
  if (o.branch.leaf()) return;
  if (o.is_tightest) {
    push(task.result.children, open);
  } else if (task.result.bound > 0) {
    o.bound = std::min(o.bound, task.result.bound);
    o.is_tightest = true;
    open.branches.insert(std::move(o));
  }
}

// Puts a leaf back into the queue, where it has the full budget at its next turn.
void BestFirst::cut_again(NodeTask& task, Frontier& open) {
  OpenNode& o = task.open;
  merge(o, {.feasible = task.result.feasible,
            .programmes = task.result.programmes,
            .evaluations = task.result.evaluations,
            .work = task.result.work,
            .found = task.result.found});
  o.bound = std::min(o.bound, task.result.open_bound);
  o.again = true;
  open.branches.insert(std::move(o));
}

// Puts a node back into the queue that holds no better plan than the incumbent, but may hold a runner-up. The next turn
// of the node is in find_runners_up().
void BestFirst::look_later(NodeTask& task, Frontier& open) {
  OpenNode& o = task.open;
  count(o, task.result);
  open_bound_ = std::max(open_bound_, task.result.open_bound);
  credit_ += o.branch.leaf() ? task.result.work : 0;
  raise(o.root, task.result.least);
  o.bound = std::min(o.bound, task.least);
  o.again = false;
  open.branches.insert(std::move(o));
}

// ---- what is worth a cut programme

double BestFirst::incumbent() const {
  double best = 0;
  for (const auto& [kind, c] : by_kind_) best = std::max(best, score(c));
  return best;
}

// Returns the score of the incumbent, of rank_of, or of at_least. Only leaves that may exceed this score get the full
// budget, not runners-up.
double BestFirst::score_to_beat() const {
  return options_.rank_of > 0 ? options_.rank_of : std::max(options_.at_least, incumbent());
}

// Returns the score that a plan must exceed to be of interest: rank_of for a rank, the incumbent's score for a front.
// Else the score of the K-th best kind (K: sought_kinds()), but at least at_least and runner_up_share of the
// incumbent's.
double BestFirst::floor() const {
  if (options_.rank_of > 0) return options_.rank_of;
  if (how_.front) return incumbent();
  double kth = 0;
  const std::int64_t kinds = sought_kinds();
  if (std::ssize(by_kind_) >= kinds) {
    std::vector<double> scores;
    for (const auto& [kind, c] : by_kind_) scores.push_back(score(c));
    std::nth_element(scores.begin(), scores.begin() + (kinds - 1), scores.end(), std::greater<>());
    kth = scores[static_cast<std::size_t>(kinds) - 1];
  }
  return std::max({options_.at_least, kth, kBudget.runner_up_share * incumbent()});
}

// Returns the score that a plan of a branch must exceed to be the best of its kind: the least over the branch's kinds.
// A kind without a plan counts 0, or the incumbent's score if the kind was given up. A front has no kinds: 0. A rank
// needs only one faster plan for each kind of a cell: 0 if a kind has none yet, else infinity.
double BestFirst::floor_of_kinds(const OpenNode& o) const {
  if (how_.front) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& kind : o.branch.kinds()) {
    if (options_.rank_of > 0) {
      if (faster_.count({cells_[o.cell].of, kind}) == 0) return 0;
      continue;
    }
    const auto it = by_kind_.find(kind);
    least = std::min(least, it != by_kind_.end() ? score(it->second) : gave_up(kind) ? score_to_beat() : 0);
  }
  return least;
}

// True if runners-up of a kind are no longer sought: much work on its leaves found no plan.
bool BestFirst::gave_up(const std::string& kind) const {
  const auto in_vain = in_vain_of_.find(kind);
  return in_vain != in_vain_of_.end() && in_vain->second >= kBudget.vain_work_of_kind && by_kind_.count(kind) == 0;
}

// Records that runners-up may be missing, for each kind of a pruned branch that was given up.
void BestFirst::note_given_up(const OpenNode& o) {
  for (const std::string& kind : o.branch.kinds()) {
    if (gave_up(kind)) leave_open(kind, std::min(o.bound, score_to_beat()));
  }
}

void BestFirst::leave_open(const std::string& kind, double bound) { left_of_[kind] = std::max(left_of_[kind], bound); }

// ---- what was found

void BestFirst::merge(OpenNode& o, const NodeResult& v) {
  count(o, v);
  const bool leaf = o.branch.leaf(), was_cut = v.programmes > 0;
  if (!how_.front) {
    if (!o.is_tightest && !o.counted && (leaf || v.bound <= 0)) stats_.pruned += o.branch.size;
    stats_.pruned += v.left_out;
    open_bound_ = std::max(open_bound_, v.open_bound);
    if (leaf ? v.found.empty() : v.bound <= 0) note_given_up(o);
    if (leaf && v.open_bound > 0) leave_open(o.branch.kinds().at(0), v.open_bound);
  } else {
    open_in_front_ = std::max(open_in_front_, v.open_bound);
  }
  if (leaf && options_.rank_of > 0) note_faster(o, v);
  if (leaf && was_cut && v.found.empty()) in_vain_of_[o.branch.kinds().at(0)] += v.work, credit_ += v.work;
  if (!leaf && v.bound > 0) credit_ -= v.work;
  for (const Candidate& c : v.found) keep(c);
}

// Counts the work on a node. A setting counts as explored once any of its bounds on temporary memory was cut.
void BestFirst::count(OpenNode& o, const NodeResult& v) {
  stats_.programmes += v.programmes;
  stats_.work += v.work + v.programmes * kBudget.programme_work;
  stats_.evaluations += v.evaluations;
  if (how_.front || !o.branch.leaf() || v.programmes == 0) return;
  if (!o.counted) explored_ += o.branch.size;
  o.counted = true;
  settings_cut_.insert(o.setting);
  if (v.feasible) settings_fit_.insert(o.setting);
}

// With rank_of: records whether the kind of a leaf has a better plan, or may have a better plan.
void BestFirst::note_faster(const OpenNode& o, const NodeResult& v) {
  const std::pair<std::size_t, std::string> kind(cells_[o.cell].of, o.branch.kinds().at(0));
  if (std::any_of(v.found.begin(), v.found.end(), [&](const Candidate& c) { return score(c) > options_.rank_of; }))
    faster_.insert(kind);
  else if (v.refused || v.open_bound > options_.rank_of)
    maybe_faster_.insert(kind);
}

void BestFirst::keep(const Candidate& c, bool guessed) {
  found_any_ = true;
  found_unguessed_ |= !guessed;
  auto [it, fresh] = by_kind_.try_emplace(kind_of(c.plan), c);
  if (!fresh && better(c, it->second)) it->second = c;
  all_found_.push_back(c);
}

// True if `a` has the higher score. Of equal scores the plan whose label() sorts first is better.
bool BestFirst::better(const Candidate& a, const Candidate& b) const {
  if (score(a) != score(b)) return score(a) > score(b);
  return label(a.plan) < label(b.plan);
}

std::vector<Candidate> BestFirst::best() const {
  std::vector<Candidate> out;
  const double least = kBudget.runner_up_share * incumbent();
  for (const auto& [kind, c] : by_kind_) {
    if (score(c) > least) out.push_back(c);  // strictly, as in floor(): plans with this very score may be pruned
  }
  std::stable_sort(out.begin(), out.end(), [&](const Candidate& a, const Candidate& b) { return better(a, b); });
  return out;
}

}  // namespace superstep
