// SPDX-License-Identifier: Apache-2.0
#include "planner/report/time_lost.h"

#include <algorithm>

namespace superstep {

std::vector<LostTime> time_lost(const std::vector<WaterfallRow>& first, const std::vector<WaterfallRow>& second,
                                double scale) {
  std::vector<LostTime> out;
  for (const WaterfallRow& row : first) out.push_back({row.name, row.kind, row.seconds, 0});
  for (const WaterfallRow& row : second) {
    auto same = std::find_if(out.begin(), out.end(), [&](const LostTime& t) { return t.name == row.name; });
    if (same == out.end()) same = out.insert(out.end(), {row.name, row.kind, 0, 0});
    same->second += scale * row.seconds;
  }
  std::stable_sort(out.begin(), out.end(), [](const LostTime& a, const LostTime& b) { return a.lost() > b.lost(); });
  return out;
}

}  // namespace superstep
