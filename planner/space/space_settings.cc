// SPDX-License-Identifier: Apache-2.0
// The settings of a cell as products of lists: which lists the fields draw from.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "model/lower/placement.h"
#include "planner/job/divisors.h"
#include "planner/space/software_space.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

template <class E>
bool has(const std::vector<E>& list, E value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Returns the values that a field draws from: the pinned values if there are any, else the fallback alone with
// `defaults`, else the free values.
template <class E>
std::vector<E> choices(const std::vector<E>& pinned, const std::vector<E>& free, const E& fallback, bool defaults) {
  if (!pinned.empty()) return pinned;
  return defaults ? std::vector<E>{fallback} : free;
}

// Returns the values of an integer field. A pinned list is taken as it is; a pinned range selects from the free values.
std::vector<std::int64_t> integers(const std::optional<IntegerPin>& pin, const std::vector<std::int64_t>& free) {
  if (pin && !pin->values.empty()) return pin->values;
  std::vector<std::int64_t> out = free;
  std::erase_if(out, [&](std::int64_t v) { return pin && !pin->allows(v); });
  return out;
}

// Returns how many replicas share one IPU-Link domain, as a divisor of all replicas. Shards of this degree are gathered
// within the domain.
std::int64_t replicas_inside(const Job& job, const Cell& c) {
  const std::int64_t per_domain = std::max<std::int64_t>(1, job.machine.links.domain_ipus / (c.mesh.size() * c.stages));
  return std::gcd(c.replicas, per_domain);
}

// Makes the setting spaces of a cell, or counts their settings.
class SettingLists {
 public:
  SettingLists(const Job& job, const Cell& cell, bool defaults)
      : job_(job),
        pins_(job.pins),
        c_(cell),
        software_(job),
        defaults_(defaults),
        free_degrees_(divisors(cell.replicas)) {
    streaming_ = job.machine.has_streaming();
    space_.training = job.task == Task::training;
    space_.groups_matter = c_.groups_matter;
    Plan& p = space_.common;
    p = c_.plan();
    p.precision = pins_.precision;
    p.stage_proportions = pins_.stage_proportions;
    if (!p.stage_proportions.empty()) p.stages = *pins_.stages;  // the stages that these bounds are for
    p.serialisation = pins_.serialisation;
    for (const Location l : {Location::streaming, Location::remote_machine, Location::remote_ipu}) {
      if (streaming_ && has_lender(p, l, job.machine)) outside_.push_back(l);
    }
    everywhere_ = outside_;
    everywhere_.insert(everywhere_.begin(), Location::in_processor);
    space_.prefetch_depths = defaults ? integers(pins_.prefetch_depth, {1}) : integers(pins_.prefetch_depth, kPrefetch);
    if (pins_.prefetch_depth && space_.prefetch_depths.empty()) space_.prefetch_depths = {pins_.prefetch_depth->low};
  }

  std::array<double, kExecutions.size()> count() {
    counts_ = true;
    make();
    return settings_;
  }

  std::vector<SettingSpace> make(std::optional<Execution> only = {}) {
    only_ = only;
    if (software_.has_rules()) {
      of_cell_ = software_.facts_of(space_.common);
      if (!software_.accepts(of_cell_)) return {};
    }
    const bool one = pins_.one_phase();
    // Weights that are pinned outside of the processor mean phases, unless the whole model is one phase.
    const bool stay = pins_.weights.empty() || has(pins_.weights, Location::in_processor);
    const bool phases_alone = !pins_.phase_order.empty() && !has(pins_.phase_order, PhaseOrder::phase_outer);
    if (pins_.allow_pipeline(c_.stages) && (one || (pins_.may_be_one_phase() && stay && !phases_alone))) pipelines(one);
    if (may_be_phased(job_) && (pins_.phased() || !defaults_ || !stay)) phases();
    return std::move(out_);
  }

 private:
  const Job& job_;
  const Pins& pins_;
  const Cell& c_;
  const SoftwareSpace software_;
  PlanFacts of_cell_;  // what rules ask of the cell
  bool defaults_, streaming_;
  std::vector<std::int64_t> free_degrees_;
  // Places of memory that the cell has: without the processor, and with the processor.
  std::vector<Location> outside_, everywhere_;
  SettingSpace space_;
  double stores_ = 0;  // SettingSpace::stores() of space_, which many tables share
  std::vector<SettingSpace> out_;
  bool counts_ = false;  // settings are counted, and no space is kept
  std::array<double, kExecutions.size()> settings_{};
  std::optional<Execution> only_;  // makes spaces of this execution alone; nullopt: of all

  // Returns each place with each degree that divides the replicas, once.
  std::vector<Storage> storage(const std::vector<Location>& places, const std::optional<IntegerPin>& pin,
                               const std::vector<std::int64_t>& free) const {
    std::vector<Storage> out;
    for (const Location at : places) {
      for (const std::int64_t degree : integers(pin, free)) {
        const Storage s{at, degree};
        if (c_.replicas % degree == 0 && !has(out, s)) out.push_back(s);
      }
    }
    return out;
  }

  // Returns the places that a field draws from, without places that the cell does not have.
  std::vector<Location> places(const std::vector<Location>& pinned, const std::vector<Location>& free,
                               Location fallback) const {
    std::vector<Location> out = choices(pinned, free, fallback, defaults_);
    std::erase_if(out, [&](Location at) { return !has(everywhere_, at); });
    return out;
  }

  // Sets the storage of the optimiser state. With defaults, the state has the degrees of the weights, as a smaller
  // degree is not legal. Inference updates nothing.
  void set_states(const std::vector<Location>& free) {
    space_.states = {Storage{}};
    if (!space_.training) return;
    std::vector<std::int64_t> degrees = free_degrees_;
    if (defaults_) {
      degrees.clear();
      for (const Storage& w : space_.weights) degrees.push_back(w.degree);
    }
    std::vector<Location> at = places(pins_.optimizer_state, free, free.front());
    if (space_.phased) std::erase(at, Location::in_processor);
    space_.states = storage(at, pins_.rts_optimizer_state, degrees);
  }

  void set_gradients(const std::vector<Location>& free, const std::vector<std::int64_t>& degrees) {
    space_.gradients = storage(places(pins_.gradients, free, Location::in_processor), pins_.rts_gradients,
                               defaults_ ? std::vector<std::int64_t>{1} : degrees);
  }

  void pipelines(bool one_phase) {
    space_.phased = false;
    space_.codes = places(pins_.code, {Location::in_processor}, Location::in_processor);
    space_.loads = {load_schedules(false)[0]};  // without effect in a pipeline: the first stands for all
    const std::vector<Location> weights_at =
        one_phase ? places(pins_.weights, {Location::in_processor}, Location::in_processor)
                  : std::vector{Location::in_processor};
    const std::vector<Storage> weights = storage(
        weights_at, pins_.rts_weights, defaults_ && !pins_.rts_weights ? std::vector<std::int64_t>{1} : free_degrees_);
    // Whole and sharded weights are in separate spaces. A bound on both would have the time of whole weights and the
    // memory of shards.
    for (const bool gathered : {false, true}) {
      space_.weights.clear();
      std::ranges::copy_if(weights, std::back_inserter(space_.weights),
                           [&](const Storage& s) { return (s.degree > 1) == gathered; });
      if (!space_.weights.empty()) schedules();
    }
  }

  // Adds the spaces of pipelines with these weights, for each schedule and number of IO tiles.
  void schedules() {
    if (space_.training)
      set_gradients(everywhere_, free_degrees_);
    else
      set_gradients({Location::in_processor}, {1});
    set_states(everywhere_);
    stores_ = space_.storage_combinations(space_.all());
    std::vector<Schedule> all = choices(
        pins_.schedule, {Schedule::grouped, Schedule::interleaved, Schedule::sequential}, Schedule::grouped, defaults_);
    if (c_.stages == 1) all = {Schedule::sequential};
    const bool stashes = space_.training && streaming_;
    const std::vector<Location> stash_at =
        places(pins_.activations, stashes ? everywhere_ : std::vector{Location::in_processor}, Location::in_processor);
    for (const Schedule schedule : all) {
      space_.common.schedule = schedule;
      for (const std::int64_t io : integers(pins_.io_tiles, {pins_.io_tiles ? pins_.io_tiles->low : 0})) {
        space_.common.io_tiles = io;
        tables(stash_at, ActivationSharding::none);
      }
    }
  }

  void phases() {
    space_.phased = true;
    space_.codes = places(pins_.code, everywhere_, Location::in_processor);
    std::vector<Location> weights_at = places(pins_.weights, outside_, Location::streaming);
    std::erase(weights_at, Location::in_processor);
    if (weights_at.empty()) return;
    // With defaults, weights have as many shards as one IPU-Link domain has replicas, as far as a pinned degree of the
    // optimiser state can follow.
    const bool follows = pins_.rts_optimizer_state && pins_.rts_optimizer_state->values.size() == 1;
    const std::int64_t inside = replicas_inside(job_, c_);
    const std::int64_t usual = follows ? std::gcd(inside, pins_.rts_optimizer_state->values[0]) : inside;
    space_.weights = storage(defaults_ ? std::vector{weights_at.back()} : weights_at, pins_.rts_weights,
                             defaults_ ? std::vector<std::int64_t>{usual} : free_degrees_);
    set_states(outside_);
    // A phase runs one direction at a time: the schedule has no effect, and the first one stands for all.
    space_.common.schedule = pins_.schedule.empty() ? Schedule::grouped : pins_.schedule[0];
    for (const PhaseOrder order : choices(pins_.phase_order, {PhaseOrder::phase_outer, PhaseOrder::micro_batch_outer},
                                          PhaseOrder::phase_outer, defaults_)) {
      space_.common.phase_order = order;
      // With phase_outer, a phase runs all its micro-batches at once, and gradients never leave their tiles.
      const bool leave = order == PhaseOrder::micro_batch_outer && space_.training && !defaults_;
      set_gradients(leave ? outside_ : std::vector{Location::in_processor},
                    leave ? free_degrees_ : std::vector<std::int64_t>{1});
      stores_ = space_.storage_combinations(space_.all());
      const std::vector<Location> stash_at =
          boundary_places(boundaries_may_stay(job_, c_) && order == PhaseOrder::micro_batch_outer);
      for (const std::int64_t groups :
           defaults_ ? integers(pins_.phase_groups, {1}) : integers(pins_.phase_groups, {1, 2})) {
        if (c_.stages % groups != 0) continue;
        space_.common.phase_groups = groups;
        loads(stash_at);
      }
    }
    space_.common.phase_order = PhaseOrder::phase_outer;
    space_.common.phase_groups = 1;
  }

  // Returns where boundaries between phases go. `stay`: they may stay on the tiles.
  std::vector<Location> boundary_places(bool stay) const {
    std::vector<Location> at = places(pins_.activations, stay ? everywhere_ : outside_, Location::streaming);
    if (!stay) std::erase(at, Location::in_processor);
    return at;
  }

  void loads(const std::vector<Location>& stash_at) {
    for (const std::int64_t io : integers(pins_.io_tiles, defaults_ ? std::vector<std::int64_t>{0} : kIoTiles)) {
      if (io >= job_.machine.chip.tiles) continue;
      space_.common.io_tiles = io;
      // With two phase groups, the waiting group itself takes loads ahead. With one phase group and no IO tiles, there
      // is no place to preload to.
      space_.loads = load_schedules(io > 0 && space_.common.phase_groups == 1);
      tables(stash_at, ActivationSharding::stored);
    }
  }

  // Returns the load schedules, first the schedules that are alike for weights and code. `matter`: false if only pinned
  // schedules and on_demand count.
  std::vector<LoadSchedules> load_schedules(bool matter) const {
    using enum LoadSchedule;
    const auto of = [&](const std::vector<LoadSchedule>& pinned) {
      return choices(pinned, matter ? std::vector{on_demand, preload} : std::vector{on_demand}, on_demand, defaults_);
    };
    std::vector<LoadSchedules> out;
    for (const bool alike : {true, false}) {
      for (const LoadSchedule weights : of(pins_.load_weights)) {
        for (const LoadSchedule code : of(pins_.load_code)) {
          if ((weights == code) == alike) out.push_back({weights, code});
        }
      }
    }
    return out;
  }

  // Adds a space for each table. Tables that differ only in a free bound on temporary memory share a space.
  void tables(const std::vector<Location>& stash_at, ActivationSharding fallback) {
    using enum ActivationSharding;
    std::vector<ActivationSharding> shardings =
        choices(pins_.activation_sharding, {throughout, stored, none}, fallback, defaults_);
    if (c_.mesh.size() == 1 && pins_.activation_sharding.size() != 1) shardings = {none};
    for (const bool throughout_all : {true, false}) {
      space_.stashes.clear();
      for (const Location at : stash_at) {
        for (const ActivationSharding sharding : shardings) {
          if ((sharding == throughout) == throughout_all) space_.stashes.push_back({at, sharding});
        }
      }
      if (space_.stashes.empty()) continue;
      const Execution execution = space_.execution();
      if (only_.value_or(execution) != execution) continue;
      space_.common.activation_sharding = space_.stashes[0].sharding;
      SettingSpace space = space_;
      if (software_.has_rules() && !software_.restrict(space, of_cell_)) continue;
      // The same for any bound on temporary memory.
      const double size = software_.has_rules() ? space.size() : stores_ * space_.other_combinations(space_.all());
      if (size == 0) continue;
      const auto [low, high] = extreme_proportions(job_);
      const Proportion usual{std::clamp(kUsualProportion, low.share, high.share), high.live};
      for (const Proportion& proportion : choices(pins_.available_memory_proportion, {high}, usual, defaults_)) {
        space.common.available_memory_proportion = proportion;
        space.caps = frees_caps(job_, defaults_) ? free_caps(job_) : caps_of(proportion, job_.machine.chip);
        settings_[static_cast<std::size_t>(execution)] += size;
        if (!counts_) out_.push_back(space);
      }
    }
  }
};

}  // namespace

