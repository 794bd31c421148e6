// SPDX-License-Identifier: Apache-2.0
// The two 8-bit floats of the C600, as types that values are stored in: e4m3fn (largest 448, no infinities) and e5m2
// (largest 57344). Source: Micikevicius et al. 2022 (arXiv 2209.05433), as ONNX has them.
#pragma once

#include <cstdint>

namespace superstep::numerics {

struct Float8 {
  int fraction;  // bits behind the point
  int bias;      // of the exponent
  double largest;
  bool infinities;
};
inline constexpr Float8 kE4m3{3, 7, 448, false};
inline constexpr Float8 kE5m2{2, 15, 57344, true};

// Exact.
double from_float8(std::uint8_t bits, const Float8& format);
// To nearest even. Numbers and infinities beyond the largest become the largest.
std::uint8_t to_float8(double value, const Float8& format);

}  // namespace superstep::numerics
