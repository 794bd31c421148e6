// SPDX-License-Identifier: Apache-2.0
// Which runs of units are equal, so that what is known of one holds for the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace superstep {

// Runs of units are equal if their units are, and the boundaries behind them.
class EqualRuns {
 public:
  // A number for each unit and one for the end of the model, the same only for units that are equal and have equal
  // boundaries in front of them. The first unit's and the end's are their own.
  explicit EqualRuns(const std::vector<std::int64_t>& letters);

  // Of units [begin, end), at least one: below count(), the same for two runs only if they are equal. Equal runs may
  // have different numbers where that saves little.
  std::size_t number(std::int64_t begin, std::int64_t end) const {
    const Start& start = starts_[static_cast<std::size_t>(begin)];
    const auto length = static_cast<std::int32_t>(end - begin);
    return static_cast<std::size_t>(length + (length <= start.shared ? start.like : start.own));
  }
  // Calls f(shortest, longest, base) for the runs of up to `longest` units from `begin` on: those of lengths between
  // the two have the numbers `base` + length.
  template <class F>
  void for_numbers(std::int64_t begin, std::int64_t longest, F f) const {
    const Start& start = starts_[static_cast<std::size_t>(begin)];
    const std::int64_t shared = std::min<std::int64_t>(start.shared, longest);
    if (shared > 0) f(std::int64_t{1}, shared, std::int64_t{start.like});
    if (longest > shared) f(shared + 1, longest, std::int64_t{start.own});
  }
  std::size_t count() const { return static_cast<std::size_t>(count_); }
  // Runs from `begin` on that are longer have numbers that no run from another unit on has.
  std::int64_t shared(std::int64_t begin) const { return starts_[static_cast<std::size_t>(begin)].shared; }

 private:
  // Runs up to `shared` units long are numbered as those from another unit on, longer ones on their own.
  struct Start {
    std::int32_t shared = 0, like = 0, own = 0;
  };
  std::vector<Start> starts_;
  std::int32_t count_ = 0;
};

// Of units that are equal if their values are. No value says what is in front of the first one.
template <class T>
EqualRuns equal_runs(const std::vector<T>& units) {
  std::map<T, std::int64_t> seen;
  std::vector<std::int64_t> letters;
  for (const T& unit : units)
    letters.push_back(letters.empty() ? -1
                                      : seen.try_emplace(unit, static_cast<std::int64_t>(seen.size())).first->second);
  letters.push_back(-2);
  return EqualRuns(letters);
}

}  // namespace superstep
