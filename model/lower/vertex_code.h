// SPDX-License-Identifier: Apache-2.0
// Size of vertex code.
#pragma once

#include "model/program/program.h"

namespace superstep {

// Returns the bytes of code per tile that the vertices of these ops take. Each op counts once.
Bytes vertex_code(const VertexSet& kinds);

}  // namespace superstep
