// SPDX-License-Identifier: Apache-2.0
#include "model/lower/equal_runs.h"

#include <algorithm>

#include "model/units.h"

namespace superstep {
namespace {

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

EqualRuns::EqualRuns(const std::vector<std::int64_t>& letters) {
  const std::int64_t n = std::ssize(letters) - 1;
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
