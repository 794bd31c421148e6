// SPDX-License-Identifier: Apache-2.0
// Sizes of the code of a tile: of vertices, and of exchanges.
#pragma once

#include <cstdint>
#include <map>

#include "model/graph/graph.h"
#include "model/machine/machine.h"
#include "model/program/program.h"

namespace superstep {

// Returns the bytes of code per tile that the vertices of these ops take. Each op counts once.
Bytes vertex_code(const VertexSet& kinds);

// Returns the bytes of code per tile of an exchange that a tile receives in so many fragments.
Bytes exchange_code(const ExchangeFabric& exchange, std::int64_t fragments);
// Returns the bytes of code of ops in loops, given those of each turn: the turns of a loop share the code of the one
// that has most.
Bytes code_of_loops(const std::map<Turn, Bytes>& of_turns);

}  // namespace superstep
