// SPDX-License-Identifier: Apache-2.0
// The 95 % band of a number that was computed in many worlds (random draws of uncertain constants).
#pragma once

#include <vector>

namespace superstep {

// The 2.5th and the 97.5th percentile, in the unit of the values.
struct Band {
  double low = 0, high = 0;
};

// Returns the band of the values, by nearest ranks. There must be at least one value.
Band band_of(std::vector<double> values);

}  // namespace superstep
