// SPDX-License-Identifier: Apache-2.0
// The exchange of points between the fronts of a job's parts, which threads trace side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "planner/search/search_result.h"

namespace superstep {

// The points of the fronts of a job's parts. Each part runs in one body of a parallel_for(), and learns the points of
// the parts before it.
class FrontBoard {
 public:
  explicit FrontBoard(std::size_t parts) : parts_(parts) {}
  static constexpr std::size_t kEnd = SIZE_MAX;
  // Waits until each part before `part` has made `end` steps or has ended; with kEnd, until each has ended. Returns the
  // plans that these parts found at steps [first, end). Throws Stopped after give_up().
  std::vector<Candidate> before(std::size_t part, std::size_t first, std::size_t end);
  // Adds the next step of a part; nullopt: no plan was found.
  void add(std::size_t part, std::optional<Candidate> found);
  // Declares that a part makes no further step.
  void end(std::size_t part);
  // Makes before() throw Stopped, in threads that already wait too.
  void give_up();

 private:
  struct PartSteps {
    std::vector<std::optional<Candidate>> steps;  // nullopt: no plan, or a plan that another part found
    bool ended = false;
  };
  std::mutex mutex_;
  std::vector<PartSteps> parts_;
  bool given_up_ = false;
};

}  // namespace superstep
