// SPDX-License-Identifier: Apache-2.0
// Numbers for inputs and weights, by seed, name and place: whoever asks for a part gets the part of the same whole.
// Nothing but integer arithmetic and one rounding each, so that every computer draws the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/numerics/random_bits.h"

namespace superstep {

enum class DrawFor : std::uint32_t { weights = 1, inputs = 2 };

class Draw {
 public:
  Draw(std::uint64_t seed, std::string_view tensor, DrawFor purpose);

  // An integer of [low, low + count), count in [1, 2^32].
  std::int64_t integer(std::int64_t element, std::int64_t low, std::int64_t count) const;
  // Mean 0, variance 1, between -3.5 and 3.5: the sum of four evenly spread numbers.
  double bell(std::int64_t element) const;

 private:
  numerics::RandomBits bits_;
};

// FNV-1a: equal in every plan, different for every name.
std::uint64_t hash_of(std::string_view text, std::uint64_t start = 0xcbf29ce484222325u);

}  // namespace superstep
