// SPDX-License-Identifier: Apache-2.0
// The declared space: the list that each field draws from, and the legal cells and settings made from these lists.
#pragma once

#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "model/lower/placement.h"
#include "model/lower/product_fronts.h"
#include "planner/job/job.h"
#include "planner/space/setting_space.h"

namespace superstep {

// Lists and limits that no rule derives.
inline constexpr std::int64_t kMostMicroBatch = 1024;                // samples; a pinned list may have more
inline const std::vector<std::int64_t> kSquareMeshes = {4, 8};       // t of meshes of t x t IPUs
inline const std::vector<std::int64_t> kIoTiles = {0, 32, 64, 128};  // per IPU
inline const std::vector<std::int64_t> kPrefetch = {1, 2, 4};        // micro-batches
inline constexpr double kMostProportion = 1;      // loosest bound on temporary memory, of a tile; see kLeastProportion
inline constexpr double kUsualProportion = 0.25;  // bound on temporary memory where only pinned fields vary

// One choice of mesh t, stages p, replicas r, micro-batch m and accumulation g, with its placement and shard groups.
// All other fields are chosen within a cell.
struct Cell {
  TensorParallel mesh;
  std::int64_t stages = 1, replicas = 1, micro_batch = 1, accumulation = 1;
  Placement placement = Placement::t_p_r;
  ShardGroups groups = ShardGroups::consecutive;
  bool groups_matter = false;                         // the cell has only settings that consecutive groups would change
  std::array<double, kExecutions.size()> settings{};  // number of settings by execution, set by cells()
  double all_settings() const { return std::accumulate(settings.begin(), settings.end(), 0.0); }
  Strides strides() const { return superstep::strides(placement, mesh.size(), stages, replicas); }
  Replicas replica_groups() const { return {replicas, strides().replica, groups}; }
  Plan plan() const;  // a plan with the fields of the cell; all other fields have their defaults
};

// Returns all legal cells, in canonical order. Throws IllegalPins if pins allow none, naming the pin.
// `statistics_group`: samples (statistics_group(job)), 0: none; cells that would split a group over micro-batches are
// not legal. `defaults`: only pinned fields vary.
std::vector<Cell> cells(const Job& job, std::int64_t statistics_group = 0, bool defaults = false);

// Returns the cells without counting their settings, so that cells without settings may be among them. Returns an empty
// list, and throws nothing, if pins allow none.
std::vector<Cell> uncounted_cells(const Job& job, std::int64_t statistics_group);

// Returns all settings of a cell, each once, as products of lists. A field without effect takes its default. There is a
// product for each table, schedule and order of phases, in canonical order. `defaults`: only pinned fields vary.
// `only`: settings of this execution alone.
std::vector<SettingSpace> setting_spaces(const Job& job, const Cell& cell, bool defaults,
                                         std::optional<Execution> only = {});
// Returns the number of settings of a cell by execution.
std::array<double, kExecutions.size()> count_settings(const Job& job, const Cell& cell, bool defaults);
// True if boundaries between phases may stay on the tiles in some plan of the cell (Plan::boundaries_stay()), of those
// with phase order micro_batch_outer.
bool boundaries_may_stay(const Job& job, const Cell& cell);

// Returns the kinds (kind_of()) of the plans of a cell, each once.
std::vector<std::string> kinds_of(const Job& job, const Cell& cell, bool defaults, std::optional<Execution> only = {});
// Returns all settings of a cell one by one, as plans. For small spaces.
std::vector<Plan> settings(const Job& job, const Cell& cell, bool defaults);

// True if bounds on temporary memory are searched.
bool frees_caps(const Job& job, bool defaults);
// Returns the bounds on temporary memory that are searched where frees_caps(), in bytes per tile.
Caps free_caps(const Job& job);
// Returns the tightest and the loosest bound on temporary memory that are pinned or may be chosen.
std::pair<Proportion, Proportion> extreme_proportions(const Job& job);
// Returns the bounds on temporary memory that are searched, as shares of a tile: the pinned range from kLeastProportion
// on, up to kMostProportion. If the range lies below, returns its high end alone.
ProportionRange free_proportions(const Job& job);

// Returns a text for people: the samples of statistics groups, the micro-batches that these groups exclude, and why.
std::string micro_batches_of_groups(const Job& job, std::int64_t statistics_group);

}  // namespace superstep