bool boundaries_may_stay(const Job& job, const Cell& cell) {
  return job.task == Task::inference && cell.stages == 1 &&
         (job.pins.activations.empty() || has(job.pins.activations, Location::in_processor));
}

bool frees_caps(const Job& job, bool defaults) { return !defaults && job.pins.available_memory_proportion.empty(); }

ProportionRange free_proportions(const Job& job) {
  const ProportionRange asked = job.pins.proportion_range.value_or(ProportionRange{kLeastProportion, kMostProportion});
  const double high = std::min(asked.high, kMostProportion);
  return {std::min(std::max(asked.low, kLeastProportion), high), high};
}

// A pinned range of numbers, without `live`, bounds temporary memory alone, as in vendor tools.
Caps free_caps(const Job& job) {
  const ProportionRange free = free_proportions(job);
  const Chip& chip = job.machine.chip;
  Caps caps{{cap_of(free.low, chip).value, cap_of(free.high, chip).value}};
  if (job.pins.live)
    caps.count(*job.pins.live);
  else if (!job.pins.proportion_range)
    caps.lives = (1U << kLives.size()) - 1;  // any kind of Live
  return caps;
}

std::pair<Proportion, Proportion> extreme_proportions(const Job& job) {
  const std::vector<Proportion>& pins = job.pins.available_memory_proportion;
  if (!pins.empty())
    return {{std::ranges::min(pins, {}, &Proportion::share).share, pins[0].live},
            {std::ranges::max(pins, {}, &Proportion::share).share, pins[0].live}};
  const ProportionRange free = free_proportions(job);
  const Live live = free_caps(job).least_live();
  return {{free.low, live}, {free.high, live}};
}

std::vector<SettingSpace> setting_spaces(const Job& job, const Cell& cell, bool defaults,
                                         std::optional<Execution> only) {
  return SettingLists(job, cell, defaults).make(only);
}

std::array<double, kExecutions.size()> count_settings(const Job& job, const Cell& cell, bool defaults) {
  return SettingLists(job, cell, defaults).count();
}

std::vector<std::string> kinds_of(const Job& job, const Cell& cell, bool defaults, std::optional<Execution> only) {
  std::set<std::string> all;
  for (const SettingSpace& space : setting_spaces(job, cell, defaults, only)) {
    for (std::string& kind : space.kinds(space.all())) all.insert(std::move(kind));
  }
  return {all.begin(), all.end()};
}

std::vector<Plan> settings(const Job& job, const Cell& cell, bool defaults) {
  std::vector<Plan> out;
  for (const SettingSpace& space : setting_spaces(job, cell, defaults)) {
    space.for_each([&](const auto& values) { out.push_back(space.plan(values)); });
  }
  return out;
}

}  // namespace superstep
