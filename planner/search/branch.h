// SPDX-License-Identifier: Apache-2.0
// Branches of a cell: sets of settings that share a bound, and that are divided until each is one setting, a leaf.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/cost/setting_parts.h"
#include "planner/cost/tables.h"
#include "planner/cuts/pinned_cuts.h"

namespace superstep {

struct Branches;

// A subset of the settings of one SettingSpace, with a common bound. All settings of a branch have one
// schedule and one order of phases.
struct Branch {
  std::shared_ptr<const SettingParts> parts;
  SettingSpace::Subset part;
  double size = 0;  // number of settings times number of bounds on temporary memory (SettingSpace::caps)

  // True for one setting whose bounds on temporary memory all make one table: a cut programme finds its best plan.
  bool leaf() const { return part.single() && parts->exact(); }
  // True for one setting whose bounds on temporary memory are still to be divided.
  bool divides_caps() const { return part.single() && !parts->exact(); }
  // True if all plans are in phases and keep data other than code on other IPUs' tiles.
  bool uses_remote_tile() const { return parts->space().phased && parts->space().uses_remote_tile(part); }
  // Returns the setting of a leaf, or a bound on all settings of the branch.
  Setting setting() const { return parts->setting(part); }
  std::vector<std::string> kinds() const { return parts->space().kinds(part); }
  // Divides a branch that is no leaf. Several settings are divided by values of fields; one setting by its bounds on
  // temporary memory.
  Branches children(Tables& tables) const;
  // For phases: returns a leaf that is likely to fit, and fast among such leaves. The leaf keeps in Streaming Memory
  // whatever may be there, and has the tightest bound on temporary memory. nullopt: no such leaf was found.
  std::optional<Branch> guess(Tables& tables, const CutLimits& limits) const;
  // Returns the key of the table by which bounds on temporary memory are divided.
  TableKey middle(const Chip& chip) const;
};

struct Branches {
  std::vector<Branch> list;
  double left_out = 0;  // sum of Branch::size of settings in no branch: dominated, or too large for remote tiles
};

// Returns the bounds on temporary memory for which `table` gives the exact numbers of the settings of a space.
Caps caps_of(const UnitTable& table, const SettingSpace& space);

// Returns the settings of a space as at most one branch. Dominated settings are left out.
Branches branches_of(Tables& tables, const SettingSpace& space);
// The tables that bound all settings of a space. `fastest`: the least time over all bounds on temporary memory.
// `leanest`: the table of the tightest bound, which has the least memory.
struct ExtremeTables {
  TableKey fastest, leanest;
};
// Returns the keys of the tables that branches_of() needs.
ExtremeTables extreme_tables_of(const SettingSpace& space, const Chip& chip);

}  // namespace superstep
