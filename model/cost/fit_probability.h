// SPDX-License-Identifier: Apache-2.0
// How likely a plan fits, given what is left free on its fullest tile. The true use of a tile is normal around the
// modelled one: its 95 % band is Calibration::memory_band_bytes.
#pragma once

#include <cstdint>

#include "model/cost/calibration.h"

namespace superstep {

// Returns the probability that a plan fits. `margin`: bytes that are free on the fullest tile; negative: too many.
double fit_probability(std::int64_t margin, const Calibration& calibration);
// Returns the least margin with which a plan fits with at least this probability, 0 < probability < 1. Without a band:
// 0.
std::int64_t margin_for(double probability, const Calibration& calibration);

}  // namespace superstep
