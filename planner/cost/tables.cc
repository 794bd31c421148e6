// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/tables.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>

#include "model/error.h"
#include "model/graph/statistics.h"
#include "model/lower/shard.h"
#include "planner/job/divisors.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

using MeshKey = std::tuple<std::int64_t, TensorParallel, bool>;  // micro-batch, mesh, activation sharding
using UnitKey = std::tuple<MeshKey, std::int64_t, Caps, Caps, std::vector<std::pair<std::int64_t, Caps>>, bool, DType,
                           Serialisation, std::int64_t, std::int64_t>;

MeshKey mesh_key(const TableKey& key) { return {key.micro_batch, key.mesh, key.split_activations}; }

struct GraphAndFacts {
  explicit GraphAndFacts(Graph g) : graph(std::move(g)), facts(graph) {}
  Graph graph;
  GraphFacts facts;
};

// Values by key, each made once, by the first thread that asks for it. Threads that ask for the same value wait; all
// other threads go on.
template <class Key, class Value>
class Lazy {
 public:
  template <class Make>
  Value& get(const Key& key, const Make& make) {
    Slot* slot = nullptr;
    {
      std::lock_guard lock(mutex_);
      slot = &slots_[key];  // pointers to map entries stay valid
    }
    std::call_once(slot->made, [&] {
      slot->value = make();
      slot->there = true;
    });
    return *slot->value;
  }
  bool has(const Key& key) const {
    std::lock_guard lock(mutex_);
    const auto it = slots_.find(key);
    return it != slots_.end() && it->second.there;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::lock_guard lock(mutex_);
    for (const auto& [key, slot] : slots_) {
      if (slot.there) visit(*slot.value);
    }
  }
  // Returns a value; null: not yet made.
  const Value* find(const Key& key) const {
    std::lock_guard lock(mutex_);
    const auto it = slots_.find(key);
    return it != slots_.end() && it->second.there ? it->second.value.get() : nullptr;
  }

 private:
  struct Slot {
    std::once_flag made;
    std::unique_ptr<Value> value;
    std::atomic<bool> there = false;
  };
  mutable std::mutex mutex_;
  std::map<Key, Slot> slots_;
};

}  // namespace

struct Tables::Graphs {
  Lazy<std::int64_t, GraphAndFacts> by_micro_batch;
  Lazy<std::int64_t, std::vector<Flops>> flops;  // by micro-batch
  std::once_flag group_read;
  std::int64_t group = 0;  // statistics_group(), once read
};

struct Tables::Fronts {
  Lazy<std::int64_t, std::shared_ptr<ProductFronts>> by_tiles;  // compute tiles
  std::shared_ptr<FrontCache> cache;
};

struct Tables::State {
  std::shared_ptr<Graphs> graphs = std::make_shared<Graphs>();
  std::shared_ptr<Fronts> fronts = std::make_shared<Fronts>();
  Lazy<MeshKey, GraphSharding> shardings;
  Lazy<std::pair<MeshKey, Bytes>, GraphSharding> other_shardings;  // by the limit on gathered weights
  Lazy<std::int64_t, SharedCosts> shared;                          // by compute tiles
  Lazy<UnitKey, UnitTable> tables;
  Lazy<Replicas, ShardCosts> shard_costs;
  std::shared_ptr<const State> alike;  // of another partition with the same domains; may be null
  std::atomic<double> seconds = 0;

  // Returns the table of another partition with the same domains; null: none has it.
  const UnitTable* made_elsewhere(const UnitKey& key) const {
    for (const State* other = alike.get(); other != nullptr; other = other->alike.get()) {
      if (const UnitTable* table = other->tables.find(key)) return table;
    }
    return nullptr;
  }

  // Returns make(), and adds its time to `seconds`.
  template <class Make>
  auto timed(const Make& make) {
    const auto begin = std::chrono::steady_clock::now();
    auto made = make();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return made;
  }
};

