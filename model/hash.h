// SPDX-License-Identifier: Apache-2.0
// A running 64-bit hash of numbers, for signatures of work. A search has thousands of kinds of work, so a collision of
// two signatures is practically impossible.
#pragma once

#include <cstdint>

namespace superstep {

// Returns the hash that results from adding `value` to `hash`.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

}  // namespace superstep
