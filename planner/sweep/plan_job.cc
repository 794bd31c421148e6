// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/plan_job.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "model/error.h"
#include "model/parallel.h"
#include "planner/cost/warm_tables.h"
#include "planner/cuts/search_budget.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/infeasible/legal_changes.h"
#include "planner/report/evaluated.h"
#include "planner/search/part_search.h"
#include "planner/space/job_parts.h"
#include "planner/validate/recommend.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string reason_of(const SearchResult& found) {
  if (found.overflows.empty()) return "no plan is legal";
  const Overflow& first = found.overflows.front();
  if (first.constraint.empty()) return "no plan was found: " + first.detail;
  return "no plan fits: " + first.constraint + " on " + first.where +
         (first.over.value > 0 ? " is over by " + kib_text(first.over.value) : "");
}

PlannedJob without_plan(PlanStatus status, std::string reason) {
  PlannedJob out;
  out.status = status;
  out.reason = std::move(reason);
  return out;
}

// Plans a job, or returns the reason as a failed row: a failure of one job must not end the others.
PlannedJob plan_or_say_why(const std::function<Job(std::size_t)>& make, std::size_t i, const SearchOptions& options) {
  std::string source;
  try {
    const Job job = make(i);
    source = job.source;
    check_batch(job);
    return plan_job(job, options);
  } catch (const Error& e) {
    if (source.empty()) source = e.where.substr(0, e.where.find('#'));
    return without_plan(PlanStatus::failed, without_file(e.what(), source));
  } catch (const InternalError& e) {
    return without_plan(PlanStatus::failed, std::string("internal error, please report: ") + e.what());
  } catch (const std::bad_alloc&) {
    return without_plan(PlanStatus::failed, "needs more memory than this computer has");
  }
}

// Gives each job its threads, and reports the progress of all jobs.
class Crew {
 public:
  Crew(std::size_t jobs, int threads, std::function<void(const ManyProgress&)> progress)
      : threads_(threads), shares_(jobs, 0), progress_(std::move(progress)) {
    state_.jobs = jobs;
  }

  int begin() {
    const std::lock_guard lock(mutex_);
    const std::size_t waiting = state_.jobs - state_.done - running_;  // includes this job
    const std::size_t at_work = std::min(static_cast<std::size_t>(threads_), running_ + waiting);
    ++running_;
    return std::max(1, threads_ / static_cast<int>(at_work));
  }
  void report(std::size_t i, double share, const std::string& what) {
    const std::lock_guard lock(mutex_);
    shares_[i] = share;
    state_.what = what;
    tell();
  }
  void end(std::size_t i, const PlannedJob& result, const std::function<void()>& finished) {
    const std::lock_guard lock(mutex_);
    finished();
    --running_;
    ++state_.done;
    if (result.status != PlanStatus::planned) ++state_.without_plan;
    shares_[i] = 1;
    state_.what = result.status == PlanStatus::planned ? label(result.plan) : result.reason;
    tell();
  }

 private:
  void tell() {
    if (!progress_) return;
    double sum = 0;
    for (double share : shares_) sum += share;
    state_.share = sum / static_cast<double>(state_.jobs);
    state_.seconds_left = state_.share > 0 ? since(start_) * (1 / state_.share - 1) : 0;
    progress_(state_);
  }

