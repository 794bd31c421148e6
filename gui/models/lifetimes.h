// SPDX-License-Identifier: Apache-2.0
// From when to when each variable stands on the fullest tile of an IPU, in its program steps. At each step those that
// stand there sum to what liveness.h says of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/models/heat_data.h"
#include "gui/models/liveness.h"
#include "gui/models/timeline.h"
#include "gui/models/variables.h"

namespace superstep::gui {

// Results of ops, over the steps of a function. Empty in old reports.
struct Results {
  TextColumn name;
  std::vector<std::int64_t> function, bytes_per_tile, first_step, last_step, stays;
};
Results load_results(const ReportFile& report);  // throws Error when the columns disagree

struct Lifetime {
  std::string name, category;
  std::int64_t bytes = 0;
  int first = 0, last = 0;  // points of the liveness
  bool stands_at(int point) const { return first <= point && point <= last; }
};

struct Lifetimes {
  std::vector<Lifetime> rows;  // largest first
  int points = 0;
  std::vector<int> at(int point, bool without_always = false) const;  // rows that stand there; -1: all
};

// Empty where the report does not say from when to when.
Lifetimes lifetimes_of(const report::Index& index, const Liveness& liveness, const Steps& steps, const HeatData& heat,
                       const Variables& variables, const Results& results);

}  // namespace superstep::gui
