// SPDX-License-Identifier: Apache-2.0
#include "planner/uneven_fill.h"

#include <algorithm>
#include <cstddef>

namespace superstep {

void UnevenFill::reserve(std::int64_t ipus) {
  stages_.reserve(static_cast<std::size_t>(ipus) + 1);
  load_.reserve(static_cast<std::size_t>(ipus));
}

void UnevenFill::none_works() {
  std::int64_t ipus = 0;
  for (const Stage& s : stages_) ipus = std::max(ipus, s.ipu + 1);
  load_.assign(static_cast<std::size_t>(ipus), 0);
  slowest_ = 0;
}

void UnevenFill::works(const Stage& stage, Pass pass) {
  std::int64_t& load = load_[static_cast<std::size_t>(stage.ipu)];
  load += stage.*pass;
  slowest_ = std::max(slowest_, load);
}

// Iterations in which the first stage works, the first two and so on; all of them work in the end, but that is none of
// the sum.
std::int64_t UnevenFill::from_front(Pass pass) {
  none_works();
  std::int64_t sum = 0;
  for (std::size_t s = 0; s + 1 < stages_.size(); ++s) {
    works(stages_[s], pass);
    sum += slowest_;
  }
  works(stages_.back(), pass);
  return sum;
}

// The same from the last stage.
std::int64_t UnevenFill::from_back(Pass pass) {
  none_works();
  std::int64_t sum = 0;
  for (std::size_t s = stages_.size(); s-- > 1;) {
    works(stages_[s], pass);
    sum += slowest_;
  }
  works(stages_.front(), pass);
  return sum;
}

// Iterations in which all stages do one pass, and the last, the last two and so on the other one as well.
std::int64_t UnevenFill::joined_from_back(Pass all, Pass joining) {
  none_works();
  for (const Stage& s : stages_) works(s, all);
  std::int64_t sum = 0;
  for (std::size_t s = stages_.size(); s-- > 1;) {
    works(stages_[s], joining);
    sum += slowest_;
  }
  works(stages_.front(), joining);
  return sum;
}

// Stage s has its forward pass of a micro-batch s iterations after the first stage, and its backward pass 2 (S - 1) - s
// after that: at once in the last stage.
std::int64_t UnevenFill::cycles(bool interleaved, std::int64_t g) {
  const auto ramp = static_cast<std::int64_t>(stages_.size()) - 1;
  std::int64_t sum = 0;
  if (interleaved) {  // an iteration is all forward passes, then all backward passes
    for (const Pass pass : {&Stage::forward, &Stage::backward}) {
      sum += from_front(pass) + from_back(pass);
      sum += (g - ramp) * slowest_;
    }
    return sum;
  }
  sum += from_front(&Stage::forward) + from_front(&Stage::backward);
  sum += joined_from_back(&Stage::forward, &Stage::backward) + joined_from_back(&Stage::backward, &Stage::forward);
  return sum + (g - 2 * ramp) * slowest_;
}

}  // namespace superstep
