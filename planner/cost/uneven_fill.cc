// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/uneven_fill.h"

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

// Stages join those that work, one more in each iteration: in order, or from the last one back. The iteration in which
// all have joined is none of the sum.
std::int64_t UnevenFill::join(Pass pass, bool back) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    works(stages_[back ? stages_.size() - 1 - i : i], pass);
    if (i + 1 < stages_.size()) sum += slowest_;
  }
  return sum;
}

// Stage s has its forward pass of a micro-batch s iterations after the first stage, and its backward pass 2 (S - 1) - s
// after that: at once in the last stage. Read backwards, the drain is a fill with the passes exchanged.
std::int64_t UnevenFill::cycles(bool interleaved, std::int64_t g) {
  const auto ramp = static_cast<std::int64_t>(stages_.size()) - 1;
  const Pass passes[] = {&Stage::forward, &Stage::backward};
  std::int64_t sum = 0;
  for (const int first : {0, 1}) {
    none_works();
    sum += join(passes[first], false);
    if (interleaved) {  // an iteration is all forward passes, then all backward passes
      sum += (g - ramp) * slowest_;
      none_works();
      sum += join(passes[first], true);
    } else {
      sum += join(passes[1 - first], true);
    }
  }
  return interleaved ? sum : sum + (g - 2 * ramp) * slowest_;
}

}  // namespace superstep
