// SPDX-License-Identifier: Apache-2.0
// The plans that a report knows: the one it is about, its runners-up and the Pareto front, each once, and those found
// on the way (searched.h); and what can be drawn of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gui/models/report_tables.h"
#include "traces/verdict.h"

namespace superstep::gui {

// Of reports from before plans had them.
inline constexpr const char* kUsualPlacement = "t-p-r";
inline constexpr const char* kUsualShardGroups = "consecutive";

struct LandscapePlan {
  const report::PlanSummary* summary = nullptr;
  std::shared_ptr<const report::PlanSummary> own = nullptr;  // keeps `summary` where it is not the report's
  bool shown = false;                                        // the report is about it
  bool runner_up = false;
  bool pareto = false;  // no plan in the report's search is faster with less memory
  bool found = false;   // on the way: times and memory are the tables', nothing was lowered
  // Of plan_json; empty where it does not say.
  QString tensor_parallel = {}, pipeline_stages = {}, replicas = {}, micro_batch = {}, gradient_accumulation = {};
  QString recompute = {}, phases = {}, placement = kUsualPlacement, shard_groups = kUsualShardGroups;
  Fit fit() const { return fit_of(*summary); }
};

LandscapePlan landscape_plan(const report::PlanSummary& summary);
std::vector<LandscapePlan> landscape_plans(const report::Index& index);

// A quantity for an axis, in the unit of its title. Not a number: nobody computed it for that plan.
struct LandscapeAxis {
  const char* title;
  int decimals;
  double (*value)(const LandscapePlan& plan);
};
const std::vector<LandscapeAxis>& landscape_axes();
inline constexpr int kTileAxis = 0;        // fullest tile, KiB: has the limit
inline constexpr int kThroughputAxis = 1;  // samples/s

// What dots are coloured by: a field of the plan, or an axis.
struct LandscapeColor {
  const char* title;
  QString LandscapePlan::*field;
  int axis = -1;  // of landscape_axes(), where there is no field
};
const std::vector<LandscapeColor>& landscape_colors();
// The values that the plans have of a field, in numerical order.
QStringList color_values(const std::vector<LandscapePlan>& plans, const LandscapeColor& color);

// A colour for each plan: one for each value where they are few, else for ranges with as many plans in each.
struct ColorClasses {
  QStringList names;         // in order
  std::vector<int> of_plan;  // index into names, one per plan
};
inline constexpr int kMostColors = 8;
ColorClasses color_classes(const std::vector<LandscapePlan>& plans, const LandscapeColor& color);

inline constexpr int kLandscapeThroughput = 3;  // column
TableContents landscape_table(const ReportPointer& report, std::shared_ptr<const std::vector<LandscapePlan>> plans,
                              Units units);

}  // namespace superstep::gui
