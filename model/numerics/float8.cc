// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/float8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace superstep::numerics {

namespace {

constexpr std::uint8_t kSign = 0x80, kNan = 0x7f;

}  // namespace

double from_float8(std::uint8_t bits, const Float8& format) {
  const double sign = (bits & kSign) != 0 ? -1 : 1;
  const int magnitude = bits & ~kSign;
  const int exponent = magnitude >> format.fraction, fraction = magnitude & ((1 << format.fraction) - 1);
  const bool special = format.infinities ? exponent == 2 * format.bias + 1 : magnitude == kNan;
  if (special)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  // Exponent 0: the fraction has no leading one, and the place of exponent 1.
  const int significand = exponent == 0 ? fraction : fraction + (1 << format.fraction);
  return sign * std::ldexp(significand, std::max(exponent, 1) - format.bias - format.fraction);
}

std::uint8_t to_float8(double value, const Float8& format) {
  const std::uint8_t sign = std::signbit(value) ? kSign : 0;
  if (std::isnan(value)) return sign | kNan;
  const double magnitude = std::min(std::abs(value), format.largest);
  const int exponent = magnitude == 0 ? 1 - format.bias : std::max(std::ilogb(magnitude), 1 - format.bias);
  // Counted in last places. A carry into the next exponent is what the sum of the two parts makes of it.
  const auto places = static_cast<int>(std::nearbyint(std::ldexp(magnitude, format.fraction - exponent)));
  return sign | static_cast<std::uint8_t>(places + ((exponent + format.bias - 1) << format.fraction));
}

}  // namespace superstep::numerics
