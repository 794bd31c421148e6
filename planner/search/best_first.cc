// SPDX-License-Identifier: Apache-2.0
#include "planner/search/best_first.h"

#include <algorithm>
#include <limits>

namespace superstep {

BestFirst::BestFirst(Tables& tables, const SearchOptions& options, const std::vector<Cell>& cells)
    : tables_(tables), job_(tables.job()), options_(options), cuts_(tables, options.defaults), bounds_(tables) {
  how_.goal = job_.goal;
  order_cells(cells);
}

BestFirst::~BestFirst() = default;

void BestFirst::know(std::vector<Candidate> list) {
  for (Candidate& c : list) {
    c.elsewhere = true;
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
  if (options_.programme_limit > 0 && stats_.programmes >= options_.programme_limit) stopped_ = true;
  return stopped_;
}

// ---- best first

// Of what was found before the sweep knows what its limits allow.
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

// Cells are opened, and their branches divided, from the highest bound down. Until there is a plan, against which the
// rest is pruned, branches come before cells that promise little more.
void BestFirst::sweep(const Sweep& how) {
  start(how);
  Frontier open = all_cells();
  work(open);
  if (!stopped_ && open_in_front_ > incumbent()) ++stats_.points_left;
}

void BestFirst::find_best(const Sweep& how) {
  start(how);
  open_ = std::make_unique<Frontier>(all_cells());
  wants_one_ = true;
  work(*open_);
  wants_one_ = false;
  conclude();
}

void BestFirst::find_runners_up() {
  wants_one_ = std::exchange(stopped_, false);  // there may be more time: for the best plan first
  if (wants_one_) work(*open_);
  wants_one_ = false;
  work(*open_);
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

void BestFirst::leave(const OpenNode& o) {
  if (!o.counted) stats_.pruned += o.branch.parts ? o.branch.size : size_of(cells_[o.cell]);
  if (!stopped_ || options_.rank_of == 0 || o.bound <= options_.rank_of) return;
  const CellPart& cell = cells_[o.cell];
  const std::vector<std::string> kinds =
      o.branch.parts ? o.branch.kinds() : kinds_of(job_, cell.cell, options_.defaults, cell.execution);
  for (const std::string& kind : kinds) maybe_faster_.insert({cell.of, kind});
}

// What the sweep over all kinds has proved.
void BestFirst::conclude() {
  const double left = open_->bound();  // be it among runners-up
  const double best = incumbent();
  const double bound = std::max({best, open_bound_, stopped_ ? left : 0});
  stats_.best = best, stats_.bound = bound;
  if (bound > 0) stats_.gap = 1 - best / bound;  // 1: no plan was found, though there may be one
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
  const double all = std::round((explored_ + stats_.pruned) / caps_);
  stats_.explored = static_cast<double>(settings_cut_.size());
  stats_.feasible = static_cast<double>(settings_fit_.size());
  stats_.pruned = all - stats_.explored;
}

std::int64_t BestFirst::quick_bound(const Branch& b) const {
  const Setting setting = b.setting();
  return least_cycles(setting, limits_of(setting, 0));
}

// A branch of `from` that takes `least` cycles or more.
OpenNode BestFirst::branch(const OpenNode& from, const Branch& b, std::int64_t least) const {
  OpenNode o{from.bound, 0, from.cell, b};
  if (from.branch.parts && from.branch.divides_caps()) o.setting = from.setting;
  o.bound = least >= how_.below_cycles ? 0 : std::min(o.bound, score(b.parts->space().common.global_batch(), least));
  return o;
}

// Those that may be of interest.
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

bool BestFirst::late() const {
  const double limit = options_.patience > 0 && !found_any_ ? options_.patience : options_.time_limit;
  return limit > 0 && seconds() > limit;
}

NodeResult BestFirst::visit(const NodeTask& task) const {
  const OpenNode& o = task.open;
  if (o.sure && !o.branch.leaf()) {
    NodeResult out;
    const Branches parts = o.branch.children(tables_);
    for (const Branch& part : parts.list) out.children.push_back(branch(o, part, quick_bound(part)));
    out.left_out = parts.left_out;
    return out;
  }
  if (o.bound <= task.least || o.sure) return {};
  if (!o.branch.leaf()) return bound(o.branch, task.least, task.most_work);
  const Setting setting = o.branch.setting();
  CutLimits limits = limits_of(setting, task.least);
  limits.least = cycles_of(setting.plan().global_batch(), o.bound);
  limits.reduced_budget = !o.again;
  return leaf(setting, limits);
}

void BestFirst::settle(NodeTask& task, Frontier& open) {
  OpenNode& o = task.open;
  if (task.is_cell()) return settle_cell(task, open);
  task.visit.open_bound = std::min(task.visit.open_bound, o.bound);
  if (o.branch.leaf() && !o.again && task.visit.open_bound > score_to_beat()) return cut_again(task, open);
  if (task.for_best && !o.sure && task.visit.bound <= 0 && task.visit.found.empty()) return look_later(task, open);
  merge(o, task.visit);
  raise(o.root, task.visit.least);
  if (o.branch.leaf()) return;
  if (o.sure) {
    push(task.visit.children, open);
  } else if (task.visit.bound > 0) {
    o.bound = std::min(o.bound, task.visit.bound);
    o.sure = true;
    open.branches.insert(std::move(o));
  }
}

// A leaf of which some of the work has left open what may be better: when its turn comes again, with all of it.
void BestFirst::cut_again(NodeTask& task, Frontier& open) {
  OpenNode& o = task.open;
  merge(o, {.feasible = task.visit.feasible,
            .programmes = task.visit.programmes,
            .evaluations = task.visit.evaluations,
            .work = task.visit.work,
            .found = task.visit.found});
  o.bound = std::min(o.bound, task.visit.open_bound);
  o.again = true;
  open.branches.insert(std::move(o));
}

// Nothing of it is better than the best plan, but perhaps than other runners-up: when these are looked for.
void BestFirst::look_later(NodeTask& task, Frontier& open) {
  OpenNode& o = task.open;
  count(o, task.visit);
  open_bound_ = std::max(open_bound_, task.visit.open_bound);
  credit_ += o.branch.leaf() ? task.visit.work : 0;
  raise(o.root, task.visit.least);
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

// Score: a leaf that may be better is worth all the work; runners-up are not.
double BestFirst::score_to_beat() const {
  return options_.rank_of > 0 ? options_.rank_of : std::max(options_.at_least, incumbent());
}

// Score: plans that are no better are of no interest. Those of the K-th best kind decide.
double BestFirst::floor() const {
  if (options_.rank_of > 0) return options_.rank_of;
  if (how_.front) return incumbent();
  double kth = 0;
  if (static_cast<std::int64_t>(by_kind_.size()) >= options_.top) {
    std::vector<double> scores;
    for (const auto& [kind, c] : by_kind_) scores.push_back(score(c));
    std::nth_element(scores.begin(), scores.begin() + (options_.top - 1), scores.end(), std::greater<>());
    kth = scores[static_cast<std::size_t>(options_.top) - 1];
  }
  return std::max({options_.at_least, kth, kBudget.runner_up_share * incumbent()});
}

// Of each kind one plan counts, so that a branch must be better than the best known of one of its kinds. For a rank,
// that one of a kind of the cell is better is all there is to know.
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

bool BestFirst::gave_up(const std::string& kind) const {
  const auto in_vain = in_vain_of_.find(kind);
  return in_vain != in_vain_of_.end() && in_vain->second >= kBudget.vain_work_of_kind && by_kind_.count(kind) == 0;
}

// Nothing of the branch that is worth it, but perhaps runners-up.
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
    if (!o.sure && !o.counted && (leaf || v.bound <= 0)) stats_.pruned += o.branch.size;
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

// A setting of which some bounds on temporary memory were cut, and others were not needed, counts as explored.
void BestFirst::count(OpenNode& o, const NodeResult& v) {
  stats_.programmes += v.programmes;
  stats_.evaluations += v.evaluations;
  if (how_.front || !o.branch.leaf() || v.programmes == 0) return;
  if (!o.counted) explored_ += o.branch.size;
  o.counted = true;
  settings_cut_.insert(o.setting);
  if (v.feasible) settings_fit_.insert(o.setting);
}

void BestFirst::note_faster(const OpenNode& o, const NodeResult& v) {
  const std::pair<std::size_t, std::string> kind(cells_[o.cell].of, o.branch.kinds().at(0));
  if (std::any_of(v.found.begin(), v.found.end(), [&](const Candidate& c) { return score(c) > options_.rank_of; }))
    faster_.insert(kind);
  else if (v.refused || v.open_bound > options_.rank_of)
    maybe_faster_.insert(kind);
}

void BestFirst::keep(const Candidate& c, bool guessed) {
  found_any_ = true;
  found_one_ |= !guessed;
  auto [it, fresh] = by_kind_.try_emplace(kind_of(c.plan), c);
  if (!fresh && better(c, it->second)) it->second = c;
  all_found_.push_back(c);
}

// Ties go to the canonical order of fields.
bool BestFirst::better(const Candidate& a, const Candidate& b) const {
  if (score(a) != score(b)) return score(a) > score(b);
  return label(a.plan) < label(b.plan);
}

std::vector<Candidate> BestFirst::best() const {
  std::vector<Candidate> out;
  const double least = kBudget.runner_up_share * incumbent();
  for (const auto& [kind, c] : by_kind_) {
    if (score(c) > least) out.push_back(c);  // as bounds are: what is just as bad may not have been looked for
  }
  std::stable_sort(out.begin(), out.end(), [&](const Candidate& a, const Candidate& b) { return better(a, b); });
  return out;
}

}  // namespace superstep
