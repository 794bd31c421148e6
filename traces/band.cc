// SPDX-License-Identifier: Apache-2.0
#include "traces/band.h"

#include <algorithm>
#include <cmath>

#include "model/error.h"

namespace superstep {

Band band_of(std::vector<double> values) {
  SUPERSTEP_CHECK(!values.empty(), "a band of nothing");
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.025), at(0.975)};
}

}  // namespace superstep
