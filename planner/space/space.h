// SPDX-License-Identifier: Apache-2.0
// The declared space: for each field the list it draws from, and the legal settings they make.
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

// The lists that no rule derives.
inline constexpr std::int64_t kMostMicroBatch = 1024;  // not listed; with a free global batch 1 and its doublings
inline const std::vector<std::int64_t> kSquareMeshes = {4, 8};  // t x t
inline const std::vector<std::int64_t> kIoTiles = {0, 32, 64, 128};
inline const std::vector<std::int64_t> kPrefetch = {1, 2, 4};  // micro-batches
inline constexpr double kMostProportion = 1;  // of temporary memory, the loosest bound; the tightest: kLeastProportion
inline constexpr double kUsualProportion = 0.25;  // where only pinned fields vary

// One (t, p, r, m, g) and how it lies on the links; everything else is chosen inside it.
struct Cell {
  TensorParallel mesh;
  std::int64_t stages = 1, replicas = 1, micro_batch = 1, accumulation = 1;
  Placement placement = Placement::t_p_r;
  ShardGroups groups = ShardGroups::consecutive;
  bool groups_matter = false;                         // only settings that differ with other groups
  std::array<double, kExecutions.size()> settings{};  // of cells(): how many there are of each
  double all_settings() const { return std::accumulate(settings.begin(), settings.end(), 0.0); }
  Strides strides() const { return superstep::strides(placement, mesh.size(), stages, replicas); }
  Replicas replica_groups() const { return {replicas, strides().replica, groups}; }
  Plan plan() const;  // its fields in a plan, the others as they are by default
};

// All legal cells, in canonical order. Throws Error when pins allow none, naming the pin. `statistics_group`: of the
// model (statistics_group(job)); cells that would split it over micro-batches are not legal. `defaults`: only pinned
// fields vary.
std::vector<Cell> cells(const Job& job, std::int64_t statistics_group = 0, bool defaults = false);

// The same, their settings not counted; none: empty.
std::vector<Cell> uncounted_cells(const Job& job, std::int64_t statistics_group);

// All settings of a cell, each once (fields without effect take their default), as products: one for each table,
// schedule and order of phases, in canonical order. `defaults`: only pinned fields vary. `only`: none of the others.
std::vector<SettingSpace> setting_spaces(const Job& job, const Cell& cell, bool defaults,
                                         std::optional<Execution> only = {});
// How many there are of each execution.
std::array<double, kExecutions.size()> count_settings(const Job& job, const Cell& cell, bool defaults);
// kind_of() the plans of a cell, each once.
std::vector<std::string> kinds_of(const Job& job, const Cell& cell, bool defaults, std::optional<Execution> only = {});
// One by one: of small spaces.
std::vector<Plan> settings(const Job& job, const Cell& cell, bool defaults);

// Whether bounds on temporary memory are searched, and the bounds then.
bool frees_caps(const Job& job, bool defaults);
Caps free_caps(const Job& job);
// The tightest ones that are pinned or may be chosen, and the loosest.
std::pair<Proportion, Proportion> ends_of_proportions(const Job& job);
// The same in proportion: what a range leaves of all that are searched; its high end where that is nothing.
ProportionRange free_proportions(const Job& job);

// Which micro-batches statistics groups of so many samples leave out, and why: for people.
std::string micro_batches_of_groups(const Job& job, std::int64_t statistics_group);

// The pinned first units of all stages for a graph with these units (from stages or layers_per_stage); empty: free.
std::vector<std::int64_t> pinned_stages(const Job& job, const Graph& graph);

}  // namespace superstep
