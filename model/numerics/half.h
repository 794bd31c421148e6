// SPDX-License-Identifier: Apache-2.0
// fp16 as its 16 bits, and the ways a wider number becomes one: to nearest even or stochastically, with what an
// overflow gives. All functions are exact descriptions of IEEE 754 binary16, without a branch on data, so that loops
// over them become vector code; NaN is always the same NaN.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace superstep::numerics {

struct Half {
  std::uint16_t bits = 0;
  friend bool operator==(Half, Half) = default;  // of bits: +0 and -0 differ
};

// What a finite number beyond the largest half becomes. The IPU clips, or gives NaN where the model asks for it
// ("nanoo"); IEEE 754 gives an infinity. An infinity that comes in is not an overflow and stays one.
enum class Overflow : std::uint8_t { infinity, clip, nan };

inline constexpr std::uint16_t kHalfInfinity = 0x7c00;
inline constexpr std::uint16_t kHalfNan = 0x7e00;
inline constexpr std::uint16_t kHalfMax = 0x7bff;  // 65504
inline constexpr std::uint32_t kFloatInfinity = 0x7f800000;
inline constexpr std::uint32_t kFloatNan = 0x7fc00000;

// Exact. A NaN keeps its payload and becomes quiet, as F16C has it.
constexpr float to_float(Half half) {
  const std::uint32_t magnitude = half.bits & 0x7fffu;
  // The half's exponent and fraction in a float's places stand for 2^-112 of its value, subnormals included.
  std::uint32_t bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
  bits |= magnitude >= kHalfInfinity ? kFloatInfinity : 0u;
  bits |= magnitude > kHalfInfinity ? 0x400000u : 0u;
  return std::bit_cast<float>(bits | ((half.bits & 0x8000u) << 16));
}

namespace detail {

constexpr std::uint32_t overflow_bits(Overflow overflow) {
  return overflow == Overflow::infinity ? kHalfInfinity : overflow == Overflow::clip ? kHalfMax : kHalfNan;
}

// `rounded` is the magnitude's half if it were unbounded; the rest decides overflow, infinities, NaN and the sign.
constexpr Half finish_half(std::uint32_t rounded, std::uint32_t float_bits, Overflow overflow) {
  const std::uint32_t magnitude = float_bits & 0x7fffffffu;
  const std::uint32_t sign = float_bits >> 16 & 0x8000u;
  std::uint32_t bits = rounded >= kHalfInfinity ? overflow_bits(overflow) : rounded;
  bits = magnitude == kFloatInfinity ? kHalfInfinity : bits;
  bits = bits == kHalfNan || magnitude > kFloatInfinity ? kHalfNan : bits | sign;
  return {static_cast<std::uint16_t>(bits)};
}

// The float next to `value` on the side where its last bit is odd, unless it is a float: rounding that to at most 22
// bits gives the same as rounding `value` itself (Boldo, Melquiond 2008).
constexpr float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double error = value - static_cast<double>(nearest);
  if (error == 0 || value != value || nearest == value || bits % 2 == 1) return nearest;
  const bool away_from_zero = (error > 0) == (value > 0);
  return std::bit_cast<float>(bits + (away_from_zero ? 1u : ~0u));
}

}  // namespace detail

constexpr Half round_to_nearest(float value, Overflow overflow) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  // From 2^-14 on: add half of the last place kept, less one where that place is even, and cut.
  const std::uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  // Below: 0.5 has its last place where a half has its smallest, 2^-24, so that the addition rounds.
  const float small = std::bit_cast<float>(std::min(magnitude, 0x38800000u));
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(small + 0.5f) - 0x3f000000u;
  return detail::finish_half(magnitude < 0x38800000u ? subnormal : normal, bits, overflow);
}

constexpr Half round_to_nearest(double value, Overflow overflow) {
  return round_to_nearest(detail::round_to_odd(value), overflow);
}

// Up in magnitude with the probability of the part cut off, which is compared with `random`, 32 uniform bits: exact for
// what has at most 32 bits below the cut, that is every float from 2^-33 on; below, less than 2^-32 is lost. A half
// stays what it is.
constexpr Half round_stochastic(float value, std::uint32_t random, Overflow overflow) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t exponent = std::max(magnitude >> 23, 1u);
  const std::uint64_t significand = (magnitude & 0x7fffffu) | (magnitude >> 23 == 0 ? 0u : 0x800000u);
  // Places cut off: 13, and more below 2^-14, where a half has fewer.
  const std::uint32_t cut = exponent >= 113 ? 13u : std::min(126u - exponent, 63u);
  const std::uint64_t fixed = (significand << 32) >> cut;  // 32 places behind the point
  const auto kept = static_cast<std::uint32_t>((fixed + random) >> 32);
  return detail::finish_half(((std::max(exponent, 113u) - 113u) << 10) + kept, bits, overflow);
}

constexpr Half round_stochastic(double value, std::uint32_t random, Overflow overflow) {
  const auto wide = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<std::int32_t>(wide >> 52 & 0x7ffu) - 1023;
  const std::uint64_t significand = (wide & 0xfffffffffffffu) | (exponent == -1023 ? 0u : 0x10000000000000u);
  const std::int32_t cut = exponent >= -14 ? 42 : std::min(28 - exponent, 95);
  const std::uint64_t fixed = significand >> (cut - 32);
  const auto kept = static_cast<std::uint32_t>((fixed + random) >> 32);
  const std::int32_t above = std::clamp(exponent, -14, 17) + 14;  // 2^17 is an overflow already
  // Only its class and its sign count from here: zero stands for every finite number.
  const std::uint32_t sign = static_cast<std::uint32_t>(wide >> 32) & 0x80000000u;
  const std::uint32_t special = value != value ? kFloatNan : exponent == 1024 ? kFloatInfinity : 0u;
  return detail::finish_half((static_cast<std::uint32_t>(above) << 10) + kept, special | sign, overflow);
}

// The fp16 nearest to `value`, as a float: what fp16 partials hold.
constexpr float nearest_half_value(float value, Overflow overflow) {
  return to_float(round_to_nearest(value, overflow));
}

// Whole arrays, in vector code; `to` is as long as `from`.
void to_floats(std::span<const Half> from, float* to);
void round_to_nearest(std::span<const float> from, Half* to, Overflow overflow);
void round_stochastic(std::span<const float> from, const std::uint32_t* random, Half* to, Overflow overflow);

}  // namespace superstep::numerics