Tables::Tables(const Job& job, const CostModel& model, bool collapse, std::shared_ptr<FrontCache> cache)
    : job_(job), model_(model), collapse_(collapse), state_(new State) {
  state_->fronts->cache = std::move(cache);
}
Tables::Tables(const Job& job, const Tables& warm)
    : job_(job), model_(warm.model_), collapse_(warm.collapse_), state_(warm.state_) {
  SUPERSTEP_CHECK(tables_key(job) == tables_key(warm.job()), "jobs of different tables");
}
Tables::Tables(const Job& job, const CostModel& model, const Tables& other)
    : job_(job), model_(model), collapse_(other.collapse_), state_(new State) {
  SUPERSTEP_CHECK(graph_key(job) == graph_key(other.job()), "jobs of different graphs");
  state_->graphs = other.state_->graphs;
  const bool same_plans =
      model.machine().chip == other.model().machine().chip && model.calibration() == other.model().calibration();
  if (same_plans)
    state_->fronts = other.state_->fronts;
  else
    state_->fronts->cache = other.state_->fronts->cache;
  // Links to partitions of one machine only, which are few. Linked tables stay in memory as long as this object is
  // used.
  const bool same_family = family_key(job) == family_key(other.job());
  if (same_plans && same_family && have_same_domains(model.machine(), other.model().machine()))
    state_->alike = other.state_;
}
Tables::~Tables() = default;

TableKey table_key(const Plan& plan) {
  TableKey key;
  key.mesh = plan.tensor_parallel;
  key.micro_batch = plan.micro_batch;
  key.precision = plan.precision;
  key.io_tiles = plan.io_tiles;
  key.proportion = plan.available_memory_proportion;
  key.stage_bounds = stage_bounds(plan.stages, plan.stage_proportions);
  key.accumulate = plan.gradient_accumulation > 1;
  key.serialisation = plan.serialisation;
  key.rank_stride = plan.strides().rank;
  key.replica_stride = plan.strides().replica;
  key.split_activations = plan.activation_sharding == ActivationSharding::throughout;
  return key;
}

namespace {

nlohmann::json json_key(const Job& job) {
  nlohmann::json key = job.json();
  for (const char* free : {"$schema", "description", "batch", "objective", "pareto", "plan", "train_for"})
    key.erase(free);
  const nlohmann::json::json_pointer precision("/plan/precision");
  if (job.json().contains(precision)) key["precision"] = job.json().at(precision);
  return key;
}

nlohmann::json without_partition(nlohmann::json key) {
  nlohmann::json& machine = key["machine"];
  if (machine.is_string()) machine = {{"base", machine}};
  machine.erase("partition");
  return key;
}

}  // namespace

std::string tables_key(const Job& job) { return json_key(job).dump(); }

std::string family_key(const Job& job) { return without_partition(json_key(job)).dump(); }

std::string subject_key(const Job& job) {
  nlohmann::json key = without_partition(json_key(job));
  key.erase("precision");
  return key.dump();
}

std::string graph_key(const Job& job) {
  nlohmann::json key = json_key(job);
  key.erase("machine");
  return key.dump();
}

bool Tables::training() const { return job_.task == Task::training; }

std::int64_t Tables::searches() const {
  std::int64_t n = 0;
  state_->shared.for_each([&](const SharedCosts& shared) { n += shared.products->searches(); });
  return n;
}

double Tables::seconds() const { return state_->seconds; }

std::int64_t Tables::statistics_group() {
  Graphs& graphs = *state_->graphs;
  std::call_once(graphs.group_read, [&] { graphs.group = superstep::statistics_group(job_); });
  return graphs.group;
}

const GraphFacts& Tables::facts(std::int64_t micro_batch) {
  const auto make = [&] {
    return state_->timed([&] { return std::make_unique<GraphAndFacts>(build_graph(job_, micro_batch)); });
  };
  return state_->graphs->by_micro_batch.get(micro_batch, make).facts;
}

const std::vector<Tables::Flops>& Tables::flops(std::int64_t micro_batch) {
  const GraphFacts& of = facts(micro_batch);
  return state_->graphs->flops.get(micro_batch, [&] {
    auto all = std::make_unique<std::vector<Flops>>();
    std::map<std::uint64_t, Flops> known;  // by signature
    for (std::size_t u = 0; u < of.graph.units.size(); ++u) {
      const auto [it, fresh] = known.try_emplace(of.signatures[u]);
      if (fresh) {
        it->second.forward = product_flops(of, UnitId(u), Pass::forward);
        if (training()) it->second.backward = product_flops(of, UnitId(u), Pass::backward);
      }
      all->push_back(it->second);
    }
    return all;
  });
}

