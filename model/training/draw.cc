// SPDX-License-Identifier: Apache-2.0
#include "model/training/draw.h"

#include <array>

namespace superstep {

std::uint64_t hash_of(std::string_view text, std::uint64_t start) {
  for (char c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return start;
}

Draw::Draw(std::uint64_t seed, std::string_view tensor, DrawFor purpose)
    : bits_({.seed = seed, .tensor = hash_of(tensor), .site = static_cast<std::uint32_t>(purpose)}) {}

std::int64_t Draw::integer(std::int64_t element, std::int64_t low, std::int64_t count) const {
  const std::uint64_t bits = bits_.at(static_cast<std::uint64_t>(element));
  return low + static_cast<std::int64_t>((bits * static_cast<std::uint64_t>(count)) >> 32);
}

double Draw::bell(std::int64_t element) const {
  constexpr double kRootOfThree = 0x1.bb67ae8584caap+0;  // four numbers of [0, 1) vary by 4 / 12
  std::array<std::uint32_t, 4> four;
  bits_.fill(4 * static_cast<std::uint64_t>(element), four);
  std::uint64_t sum = 0;
  for (std::uint32_t bits : four) sum += bits;
  return (static_cast<double>(sum) * 0x1p-32 - 2) * kRootOfThree;
}

}  // namespace superstep
