// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/lower/program.h"

namespace superstep {

// Vertex code that a tile holds to run these kinds of vertex.
Bytes vertex_code(const VertexSet& kinds);

}  // namespace superstep
