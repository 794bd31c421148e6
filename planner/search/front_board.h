// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "planner/search/search_result.h"

namespace superstep {

// Points of the fronts of a job's parts, which are traced side by side, each in a body of one parallel_for(), and each
// with what those before it found.
class FrontBoard {
 public:
  explicit FrontBoard(std::size_t parts) : parts_(parts) {}
  static constexpr std::size_t kEnd = SIZE_MAX;
  // What the parts before this one found at steps [first, end), once they have come so far; kEnd: once they are done.
  std::vector<Candidate> before(std::size_t part, std::size_t first, std::size_t end);
  void add(std::size_t part, std::optional<Candidate> found);  // at its next step
  void end(std::size_t part);                                  // it has no other
  void give_up();                                              // who waits is told by Stopped

 private:
  struct Part {
    std::vector<std::optional<Candidate>> steps;
    bool ended = false;
  };
  std::mutex mutex_;
  std::vector<Part> parts_;
  bool given_up_ = false;
};

}  // namespace superstep
