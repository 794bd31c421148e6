// SPDX-License-Identifier: Apache-2.0
// A training pipeline in lockstep whose fill and drain take as long as the slowest of the IPUs that work in them
// (Machine::full_cost_fill is false).
#pragma once

#include <cstdint>
#include <vector>

namespace superstep {

class UnevenFill {
 public:
  // Times in cycles per micro-batch; stages come in order.
  struct Stage {
    std::int64_t ipu = 0, forward = 0, backward = 0;
  };

  void reserve(std::int64_t ipus);  // so that nothing else allocates
  void clear() { stages_.clear(); }
  void add(const Stage& stage) { stages_.push_back(stage); }
  // Of all iterations for `g` micro-batches, at least 2 S - 1 for S stages; without copies and what is the same in
  // each iteration. An IPU's stages take turns. O(S).
  std::int64_t cycles(bool interleaved, std::int64_t g);

 private:
  using Pass = std::int64_t Stage::*;
  void none_works();
  void works(const Stage& stage, Pass pass);
  std::int64_t join(Pass pass, bool back);

  std::vector<Stage> stages_;
  std::vector<std::int64_t> load_;  // by IPU group, of the stages that work
  std::int64_t slowest_ = 0;        // of them
};

}  // namespace superstep
