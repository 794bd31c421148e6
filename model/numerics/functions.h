// SPDX-License-Identifier: Apache-2.0
// Functions of floats, in vector code, with the same bits on every instruction set. They are evaluated in double and
// rounded once, so that results are within 0.51 of their last place of the true ones; slopes of gelu, which cross zero,
// within 2^-24 of the largest of their terms. `to` may be `from`.
#pragma once

#include <cstdint>

namespace superstep::numerics {

struct Functions {
  using Map = void (*)(const float* from, float* to, std::int64_t count);
  using MapTwo = void (*)(const float* a, const float* b, float* to, std::int64_t count);
  Map exp, log, tanh, sigmoid, erf;
  Map rsqrt;                           // 1 / sqrt(x)
  Map gelu;                            // x Phi(x)
  Map gelu_tanh;                       // its approximation by tanh
  MapTwo gelu_slope, gelu_tanh_slope;  // of gelu at a, times b
  // Not by way of double: one operation, rounded as IEEE 754 says.
  MapTwo add, subtract, multiply;
  Map relu;                                               // x where it is above zero or NaN, else 0
  MapTwo relu_slope;                                      // b where a is above zero, else 0
  void (*quiet_nans)(float* values, std::int64_t count);  // any NaN becomes the one quiet NaN
};
const Functions& functions();

}  // namespace superstep::numerics
