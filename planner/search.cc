// SPDX-License-Identifier: Apache-2.0
#include "planner/search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "planner/check_pins.h"
#include "planner/explain_infeasible.h"
#include "planner/parallel.h"
#include "planner/pinned_cuts.h"
#include "planner/space.h"

namespace superstep {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Pareto fronts are traced at these shares of a tile's memory, each by a search of its own.
const std::vector<double> kMemoryCaps = {0.9, 0.8, 0.65, 0.5};

// Plans of one kind differ in degree only; runners-up are of different kinds.
std::string kind_of(const Plan& p) {
  return std::to_string(p.tensor_parallel.t1) + "x" + std::to_string(p.tensor_parallel.t2) + " p" +
         std::to_string(p.pipeline_stages) + " s" + (p.phased() ? "phased" : std::string(name_of(p.schedule))) + " o" +
         std::string(name_of(p.location.optimizer_state)) + " a" + std::string(name_of(p.location.activations));
}

struct CellBound {
  Cell cell;
  std::int64_t bound = 0;  // cycles per sample of the global batch, times 2^16
};

// More temporary memory than any setting that is drawn has.
constexpr double kLoosestProportion = 0.6;

class Search {
 public:
  Search(Tables& tables, const SearchOptions& options)
      : tables_(tables), job_(tables.job()), options_(options), cuts_(tables, options.defaults), start_(Clock::now()) {
    const Machine& m = job_.machine;
    tile_limit_ = m.chip.tile_memory.value;
    out_.space = describe_space(job_, tables.statistics_group());
  }

  SearchResult run() {
    const std::vector<Cell> list = cells(job_, tables_.statistics_group());
    check_pins(job_, static_cast<std::int64_t>(tables_.facts(list.front().micro_batch).graph.units.size()));
    order_cells();
    if (options_.rank_of == 0) dive();
    sweep(1.0, true);
    out_.stats.optimal = !stopped_ && out_.stats.gap <= 1e-9;
    collect();
    if (options_.pareto && !out_.best.empty() && !stopped_) trace_front();
    if (out_.best.empty() && options_.rank_of == 0 && options_.explain) {
      std::vector<Cell> ordered;
      for (const CellBound& c : cells_) ordered.push_back(c.cell);
      explain_infeasible(tables_, options_, ordered, cuts_, out_);
    }
    out_.stats.seconds = since(start_);
    return std::move(out_);
  }

 private:
  Tables& tables_;
  const Job& job_;
  const SearchOptions& options_;
  PinnedCuts cuts_;
  Clock::time_point start_;
  SearchResult out_;
  std::vector<CellBound> cells_;
  std::int64_t tile_limit_ = 0;
  bool stopped_ = false;
  std::thread::id main_thread_ = std::this_thread::get_id();  // reports progress
  double incumbent_ = 0;                                      // samples per second
  std::map<std::string, Candidate> by_kind_;

  double clock() const { return job_.machine.chip.clock.value; }
  double rate(const Plan& p, std::int64_t cycles) const {
    return static_cast<double>(p.global_batch()) / (static_cast<double>(cycles) / clock());
  }

  // The work of one micro-batch spread evenly is the least any plan of the cell can take; every pipeline
  // fills, so p - 1 shares more. Tables with the loosest cap give the least work.
  double cell_bound(const Cell& c) {
    const std::vector<ActivationSharding>& pinned = job_.pins.activation_sharding;
    constexpr ActivationSharding kSplit = ActivationSharding::throughout;
    const auto split = std::count(pinned.begin(), pinned.end(), kSplit), all = std::ssize(pinned);
    std::int64_t work = INT64_MAX;
    if (all == 0 || split < all) work = work_of_micro_batch(c, false);
    if (all == 0 ? c.mesh.size() > 1 : split > 0) work = std::min(work, work_of_micro_batch(c, true));
    const double share = static_cast<double>(work) / static_cast<double>(c.stages) +
                         static_cast<double>(tables_.model().calibration().micro_batch_fixed.value);
    const double cycles = share * static_cast<double>(c.accumulation + c.stages - 1);
    const double samples = static_cast<double>(c.micro_batch * c.accumulation * c.replicas);
    return samples / (cycles / clock());
  }

