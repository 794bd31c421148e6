// SPDX-License-Identifier: Apache-2.0
#include "model/training/loss_scale.h"

namespace superstep {

bool LossScale::accept(bool finite_gradients) {
  constexpr double kLargest = 0x1p100;  // finite in fp32, also times a gradient of a sensible size
  if (!automatic) return finite_gradients;
  if (!finite_gradients) {
    factor /= 2;
    good_steps = 0;
    return false;
  }
  if (++good_steps >= growth_every) {
    if (factor < kLargest) factor *= 2;
    good_steps = 0;
  }
  return true;
}

}  // namespace superstep
