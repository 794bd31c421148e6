// SPDX-License-Identifier: Apache-2.0
#include "planner/front_board.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "planner/parallel.h"

namespace superstep {

void FrontBoard::wait_for(std::size_t part, std::size_t step) {
  help_until([&] {
    const std::lock_guard lock(mutex_);
    return given_up_ || std::ranges::all_of(std::span(parts_).first(part),
                                            [&](const Part& p) { return p.ended || p.steps.size() > step; });
  });
  const std::lock_guard lock(mutex_);
  if (given_up_) throw Stopped();
}

std::vector<Candidate> FrontBoard::before(std::size_t part, std::size_t step) {
  wait_for(part, step);
  const std::lock_guard lock(mutex_);
  std::vector<Candidate> out;
  for (const Part& p : std::span(parts_).first(part)) {
    if (step < p.steps.size() && p.steps[step]) out.push_back(*p.steps[step]);
  }
  return out;
}

std::vector<Candidate> FrontBoard::all_before(std::size_t part) {
  wait_for(part, SIZE_MAX);
  const std::lock_guard lock(mutex_);
  std::vector<Candidate> out;
  for (const Part& p : std::span(parts_).first(part)) {
    for (const std::optional<Candidate>& found : p.steps) {
      if (found) out.push_back(*found);
    }
  }
  return out;
}

void FrontBoard::add(std::size_t part, std::optional<Candidate> found) {
  if (found && found->elsewhere) found.reset();  // who comes after knows it
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
