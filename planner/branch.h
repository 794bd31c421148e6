// SPDX-License-Identifier: Apache-2.0
// One (t, p, r, m, g) of the space with all its settings, as branches that are bounded together.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "planner/pinned_cuts.h"
#include "planner/setting_parts.h"
#include "planner/tables.h"

namespace superstep {

class Caps;
struct Branches;

// Settings of one schedule and order of phases, which have a bound in common.
struct Branch {
  std::shared_ptr<const SettingParts> parts;
  SettingSpace::Part part;
  double size = 0;                   // settings
  std::shared_ptr<const Caps> caps;  // several tables' settings, which `parts` bounds; none: of one table

  bool leaf() const { return !caps && part.single(); }
  Setting setting() const { return parts->setting(part); }  // a leaf's, or a bound on all of them
  std::vector<std::string> kinds() const { return parts->space().kinds(part); }
  Branches children(Tables& tables) const;  // of no leaf
};

struct Branches {
  std::vector<Branch> list;
  double left_out = 0;  // settings that are no better than others
};

// Spaces that differ in their bound on temporary memory alone.
class Caps {
 public:
  explicit Caps(std::vector<SettingSpace> spaces) : spaces_(std::move(spaces)) {}
  const std::vector<SettingSpace>& spaces() const { return spaces_; }
  // A branch for each, but for those that make the same settings as a tighter one. Made once; by any number of threads.
  const Branches& open(Tables& tables) const;

 private:
  std::vector<SettingSpace> spaces_;
  mutable std::once_flag made_;
  mutable Branches branches_;
};

// Runs of a cell's spaces that differ in their bound on temporary memory alone.
std::vector<std::vector<SettingSpace>> by_caps(const std::vector<SettingSpace>& spaces);
// All settings of such a run. Where there are many bounds, they are taken together.
Branches branches_of(Tables& tables, const std::vector<SettingSpace>& caps);
// Ahead of that, for all of them: not to be done side by side.
void prepare_cuts(Tables& tables, PinnedCuts& cuts, const std::vector<SettingSpace>& caps);
// The tables that takes.
std::vector<TableKey> tables_of(const std::vector<SettingSpace>& spaces);

}  // namespace superstep