  // Cycles of all units, forward and backward, in the cell's cheapest table.
  std::int64_t work_of_micro_batch(const Cell& c, bool split_activations) {
    TableKey key;
    key.mesh = c.mesh;
    key.micro_batch = c.micro_batch;
    key.replica_ipus = c.mesh.size() * c.stages;
    key.precision = job_.pins.precision;
    key.accumulate = c.accumulation > 1;
    key.split_activations = split_activations;
    const std::vector<double>& shares = job_.pins.available_memory_proportion;
    key.proportion = shares.empty() ? kLoosestProportion : *std::max_element(shares.begin(), shares.end());
    const UnitTable& t = tables_.table(key);
    std::int64_t work = 0;
    for (std::size_t u = 0; u < t.units(); ++u)
      work += t.row(u).forward_cycles.total().value + t.row(u).backward_cycles.total().value;
    return work;
  }

  // Without phases all weights of a replica stand on its tiles, sharded at best over all replicas where that is pinned.
  bool may_hold_at_once(const Cell& c) {
    const Pins& pins = job_.pins;
    const bool one_phase =
        (pins.phase_count && *pins.phase_count == 1) || (pins.phases && pins.phases->size() == 1) ||
        job_.machine.streaming.capacity.value == 0 ||
        (!pins.weights.empty() &&
         std::all_of(pins.weights.begin(), pins.weights.end(), [](Location l) { return l == Location::in_processor; }));
    if (!one_phase) return true;
    const GraphFacts& facts = tables_.facts(c.micro_batch);
    std::int64_t bytes = 0;
    for (const auto& weights : facts.weights) {
      for (TensorId w : weights) bytes += facts.graph.info(w).bytes().value;
    }
    const std::int64_t shards = pins.rts_weights ? c.replicas : 1;
    return bytes / shards / c.mesh.size() / c.stages <= job_.machine.chip_memory().value;
  }

  // The largest unit's weights, and their gradients in training, have to stand on the tiles at once,
  // split over t at best. Needs no table.
  bool may_hold(const Cell& c) {
    const GraphFacts& facts = tables_.facts(c.micro_batch);
    std::int64_t largest = 0;
    for (const auto& weights : facts.weights) {
      std::int64_t bytes = 0;
      for (TensorId w : weights) bytes += facts.graph.info(w).bytes().value;
      largest = std::max(largest, bytes);
    }
    const std::int64_t per_weight =
        size_of(job_.pins.precision.weights) + (tables_.training() ? size_of(job_.pins.precision.accumulators) : 0);
    return largest / size_of(job_.pins.precision.weights) * per_weight / c.mesh.size() <=
           job_.machine.chip_memory().value;
  }
  std::vector<Cell> held_back_;

  void order_cells() {
    std::vector<std::pair<double, Cell>> all;
    for (const Cell& cell : cells(job_, tables_.statistics_group())) {
      if (options_.defaults || (may_hold(cell) && may_hold_at_once(cell))) {
        all.push_back({0, cell});
        continue;
      }
      out_.stats.pruned += static_cast<double>(settings(job_, cell, false).size());
      held_back_.push_back(cell);
    }
    const Clock::time_point start = Clock::now();
    std::atomic<std::size_t> done = 0;
    parallel_for(all.size(), options_.threads, [&](std::size_t i) {
      check_stop();
      all[i].first = cell_bound(all[i].second);
      if (std::this_thread::get_id() == main_thread_)
        report(0.3 * static_cast<double>(done) / static_cast<double>(all.size()), "tabulating blocks");
      ++done;
    });
    out_.stats.table_seconds += since(start);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (all.empty() && !held_back_.empty() && options_.explain) all.push_back(open_widest());
    for (const auto& [bound, cell] : all) cells_.push_back({cell, static_cast<std::int64_t>(bound * 65536)});
  }

  // To say what overflows: of the cells held back, one that spreads the model furthest.
  std::pair<double, Cell> open_widest() {
    const Cell widest = *std::max_element(held_back_.begin(), held_back_.end(), [](const Cell& a, const Cell& b) {
      const std::int64_t sa = a.mesh.size() * a.stages, sb = b.mesh.size() * b.stages;
      return sa != sb ? sa < sb : a.micro_batch > b.micro_batch;
    });
    out_.stats.pruned -= static_cast<double>(settings(job_, widest, false).size());
    return {cell_bound(widest), widest};
  }

