// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/space_oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "model/graph/statistics.h"
#include "model/lower/serialise.h"
#include "planner/space/cut_count.h"
#include "planner/space/space.h"

namespace superstep::test {
namespace {

using Integers = std::set<std::int64_t>;

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? INT64_MAX : out;
}

bool outside(Location l) { return l != Location::in_processor; }

// How many values a field takes that draws from `free` of them unless it is pinned.
template <class E>
std::int64_t values(const std::vector<E>& pinned, std::int64_t free) {
  return pinned.empty() ? free : static_cast<std::int64_t>(std::set<E>(pinned.begin(), pinned.end()).size());
}

// The fields of one (t, p, r) in one placement but for m and g.
struct Shape {
  TensorParallel mesh;
  std::int64_t stages = 1, replicas = 1;
  bool lends = true;  // replicas are outermost
};

// Of degrees above 1 the letters, from the innermost: what a placement means to them.
std::string order_of(Placement placement, std::int64_t t, std::int64_t p, std::int64_t r) {
  std::string letters(name_of(placement));
  std::erase_if(letters, [&](char c) { return c == '-' || (c == 't' ? t : c == 'p' ? p : r) == 1; });
  return letters;
}

class SpaceCounter {
 public:
  SpaceCounter(const Job& job, const Graph& graph, std::int64_t statistics_group)
      : job_(job),
        pins_(job.pins),
        cuts_(job, graph),
        group_(statistics_group),
        training_(job.task == Task::training),
        streaming_(job.machine.has_streaming()) {
    if (pins_.serialisation != Serialisation{}) facts_.emplace(graph);
  }

  SpaceCount count() {
    for (const TensorParallel& mesh : meshes()) {
      const std::int64_t groups = job_.machine.ipus / mesh.size();
      for (std::int64_t p = 1; p <= groups; ++p) {
        const std::int64_t replica = mesh.size() * p;
        if (groups % p != 0 || replica > job_.machine.control_domain_ipus) continue;
        if (job_.machine.power_of_two_ipus && (replica & (replica - 1)) != 0) continue;
        if (!holds(pins_.pipeline_stages, p) || !holds(pins_.replicas, groups / p)) continue;
        for (const std::string& order : orders(mesh.size(), p, groups / p))
          count({mesh, p, groups / p, order.ends_with('r') || groups == p});
      }
    }
    out_.log10_with_cuts = static_cast<double>(std::log10(plans_));
    return out_;
  }

 private:
  const Job& job_;
  const Pins& pins_;
  CutCounter cuts_;
  std::int64_t group_;
  bool training_, streaming_;
  std::optional<GraphFacts> facts_;  // where a serialisation is pinned
  SpaceCount out_;
  long double plans_ = 0;

  static bool holds(const std::optional<IntegerPin>& pin, std::int64_t v) { return !pin || pin->allows(v); }

  // ---- degrees and batch

  // Each mesh once: those that are pinned, or one-dimensional ones and the squares.
  std::set<TensorParallel> meshes() const {
    std::set<TensorParallel> out(pins_.tensor_parallel.begin(), pins_.tensor_parallel.end());
    if (out.empty()) {
      for (std::int64_t t = 1; t <= job_.machine.ipus; ++t) out.insert({t, 1});
      for (std::int64_t t : kSquareMeshes) out.insert({t, t});
    }
    const Machine& m = job_.machine;
    const auto* spec = job_.model.zoo ? std::get_if<TransformerSpec>(&*job_.model.zoo) : nullptr;
    std::erase_if(out, [&](const TensorParallel& t) {
      return m.ipus % t.size() != 0 || t.size() > m.links.domain_ipus || t.size() > m.control_domain_ipus ||
             (spec && (spec->heads % t.t1 != 0 || spec->hidden % t.size() != 0));
    });
    return out;
  }

  // Each order that placements make of t, p and r. In other orders than t, p, r a replica's IPUs are
  // to lie in one domain and one program; where replicas are not outermost, those are all IPUs.
  std::set<std::string> orders(std::int64_t t, std::int64_t p, std::int64_t r) const {
    std::set<std::string> out;
    const Machine& m = job_.machine;
    const std::string usual = order_of(Placement::t_p_r, t, p, r);
    for (const Placement placement : kPlacements) {
      const auto& pinned = pins_.placement;
      if (!pinned.empty() && std::find(pinned.begin(), pinned.end(), placement) == pinned.end()) continue;
      const std::string order = order_of(placement, t, p, r);
      const std::int64_t spans = r == 1 || order.back() == 'r' ? t * p : t * p * r;
      if (order == usual || spans <= std::min(m.links.domain_ipus, m.control_domain_ipus)) out.insert(order);
    }
    return out;
  }

