// SPDX-License-Identifier: Apache-2.0
// Uses of every op, small enough to try every law on.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "model/graph/op_def.h"

namespace superstep {

struct Operand {
  DType type = DType::fp64;
  Shape shape;
  double low = -1.5, high = 1.5;  // values; floating ones keep 0.1 away from zero
};

struct OpCase {
  std::string name;  // of the test
  std::string op;
  std::vector<Operand> operands;
  Attributes attrs;
};

inline void PrintTo(const OpCase& c, std::ostream* out) { *out << c.name; }

const std::vector<OpCase>& op_cases();

}  // namespace superstep