  // The fastest cells by bound are often those that fit least, and their tables take long. A quick look at
  // a few that spread the model furthest gives a plan early; most cells then fall to it unopened.
  void dive() {
    constexpr std::size_t kLooks = 4;
    if (cells_.size() < 40 || options_.defaults) return;
    std::vector<CellBound> spread = cells_;
    std::stable_sort(spread.begin(), spread.end(), [](const CellBound& a, const CellBound& b) {
      const std::int64_t sa = a.cell.mesh.size() * a.cell.stages, sb = b.cell.mesh.size() * b.cell.stages;
      return sa != sb                                   ? sa > sb
             : a.cell.micro_batch != b.cell.micro_batch ? a.cell.micro_batch < b.cell.micro_batch
                                                        : a.bound > b.bound;
    });
    for (std::size_t i = 0; i < std::min(kLooks, spread.size()); ++i) {
      report(0.3, "a first look");
      std::vector<Plan> plans = settings(job_, spread[i].cell, false);
      std::erase_if(plans, [](const Plan& p) { return p.io_tiles != 0 || p.available_memory_proportion > 0.12; });
      visit_all(plans, 1.0, false);
      incumbent_ = std::max(incumbent_, front_floor_);
    }
  }

  void report(double share, const std::string& what) const {
    if (options_.progress) options_.progress(share, what);
  }

  void check_stop() const {
    if (options_.stop && options_.stop()) throw Stopped();
  }

  bool time_is_up() {
    if (options_.time_limit > 0 && since(start_) > options_.time_limit) stopped_ = true;
    if (options_.programme_limit > 0 && out_.stats.evaluations >= options_.programme_limit) stopped_ = true;
    return stopped_;
  }

  // The K-th best kind decides what is worth a cut programme.
  double threshold() const {
    if (static_cast<std::int64_t>(by_kind_.size()) < options_.top) return 0;
    std::vector<double> rates;
    for (const auto& [kind, c] : by_kind_) rates.push_back(c.samples_per_second);
    std::nth_element(rates.begin(), rates.begin() + (options_.top - 1), rates.end(), std::greater<>());
    return rates[static_cast<std::size_t>(options_.top) - 1];
  }

  // Visits cells from the most promising; `share` of a tile may be used.
  void sweep(double share, bool record) {
    double best_open_bound = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const double bound = static_cast<double>(cells_[i].bound) / 65536;
      const std::vector<Plan> plans = settings(job_, cells_[i].cell, options_.defaults);
      if (record)
        report(0.3 + 0.6 * static_cast<double>(i) / static_cast<double>(cells_.size()),
               "searching " + label(plans.empty() ? Plan{} : plans[0]));
      if (bound <= floor_for(record) || time_is_up()) {
        if (stopped_) best_open_bound = std::max(best_open_bound, bound);
        if (stopped_ && bound > options_.rank_of) out_.stats.undecided += static_cast<double>(plans.size());
        if (record) out_.stats.pruned += static_cast<double>(plans.size());
        continue;
      }
      visit_all(plans, share, record);
    }
    if (record && stopped_ && incumbent_ > 0)
      out_.stats.gap = std::max(0.0, 1 - incumbent_ / std::max(incumbent_, best_open_bound));
  }