const ShardCosts& Tables::shard_costs(const Replicas& replicas) {
  return state_->shard_costs.get(
      replicas, [&] { return std::make_unique<ShardCosts>(model_, replicas, divisors(replicas.count)); });
}

namespace {

// Returns the key with a replica stride of 1 where the stride has no effect: where no statistics group goes on over
// replicas.
TableKey normal(TableKey key, const Graph& graph) {
  if (replicas_of_group(graph) == 1) key.replica_stride = 1;
  return key;
}

UnitKey unit_key(const TableKey& key, const Chip& chip) {
  const Caps cap = caps_of(key.proportion, chip);
  const Caps least = key.least_proportion ? caps_of(*key.least_proportion, chip) : cap;
  std::vector<std::pair<std::int64_t, Caps>> stages;
  for (const StageBound& b : key.stage_bounds) stages.emplace_back(b.begin, caps_of(b.proportion, chip));
  return {
      mesh_key(key),   key.io_tiles,      cap, least, stages, key.accumulate, key.precision.partials, key.serialisation,
      key.rank_stride, key.replica_stride};
}

}  // namespace

bool Tables::has(const TableKey& key) {
  if (!state_->graphs->by_micro_batch.has(key.micro_batch)) return false;
  return state_->tables.has(unit_key(normal(key, facts(key.micro_batch).graph), model_.machine().chip));
}

// Keys that differ only in split_activations have the same products.
bool Tables::wait_for_each_other(const TableKey& a, const TableKey& b) {
  if (a.micro_batch != b.micro_batch) return false;
  if (!state_->graphs->by_micro_batch.has(a.micro_batch)) return true;
  if (a.mesh != b.mesh) return false;
  return a.io_tiles == b.io_tiles || (mesh_key(a) == mesh_key(b) && !state_->shardings.has(mesh_key(a)));
}

GraphSharding Tables::make_sharding(const TableKey& key, const ShardRules& rules) {
  const GraphFacts& of = facts(key.micro_batch);
  return shard(of.graph, of.sharding, key.mesh, collective_time(model_, key.mesh),
               work_time(of.graph, model_.machine().chip), rules);
}

const GraphSharding& Tables::sharding(const TableKey& key, Bytes gather_limit) {
  return state_->other_shardings.get({mesh_key(key), gather_limit}, [&] {
    ShardRules rules = shard_rules(key, model_.machine().chip);
    rules.gather_limit = gather_limit;
    return std::make_unique<GraphSharding>(make_sharding(key, rules));
  });
}

// Returns what all tables with this number of compute tiles share.
SharedCosts& Tables::shared(std::int64_t tiles) {
  return state_->shared.get(tiles, [&] {
    return std::make_unique<SharedCosts>(state_->fronts->by_tiles.get(tiles, [&] {
      const Chip& chip = model_.machine().chip;
      const std::shared_ptr<FrontCache>& cache = state_->fronts->cache;
      const std::shared_ptr<FrontStore> store = cache ? cache->of(chip, tiles, model_.calibration()) : nullptr;
      return std::make_unique<std::shared_ptr<ProductFronts>>(
          std::make_shared<ProductFronts>(chip, tiles, model_.calibration(), store));
    }));
  });
}

const UnitTable& Tables::table(const TableKey& wanted) {
  TableKey key = normal(wanted, facts(wanted.micro_batch).graph);
  key.collapse = collapse_;
  const Chip& chip = model_.machine().chip;
  const auto lower = [&] {
    const GraphFacts& graph = facts(key.micro_batch);
    const GraphSharding& sharding = state_->shardings.get(
        mesh_key(key), [&] { return std::make_unique<GraphSharding>(make_sharding(key, shard_rules(key, chip))); });
    return std::make_unique<UnitTable>(graph, sharding, model_, shared(chip.tiles - key.io_tiles), key, training());
  };
  const UnitKey unit = unit_key(key, chip);
  return state_->tables.get(unit, [&] {
    if (const UnitTable* other = state_->made_elsewhere(unit))
      return std::make_unique<UnitTable>(*other, model_, shared(chip.tiles - key.io_tiles));
    if (key.rank_stride == 1) return state_->timed(lower);
    TableKey neighbours = key;
    neighbours.rank_stride = 1;
    const UnitTable& near = table(neighbours);
    return state_->timed([&] { return std::make_unique<UnitTable>(near, key.rank_stride); });
  });
}

}  // namespace superstep
