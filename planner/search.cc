// SPDX-License-Identifier: Apache-2.0
#include "planner/search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <queue>
#include <set>
#include <thread>

#include "model/error.h"
#include "model/quantity_text.h"
#include "planner/check_pins.h"
#include "planner/cuts.h"
#include "planner/parallel.h"
#include "planner/space.h"
#include "traces/text_table.h"

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

class Search {
 public:
  Search(Tables& tables, const SearchOptions& options)
      : tables_(tables), job_(tables.job()), options_(options), start_(Clock::now()) {
    const Machine& m = job_.machine;
    tile_limit_ = m.chip.tile_memory.value;
    out_.space = describe_space(job_);
  }

  SearchResult run() {
    const std::vector<Cell> list = cells(job_);
    check_pins(job_, static_cast<std::int64_t>(tables_.facts(list.front().micro_batch).graph.units.size()));
    order_cells();
    if (options_.rank_of == 0) dive();
    sweep(1.0, true);
    out_.stats.optimal = !stopped_ && out_.stats.gap <= 1e-9;
    collect();
    if (options_.pareto && !out_.best.empty() && !stopped_) trace_front();
    if (out_.best.empty() && options_.rank_of == 0) explain_infeasible();
    out_.stats.seconds = since(start_);
    return std::move(out_);
  }

 private:
  Tables& tables_;
  const Job& job_;
  const SearchOptions& options_;
  Clock::time_point start_;
  SearchResult out_;
  std::vector<CellBound> cells_;
  std::int64_t tile_limit_ = 0;
  bool stopped_ = false;
  std::thread::id main_thread_ = std::this_thread::get_id();  // reports progress
  double incumbent_ = 0;                                      // samples per second
  std::map<std::string, Candidate> by_kind_;
  std::map<std::pair<std::int64_t, TensorParallel>, std::vector<std::int64_t>> stages_;  // pinned stages by micro-batch

  double clock() const { return job_.machine.chip.clock.value; }
  double rate(const Plan& p, std::int64_t cycles) const {
    return static_cast<double>(p.global_batch()) / (static_cast<double>(cycles) / clock());
  }

