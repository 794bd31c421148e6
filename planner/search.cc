// SPDX-License-Identifier: Apache-2.0
#include "planner/search.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <thread>

#include "planner/branch.h"
#include "planner/cell_bound.h"
#include "planner/check_pins.h"
#include "planner/explain_infeasible.h"
#include "planner/parallel.h"

namespace superstep {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Pareto fronts are traced at these shares of a tile's memory, each by a search of its own.
const std::vector<double> kMemoryCaps = {0.9, 0.8, 0.65, 0.5};

// Runners-up that are slower than this share of the best are nothing anybody would run.
constexpr double kOfInterest = 0.5;

// While no plan is known: branches of at least this share of the best cell's bound come before it.
constexpr double kWorthDiving = 0.7;

// Branches and cells that are worked on side by side, against the best plans of before. As many for any number of
// threads: what comes of them is then the same too.
constexpr std::size_t kRound = 16, kCellRound = 4;

// What is yet to be searched: a cell that is not open, or a branch of one that is.
struct Open {
  double bound = 0;       // samples per second that no plan of it exceeds
  std::size_t order = 0;  // of equal bounds the first comes first
  std::size_t cell = 0;
  Branch branch;      // without parts: a cell
  bool sure = false;  // the bound is from a cell's tables or a branch's cuts; else from little work
  friend bool operator<(const Open& a, const Open& b) {
    return a.bound != b.bound ? a.bound < b.bound : a.order > b.order;
  }
};

// The highest bounds first.
struct Frontier {
  std::priority_queue<Open> cells, branches;
  double bound() const {
    return std::max(cells.empty() ? 0 : cells.top().bound, branches.empty() ? 0 : branches.top().bound);
  }
};

// What came of a branch: a bound on all of its plans, or a leaf's best cuts.
struct Visit {
  double bound = 0;  // samples per second; 0: no plan of it fits and is faster than the floor
  bool feasible = false;
  bool refused = false;  // its fastest cut does not fit by evaluate(): a slower one might
  std::int64_t programmes = 0, evaluations = 0;
  double open_bound = 0;  // samples per second: no cut that was left out is faster
  std::vector<Candidate> found;
};

// One sweep over the space: under which limit, and what is already known.
struct Sweep {
  double share = 1;    // of a tile's memory
  bool front = false;  // for a point of the front of throughput and memory, of which only the fastest counts
};

// The bound of cells that are all opened.
constexpr double kAny = std::numeric_limits<double>::max();

class Search {
 public:
  Search(Tables& tables, const SearchOptions& options)
      : tables_(tables),
        job_(tables.job()),
        options_(options),
        cuts_(tables, options.defaults),
        bounds_(tables),
        start_(Clock::now()) {
    tile_limit_ = job_.machine.chip.tile_memory.value;
    out_.space = describe_space(job_, tables.statistics_group());
  }

