// SPDX-License-Identifier: Apache-2.0
// Equality of runs of consecutive units, so that results computed for a run are reused for equal runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace superstep {

// Numbers all runs of units. Runs are equal if their units are equal, and the boundaries behind the runs.
class EqualRuns {
 public:
  // `letters`: a number for each unit, and a number for the end of the model. Units with equal numbers must be equal
  // and have equal boundaries in front. The first unit and the end have numbers of their own.
  explicit EqualRuns(const std::vector<std::int64_t>& letters);

  // Returns the number of the run of units [begin, end), at least one unit. Numbers are less than count(). Runs with
  // the same number are equal. Equal runs may have different numbers where a shared number would save little.
  std::size_t number(std::int64_t begin, std::int64_t end) const {
    const Start& start = starts_[static_cast<std::size_t>(begin)];
    const auto length = static_cast<std::int32_t>(end - begin);
    return static_cast<std::size_t>(length + (length <= start.shared ? start.like : start.own));
  }
  // Calls f(first, last, base) for ranges of lengths that cover all runs of up to `longest` units from `begin` on. The
  // run of a length from `first` to `last` has the number `base` + length.
  template <class F>
  void for_numbers(std::int64_t begin, std::int64_t longest, F f) const {
    const Start& start = starts_[static_cast<std::size_t>(begin)];
    const std::int64_t shared = std::min<std::int64_t>(start.shared, longest);
    if (shared > 0) f(std::int64_t{1}, shared, std::int64_t{start.like});
    if (longest > shared) f(shared + 1, longest, std::int64_t{start.own});
  }
  std::size_t count() const { return static_cast<std::size_t>(count_); }
  // Returns the length of the longest run from `begin` on that shares its number with a run from an earlier unit on.
  // Longer runs have numbers that no run from an earlier unit on has. 0: all runs have such numbers.
  std::int64_t shared(std::int64_t begin) const { return starts_[static_cast<std::size_t>(begin)].shared; }

 private:
  // Numbers of the runs from one unit on: `like` + length for runs of up to `shared` units, which equal runs from an
  // earlier unit on. `own` + length for longer runs.
  struct Start {
    std::int32_t shared = 0, like = 0, own = 0;
  };
  std::vector<Start> starts_;
  std::int32_t count_ = 0;
};

// Returns the runs of units that are equal if their values are equal. The first unit equals no other unit, since no
// value describes the boundary in front of it.
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
