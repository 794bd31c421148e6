// SPDX-License-Identifier: Apache-2.0
// A job with everything that is made from it, for tests; and plans drawn at random.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <random>
#include <string>
#include <vector>

#include "model/lower/lower.h"
#include "planner/cost/evaluate.h"
#include "planner/cost/tables.h"
#include "planner/job/job.h"
#include "planner/search/search.h"

namespace superstep::test {

struct World {
  explicit World(const nlohmann::json& json, const Calibration& calibration = load_calibration());
  const UnitTable& table(const Plan& plan) { return tables.table(table_key(plan)); }
  const ShardCosts& costs(const Plan& plan) { return tables.shard_costs(replicas_of(plan)); }
  std::string problem(const Plan& plan);  // of check_plan

  Job job;
  CostModel model;
  Tables tables;
};

// By all of the job's space, without fronts; `fix`: and the nearest fix where nothing fits.
SearchResult searched(World& world, bool fix = true);
// The best plan of the default search, or the closest where nothing fits.
Plan best_of(World& world);

// Lets the plans of a job break rules of software, and fill their tiles: as a World has them.
void let_fill_tiles(nlohmann::json& job);

// A small transformer on a machine; `numbers` overrides fields of the zoo's model.
nlohmann::json small_job(const std::string& zoo, const nlohmann::json& numbers, const nlohmann::json& machine);
// A two-layer GPT on four IPUs, 32 samples to an update.
nlohmann::json small_gpt(const nlohmann::json& plan);
nlohmann::json small_inference();                // of that GPT, its batch free
nlohmann::json small_bert(std::int64_t layers);  // on a POD16

// Numbers drawn alike on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(std::int64_t percent) { return below(100) < percent; }
  template <class T>
  T of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }
  // `count` different values from [low, high), ascending.
  std::vector<std::int64_t> ascending(std::int64_t count, std::int64_t low, std::int64_t high);

 private:
  std::mt19937_64 engine_;
};

std::vector<std::int64_t> divisors_of(std::int64_t n);

// A legal plan for all IPUs of the world's machine: a pipeline or phases.
Plan draw_pipeline(World& world, Draw& draw);
Plan draw_phases(World& world, Draw& draw);

}  // namespace superstep::test
