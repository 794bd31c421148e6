// SPDX-License-Identifier: Apache-2.0
#include "planner/search/front_board.h"

#include <algorithm>
#include <span>
#include <utility>

#include "model/parallel.h"

namespace superstep {

std::vector<Candidate> FrontBoard::before(std::size_t part, std::size_t first, std::size_t end) {
  const auto others = std::span(parts_).first(part);
  help_until([&] {
    const std::lock_guard lock(mutex_);
    return given_up_ ||
           std::ranges::all_of(others, [&](const PartSteps& p) { return p.ended || p.steps.size() >= end; });
  });
  const std::lock_guard lock(mutex_);
  if (given_up_) throw Stopped();
  std::vector<Candidate> out;
  for (const PartSteps& p : others) {
    for (std::size_t step = first; step < std::min(end, p.steps.size()); ++step) {
      if (p.steps[step]) out.push_back(*p.steps[step]);
    }
  }
  return out;
}

void FrontBoard::add(std::size_t part, std::optional<Candidate> found) {
  if (found && found->from_other_part) found.reset();  // later parts learn the plan from the part that found it
  {
    const std::lock_guard lock(mutex_);
    parts_[part].steps.push_back(std::move(found));
  }
  wake_helpers();
}

void FrontBoard::end(std::size_t part) {
  {
    const std::lock_guard lock(mutex_);
    parts_[part].ended = true;
  }
  wake_helpers();
}

void FrontBoard::give_up() {
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
  }
  wake_helpers();
}

}  // namespace superstep
