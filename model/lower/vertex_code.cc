// SPDX-License-Identifier: Apache-2.0
#include "model/lower/vertex_code.h"

#include <bit>
#include <cstdint>

#include "model/error.h"
#include "model/ops/op.h"

namespace superstep {

Bytes vertex_code(const VertexSet& kinds) {
  constexpr std::size_t kWord = 64;
  static const VertexSet kLow(UINT64_MAX);
  const auto ops = all_ops();
  SUPERSTEP_CHECK(ops.size() <= kinds.size(), "more ops than a VertexSet holds");
  Bytes total(0);
  for (std::size_t first = 0; first < ops.size(); first += kWord) {
    for (std::uint64_t left = ((kinds >> first) & kLow).to_ullong(); left != 0; left &= left - 1)
      total += ops[first + static_cast<std::size_t>(std::countr_zero(left))]->vertex_code;
  }
  return total;
}

}  // namespace superstep