  // Of r replicas: how many m and g there are, where m g r is the global batch or m and g are free.
  std::int64_t batches(const Shape& s, std::int64_t least_accumulation) const {
    std::int64_t n = 0;
    const auto add = [&](std::int64_t m, std::int64_t g) {
      const bool legal = check_group(group_, m, s.replicas).field.empty();
      if (legal && g >= least_accumulation) ++n;
    };
    if (job_.global_batch == 0) {
      for (std::int64_t m : free_micro_batches()) {
        for (std::int64_t g : free_accumulations(s.stages)) add(m, g);
      }
      return n;
    }
    const std::int64_t b = job_.global_batch / s.replicas;
    const bool listed = pins_.micro_batch && !pins_.micro_batch->values.empty();
    const std::int64_t most = listed ? b : std::min(b, kMostMicroBatch);
    for (std::int64_t m = 1; m <= most && job_.global_batch % s.replicas == 0; ++m) {
      if (b % m == 0 && holds(pins_.micro_batch, m) && holds(pins_.gradient_accumulation, b / m)) add(m, b / m);
    }
    return n;
  }

  // What powers of two a range has, or its low end.
  Integers free_micro_batches() const {
    const std::optional<IntegerPin>& pin = pins_.micro_batch;
    if (pin && !pin->values.empty()) return {pin->values.begin(), pin->values.end()};
    Integers out;
    for (int i = 0; 1 << i <= kMostMicroBatch; ++i) {
      if (holds(pin, 1 << i)) out.insert(1 << i);
    }
    return out.empty() ? Integers{pin->low} : out;
  }

  // A range that nothing else bounds gives its low end, doublings of it (ten at most) and its high end; inference
  // without a pin has that from 1.
  Integers free_accumulations(std::int64_t stages) const {
    if (!pins_.gradient_accumulation && training_) return {8 * stages};
    const IntegerPin pin = pins_.gradient_accumulation.value_or(IntegerPin{});
    if (!pin.values.empty()) return {pin.values.begin(), pin.values.end()};
    Integers out = {std::min(pin.high, pin.low * 1024)};
    for (int i = 0; i < 10 && pin.low << i < pin.high; ++i) out.insert(pin.low << i);
    return out;
  }

  // ---- sharding and storage

  // Shard degrees divide the replicas. A list that is pinned need not be in the free one; a range chooses from it.
  static Integers degrees(const std::optional<IntegerPin>& pin, std::int64_t replicas, const Integers& free) {
    const bool listed = pin && !pin->values.empty();
    Integers out = listed ? Integers(pin->values.begin(), pin->values.end()) : free;
    std::erase_if(out, [&](std::int64_t v) { return replicas % v != 0 || (!listed && !holds(pin, v)); });
    return out;
  }

  // Places that a replica finds outside of its tiles: its own machine's memory, another machine's, another IPU's tiles.
  std::set<Location> outside_places(const Shape& s) const {
    if (!streaming_) return {};
    const Machine& m = job_.machine;
    const std::int64_t replica = s.mesh.size() * s.stages;
    std::set<Location> out = {Location::streaming};
    if (!s.lends) return out;
    if (replica < m.ipus) out.insert(Location::remote_ipu);
    // As many replicas further as fill a machine.
    std::int64_t next = replica;
    while (next < m.ipus_per_machine) next += replica;
    if (next + m.ipus_per_machine <= m.ipus) out.insert(Location::remote_machine);
    return out;
  }

  static std::set<Location> with_inside(std::set<Location> places) {
    places.insert(Location::in_processor);
    return places;
  }

  // Of places that are pinned, those that there are.
  std::set<Location> places(const Shape& s, const std::vector<Location>& pinned, const std::set<Location>& free) const {
    if (pinned.empty()) return free;
    std::set<Location> out(pinned.begin(), pinned.end());
    const std::set<Location> there = with_inside(outside_places(s));
    std::erase_if(out, [&](Location l) { return there.count(l) == 0; });
    return out;
  }

  static Integers divisors_of(std::int64_t n) {
    Integers out;
    for (std::int64_t d = 1; d <= n; ++d) {
      if (n % d == 0) out.insert(d);
    }
    return out;
  }