  const int threads_;
  std::mutex mutex_;
  std::vector<double> shares_;
  std::function<void(const ManyProgress&)> progress_;
  ManyProgress state_;
  std::size_t running_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

const char* name_of(PlanStatus status) {
  return status == PlanStatus::planned ? "planned" : status == PlanStatus::infeasible ? "infeasible" : "failed";
}

std::string without_file(const std::string& message, const std::string& file) {
  return !file.empty() && message.starts_with(file + "#/") ? message.substr(file.size() + 1) : message;
}

namespace {

// Returns the best plan of a result, with its worlds. Where none fits with the probability asked for, it is the fastest
// there is.
Evaluated best_of(Tables& tables, const SearchResult& found) {
  Evaluated best = evaluate_in_full(tables, (found.best.empty() ? *found.fastest : found.best.front()).plan);
  for (std::size_t i = 1; i < found.best.size(); ++i) {
    Evaluated other = evaluate_in_full(tables, found.best[i].plan);
    if (other.score > best.score) best = std::move(other);
  }
  draw_worlds(tables, best);
  return best;
}

PlannedJob row_of(const Evaluated& best, double gap) {
  PlannedJob out;
  out.plan = best.plan;
  out.fits = best.fits;
  out.score = best.score;
  out.samples_per_second = best.samples_per_second;
  out.step_seconds = best.step_seconds;
  out.step_band = band_of(best.worlds);
  out.gap = gap;
  out.tile_peak = best.tile_peak;
  out.ddr_per_ipu = best.ddr_per_ipu;
  out.fit_probability = best.fit_probability;
  out.not_validated = best.not_validated();
  return out;
}

// What a search within the rules of software found.
struct Found {
  std::optional<Evaluated> best;  // empty: no plan fits, or the software accepts none
  bool is_likely = false;         // the best plan fits with the probability asked for
  SearchEnd end;
  double gap = 0;
  std::string reason;  // why there is no plan
};

Found plan_within(const Job& job, SearchOptions options) {
  WarmTables warm;
  options.warm = &warm;
  options.explain = explain_infeasible;
  options.legal_changes = legal_changes_text;
  options.fit_probability = job.fit_probability;
  const std::vector<Job> parts = job_parts(job);
  PartSearch search(job, parts.size(), options);
  std::vector<WarmTables::Lease> leases;
  std::vector<Tables*> tables;
  for (const Job& part : parts) tables.push_back(leases.emplace_back(warm.lease(part)).tables.get());
  search.search(tables);
  Found out;
  search.finish([&](std::size_t i, const SearchResult& found) {
    if (found.best.empty() && !found.fastest) {
      if (parts.size() == 1) out.reason = reason_of(found);
      return;
    }
    Evaluated best = best_of(*tables[i], found);
    if (out.best && best.score <= out.best->score) return;
    out.best = std::move(best);
    out.is_likely = !found.best.empty();
  });
  out.end = {!none_accepted(search.stats(), job), out.best || search.stats().stopped};
  out.gap = search.stats().gap;
  if (!out.best && out.end.accepted && parts.size() > 1) out.reason = reason_of(search.explain(*tables[0]));
  return out;
}

}  // namespace

PlannedJob plan_job(const Job& asked, SearchOptions options) {
  Job job = asked;
  const TimeLeft left(options.time_limit);
  const auto search = [&](const Job& within) {
    options.time_limit = left.seconds();
    options.work_limit = work_limit_with(options.time_limit);
    return plan_within(within, options);
  };
  const Found found = search_software_then_hardware(job, search, [](const Found& f) { return f.end; });
  if (!found.best) return without_plan(PlanStatus::infeasible, found.reason);
  if (!found.best->unmeasured.empty()) {
    job.measured_alone = true;
    options.find_fix = false;
    const Found measured = search(job);
    if (measured.best && measured.is_likely && !is_worth_the_bet(asked, *found.best, *measured.best))
      return row_of(*measured.best, measured.gap);
  }
  return row_of(*found.best, found.gap);
}

void plan_jobs(std::size_t count, const std::function<Job(std::size_t)>& job, const ManyOptions& options,
               const std::function<void(std::size_t, const PlannedJob&, double seconds)>& finished) {
  const int threads =
      options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Crew crew(count, threads, options.progress);
  parallel_for(count, threads, [&](std::size_t i) {
    const Clock::time_point start = Clock::now();
    SearchOptions search_options = options.search;
    search_options.threads = crew.begin();
    search_options.progress = {};
    if (options.progress)
      search_options.progress = [&](double share, const std::string& what) { crew.report(i, share, what); };
    const PlannedJob result = plan_or_say_why(job, i, search_options);
    crew.end(i, result, [&] { finished(i, result, since(start)); });
  });
}

}  // namespace superstep
