// SPDX-License-Identifier: Apache-2.0
#include "planner/search/job_parts.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "model/error.h"
#include "model/lower/graph_facts.h"
#include "model/lower/serialise.h"
#include "model/machine/load_machine.h"
#include "model/parallel.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

using nlohmann::json;
using namespace nlohmann::literals;

// Of the time that is left what a part may take to its proof while others follow: one that is not looked at has no
// bound worth telling.
constexpr double kShare = 0.85;

// Those of a range in plan.serialisation that the model allows; none: the least, whose search says why.
json factors_of(const Job& job, const std::string& kind, const json& range) {
  const Graph graph = build_graph(job, std::max<std::int64_t>(1, statistics_group(job)));
  const GraphFacts facts(graph);
  const std::int64_t least = range.value("min", std::int64_t{1});
  const std::vector<std::int64_t> out = possible_factors(facts, kind, least, range.value("max", kMostParts));
  return out.empty() ? json::array({least}) : json(out);
}

std::vector<json> one_by_one(const Job& job) {
  std::vector<json> out = {job.json};
  for (const json::json_pointer& at : lists_of(job.json)) {
    const json& pin = job.json.at(at);
    std::vector<json> more;
    const json values = pin.is_object() ? factors_of(job, at.back(), pin) : pin;
    for (const json& of : out) {
      for (const json& value : values) {
        more.push_back(of);
        more.back()[at] = value;
      }
    }
    out = std::move(more);
  }
  return out;
}

bool front_counts_ipus(const Job& job) {
  return std::any_of(job.pareto.begin(), job.pareto.end(),
                     [](Measure m) { return m == Measure::ipus || m == Measure::power; });
}

// Products need operands of one type.
bool types_agree(const json& job) {
  const json precision = job.value("/plan/precision"_json_pointer, json::object());
  return !precision.contains("activations") || precision["activations"] == precision.value("weights", "fp16");
}

// What is said of each stage is said of as many.
bool lengths_agree(const json& job) {
  std::set<std::size_t> lengths;
  const json plan = job.value("plan", json::object());
  for (const char* field : kCutFields) {
    const bool of_stages = field != std::string("phases") && plan.contains(field) && plan[field].is_array();
    if (of_stages && (field != std::string("recompute") || plan[field].size() > 1)) lengths.insert(plan[field].size());
  }
  return lengths.size() <= 1;
}

}  // namespace

std::vector<json::json_pointer> lists_of(const json& job) {
  std::vector<json::json_pointer> out;
  for (const char* field : {"/plan/precision", "/plan/serialisation"}) {
    const json::json_pointer at(field);
    if (!job.contains(at) || !job.at(at).is_object()) continue;
    for (const auto& [key, value] : job.at(at).items()) {
      if (value.is_structured()) out.push_back(at / key);
    }
  }
  for (const char* field : kCutFields) {
    const json::json_pointer at = "/plan"_json_pointer / field;
    if (job.contains(at) && is_list_of_cuts(job.at(at))) out.push_back(at);
  }
  return out;
}

std::vector<std::int64_t> partition_sizes(const Job& job) {
  std::vector<std::int64_t> sizes = divisors(job.machine.ipus);
  std::erase_if(sizes, [&](std::int64_t n) { return !allows(job.ipus, n) || !is_partition(job.machine, n); });
  std::reverse(sizes.begin(), sizes.end());
  if (sizes.empty()) {
    const json limit = job.json.at("limits").at("ipus");
    throw Error(job.source + "#/limits/ipus", "found " + limit.dump() + ", which no partition of " + job.machine.name +
                                                  " with " + std::to_string(job.machine.ipus) + " IPUs has");
  }
  return sizes;
}

Job on_partition(const Job& job, std::int64_t ipus) {
  Job part = job;
  if (ipus == job.machine.ipus) return part;
  json& machine = part.json["machine"];
  const bool named = machine.is_string();
  if (named) machine = {{"base", machine}};
  machine["partition"] = ipus;
  if (!named) return read_job(part.json, job.source);
  part.machine = partition_of(job.machine, ipus);
  return part;
}

