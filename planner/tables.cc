// SPDX-License-Identifier: Apache-2.0
#include "planner/tables.h"

#include <chrono>

namespace superstep {
namespace {

struct GraphAndFacts {
  explicit GraphAndFacts(Graph g) : graph(std::move(g)), facts(graph) {}
  Graph graph;
  GraphFacts facts;
};

using MeshKey = std::tuple<std::int64_t, TensorParallel>;  // micro-batch, mesh
using UnitKey = std::tuple<std::int64_t, TensorParallel, std::int64_t, double, bool, DType, Serialisation>;

}  // namespace

struct Tables::State {
  std::recursive_mutex mutex;
  std::map<std::int64_t, std::unique_ptr<GraphAndFacts>> graphs;
  std::map<MeshKey, std::unique_ptr<GraphSharding>> shardings;
  std::map<std::int64_t, std::unique_ptr<ProductFronts>> fronts;  // by compute tiles
  std::map<UnitKey, std::unique_ptr<UnitTable>> tables;
  double seconds = 0;
};

Tables::Tables(const Job& job, const CostModel& model) : job_(job), model_(model), state_(new State) {}
Tables::~Tables() = default;

bool Tables::training() const { return job_.task == Task::training; }
double Tables::seconds() const { return state_->seconds; }

std::int64_t Tables::searches() const {
  std::int64_t n = 0;
  for (const auto& [tiles, fronts] : state_->fronts) n += fronts->searches();
  return n;
}

const GraphFacts& Tables::facts(std::int64_t micro_batch) {
  std::lock_guard lock(state_->mutex);
  auto& slot = state_->graphs[micro_batch];
  if (!slot) slot = std::make_unique<GraphAndFacts>(build_graph(job_, micro_batch));
  return slot->facts;
}

const UnitTable& Tables::table(const TableKey& key) {
  std::lock_guard lock(state_->mutex);
  auto& slot = state_->tables[{key.micro_batch, key.mesh, key.io_tiles, key.proportion, key.accumulate,
                               key.precision.partials, key.serialisation}];
  if (slot) return *slot;
  const auto start = std::chrono::steady_clock::now();
  const GraphFacts& facts_of = facts(key.micro_batch);
  auto& sharding = state_->shardings[{key.micro_batch, key.mesh}];
  if (!sharding) {
    sharding = std::make_unique<GraphSharding>(shard(facts_of.graph, key.mesh, collective_time(model_, key.mesh),
                                                     work_time(facts_of.graph, model_.machine().chip)));
  }
  const std::int64_t tiles = model_.machine().chip.tiles - key.io_tiles;
  auto& fronts = state_->fronts[tiles];
  if (!fronts) fronts = std::make_unique<ProductFronts>(model_.machine().chip, tiles, model_.calibration());
  slot = std::make_unique<UnitTable>(facts_of, *sharding, model_, *fronts, key, training());
  state_->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return *slot;
}

}  // namespace superstep