  SearchResult run() {
    const std::vector<Cell> list = cells(job_, tables_.statistics_group());
    check_pins(job_, static_cast<std::int64_t>(tables_.facts(list.front().micro_batch).graph.units.size()));
    order_cells(list);
    sweep({});
    out_.stats.optimal = !stopped_ && out_.stats.gap <= 1e-9;
    for (const auto& kind : faster_) maybe_faster_.erase(kind);
    out_.stats.faster = static_cast<double>(faster_.size());
    out_.stats.undecided = static_cast<double>(maybe_faster_.size());
    collect();
    if (options_.pareto && !out_.best.empty() && !stopped_) trace_front();
    if (out_.best.empty() && options_.rank_of == 0 && options_.explain) {
      std::vector<Cell> ordered;
      for (const auto& [bound, cell] : cells_) ordered.push_back(cell);
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
  CellBounds bounds_;
  Clock::time_point start_;
  SearchResult out_;
  std::vector<std::pair<double, Cell>> cells_;  // by bound, the highest first
  std::int64_t tile_limit_ = 0;
  bool stopped_ = false;
  std::thread::id main_thread_ = std::this_thread::get_id();  // reports progress
  std::map<std::string, Candidate> by_kind_;                  // the best of each, so far
  std::vector<Candidate> all_found_;
  double open_bound_ = 0;  // samples per second: where a phase programme ran out of its budget, what was left out
  std::size_t made_ = 0;   // Open, so far
  // With rank_of, by cell: kinds with a plan that is faster, and those that may have one.
  std::set<std::pair<std::size_t, std::string>> faster_, maybe_faster_;

  double clock() const { return job_.machine.chip.clock.value; }
  double rate(const Plan& p, std::int64_t cycles) const {
    return static_cast<double>(p.global_batch()) / (static_cast<double>(cycles) / clock());
  }

  void report(double share, const std::string& what) const {
    if (options_.progress && std::this_thread::get_id() == main_thread_) options_.progress(share, what);
  }

  void check_stop() const {
    if (options_.stop && options_.stop()) throw Stopped();
  }

  bool time_is_up() {
    if (options_.time_limit > 0 && since(start_) > options_.time_limit) stopped_ = true;
    if (options_.programme_limit > 0 && out_.stats.programmes >= options_.programme_limit) stopped_ = true;
    return stopped_;
  }

  // ---- cells

  void order_cells(const std::vector<Cell>& list) {
    std::vector<Cell> held_back;
    for (const Cell& cell : list) {
      check_stop();
      const double bound = options_.defaults ? kAny : bounds_.quick(cell);
      if (bound > 0) {
        cells_.push_back({bound, cell});
        continue;
      }
      out_.stats.pruned += count_settings(job_, cell, false);
      held_back.push_back(cell);
    }
    if (cells_.empty() && !held_back.empty() && options_.explain) cells_.push_back({0, widest(held_back)});
    std::stable_sort(cells_.begin(), cells_.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  }

  // To say what overflows: of the cells held back, one that spreads the model furthest.
  Cell widest(const std::vector<Cell>& held_back) {
    const Cell cell = *std::max_element(held_back.begin(), held_back.end(), [](const Cell& a, const Cell& b) {
      const std::int64_t sa = a.mesh.size() * a.stages, sb = b.mesh.size() * b.stages;
      return sa != sb ? sa < sb : a.micro_batch > b.micro_batch;
    });
    out_.stats.pruned -= count_settings(job_, cell, false);
    return cell;
  }

  // Builds the tables that the settings need, and that are not there yet, side by side.
  void tabulate(const std::vector<SettingSpace>& spaces) {
    const Clock::time_point start = Clock::now();
    std::vector<TableKey> keys;
    for (const SettingSpace& space : spaces) {
      const TableKey key = table_key(space.common);
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    parallel_for(keys.size(), options_.threads, [&](std::size_t i) {
      check_stop();
      if (options_.time_limit <= 0 || since(start_) <= options_.time_limit) tables_.table(keys[i]);
    });
    out_.stats.table_seconds += since(start);
  }

  // ---- best first

  // Cells are opened, and their branches divided, from the highest bound down, until nothing that is left can be
  // better than what was found. Until there is a plan, against which the rest is pruned, branches come before cells
  // that promise little more.
  void sweep(const Sweep& how) {
    Frontier open;
    for (std::size_t i = 0; i < cells_.size(); ++i)
      open.cells.push({cells_[i].first, made_++, i, {}, options_.defaults});
    while (open.bound() > floor(how) && !time_is_up()) {
      const bool branch = !open.branches.empty() && open.branches.top().bound > floor(how);
      const bool cell = !open.cells.empty() && open.cells.top().bound > floor(how);
      const double share = incumbent() == 0 && options_.rank_of == 0 ? kWorthDiving : 1;
      if (branch && (!cell || open.branches.top().bound >= share * open.cells.top().bound))
        work_on_top(how, open);
      else if (open.cells.top().sure)
        open_cell(how, open);
      else
        tabulate_cells(how, open);
    }
    const double left = open.bound();
    for (auto* queue : {&open.cells, &open.branches}) {
      for (; !queue->empty(); queue->pop()) leave(queue->top(), how);
    }
    if (!how.front && stopped_ && incumbent() > 0)
      out_.stats.gap = std::max(0.0, 1 - incumbent() / std::max(incumbent(), left));
  }

  // The share of all work that is done when only these cells are not open.
  double cells_done(const Frontier& open) const {
    return 0.9 * (1 - static_cast<double>(open.cells.size()) / static_cast<double>(cells_.size()));
  }

  // Bounds the cells on top by their tables.
  void tabulate_cells(const Sweep& how, Frontier& open) {
    const Clock::time_point start = Clock::now();
    if (!how.front) report(cells_done(open), "tabulating " + std::to_string(open.cells.size()) + " cells");
    std::vector<Open> round;
    while (round.size() < kCellRound && !open.cells.empty() && !open.cells.top().sure &&
           open.cells.top().bound > floor(how)) {
      round.push_back(open.cells.top());
      open.cells.pop();
    }
    parallel_for(round.size(), options_.threads, [&](std::size_t i) {
      check_stop();
      round[i].bound = std::min(round[i].bound, bounds_.tabulated(cells_[round[i].cell].second));
      round[i].sure = true;
    });
    for (Open& o : round) {
      cells_[o.cell].first = o.bound;  // for the sweeps that follow
      open.cells.push(std::move(o));
    }
    out_.stats.table_seconds += since(start);
  }

  void leave(const Open& o, const Sweep& how) {
    const double size = o.branch.parts ? o.branch.size : count_settings(job_, cells_[o.cell].second, options_.defaults);
    if (!how.front) out_.stats.pruned += size;
    if (!stopped_ || options_.rank_of == 0 || o.bound <= options_.rank_of) return;
    const std::vector<std::string> kinds =
        o.branch.parts ? o.branch.kinds() : kinds_of(job_, cells_[o.cell].second, options_.defaults);
    for (const std::string& kind : kinds) maybe_faster_.insert({o.cell, kind});
  }

  void open_cell(const Sweep& how, Frontier& open) {
    const Open top = open.cells.top();
    const std::vector<SettingSpace> spaces = setting_spaces(job_, cells_[top.cell].second, options_.defaults);
    if (!how.front) report(cells_done(open), "searching " + label(spaces.empty() ? Plan{} : spaces[0].common));
    tabulate(spaces);
    if (time_is_up()) return;
    open.cells.pop();
    const Branches branches = branches_of(tables_, cuts_, spaces, options_.threads);
    if (!how.front) out_.stats.pruned += branches.left_out;
    push(top, branches.roots, how, open);
  }

  // Pushes those branches of `from` that may be of interest, bounded by little work.
  void push(const Open& from, const std::vector<Branch>& branches, const Sweep& how, Frontier& open) {
    for (const Branch& b : branches) {
      Open o{from.bound, made_++, from.cell, b};
      const Setting setting = b.setting();
      const std::int64_t least = least_cycles(setting, limits_of(setting, how, 0));
      o.bound = least == INT64_MAX ? 0 : std::min(o.bound, rate(setting.plan(), least));
      if (o.bound > std::max(floor(how), floor_of_kinds(o, how)))
        open.branches.push(std::move(o));
      else if (!how.front)
        out_.stats.pruned += b.size;
    }
  }

  // Those on top are cut, or divided where they have been, side by side against the best plans of before; what comes
  // of them is merged in order.
  void work_on_top(const Sweep& how, Frontier& open) {
    std::vector<Open> round;
    const double all = floor(how);
    while (round.size() < kRound && !open.branches.empty() && open.branches.top().bound > all) {
      round.push_back(open.branches.top());
      open.branches.pop();
    }
    std::vector<Visit> visits(round.size());
    parallel_for(round.size(), options_.threads, [&](std::size_t i) {
      check_stop();
      const Open& o = round[i];
      const double least = std::max(all, floor_of_kinds(o, how));
      if (o.bound <= least || o.sure) return;
      visits[i] = o.branch.leaf() ? leaf(o.branch.setting(), how, least) : bound(o.branch.setting(), how, least);
    });
    for (std::size_t i = 0; i < round.size(); ++i) {
      Open& o = round[i];
      merge(o, visits[i], how);
      if (o.branch.leaf()) continue;
      if (o.sure) {
        push(o, o.branch.children(), how, open);
      } else if (visits[i].bound > 0) {
        o.bound = std::min(o.bound, visits[i].bound);
        o.sure = true;
        open.branches.push(std::move(o));
      }
    }
  }

  // ---- what is worth a cut programme

  double incumbent() const {
    double best = 0;
    for (const auto& [kind, c] : by_kind_) best = std::max(best, c.samples_per_second);
    return best;
  }

  // Samples per second: plans that are no faster are of no interest. Those of the K-th best kind decide.
  double floor(const Sweep& how) const {
    if (options_.rank_of > 0) return options_.rank_of;
    if (how.front) return std::max(options_.at_least, incumbent());
    double kth = 0;
    if (static_cast<std::int64_t>(by_kind_.size()) >= options_.top) {
      std::vector<double> rates;
      for (const auto& [kind, c] : by_kind_) rates.push_back(c.samples_per_second);
      std::nth_element(rates.begin(), rates.begin() + (options_.top - 1), rates.end(), std::greater<>());
      kth = rates[static_cast<std::size_t>(options_.top) - 1];
    }
    return std::max({options_.at_least, kth, kOfInterest * incumbent()});
  }

  // Of each kind one plan counts, so that a branch must be better than the best known of one of its kinds. For a rank,
  // that one of a kind of the cell is faster is all there is to know.
  double floor_of_kinds(const Open& o, const Sweep& how) const {
    if (how.front) return 0;
    double least = std::numeric_limits<double>::infinity();
    for (const std::string& kind : o.branch.kinds()) {
      if (options_.rank_of > 0) {
        if (faster_.count({o.cell, kind}) == 0) return 0;
        continue;
      }
      const auto it = by_kind_.find(kind);
      least = std::min(least, it == by_kind_.end() ? 0 : it->second.samples_per_second);
    }
    return least;
  }

  CutLimits limits_of(const Setting& s, const Sweep& how, double least) const {
    CutLimits limits;
    limits.tile = static_cast<std::int64_t>(how.share * static_cast<double>(tile_limit_));
    limits.executable = s.executable_limit();
    limits.ddr = s.ddr_limit();
    if (least > 0) {
      const double seconds = static_cast<double>(s.plan().global_batch()) / least;
      limits.best = static_cast<std::int64_t>(seconds * clock());
    }
    return limits;
  }

  // A bound on all settings of a branch, by the best cuts of the setting that bounds them.
  Visit bound(const Setting& setting, const Sweep& how, double least) const {
    Visit out;
    CutLimits limits = limits_of(setting, how, least);
    const std::int64_t none = limits.best;
    for (const CutRules& rules : cuts_.rules_for(setting.plan())) {
      ++out.programmes;
      if (setting.plan().phased())
        limits.best = std::min(limits.best, bound_phases(setting, rules, limits));
      else if (const std::optional<Cuts> cuts = cut_pipeline(setting, rules, limits))
        limits.best = std::min(limits.best, cuts->cycles);
    }
    if (limits.best < none) out.bound = rate(setting.plan(), limits.best);
    return out;
  }

  Visit leaf(const Setting& setting, const Sweep& how, double least) const {
    Visit out;
    const Plan& plan = setting.plan();
    CutLimits limits = limits_of(setting, how, least);
    for (const CutRules& rules : cuts_.rules_for(plan)) {
      ++out.programmes;
      std::int64_t open = INT64_MAX;
      const std::optional<Cuts> cuts =
          plan.phased() ? cut_phases(setting, rules, limits, &open) : cut_pipeline(setting, rules, limits);
      if (open < INT64_MAX) out.open_bound = std::max(out.open_bound, rate(plan, open));
      if (!cuts) continue;
      Candidate c;
      c.plan = with_cuts(plan, *cuts);
      if (job_.pins.stage_ipu && job_.pins.stage_ipu->size() == c.plan.stage_ipu.size())
        c.plan.stage_ipu = *job_.pins.stage_ipu;
      if (!check_plan(c.plan, setting.table().facts(), job_.machine, tables_.training()).empty()) continue;
      ++out.evaluations;
      c.estimate = evaluate(setting, c.plan);
      c.fits = c.estimate.tile_peak <= limits.tile && c.estimate.fits(setting);
      c.samples_per_second = rate(c.plan, c.estimate.cycles);
      (c.fits ? out.feasible : out.refused) = true;
      if (!c.fits) continue;
      limits.best = std::min(limits.best, c.estimate.cycles);
      out.found.push_back(std::move(c));
    }
    return out;
  }

  // ---- what was found

  void merge(const Open& o, const Visit& v, const Sweep& how) {
    out_.stats.programmes += v.programmes;
    out_.stats.evaluations += v.evaluations;
    const bool leaf = o.branch.leaf(), was_cut = v.programmes > 0;
    if (!how.front) {
      if (leaf && was_cut) out_.stats.explored += 1;
      if (!o.sure && (leaf ? !was_cut : v.bound <= 0)) out_.stats.pruned += o.branch.size;
      out_.stats.feasible += v.feasible ? 1 : 0;
      open_bound_ = std::max(open_bound_, v.open_bound);
    }
    if (leaf && options_.rank_of > 0) note_faster(o, v);
    for (const Candidate& c : v.found) keep(c);
  }

  void note_faster(const Open& o, const Visit& v) {
    const std::pair<std::size_t, std::string> kind(o.cell, o.branch.kinds().at(0));
    if (std::any_of(v.found.begin(), v.found.end(),
                    [&](const Candidate& c) { return c.samples_per_second > options_.rank_of; }))
      faster_.insert(kind);
    else if (v.refused || v.open_bound > options_.rank_of)
      maybe_faster_.insert(kind);
  }

  void keep(const Candidate& c) {
    auto [it, fresh] = by_kind_.try_emplace(kind_of(c.plan), c);
    if (!fresh && better(c, it->second)) it->second = c;
    all_found_.push_back(c);
  }
  // Ties go to the canonical order of fields.
  static bool better(const Candidate& a, const Candidate& b) {
    if (a.samples_per_second != b.samples_per_second) return a.samples_per_second > b.samples_per_second;
    return label(a.plan) < label(b.plan);
  }

  void collect() {
    for (const auto& [kind, c] : by_kind_) out_.best.push_back(c);
    std::stable_sort(out_.best.begin(), out_.best.end(), better);
    if (static_cast<std::int64_t>(out_.best.size()) > options_.top)
      out_.best.resize(static_cast<std::size_t>(options_.top));
    const double least = kOfInterest * incumbent();
    std::erase_if(out_.best, [&](const Candidate& c) { return c.samples_per_second < least; });
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
      const std::vector<Candidate> before = all_found_;
      for (const Candidate& c : before) {
        if (static_cast<double>(c.estimate.tile_peak) <= limit) keep(c);
      }
      sweep({cap, true});
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

SearchResult search(Tables& tables, const SearchOptions& options) { return Search(tables, options).run(); }

}  // namespace superstep
