// SPDX-License-Identifier: Apache-2.0
// Random bits from a counter, not from a state: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011). The bits of an element
// depend on what it is - seed, tensor, rounding site, step, place in the tensor of the whole global batch - and on
// nothing else, so that every plan, however it cuts the tensor, draws the same.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace superstep::numerics {

// Ten rounds; the published vectors are in tests/numerics/random_bits_test.cc.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xd2511f53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9e3779b9u, key[1] + 0xbb67ae85u};
  }
  return counter;
}

// What the bits of a tensor are drawn for; one tensor may be rounded at several places and dropped out at one.
struct RandomSite {
  std::uint64_t seed = 0;
  std::uint64_t tensor = 0;
  std::uint32_t site = 0;
  std::uint64_t step = 0;
  friend bool operator==(const RandomSite&, const RandomSite&) = default;
};

// The bits of one site: 32 for every element. Philox turns (tensor, step) under the seed into a key and half a counter,
// which stay different where they were; the site is mixed into these; the element is the other half of the counter.
class RandomBits {
 public:
  explicit RandomBits(const RandomSite& site);
  std::uint32_t at(std::uint64_t element) const;
  // Those of elements first, first + 1, ...
  void fill(std::uint64_t first, std::span<std::uint32_t> to) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 2> stream_;  // upper half of the counter
};

}  // namespace superstep::numerics