std::vector<Job> job_parts(const Job& job) {
  const std::vector<std::int64_t> sizes = partition_sizes(job);
  std::vector<json> values = one_by_one(job);
  std::erase_if(values, [](const json& v) { return !types_agree(v); });
  if (values.empty())
    throw Error(job.source + "#/plan/precision/activations",
                "found no type that weights may have too; matrix products need operands of one type");
  if (std::ranges::any_of(values, lengths_agree)) std::erase_if(values, std::not_fn(lengths_agree));
  if (values.size() == 1 && lists_of(job.json).empty() && sizes.size() == 1 && sizes[0] == job.machine.ipus)
    return {job};
  const std::int64_t group = statistics_group(job);
  std::vector<Job> all;  // on the whole machine
  for (json& value : values) {
    if (value.contains("limits")) value["limits"].erase("ipus");
    all.push_back(read_job(value, job.source));
  }
  std::vector<Job> out;
  for (const std::int64_t ipus : sizes) {
    for (const Job& whole : all) {
      Job part = on_partition(whole, ipus);
      if (!uncounted_cells(part, group).empty()) out.push_back(std::move(part));
    }
  }
  if (out.empty()) out.push_back(on_partition(all.front(), sizes.front()));
  return out;
}

SearchStats operator+(const SearchStats& a, const SearchStats& b) {
  SearchStats sum = a;
  sum.explored += b.explored, sum.pruned += b.pruned, sum.feasible += b.feasible;
  sum.evaluations += b.evaluations, sum.programmes += b.programmes;
  sum.seconds += b.seconds, sum.table_seconds += b.table_seconds;
  sum.faster += b.faster, sum.undecided += b.undecided, sum.kinds_left += b.kinds_left;
  sum.points_left += b.points_left, sum.stopped |= b.stopped;
  sum.best = std::max(a.best, b.best), sum.bound = std::max(a.bound, b.bound);
  sum.gap = sum.bound > 0 ? 1 - sum.best / sum.bound : 0;
  sum.optimal = sum.best > 0 ? sum.gap <= 1e-9 : a.optimal && b.optimal;
  return sum;
}

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
      explains_(options.explain),
      left_(options.time_limit),
      options_(std::move(options)),
      progress_(parts),
      board_(parts) {
  options_.explain = explains_ && parts == 1;
  options_.asked = &job;
}

SearchOptions PartSearch::options_of(std::size_t part) {
  SearchOptions out = options_;
  out.time_limit = left_.seconds();
  out.stop = [this, &asked = options_.stop] { return given_up_ || (asked && asked()); };
  if (out.progress) out.progress = [this, part](double share, const std::string& what) { report(part, share, what); };
  return out;
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
  // The first makes the graphs, which all have, by all threads.
  prepare(*steps_[begin]);
  parallel_for(parts.size() - 1, options_.threads, [&](std::size_t i) { prepare(*steps_[begin + 1 + i]); });
  std::vector<std::ptrdiff_t> told;  // of known_, to each of these, its own plans included
  for (std::size_t i = begin; i < steps_.size(); ++i) {
    const bool last = i + 1 == parts_;
    const double seconds = left_.seconds();
    steps_[i]->set_time(last ? seconds : kShare * seconds, !last && known_.empty() ? seconds / 2 : 0);
    steps_[i]->find_best(known_);
    add_known(steps_[i]->found());
    told.push_back(std::ssize(known_));
  }
  note_proof();
  for (std::size_t i = begin; i < steps_.size(); ++i) {
    const std::size_t before = steps_[i]->found().size();
    steps_[i]->set_time(left_.seconds(), 0);
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
  std::mutex mutex;
  std::exception_ptr error;  // the first: what comes of it elsewhere is Stopped
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
  options.explain = explains_;
  options.time_limit = options_.time_limit;  // what was proved within it is proved again
  SearchResult found = superstep::search(tables, options);
  stats_.back().seconds += found.stats.seconds, stats_.back().table_seconds += found.stats.table_seconds;
  return found;
}

// Parts that were searched side by side took no longer than all did.
SearchStats PartSearch::stats() const {
  SearchStats out = std::accumulate(stats_.begin() + 1, stats_.end(), stats_.front());
  out.seconds = std::min(out.seconds, left_.used());
  out.proof_seconds = std::min(out.seconds, proof_seconds_);
  return out;
}

}  // namespace superstep