  // The work of one micro-batch spread evenly is the least any plan of the cell can take; every pipeline
  // fills, so p - 1 shares more. Tables with the loosest cap give the least work.
  double cell_bound(const Cell& c) {
    TableKey key;
    key.mesh = c.mesh;
    key.micro_batch = c.micro_batch;
    key.precision = job_.pins.precision;
    key.proportion = job_.pins.available_memory_proportion.empty()
                         ? 0.6
                         : *std::max_element(job_.pins.available_memory_proportion.begin(),
                                             job_.pins.available_memory_proportion.end());
    const UnitTable& t = tables_.table(key);
    std::int64_t work = 0;
    for (std::size_t u = 0; u < t.units(); ++u)
      work += t.row(u).forward_cycles.total().value + t.row(u).backward_cycles.total().value;
    const double share = static_cast<double>(work) / static_cast<double>(c.stages) +
                         static_cast<double>(tables_.model().calibration().micro_batch_fixed.value);
    const double cycles = share * static_cast<double>(c.accumulation + c.stages - 1);
    const double samples = static_cast<double>(c.micro_batch * c.accumulation * c.replicas);
    return samples / (cycles / clock());
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
    for (const Cell& cell : cells(job_)) {
      if (may_hold(cell) || options_.defaults) {
        all.push_back({0, cell});
        continue;
      }
      out_.stats.pruned += static_cast<double>(settings(job_, cell, false).size());
      held_back_.push_back(cell);
    }
    const Clock::time_point start = Clock::now();
    std::atomic<std::size_t> done = 0;
    parallel_for(all.size(), options_.threads, [&](std::size_t i) {
      all[i].first = cell_bound(all[i].second);
      if (std::this_thread::get_id() == main_thread_)
        report(0.3 * static_cast<double>(done) / static_cast<double>(all.size()), "tabulating blocks");
      ++done;
    });
    out_.stats.table_seconds += since(start);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (all.empty() && !held_back_.empty())
      all.push_back({cell_bound(held_back_.back()), held_back_.back()});  // to say what overflows
    for (const auto& [bound, cell] : all) cells_.push_back({cell, static_cast<std::int64_t>(bound * 65536)});
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

  bool time_is_up() {
    if (options_.time_limit > 0 && since(start_) > options_.time_limit) stopped_ = true;
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
      prepare_rules(plan, table);
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
    parallel_for(fresh.size(), options_.threads, [&](std::size_t i) { visits[i] = visit(*fresh[i], share, floor); });
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
    return record ? threshold() : front_floor_;
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
    const bool phases = searches_phases(plan);
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
    for (const CutRules& rules : rules_for(plan)) {
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

  bool searches_phases(const Plan& plan) const {
    return plan.location.weights != Location::in_processor && !single_phase();
  }
  bool single_phase() const {
    const Pins& pins = job_.pins;
    return (pins.phase_count && *pins.phase_count == 1) || (pins.phases && pins.phases->size() == 1);
  }

  std::int64_t least_cycles(const Setting& s, const Plan& plan) const {
    const std::int64_t fixed = s.micro_batch_fixed() + (plan.pipeline_stages > 1 ? s.cycle_fixed() : 0);
    if (plan.schedule == Schedule::sequential && !searches_phases(plan))
      return plan.gradient_accumulation * (s.work(0, s.units()) + fixed);
    const double share = static_cast<double>(s.work(0, s.units())) / static_cast<double>(plan.pipeline_stages) +
                         static_cast<double>(s.micro_batch_fixed());
    const std::int64_t drain =
        plan.schedule == Schedule::sequential || plan.pipeline_stages == 1 ? 0 : plan.pipeline_stages - 1;
    return static_cast<std::int64_t>(share * static_cast<double>(plan.gradient_accumulation + drain) * 0.999999);
  }

  // Pinned stages are found once per graph, before threads ask for them.
  void prepare_rules(const Plan& plan, const UnitTable& table) {
    const auto [it, fresh] = stages_.try_emplace({plan.micro_batch, plan.tensor_parallel});
    if (fresh) it->second = pinned_stages(job_, table.facts().graph);
    const auto count = static_cast<std::int64_t>(it->second.size());
    if (count == 0 || searches_phases(plan) || count == plan.pipeline_stages || count == plan.pipeline_stages + 1)
      return;
    throw Error(job_.source + "#/plan/stages",
                "found " + std::to_string(count) + " stages, expected pipeline_stages (" +
                    std::to_string(plan.pipeline_stages) + ") or one more, whose last returns to IPU 0");
  }

  std::vector<CutRules> rules_for(const Plan& plan) const {
    CutRules rules;
    const Pins& pins = job_.pins;
    if (!pins.recompute.empty() && pins.recompute[0].size() == 1) rules.modes = {pins.recompute[0][0]};
    if (!pins.recompute.empty() && pins.recompute[0].size() > 1) rules.stage_modes = &pins.recompute[0];
    if (options_.defaults && pins.recompute.empty()) rules.modes = {Recompute::layer};
    if (!tables_.training()) rules.modes = {Recompute::layer};
    const std::vector<std::int64_t>& stages = stages_.at({plan.micro_batch, plan.tensor_parallel});
    if (!stages.empty()) rules.stages = &stages;
    if (pins.phases) rules.phases = &*pins.phases;
    if (pins.phase_count) rules.phase_count = *pins.phase_count;
    if (searches_phases(plan)) return {rules};
    const auto count = static_cast<std::int64_t>(stages.size());
    std::vector<CutRules> all;
    if (stages.empty() || count == plan.pipeline_stages) all.push_back(rules);
    if (plan.pipeline_stages > 1 && (stages.empty() || count == plan.pipeline_stages + 1)) {
      rules.wrap = true;
      all.push_back(rules);
    }
    return all;
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

  // ---- nothing fits

  // The plan that exceeds memory least: cut again with ever larger limits.
  void explain_infeasible() {
    double least = 1e300;
    const double searched = since(start_);
    for (const CellBound& cb : cells_) {
      for (const Plan& plan : settings(job_, cb.cell, options_.defaults)) {
        // Enough to name what is in the way; more settings seldom come much closer.
        if (since(start_) > 5 + searched) break;
        closest_of(plan, least);
      }
    }
    if (!out_.closest) {
      out_.overflows = {Overflow{"structure", "the pinned plan", Bytes(0), structural_reason(), {}}};
      if (options_.find_fix) find_fix();
      return;
    }
    const UnitTable& table = tables_.table(table_key(*out_.closest));
    const Program program = lower(table, *out_.closest, job_.optimizer);
    out_.overflows = find_overflows(program, cost(program, tables_.model()), table, *out_.closest);
    if (out_.overflows.empty()) {
      out_.overflows = {Overflow{"tile memory",
                                 "by the tables' upper bound",
                                 Bytes(0),
                                 "the lowered plan fits; the tables refuse it by less than 3 %",
                                 {}}};
    }
    if (options_.find_fix) find_fix();
  }

  void closest_of(const Plan& plan, double& least) {
    const UnitTable& table = tables_.table(table_key(plan));
    const Setting setting(table, plan, job_.optimizer, searches_phases(plan));
    prepare_rules(plan, table);
    for (const CutRules& rules : rules_for(plan)) {
      for (double factor : {1.0, 1.02, 1.05, 1.1, 1.15, 1.25, 1.4, 1.7, 2.2, 3.0, 4.5, 7.0, 12.0, 30.0, 100.0}) {
        if (factor >= least) break;
        if (!relax(plan, setting, rules, factor)) continue;
        least = factor;
        break;
      }
    }
  }

  // Limits times `factor`, one of them before all: what is named then is what is in the way.
  bool relax(const Plan& plan, const Setting& setting, const CutRules& rules, double factor) {
    const std::vector<std::pair<double, double>> ways =
        factor == 1 ? std::vector<std::pair<double, double>>{{1, 1}}
                    : std::vector<std::pair<double, double>>{{1, factor}, {factor, 1}, {factor, factor}};
    const auto times = [](double by, std::int64_t limit) {
      return static_cast<std::int64_t>(by * static_cast<double>(std::max<std::int64_t>(1, limit)));
    };
    for (const auto& [tile, ddr] : ways) {
      CutLimits limits;
      limits.tile = times(tile, tile_limit_);
      limits.executable = times(tile, setting.executable_limit());
      limits.ddr = times(ddr, setting.ddr_limit());
      ++out_.stats.evaluations;
      std::optional<Cuts> cuts =
          searches_phases(plan) ? cut_phases(setting, rules, limits, nullptr) : cut_pipeline(setting, rules, limits);
      if (!cuts) continue;
      Plan found = with_cuts(plan, *cuts);
      if (!check_plan(found, setting.table().facts(), job_.machine, tables_.training()).empty()) continue;
      out_.closest = std::move(found);
      return true;
    }
    return false;
  }

  std::string structural_reason() {
    for (const CellBound& cb : cells_) {
      for (Plan plan : settings(job_, cb.cell, options_.defaults)) {
        const UnitTable& table = tables_.table(table_key(plan));
        const auto units = static_cast<std::int64_t>(table.units());
        if (plan.pipeline_stages > units)
          return "pipeline_stages " + std::to_string(plan.pipeline_stages) + " is more than the " +
                 std::to_string(units) + " units between cut points";
        plan.stages.clear(), plan.stage_ipu.clear();
        for (std::int64_t i = 0; i < plan.pipeline_stages; ++i) plan.stages.push_back(i), plan.stage_ipu.push_back(i);
        const std::string why = check_plan(plan, table.facts(), job_.machine, tables_.training());
        if (!why.empty()) return why;
      }
    }
    return "no setting of the pinned fields is legal";
  }

  Clock::time_point fix_start_{};

  // Frees one pinned field at a time and searches again; the best that fits is the nearest fix.
  void find_fix() {
    if (!job_.json.contains("plan")) return;
    double best = 0;
    // Stages, phases and what is said per stage are one field: the cuts.
    const std::vector<std::string> cuts = {"stages", "layers_per_stage", "stage_ipu", "phases"};
    nlohmann::json without_cuts = job_.json;
    for (const std::string& key : cuts) without_cuts["plan"].erase(key);
    if (without_cuts != job_.json) try_fix(without_cuts, "cuts", best);
    for (const auto& [key, value] : job_.json["plan"].items()) {
      if (std::find(cuts.begin(), cuts.end(), key) != cuts.end()) continue;
      nlohmann::json relaxed = job_.json;
      relaxed["plan"].erase(key);
      try_fix(relaxed, key, best);
    }
    for (const char* location : {"optimizer_state", "activations"}) {
      if (!job_.json["plan"].contains("location") || !job_.json["plan"]["location"].contains(location)) continue;
      nlohmann::json relaxed = job_.json;
      relaxed["plan"]["location"].erase(location);
      try_fix(relaxed, "location." + std::string(location), best);
    }
  }

  void try_fix(const nlohmann::json& relaxed, const std::string& field, double& best) {
    if (fix_start_ == Clock::time_point{}) fix_start_ = Clock::now();
    if (since(fix_start_) > 30) return;
    report(0.95, "looking for the nearest fix: freeing " + field);
    try {
      const Job job = read_job(relaxed, job_.source);
      Tables tables(job, tables_.model());
      SearchOptions options;
      options.top = 1;
      options.pareto = options.find_fix = false;
      options.time_limit = 20;
      const SearchResult r = search(tables, options);
      if (r.best.empty() || r.best[0].samples_per_second <= best) return;
      best = r.best[0].samples_per_second;
      const nlohmann::json plan = to_json(r.best[0].plan);
      const std::string value = field.find('.') == std::string::npos && plan.contains(field) ? plan[field].dump()
                                : field == "cuts" ? std::to_string(r.best[0].plan.phases.size()) + " phases, " +
                                                        std::to_string(r.best[0].plan.stages.size()) + " stages"
                                : field.rfind("location.", 0) == 0 ? plan["location"][field.substr(9)].dump()
                                                                   : "free";
      out_.nearest_fix = field + " = " + value + " fits with " +
                         std::to_string((tile_limit_ - r.best[0].estimate.tile_peak) / 1024) +
                         " KiB per tile to spare, at " + figure(r.best[0].samples_per_second) + " samples/s";
    } catch (const Error&) {
      // Without this pin the job is not legal: no fix.
    }
  }
};

std::string sum_text(const std::vector<std::pair<std::string, Bytes>>& parts, Bytes limit) {
  std::string s;
  for (const auto& [name, bytes] : parts) {
    if (bytes.value > 0) s += (s.empty() ? "" : " + ") + name + " " + to_text(bytes);
  }
  return s + " of " + to_text(limit) + " per IPU";
}

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
  key.split_activations = plan.activation_sharding == ActivationSharding::throughout;
  return key;
}

std::vector<Overflow> find_overflows(const Program& program, const Timeline& timeline, const UnitTable& table,
                                     const Plan& plan) {
  const Machine& m = table.model().machine();
  struct Worst {
    double ratio = 1;
    Overflow overflow;
  };
  std::map<std::string, Worst> worst;
  auto consider = [&](const std::string& constraint, std::size_t ipu, Bytes used, Bytes limit, Bytes per_ipu_limit,
                      const std::vector<std::pair<std::string, Bytes>>& parts) {
    if (used <= limit) return;
    Worst& w = worst[constraint];
    const double ratio = limit.value == 0 ? 1e9 : used / limit;
    if (ratio <= w.ratio) return;
    w.ratio = ratio;
    const FunctionId at = timeline.transient[ipu].function;
    const std::string place =
        "IPU " + std::to_string(ipu) +
        (constraint == "tile memory" && at.valid() ? " during " + program.functions[at].name : "");
    w.overflow = Overflow{constraint, place, used - limit, sum_text(parts, per_ipu_limit), parts};
  };
  const std::int64_t tiles = program.compute_tiles;
  for (std::size_t i = 0; i < program.ipus(); ++i) {
    const Residents& r = timeline.residents[i];
    const Transient& t = timeline.transient[i];
    const StreamingUse& d = program.ddr[i];
    consider("tile memory", i, timeline.tile_peak(i), m.chip.tile_memory, m.chip_memory(),
             {{"weights", r.weights * tiles},
              {"gradients", r.gradients * tiles},
              {"optimizer state", r.optimizer_state * tiles},
              {"stash", r.stash * tiles},
              {"IO", r.io * tiles},
              {"lent to other IPUs", r.lent * tiles},
              {"code", r.executable() * tiles},
              {"activations", t.activations * tiles},
              {"temporaries", t.temporaries * tiles}});
    consider("executable tile memory", i, program.executable(i), m.chip.executable_memory,
             m.chip.executable_memory * m.chip.tiles, {{"code", program.executable(i) * tiles}});
    consider("Streaming Memory", i, d.total(), m.streaming_per_ipu(), m.streaming_per_ipu(),
             {{"stored activations", d.activations},
              {"weights", d.weights},
              {"gradients", d.gradients},
              {"optimizer state", d.optimizer_state},
              {"host", d.host}});
  }
  (void)plan;
  std::vector<Worst> sorted;
  for (auto& [name, w] : worst) sorted.push_back(std::move(w));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Worst& a, const Worst& b) { return a.ratio > b.ratio; });
  std::vector<Overflow> out;
  for (Worst& w : sorted) {
    if (w.ratio > 1) out.push_back(std::move(w.overflow));
  }
  return out;
}

SearchResult search(Tables& tables, const SearchOptions& options) { return Search(tables, options).run(); }

}  // namespace superstep
