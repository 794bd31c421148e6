// SPDX-License-Identifier: Apache-2.0
// A program made ready to be timed again and again, at other rates: equal steps are priced once, and equal parts of it,
// as most of its phases are, added up once.
#pragma once

#include <compare>
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
  // A part that runs several times in a row.
  struct Run {
    std::uint32_t part = 0;
    std::int64_t times = 1;
    friend auto operator<=>(const Run&, const Run&) = default;
  };
  // What a node of the program's tree is, or a function.
  struct Part {
    Node::Kind kind = Node::Kind::sequence;
    std::uint32_t step = 0;               // its place among the unlike ones
    std::int64_t count = 1, counted = 1;  // repeat: iterations, and how many are one for each micro-batch
    std::vector<Run> children;            // those of a function are its steps
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  class Builder;

  const Program& program_;
  std::vector<const Step*> steps_;  // unlike ones
  std::vector<Part> parts_;         // unlike ones, each behind its children
  std::uint32_t root_ = 0;          // the part that is the program

  static Sum sum_of(const Part& part, const std::vector<Sum>& steps, const std::vector<Sum>& parts);
};

}  // namespace superstep
