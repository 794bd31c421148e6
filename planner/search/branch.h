// SPDX-License-Identifier: Apache-2.0
// One (t, p, r, m, g) of the space with all its settings, as branches that are bounded together.
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

// Settings of one schedule and order of phases, which have a bound in common.
struct Branch {
  std::shared_ptr<const SettingParts> parts;
  SettingSpace::Part part;
  double size = 0;  // settings, each times its bounds on temporary memory (SettingSpace::caps)

  bool leaf() const { return part.single() && parts->exact(); }
  // One setting, its bounds on temporary memory to be divided.
  bool divides_caps() const { return part.single() && !parts->exact(); }
  // Phases: all of its plans keep something on other IPUs' tiles.
  bool lends() const { return parts->space().phased && parts->space().lends(part); }
  Setting setting() const { return parts->setting(part); }  // a leaf's, or a bound on all of them
  std::vector<std::string> kinds() const { return parts->space().kinds(part); }
  // Of no leaf: the settings are divided first, by values of fields, and then the bounds on temporary memory of each.
  Branches children(Tables& tables) const;
  // Of phases: a leaf of it that is likely to fit and is fast for one that does, which has all in Streaming Memory that
  // may be there; none: there is none.
  std::optional<Branch> guess(Tables& tables, const CutLimits& limits) const;
  // The table by which those are divided.
  TableKey middle(const Chip& chip) const;
};

struct Branches {
  std::vector<Branch> list;
  double left_out = 0;  // of settings that are no better than others, as sizes
};

// The bounds on temporary memory for which a space's settings are those of this table.
Caps caps_of(const UnitTable& table, const SettingSpace& space);

// All settings of a space.
Branches branches_of(Tables& tables, const SettingSpace& space);
// The tables that takes: with the least time of all its bounds on temporary memory, and the tightest one's.
struct Ends {
  TableKey fastest, leanest;
};
Ends ends_of(const SettingSpace& space, const Chip& chip);

}  // namespace superstep
