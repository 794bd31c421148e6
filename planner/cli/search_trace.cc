// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/search_trace.h"

#include <array>

namespace superstep {

std::string trace_text(const std::vector<SearchStep>& steps, const TextStyle& style) {
  static constexpr std::array kLevels = {"cell", "branch", "leaf"};
  TextTable table;
  table.headings = {"step", "node", "of", "level", "name", "outcome", "bound", "best plan"};
  table.left_columns = {3, 4, 5};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const SearchStep& s = steps[i];
    const bool goes_on = i > 0 && (s.ipus != steps[i - 1].ipus || s.for_best != steps[i - 1].for_best);
    if (i == 0 || goes_on)
      table.add({std::to_string(s.ipus) + (s.ipus == 1 ? " IPU" : " IPUs"), "", "", "",
                 s.for_best ? "for the best plan" : "for runners-up", "", "", ""},
                Ink::strong, goes_on);
    table.add({std::to_string(i + 1), std::to_string(s.node), s.parent ? std::to_string(*s.parent) : "",
               kLevels[static_cast<std::size_t>(s.level)], s.name, s.outcome, s.bound > 0 ? figure(s.bound) : "none",
               s.incumbent > 0 ? figure(s.incumbent) : "none"});
  }
  return table.to_string(style);
}

}  // namespace superstep
