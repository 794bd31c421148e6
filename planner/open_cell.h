// SPDX-License-Identifier: Apache-2.0
// One (t, p, r, m, g) of the space with all its settings, as a tree whose branches are bounded together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/evaluate.h"
#include "planner/pinned_cuts.h"
#include "planner/tables.h"

namespace superstep {

// Plans of one kind differ in degree only; runners-up are of different kinds.
std::string kind_of(const Plan& plan);

class OpenCell {
 public:
  // Settings [begin, end) of the cell, which agree in more fields than those around them.
  struct Branch {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
    bool leaf() const { return size() == 1; }
  };

  // `plans` are without their cuts. Tables that are not there yet are built one after the other.
  OpenCell(Tables& tables, PinnedCuts& cuts, const std::vector<Plan>& plans);

  // The widest branches whose settings can be relaxed to a bound on all: of one table, schedule and order of phases.
  const std::vector<Branch>& roots() const { return roots_; }
  std::vector<Branch> children(const Branch& branch) const;  // of no leaf
  // Plans that were left out, since they tabulate the same as another one.
  std::size_t equal() const { return equal_; }

  const Setting& setting(const Branch& leaf) const { return settings_[leaf.begin]; }
  Setting relaxed(const Branch& branch) const;
  // kind_of() its plans, each once.
  std::vector<std::string> kinds(const Branch& branch) const;

 private:
  // The fields in which settings of a cell differ, from the trunk to the leaves.
  static constexpr std::size_t kFields = 16;
  using Fields = std::array<std::int64_t, kFields>;
  static Fields fields_of(const Plan& plan, bool phased);

  std::vector<Setting> settings_;
  std::vector<Fields> fields_;  // by setting, ascending
  std::vector<Branch> roots_;
  std::size_t equal_ = 0;
};

}  // namespace superstep
