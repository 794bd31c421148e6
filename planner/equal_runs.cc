// SPDX-License-Identifier: Apache-2.0
#include "planner/equal_runs.h"

#include <algorithm>
#include <map>

namespace superstep {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// By unit and for the end: equal numbers where units are equal as parts of a run.
std::vector<std::int64_t> letters_of(const Setting& s) {
  std::map<std::pair<std::int32_t, bool>, std::int64_t> seen;
  std::vector<std::int64_t> letters;
  const UnitTable& table = s.table();
  for (std::int64_t u = 0; u <= s.units(); ++u) {
    const bool inner = u > 0 && u < s.units();
    if (!inner || s.lender(u) >= 0) {
      letters.push_back(-1 - u);
      continue;
    }
    const bool joined = table.checkpoint(at(u)) >= 0 && table.checkpoint(at(u)) == table.checkpoint(at(u - 1));
    letters.push_back(seen.try_emplace({s.class_of(u), joined}, static_cast<std::int64_t>(seen.size())).first->second);
  }
  return letters;
}

// By start behind `from`: how many letters from there on are those from `from` on (the Z-function).
std::vector<std::int64_t> equal_to(const std::vector<std::int64_t>& letters, std::int64_t from) {
  const std::int64_t n = static_cast<std::int64_t>(letters.size());
  std::vector<std::int64_t> z(letters.size());
  for (std::int64_t i = from + 1, left = from, right = from; i < n; ++i) {
    std::int64_t length = i < right ? std::min(right - i, z[at(from + i - left)]) : 0;
    while (i + length < n && letters[at(i + length)] == letters[at(from + length)]) ++length;
    if (i + length > right) left = i, right = i + length;
    z[at(i)] = length;
  }
  return z;
}

}  // namespace

EqualRuns::EqualRuns(const Setting& setting) {
  const std::vector<std::int64_t> letters = letters_of(setting);
  const std::int64_t n = setting.units();
  struct Like {
    std::int64_t letters = 0, start = 0;
  };
  std::vector<Like> best(letters.size());
  for (std::int64_t u = 0; u < n; ++u) {
    Start start;
    const auto runs = static_cast<std::int32_t>(n - u);
    start.shared = static_cast<std::int32_t>(best[at(u)].letters) - 1;  // the boundary behind a run is a letter too
    if (2 * start.shared >= runs) {
      start.like = starts_[at(best[at(u)].start)].own;
    } else {
      start.shared = 0;
      const bool again = std::find(letters.begin() + u + 1, letters.end(), letters[at(u)]) != letters.end();
      const std::vector<std::int64_t> z = again ? equal_to(letters, u) : std::vector<std::int64_t>{};
      for (std::int64_t v = u + 1; again && v < n; ++v) {
        if (z[at(v)] > best[at(v)].letters) best[at(v)] = {z[at(v)], u};
      }
    }
    start.own = count_ - start.shared - 1;
    count_ += runs - start.shared;
    starts_.push_back(start);
  }
}

}  // namespace superstep
