// SPDX-License-Identifier: Apache-2.0
// A program prepared for repeated timing at different rates. Equal steps are priced once, and equal parts of the
// program, such as most phases, are summed once.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "model/cost/cost.h"
#include "model/program/program.h"

namespace superstep {

class StepTimer {
 public:
  // `program` must outlive the timer.
  explicit StepTimer(const Program& program);

  // Returns the cycles of an optimiser step: the same number as cost(program, model).step.total().
  Cycles step(const CostModel& model) const;

 private:
  struct Sum {
    std::int64_t cycles = 0;
    Hosted hosted;
    void add(const Sum& o, std::int64_t times) {
      cycles += o.cycles * times;
      hosted.add(o.hosted, times);
    }
  };
  // A part and how often it runs in a row.
  struct Run {
    std::uint32_t part = 0;
    std::int64_t times = 1;
    friend auto operator<=>(const Run&, const Run&) = default;
  };
  // A node of the program's tree, or a function as a sequence of its steps. Equal nodes are one part.
  struct Part {
    Node::Kind kind = Node::Kind::sequence;
    std::uint32_t step = 0;  // kind step: index into steps_
    // Kind repeat: iterations, and those that are micro-batches, which move bytes of the host.
    std::int64_t count = 1, counted = 1;
    std::vector<Run> children;
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  class Builder;

  const Program& program_;
  std::vector<const Step*> steps_;  // steps of different prices
  std::vector<Part> parts_;         // different parts, each after its children
  std::uint32_t root_ = 0;          // index of the part that is the whole program

  static Sum sum_of(const Part& part, const std::vector<Sum>& steps, const std::vector<Sum>& parts);
};

}  // namespace superstep