  // In how many ways weights, gradients and optimizer state may be kept, each over any number of replicas whose degrees
  // go together.
  std::int64_t storage(const Shape& s, const std::set<Location>& weights, bool gradients_leave, bool phased) const {
    const std::set<Location> beyond = outside_places(s);
    const Integers all = divisors_of(s.replicas), one = {1};
    const std::set<Location> gradients =
        places(s, pins_.gradients,
               gradients_leave ? (phased ? beyond : with_inside(beyond)) : std::set{Location::in_processor});
    std::set<Location> states = places(s, pins_.optimizer_state, phased ? beyond : with_inside(beyond));
    if (phased) states.erase(Location::in_processor);
    const Integers of_weights = degrees(pins_.rts_weights, s.replicas, all);
    const Integers of_gradients = degrees(pins_.rts_gradients, s.replicas, gradients_leave ? all : one);
    const Integers of_states = degrees(pins_.rts_optimizer_state, s.replicas, all);
    const std::int64_t groups = values(pins_.rts_groups, 2);
    std::int64_t out = 0;
    const std::int64_t both = std::ssize(weights) * std::ssize(gradients);
    // Without an optimizer there is no state, and one point for all its degrees and places.
    // Groups of shards differ where some but not all replicas share something.
    const auto ways = [&](std::int64_t w, std::int64_t g, std::int64_t o) {
      const bool parted = std::ranges::any_of(std::array{w, g, o}, [&](auto d) { return d > 1 && d < s.replicas; });
      return parted ? groups : 1;
    };
    if (!training_) {
      for (std::int64_t w : of_weights) {
        for (std::int64_t g : of_gradients) out += both * ways(w, g, 1);
      }
      return out;
    }
    for (std::int64_t o : of_states) {
      for (std::int64_t w : of_weights) {
        for (std::int64_t g : of_gradients) {
          // A shard of the update lies inside a shard of the weights, and takes the gradients of just that shard.
          if (o % w != 0 || (g != 1 && o != 1 && g != o)) continue;
          out += both * ways(w, g, o) * std::ssize(states);
        }
      }
    }
    return out;
  }

  // ---- pipelines, and phases

  void count(const Shape& s) {
    if (batches(s, 1) == 0) return;
    const std::vector<Location>& weights = pins_.weights;
    const bool may_stay = weights.empty() || std::count(weights.begin(), weights.end(), Location::in_processor) > 0;
    const bool may_leave = weights.empty() || std::any_of(weights.begin(), weights.end(), outside);
    const long double others = plans_;
    const std::int64_t k = pins_.stage_count();
    const bool has_pipelines = k == 0 || k == s.stages || (s.stages > 1 && k == s.stages + 1);
    if (has_pipelines && (pins_.one_phase() || (may_stay && pins_.may_be_one_phase() && !phases_alone())))
      count_pipelines(s);
    if (streaming_ && may_leave && !pins_.one_phase() && cuts_.may_be_phased()) count_phases(s);
    if (!is_serialised(s)) plans_ = others;
  }

  // Whether the parts that are pinned are equal.
  bool is_serialised(const Shape& s) const {
    if (!facts_) return true;
    Plan plan;
    plan.tensor_parallel = s.mesh;
    plan.serialisation = pins_.serialisation;
    return check_serialisation(*facts_, plan).empty();
  }

  // Without phases there is no order of phases.
  bool phases_alone() const {
    const auto& orders = pins_.phase_order;
    return !orders.empty() && std::count(orders.begin(), orders.end(), PhaseOrder::phase_outer) == 0;
  }

  void add(const Shape& s, std::int64_t points) { out_.points = plus(out_.points, times(batches(s, 1), points)); }

  // t shares nothing where it is one IPU.
  std::int64_t activation_shardings(const Shape& s) const {
    return s.mesh.size() == 1 ? 1 : values(pins_.activation_sharding, 3);
  }
  std::int64_t proportions() const {
    return values(pins_.available_memory_proportion, 1);  // a free one is chosen like cuts
  }

  std::int64_t prefetches() const {
    Integers depths(kPrefetch.begin(), kPrefetch.end());
    if (const auto& pin = pins_.prefetch_depth) {
      if (!pin->values.empty()) depths = {pin->values.begin(), pin->values.end()};
      std::erase_if(depths, [&](std::int64_t v) { return !pin->allows(v); });
    }
    return std::max<std::int64_t>(1, std::ssize(depths));
  }

