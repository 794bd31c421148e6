// SPDX-License-Identifier: Apache-2.0
// How likely a plan fits, given what is left free on its fullest tile. The true use of a tile is normal around the
// modelled one.
#pragma once

#include <cstdint>

namespace superstep {

// Returns the probability that a plan fits. `margin`: bytes that are free on the fullest tile; negative: too many.
// `band`: half of the 95 % band of these bytes (Calibration::memory_band()).
double fit_probability(std::int64_t margin, std::int64_t band);
// Returns the least margin with which a plan fits with at least this probability, 0 < probability < 1. Without a band:
// 0.
std::int64_t margin_for(double probability, std::int64_t band);

}  // namespace superstep
