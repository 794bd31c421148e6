// SPDX-License-Identifier: Apache-2.0
// What stands on the tiles of an IPU group, and what it keeps in Streaming Memory. For lower() alone.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower/holdings.h"

namespace superstep {

// Per tile; by phase, one entry without phases.
std::vector<Residents> residents_of(const Holdings& h, std::int64_t ipu);
StreamingUse ddr_of(const Holdings& h, std::int64_t ipu);

// Of sharded weights and gradients, one unit's are whole at a time: as much as the largest one's.
Bytes largest_weights(const Holdings& h, std::int64_t ipu);
Bytes largest_gradient(const Holdings& h, std::int64_t ipu);

}  // namespace superstep
