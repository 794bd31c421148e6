// SPDX-License-Identifier: Apache-2.0
#include "planner/search/search.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "model/parallel.h"
#include "planner/job/check_pins.h"
#include "planner/search/best_first.h"
#include "planner/search/front.h"
#include "planner/space/space.h"

namespace superstep {

namespace {

void drop_known(std::vector<Candidate>& list) {
  std::erase_if(list, [](const Candidate& c) { return c.from_other_part; });
}

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

SearchSteps::SearchSteps(Tables& tables, const SearchOptions& options) : tables_(tables), options_(options) {}
SearchSteps::~SearchSteps() = default;

void SearchSteps::set_time(double limit, double patience) {
  options_.time_limit = limit;
  options_.patience = patience;
  if (space_) space_->start_clock();
}

void SearchSteps::set_work(std::int64_t more) { options_.work_limit = more > 0 ? work() + more : 0; }

std::int64_t SearchSteps::work() const { return space_ ? space_->stats().work : out_.stats.work; }

void SearchSteps::prepare() {
  const Clock::time_point start = Clock::now();
  of_tables_ = tables_.seconds();
  try {
    space_ = std::make_unique<BestFirst>(tables_, options_,
                                         cells(tables_.job(), tables_.statistics_group(), options_.defaults));
  } catch (const IllegalPins& e) {
    if (options_.legal_changes == nullptr) throw;
    const std::string message = std::string(e.what()).substr(e.where.size() + 2);
    throw IllegalPins(e.where, message + options_.legal_changes(tables_, options_.defaults));
  }
  seconds_ += since(start);
}

void SearchSteps::find_best(const std::vector<Candidate>& known) {
  const Clock::time_point start = Clock::now();
  space_->know(known);
  BestFirst::Sweep all;
  all.goal = tables_.job().goal;
  space_->find_best(all);
  take_found();
  seconds_ += since(start);
}

void SearchSteps::find_runners_up(const std::vector<Candidate>& known) {
  const Clock::time_point start = Clock::now();
  space_->know(known);
  space_->find_runners_up();
  take_found();
  if (options_.progress) options_.progress(BestFirst::kFirstSweep, "searched");
  seconds_ += since(start);
}

void SearchSteps::take_found() {
  out_.best = space_->best();
  if (std::ssize(out_.best) > options_.top) out_.best.resize(static_cast<std::size_t>(options_.top));
  if (!out_.best.empty() && !out_.best[0].from_other_part) own_best_ = out_.best[0];
  out_.stats = space_->stats();
  out_.candidates = space_->found();
  drop_known(out_.candidates);
}

// Finds the fastest plan that fits its tiles with any probability.
void SearchSteps::find_fastest() {
  BestFirst::Sweep whole;
  whole.goal = tables_.job().goal;
  whole.front = whole.whole_tile = true;
  space_->sweep(whole);
  const std::vector<Candidate> all = space_->best();
  if (all.empty() || all[0].from_other_part) return;
  if (out_.best.empty() || score(tables_.job(), all[0]) > score(tables_.job(), out_.best[0])) out_.fastest = all[0];
}

void SearchSteps::complete(FrontBoard* board, std::size_t part) {
  const Clock::time_point start = Clock::now();
  const bool wants_fastest = options_.find_fastest || out_.best.empty();
  if (wants_fastest && options_.fit_probability > 0 && !space_->stopped()) find_fastest();
  if (options_.pareto && !out_.best.empty() && !space_->stopped()) {
    out_.pareto = trace_front(*space_, tables_.job(), out_.best[0], board, part);
    if (own_best_ && out_.pareto[0].from_other_part)
      out_.pareto[0] = *own_best_;  // this part's plan may take less memory
    out_.stats.programmes = space_->stats().programmes;
    out_.stats.work = space_->stats().work;
    out_.stats.evaluations = space_->stats().evaluations;
    out_.stats.points_left = space_->stats().points_left;
    out_.candidates = space_->found();
  }
  // Where the software accepts no plan at all, others are asked.
  const bool asks_others = tables_.job().is_restricted() && none_accepted(space_->stats(), tables_.job());
  if (out_.best.empty() && !out_.fastest && options_.rank_of == 0 && options_.explain != nullptr && !asks_others) {
    if (space_->stopped())
      out_.overflows = {stopped_early()};
    else
      options_.explain(tables_, options_, space_->cells(), out_);
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
