// SPDX-License-Identifier: Apache-2.0
// One (t, p, r, m, g) of the space with all its settings, as branches that are bounded together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "planner/pinned_cuts.h"
#include "planner/setting_parts.h"
#include "planner/tables.h"

namespace superstep {

// Settings of one table, schedule and order of phases, which have a bound in common.
struct Branch {
  std::shared_ptr<const SettingParts> parts;
  SettingSpace::Part part;
  double size = 0;  // settings

  bool leaf() const { return part.single(); }
  Setting setting() const { return parts->setting(part); }  // a leaf's, or a bound on all of them
  std::vector<std::string> kinds() const { return parts->space().kinds(part); }
  std::vector<Branch> children() const;  // of no leaf
};

struct Branches {
  std::vector<Branch> roots;
  double left_out = 0;  // settings that are no better than others
};
// All settings of a cell.
Branches branches_of(Tables& tables, PinnedCuts& cuts, const std::vector<SettingSpace>& spaces, int threads);

}  // namespace superstep
