// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/parallel.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/search/best_first.h"
#include "planner/search/front.h"
#include "planner/search/proved_bests.h"
#include "planner/space/space.h"

namespace superstep {

double score(const Job& job, const Candidate& c) {
  return job.goal.score(c.plan.global_batch(), static_cast<double>(c.estimate.cycles) / job.machine.chip.clock.value);
}

std::vector<std::string> left_notes(const SearchStats& s) {
  const auto many = [](double n, const std::string& what) {
    return std::to_string(static_cast<std::int64_t>(n)) + " " + what + (n == 1 ? "" : "s");
  };
  std::vector<std::string> out;
  if (s.gap > 0 && s.stopped)
    out.push_back("the search stopped early: --time-limit S gives it longer (0: until it is done)");
  else if (s.gap > 0)
    out.push_back(
        "what may be faster are cuts into phases that are more work than a search gives them; pins leave fewer");
  else if (s.stopped)
    out.push_back(
        "the search stopped before it had all runners-up and the front: --time-limit S gives it longer (0: "
        "until it is done)");
  if (s.kinds_left > 0 && s.best > 0)
    out.push_back("a runner-up may be missing: of " + many(s.kinds_left, "kind") +
                  " of plan none was found that fits, after much work; none of them is better than the best plan");
  if (s.points_left > 0)
    out.push_back("the front may be incomplete: " + many(s.points_left, "point") +
                  " of it may be slower than what cuts into phases allow that are more work than a search gives them");
  return out;
}

namespace {

// Whether the whole space is searched, and whether nothing but its best plan is asked for.
bool searches_all(const SearchOptions& o) { return !o.defaults && o.rank_of == 0; }
bool asks_for_one(const SearchOptions& o) {
  return searches_all(o) && o.top == 1 && !o.pareto && !o.record && o.at_least == 0;
}

// 0: there is none.
double best_score(const Job& job, const std::vector<Candidate>& list) {
  double best = 0;
  for (const Candidate& c : list) best = std::max(best, score(job, c));
  return best;
}

void drop_known(std::vector<Candidate>& list) {
  std::erase_if(list, [](const Candidate& c) { return c.elsewhere; });
}

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

struct SearchSteps::Prepared {
  std::vector<Cell> cells;
  double settings = 0;
  std::optional<JobPlans> plans;  // of the whole space
  ProvedBests::Answer proved;
};

SearchSteps::SearchSteps(Tables& tables, const SearchOptions& options) : tables_(tables), options_(options) {}
SearchSteps::~SearchSteps() = default;

void SearchSteps::set_time(double limit, double patience) {
  options_.time_limit = limit;
  options_.patience = patience;
  if (space_) space_->start_clock();
}

void SearchSteps::prepare() {
  const Clock::time_point start = Clock::now();
  of_tables_ = tables_.seconds();
  const Job& job = tables_.job();
  prepared_ = std::make_unique<Prepared>();
  Prepared& p = *prepared_;
  p.cells = cells(job, tables_.statistics_group());
  for (const Cell& cell : p.cells) p.settings += cell.all_settings();
  if (searches_all(options_)) p.plans.emplace(job, p.cells);
  if (options_.defaults) p.cells = cells(job, tables_.statistics_group(), true);
  if (asks_for_one(options_)) p.proved = tables_.proved_bests().find(*p.plans);
  if (!p.proved.best && std::isinf(p.proved.ceiling)) make_space();  // else it may not be needed
  seconds_ += since(start);
}

void SearchSteps::make_space() {
  space_ = std::make_unique<BestFirst>(tables_, options_, std::exchange(prepared_->cells, {}));
}

bool SearchSteps::is_proved(const std::vector<Candidate>& known) {
  ProvedBests::Answer& proved = prepared_->proved;
  const double best_known = best_score(tables_.job(), known);
  if (!proved.best && (best_known == 0 || best_known < proved.ceiling)) return false;
  out_.stats.pruned = prepared_->settings;
  if (proved.best) out_.best = out_.candidates = {*std::move(proved.best)};
  out_.stats.best = out_.stats.bound = std::max(best_known, best_score(tables_.job(), out_.best));
  out_.stats.optimal = true;
  return true;
}

void SearchSteps::find_best(const std::vector<Candidate>& known) {
  const Clock::time_point start = Clock::now();
  if (!is_proved(known)) {
    if (!space_) make_space();
    space_->know(known);
    BestFirst::Sweep all;
    all.goal = tables_.job().goal;
    all.ceiling = prepared_->proved.ceiling;
    if (prepared_->proved.near) space_->try_first(*prepared_->proved.near);
    space_->find_best(all);
    take_found();
    if (prepared_->plans && out_.stats.optimal && !space_->stopped())
      tables_.proved_bests().add(*std::move(prepared_->plans), space_->ceiling(), own_best_);
  }
  prepared_.reset();
  seconds_ += since(start);
}

void SearchSteps::find_runners_up(const std::vector<Candidate>& known) {
  const Clock::time_point start = Clock::now();
  if (space_) {
    space_->know(known);
    space_->find_runners_up();
    take_found();
  }
  if (options_.progress) options_.progress(BestFirst::kFirstSweep, "searched");
  seconds_ += since(start);
}

void SearchSteps::take_found() {
  out_.best = space_->best();
  if (std::ssize(out_.best) > options_.top) out_.best.resize(static_cast<std::size_t>(options_.top));
  if (!out_.best.empty() && !out_.best[0].elsewhere) own_best_ = out_.best[0];
  out_.stats = space_->stats();
  out_.candidates = space_->found();
  drop_known(out_.candidates);
}

void SearchSteps::complete(FrontBoard* board, std::size_t part) {
  if (!space_) return;
  const Clock::time_point start = Clock::now();
  if (options_.pareto && !out_.best.empty() && !space_->stopped()) {
    out_.pareto = trace_front(*space_, tables_.job(), out_.best[0], board, part);
    if (own_best_ && out_.pareto[0].elsewhere) out_.pareto[0] = *own_best_;  // it may take less memory
    out_.stats.programmes = space_->stats().programmes;
    out_.stats.evaluations = space_->stats().evaluations;
    out_.stats.points_left = space_->stats().points_left;
    out_.candidates = space_->found();
  }
  if (out_.best.empty() && options_.rank_of == 0 && options_.explain) {
    if (space_->stopped())
      out_.overflows = {stopped_early()};
    else
      explain_infeasible(tables_, options_, space_->cells(), space_->cuts(), out_);
  }
  out_.stats.stopped = space_->stopped();
  if (options_.record) out_.cells = space_->searched_cells();
  for (auto* list : {&out_.best, &out_.pareto, &out_.candidates}) drop_known(*list);
  if (own_best_ && (out_.best.empty() || score(tables_.job(), out_.best[0]) < score(tables_.job(), *own_best_)))
    out_.best.insert(out_.best.begin(), *own_best_);
  space_.reset();
  seconds_ += since(start);
}

SearchResult SearchSteps::result() {
  out_.stats.table_seconds = (tables_.seconds() - of_tables_) / static_cast<double>(thread_count(options_.threads));
  out_.stats.seconds = seconds_;
  return std::move(out_);
}

SearchResult search(Tables& tables, const SearchOptions& options) {
  SearchSteps steps(tables, options);
  steps.prepare();
  steps.find_best();
  steps.find_runners_up();
  steps.complete();
  return steps.result();
}

}  // namespace superstep
