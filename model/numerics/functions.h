// SPDX-License-Identifier: Apache-2.0
// Functions of floats, in vector code, with the same bits on every instruction set. They are evaluated in double and
// rounded once, so that results are within 0.51 of their last place of the true ones; slopes of gelu, which cross zero,
// within 2^-24 of the largest of their terms. `to` may be `from`.
#pragma once

#include <cstdint>

namespace superstep::numerics {

struct Functions {
  using Map = void (*)(const float* from, float* to, std::int64_t count);
  using MapProducts = void (*)(const float* from, const float* by, float* to, std::int64_t count);
  Map exp, log, tanh, sigmoid, erf;
  Map rsqrt;                                // 1 / sqrt(x)
  Map gelu;                                 // x Phi(x)
  Map gelu_tanh;                            // its approximation by tanh
  MapProducts gelu_slope, gelu_tanh_slope;  // of gelu at `from`, times `by`
};
const Functions& functions();

}  // namespace superstep::numerics