  // Ways in which what a phase needs is kept and comes. Nothing is preloaded without IO tiles to go to, and a second
  // group of IPUs takes all ahead. Code that stays does not come.
  std::int64_t useful_loads(const Integers& io_tiles, const std::set<Location>& codes, std::int64_t groups) const {
    std::int64_t ways = 0;
    for (const std::int64_t io : io_tiles) {
      const std::int64_t free = io > 0 && groups == 1 ? 2 : 1, weights = values(pins_.load_weights, free);
      for (const Location at : codes) ways += weights * (outside(at) ? values(pins_.load_code, free) : 1);
    }
    return ways;
  }

  void count_pipelines(const Shape& s) {
    std::set<Schedule> schedules(pins_.schedule.begin(), pins_.schedule.end());
    if (schedules.empty()) schedules = {Schedule::sequential, Schedule::interleaved, Schedule::grouped};
    if (s.stages == 1) schedules = {Schedule::sequential};
    const std::set<Location> inside = {Location::in_processor};
    const std::int64_t stored =
        storage(s, pins_.one_phase() ? places(s, pins_.weights, inside) : inside, training_, false);
    const std::set<Location> everywhere = with_inside(outside_places(s));
    const std::set<Location> stashes = places(s, pins_.activations, everywhere);
    const std::set<Location> useful = training_ ? stashes : places(s, pins_.activations, inside);
    const std::int64_t io = pins_.io_tiles && !pins_.io_tiles->values.empty() ? values(pins_.io_tiles->values, 0) : 1;
    const std::int64_t code_and_prefetch = std::ssize(places(s, pins_.code, inside)) * prefetches();
    const std::int64_t others = io * code_and_prefetch * activation_shardings(s) * proportions();
    add(s, times(std::ssize(schedules) * std::ssize(useful) * others, stored));
    // The last stage may return to IPU 0. Stages that work side by side need micro-batches to fill and drain.
    for (std::int64_t stages = s.stages; stages <= s.stages + (s.stages > 1 ? 1 : 0); ++stages) {
      const long double cuts = cuts_.pipelines(stages);
      for (Schedule schedule : schedules) {
        const bool fills = training_ && schedule != Schedule::sequential;
        plans_ += cuts * static_cast<long double>(times(batches(s, fills ? 2 * stages - 1 : 1), others)) *
                  static_cast<long double>(times(std::ssize(useful), stored));
      }
    }
  }

  void count_phases(const Shape& s) {
    const std::set<Location> beyond = outside_places(s);
    std::set<Location> weights = places(s, pins_.weights, beyond);
    weights.erase(Location::in_processor);
    Integers io(kIoTiles.begin(), kIoTiles.end());
    if (pins_.io_tiles && !pins_.io_tiles->values.empty())
      io = {pins_.io_tiles->values.begin(), pins_.io_tiles->values.end()};
    std::erase_if(io, [&](std::int64_t v) { return v >= job_.machine.chip.tiles || !holds(pins_.io_tiles, v); });
    const std::set<Location> codes = places(s, pins_.code, with_inside(beyond));
    const std::int64_t others = prefetches() * proportions();
    std::set<PhaseOrder> orders(pins_.phase_order.begin(), pins_.phase_order.end());
    if (orders.empty()) orders = {PhaseOrder::phase_outer, PhaseOrder::micro_batch_outer};
    for (const PhaseOrder order : orders) {
      // Gradients of phases that do all their micro-batches at once stay.
      const std::int64_t stored = storage(s, weights, training_ && order == PhaseOrder::micro_batch_outer, true);
      // Boundaries stay where the same IPUs read them at once, and nothing later.
      const bool stay = !training_ && s.stages == 1 && order == PhaseOrder::micro_batch_outer;
      std::set<Location> stashes = places(s, pins_.activations, stay ? with_inside(beyond) : beyond);
      if (!stay) stashes.erase(Location::in_processor);
      for (std::int64_t groups : {1, 2}) {
        // Two groups of IPUs take turns.
        if (s.stages % groups != 0 || !holds(pins_.phase_groups, groups)) continue;
        const std::int64_t points = others * useful_loads(io, codes, groups) * activation_shardings(s);
        add(s, times(points * std::ssize(stashes), stored));
        plans_ += cuts_.phases(s.stages / groups) * static_cast<long double>(times(batches(s, 1), points)) *
                  static_cast<long double>(times(std::ssize(stashes), stored));
      }
    }
  }
};

}  // namespace

SpaceCount count_by_rules(const Job& job, const Graph& graph, std::int64_t statistics_group) {
  return SpaceCounter(job, graph, statistics_group).count();
}

}  // namespace superstep::test
