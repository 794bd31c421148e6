// SPDX-License-Identifier: Apache-2.0
// A small perceptron with the mean cross-entropy of its classes, as JAX writes it.
#pragma once

#include "tests/xla/hlo_maker.h"

namespace superstep::test {

struct MlpSpec {
  std::int64_t batch = 4, in = 6, hidden = 8, classes = 3;
  std::int64_t data_parts = 1, model_parts = 1;  // of the samples, and of the hidden features; 1: no annotations
};

// relu(x w1 + b1) w2. Parameters params.w1, params.b1, params.w2, x and labels; the root is the loss.
ProgramMaker mlp_program(const MlpSpec& spec);

}  // namespace superstep::test
