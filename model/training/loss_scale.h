// SPDX-License-Identifier: Apache-2.0
// The factor on the loss: fixed, or found while training.
#pragma once

#include <cstdint>

namespace superstep {

// Automatic: begins at 2^15. An update with a gradient that is not finite is left out and halves the factor; 2000
// good updates in a row double it. Factors are powers of two, so that they round nothing (Micikevicius et al. 2018).
struct LossScale {
  double factor = 1;
  bool automatic = false;
  std::int64_t good_steps = 0;       // since the factor last changed
  std::int64_t growth_every = 2000;  // good steps

  static LossScale found_while_training() { return {.factor = 0x1p15, .automatic = true}; }

  // Whether an update with these gradients is made. A factor of 1 cannot be the reason why they are not finite: false,
  // and exhausted().
  bool accept(bool finite_gradients);
  bool exhausted() const { return automatic && factor < 1; }
  friend bool operator==(const LossScale&, const LossScale&) = default;
};

}  // namespace superstep
