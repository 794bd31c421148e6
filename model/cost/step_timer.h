// SPDX-License-Identifier: Apache-2.0
// A program made ready to be timed again and again, at other rates: equal steps are priced once.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cost/cost.h"
#include "model/lower/program.h"

namespace superstep {

class StepTimer {
 public:
  explicit StepTimer(const Program& program);

  // As cost(program, model).step.total().
  Cycles step(const CostModel& model) const;

 private:
  struct Sum {
    std::int64_t cycles = 0, fed = 0;  // fed: bytes from the host
    void add(const Sum& o, std::int64_t times) {
      cycles += o.cycles * times;
      fed += o.fed * times;
    }
  };
  // A node of the program's tree; its children come behind it, up to `end`.
  struct Part {
    Node::Kind kind;
    std::uint32_t what = 0, end = 0;      // step or function
    std::int64_t count = 1, counted = 1;  // repeat: iterations, and how many are one for each micro-batch
  };
  struct Sums {
    std::vector<Sum> steps, functions;
  };
  const Program& program_;
  std::vector<const Step*> steps_;  // unlike ones
  std::vector<std::vector<std::uint32_t>> functions_;
  std::vector<Part> parts_;

  template <class Index>
  void add(const Node& node, Index& index);
  Sum sum_of(std::uint32_t part, const Sums& sums) const;
};

}  // namespace superstep
