// SPDX-License-Identifier: Apache-2.0
// A running hash of numbers, for signatures of work: 64 bits, so that among the thousands of kinds of work of a search
// no two are mistaken for each other.
#pragma once

#include <cstdint>

namespace superstep {

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

}  // namespace superstep