  // A looser bound on temporary memory that changes no tile plan makes the same setting again.
  void visit_all(const std::vector<Plan>& plans, double share, bool record) {
    tabulate(plans);
    std::set<std::string> seen;
    std::vector<const Plan*> fresh;
    for (const Plan& plan : plans) {
      if (time_is_up()) {
        out_.stats.undecided += static_cast<double>(&plans.back() - &plan + 1);
        break;
      }
      const UnitTable& table = tables_.table(table_key(plan));
      cuts_.prepare(plan, table);
      Plan same = plan;
      same.available_memory_proportion = 0.5;
      if (seen.insert(to_json(same).dump() + std::to_string(fingerprint(table))).second)
        fresh.push_back(&plan);
      else if (record)
        ++out_.stats.pruned;
    }
    // A cell's settings are cut side by side against the best of all cells before, and merged in order:
    // the result is the same for any number of threads.
    std::vector<Visit> visits(fresh.size());
    const double floor = floor_for(record);
    parallel_for(fresh.size(), options_.threads, [&](std::size_t i) {
      check_stop();
      visits[i] = visit(*fresh[i], share, floor);
    });
    for (const Visit& v : visits) merge(v, record);
  }
  // Builds the tables that the plans need, and that are not there yet, side by side.
  void tabulate(const std::vector<Plan>& plans) {
    const Clock::time_point start = Clock::now();
    std::vector<TableKey> keys;
    for (const Plan& plan : plans) {
      const TableKey key = table_key(plan);
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    parallel_for(keys.size(), options_.threads, [&](std::size_t i) {
      check_stop();
      if (options_.time_limit <= 0 || since(start_) <= options_.time_limit) tables_.table(keys[i]);
    });
    out_.stats.table_seconds += since(start);
  }

  static std::uint64_t fingerprint(const UnitTable& t) {
    std::uint64_t h = 0;
    for (std::size_t u = 0; u < t.units(); ++u) {
      const UnitRow& r = t.row(u);
      for (std::int64_t v : {r.forward_cycles.total().value, r.backward_cycles.total().value, r.forward.peak.value,
                             r.backward.peak.value}) {
        h = (h ^ static_cast<std::uint64_t>(v)) * 0x9E3779B97F4A7C15ULL;
      }
    }
    return h;
  }

  double front_floor_ = 0;
  double floor_for(bool record) const {
    if (options_.rank_of > 0) return options_.rank_of;
    return std::max(options_.at_least, record ? threshold() : front_floor_);
  }

  // What one setting's cuts came to.
  struct Visit {
    bool pruned = false, feasible = false;
    bool refused = false;  // its fastest cut does not fit by evaluate(): a slower one might
    std::int64_t programmes = 0;
    double open_bound = 0;  // samples per second: no cut that was left out is faster
    std::vector<Candidate> found;
  };

  Visit visit(const Plan& plan, double share, double floor) const {
    Visit out;
    const UnitTable& table = tables_.table(table_key(plan));
    const bool phases = cuts_.searches_phases(plan);
    const Setting setting(table, plan, job_.optimizer, phases);
    CutLimits limits;
    limits.tile = static_cast<std::int64_t>(share * static_cast<double>(tile_limit_));
    limits.executable = setting.executable_limit();
    limits.ddr = setting.ddr_limit();
    if (floor > 0) limits.best = static_cast<std::int64_t>(static_cast<double>(plan.global_batch()) / floor * clock());
    if (least_cycles(setting, plan) >= limits.best) {
      out.pruned = true;
      return out;
    }
    for (const CutRules& rules : cuts_.rules_for(plan)) {
      ++out.programmes;
      std::int64_t open = INT64_MAX;
      std::optional<Cuts> cuts =
          phases ? cut_phases(setting, rules, limits, &open) : cut_pipeline(setting, rules, limits);
      if (open < INT64_MAX) out.open_bound = std::max(out.open_bound, rate(plan, open));
      if (!cuts) continue;
      Candidate c;
      c.plan = with_cuts(plan, *cuts);
      if (job_.pins.stage_ipu && job_.pins.stage_ipu->size() == c.plan.stage_ipu.size())
        c.plan.stage_ipu = *job_.pins.stage_ipu;
      if (!check_plan(c.plan, table.facts(), job_.machine, tables_.training()).empty()) continue;
      c.estimate = evaluate(setting, c.plan);
      c.fits = c.estimate.tile_peak <= limits.tile && c.estimate.fits(setting);
      c.samples_per_second = rate(c.plan, c.estimate.cycles);
      if (!c.fits) {
        out.refused = true;
        continue;
      }
      out.feasible = true;
      out.found.push_back(std::move(c));
    }
    return out;
  }

  void count_faster(const Visit& v) {
    const bool faster = std::any_of(v.found.begin(), v.found.end(),
                                    [&](const Candidate& c) { return c.samples_per_second > options_.rank_of; });
    if (faster)
      out_.stats.faster += 1;
    else if (v.refused || v.open_bound > options_.rank_of)
      out_.stats.undecided += 1;
  }

  void merge(const Visit& v, bool record) {
    if (record) {
      (v.pruned ? out_.stats.pruned : out_.stats.explored) += 1;
      out_.stats.feasible += v.feasible ? 1 : 0;
      open_bound_ = std::max(open_bound_, v.open_bound);
    }
    out_.stats.evaluations += v.programmes;
    if (options_.rank_of > 0) count_faster(v);
    for (const Candidate& c : v.found) keep(c, record);
  }

  // Where a phase programme ran out of its budget, the gap says how much it may matter.
  double open_bound_ = 0;

  std::int64_t least_cycles(const Setting& s, const Plan& plan) const {
    const std::int64_t fixed = s.micro_batch_fixed() + (plan.pipeline_stages > 1 ? s.cycle_fixed() : 0);
    if (plan.schedule == Schedule::sequential && !cuts_.searches_phases(plan))
      return plan.gradient_accumulation * (s.work(0, s.units()) + fixed);
    const double share = static_cast<double>(s.work(0, s.units())) / static_cast<double>(plan.pipeline_stages) +
                         static_cast<double>(s.micro_batch_fixed());
    const std::int64_t drain =
        plan.schedule == Schedule::sequential || plan.pipeline_stages == 1 ? 0 : plan.pipeline_stages - 1;
    return static_cast<std::int64_t>(share * static_cast<double>(plan.gradient_accumulation + drain) * 0.999999);
  }

  void keep(const Candidate& c, bool record) {
    auto [it, fresh] = by_kind_.try_emplace(kind_of(c.plan), c);
    if (!fresh && better(c, it->second)) it->second = c;
    all_found_.push_back(c);
    if (record)
      incumbent_ = std::max(incumbent_, c.samples_per_second);
    else
      front_floor_ = std::max(front_floor_, c.samples_per_second);
  }
  // Ties go to the canonical order of fields.
  static bool better(const Candidate& a, const Candidate& b) {
    if (a.samples_per_second != b.samples_per_second) return a.samples_per_second > b.samples_per_second;
    return label(a.plan) < label(b.plan);
  }

  std::vector<Candidate> all_found_;

  void collect() {
    for (const auto& [kind, c] : by_kind_) out_.best.push_back(c);
    std::stable_sort(out_.best.begin(), out_.best.end(), better);
    if (static_cast<std::int64_t>(out_.best.size()) > options_.top)
      out_.best.resize(static_cast<std::size_t>(options_.top));
    if (out_.best.empty() && open_bound_ > 0) out_.stats.optimal = false;
    if (!out_.best.empty() && open_bound_ > out_.best[0].samples_per_second) {
      out_.stats.gap = std::max(out_.stats.gap, 1 - out_.best[0].samples_per_second / open_bound_);
      out_.stats.optimal = false;
    }
  }

  void trace_front() {
    out_.pareto.push_back(out_.best[0]);
    for (double cap : kMemoryCaps) {
      const double limit = cap * static_cast<double>(tile_limit_);
      if (static_cast<double>(out_.pareto.back().estimate.tile_peak) <= limit) continue;
      report(0.9 + 0.1 * (1 - cap), "tracing the front of throughput and memory");
      by_kind_.clear();
      front_floor_ = 0;
      const std::vector<Candidate> before = all_found_;
      for (const Candidate& c : before) {
        if (static_cast<double>(c.estimate.tile_peak) <= limit) keep(c, false);
      }
      sweep(cap, false);
      const Candidate* best = nullptr;
      for (const auto& [kind, c] : by_kind_) {
        if (!best || better(c, *best)) best = &c;
      }
      if (!best || best->samples_per_second < 0.05 * out_.pareto[0].samples_per_second)
        break;  // no plan anybody would run
      out_.pareto.push_back(*best);
    }
  }
};

}  // namespace

TableKey table_key(const Plan& plan) {
  TableKey key;
  key.mesh = plan.tensor_parallel;
  key.micro_batch = plan.micro_batch;
  key.precision = plan.precision;
  key.io_tiles = plan.io_tiles;
  key.proportion = plan.available_memory_proportion;
  key.accumulate = plan.gradient_accumulation > 1;
  key.serialisation = plan.serialisation;
  key.replica_ipus = plan.tensor_parallel.size() * plan.pipeline_stages;
  key.split_activations = plan.activation_sharding == ActivationSharding::throughout;
  return key;
}

SearchResult search(Tables& tables, const SearchOptions& options) { return Search(tables, options).run(); }

}  // namespace superstep
