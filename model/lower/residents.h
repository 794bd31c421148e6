// SPDX-License-Identifier: Apache-2.0
// Memory that an IPU group uses all through a phase, on tiles and in Streaming Memory. For lower() alone.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lower/holdings.h"

namespace superstep {

// Returns the bytes per tile of an IPU group, by phase; one entry without phases.
std::vector<Residents> residents_of(const Holdings& h, std::int64_t ipu);
// Returns the bytes of Streaming Memory of one IPU of a group.
StreamingUse ddr_of(const Holdings& h, std::int64_t ipu);

// Return the bytes per tile of the largest unit's weights or gradients, unsharded. Sharded weights and gradients are
// made whole for one unit at a time.
Bytes largest_weights(const Holdings& h, std::int64_t ipu);
Bytes largest_gradient(const Holdings& h, std::int64_t ipu);

}  // namespace superstep
