// SPDX-License-Identifier: Apache-2.0
#include "model/lower/code_size.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "model/error.h"
#include "model/graph/op_def.h"

namespace superstep {
namespace {

// By position in all_ops(), next to each other: searches ask for them often.
using Sizes = std::array<std::int64_t, VertexSet().size()>;
Sizes sizes_of_ops() {
  const auto ops = all_ops();
  Sizes sizes{};
  SUPERSTEP_CHECK(ops.size() <= sizes.size(), "more ops than a VertexSet holds");
  std::ranges::transform(ops, sizes.begin(), [](const OpDef* op) { return op->vertex_code.value; });
  return sizes;
}

}  // namespace

Bytes exchange_code(const ExchangeFabric& exchange, std::int64_t fragments) {
  return exchange.code_per_phase + exchange.code_per_fragment * fragments;
}

Bytes code_of_loops(const std::map<Turn, Bytes>& of_turns) {
  std::map<std::int32_t, Bytes> of_loop;
  for (const auto& [turn, code] : of_turns) of_loop[turn.loop] = std::max(of_loop[turn.loop], code);
  Bytes sum(0);
  for (const auto& [loop, code] : of_loop) sum += code;
  return sum;
}

Bytes vertex_code(const VertexSet& kinds) {
  constexpr std::size_t kWord = 64;
  static const VertexSet kLow(UINT64_MAX);
  static const Sizes kSizes = sizes_of_ops();
  std::int64_t total = 0;
  for (std::size_t first = 0; first < kinds.size(); first += kWord) {
    for (std::uint64_t left = ((kinds >> first) & kLow).to_ullong(); left != 0; left &= left - 1)
      total += kSizes[first + static_cast<std::size_t>(std::countr_zero(left))];
  }
  return Bytes(total);
}

}  // namespace superstep
