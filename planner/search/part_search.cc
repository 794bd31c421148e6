// SPDX-License-Identifier: Apache-2.0
#include "planner/search/part_search.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <utility>

#include "model/parallel.h"

#include "planner/cuts/search_budget.h"

namespace superstep {
namespace {

bool front_counts_ipus(const Job& job) {
  return std::any_of(job.pareto.begin(), job.pareto.end(),
                     [](Measure m) { return m == Measure::ipus || m == Measure::power; });
}

// Returns a share of work that is left; 0, no limit, stays.
std::int64_t part_of(std::int64_t work, double share) {
  return work == 0 ? 0 : std::max<std::int64_t>(1, static_cast<std::int64_t>(share * static_cast<double>(work)));
}

}  // namespace

double TimeLeft::used() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double TimeLeft::seconds() const {
  constexpr double kNone = 1e-3;
  return limit_ > 0 ? std::max(limit_ - used(), kNone) : 0;
}

PartSearch::PartSearch(const Job& job, std::size_t parts, SearchOptions options)
    : parts_(parts),
      shares_(!front_counts_ipus(job)),
      explain_(options.explain),
      left_(options.time_limit),
      options_(std::move(options)),
      progress_(parts),
      board_(parts) {
  if (parts > 1) options_.explain = nullptr;
  options_.asked = &job;
}

SearchOptions PartSearch::options_of(std::size_t part) {
  SearchOptions out = options_;
  out.time_limit = left_.seconds();
  out.stop = [this, &asked = options_.stop] { return given_up_ || (asked && asked()); };
  if (out.progress) out.progress = [this, part](double share, const std::string& what) { report(part, share, what); };
  return out;
}

std::int64_t PartSearch::work_left() const {
  if (options_.work_limit == 0) return 0;
  std::int64_t used = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) used += steps_[i] ? steps_[i]->work() : stats_[i].work;
  return std::max<std::int64_t>(1, options_.work_limit - used);
}

void PartSearch::report(std::size_t part, double share, const std::string& what) {
  const std::lock_guard lock(progress_mutex_);
  progress_[part] = std::max(progress_[part], share);
  options_.progress(std::accumulate(progress_.begin(), progress_.end(), 0.0) / static_cast<double>(parts_), what);
}

void PartSearch::search(const std::vector<Tables*>& parts) {
  const std::size_t begin = steps_.size();
  for (Tables* tables : parts) steps_.push_back(std::make_unique<SearchSteps>(*tables, options_of(steps_.size())));
  const auto prepare = [&](SearchSteps& steps) {
    steps.set_time(left_.seconds(), 0);
    steps.prepare();
  };
  // The first part makes the graphs, which all parts share, with all threads.
  prepare(*steps_[begin]);
  parallel_for(parts.size() - 1, options_.threads, [&](std::size_t i) { prepare(*steps_[begin + 1 + i]); });
  std::vector<std::ptrdiff_t> told;  // by part: how many plans of known_ the part knows, its own plans included
  for (std::size_t i = begin; i < steps_.size(); ++i) {
    const bool last = i + 1 == parts_;
    const double seconds = left_.seconds();
    steps_[i]->set_time(last ? seconds : kBudget.part_share * seconds, !last && known_.empty() ? seconds / 2 : 0);
    steps_[i]->set_work(part_of(work_left(), last ? 1 : kBudget.part_share));
    steps_[i]->find_best(known_);
    add_known(steps_[i]->found());
    told.push_back(std::ssize(known_));
  }
  note_proof();
  for (std::size_t i = begin; i < steps_.size(); ++i) {
    const std::size_t before = steps_[i]->found().size();
    steps_[i]->set_time(left_.seconds(), 0);
    steps_[i]->set_work(work_left());
    steps_[i]->find_runners_up({known_.begin() + told[i - begin], known_.end()});
    add_known(std::span(steps_[i]->found()).subspan(before));
  }
  if (proof_seconds_ == 0) note_proof();
}

void PartSearch::note_proof() {
  bool all = true;
  for (std::size_t i = 0; i < steps_.size(); ++i) all &= steps_[i] ? steps_[i]->proved() : stats_[i].optimal;
  proof_seconds_ = all ? left_.used() : 0;
}

void PartSearch::add_known(std::span<const Candidate> found) {
  if (shares_) known_.insert(known_.end(), found.begin(), found.end());
}

void PartSearch::finish(const std::function<void(std::size_t part, SearchResult)>& done) {
  stats_.resize(steps_.size());
  // Parts are completed side by side: each has an equal share of the work that is left.
  const std::int64_t share = part_of(work_left(), 1.0 / static_cast<double>(steps_.size()));
  for (const std::unique_ptr<SearchSteps>& steps : steps_) {
    if (steps) steps->set_work(share);
  }
  std::mutex mutex;
  std::exception_ptr error;  // the first error; other parts then end with Stopped
  parallel_for(steps_.size(), options_.threads, [&](std::size_t part) {
    if (!steps_[part] || given_up_) return;
    try {
      steps_[part]->complete(shares_ ? &board_ : nullptr, part);
      board_.end(part);
      SearchResult found = steps_[part]->result();
      steps_[part].reset();
      stats_[part] = found.stats;
      done(part, std::move(found));
      if (options_.progress) report(part, 1, "done");
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      given_up_ = true;
      board_.give_up();
    }
  });
  if (error) std::rethrow_exception(error);
}

SearchResult PartSearch::explain(Tables& tables) {
  if (stats().stopped) {
    SearchResult found;
    found.overflows = {stopped_early()};
    return found;
  }
  SearchOptions options = options_of(0);
  options.explain = explain_;
  options.trace = {};
  options.time_limit = options_.time_limit;  // the whole limit, as the proof is made again
  SearchResult found = superstep::search(tables, options);
  stats_.back().seconds += found.stats.seconds, stats_.back().table_seconds += found.stats.table_seconds;
  return found;
}

// Returns the sum of the parts' statistics. Times of parts that ran side by side overlap, so the sum of seconds is
// limited to the time since the start.
SearchStats PartSearch::stats() const {
  SearchStats out = std::accumulate(stats_.begin() + 1, stats_.end(), stats_.front());
  out.seconds = std::min(out.seconds, left_.used());
  out.proof_seconds = std::min(out.seconds, proof_seconds_);
  return out;
}

}  // namespace superstep
