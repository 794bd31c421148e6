// SPDX-License-Identifier: Apache-2.0
// Quantities with a unit. A value adds to and compares with values of the same unit only. Every change of unit is a
// named function here, so rounding is decided in one place.
#pragma once

#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace superstep {

template <class Tag, class Rep>
struct Quantity {
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, Rep n) { return Quantity(a.value * n); }
  friend constexpr Quantity operator*(Rep n, Quantity a) { return Quantity(a.value * n); }
  // Returns the ratio, without a unit.
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
  }
  constexpr Quantity& operator+=(Quantity b) {
    value += b.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    value -= b.value;
    return *this;
  }
};

using Cycles = Quantity<struct CyclesTag, std::int64_t>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Seconds = Quantity<struct SecondsTag, double>;
using Hertz = Quantity<struct HertzTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using BytesPerCycle = Quantity<struct BytesPerCycleTag, double>;
using Flops = Quantity<struct FlopsTag, double>;  // floating-point operations; a multiply-add is two
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using Watts = Quantity<struct WattsTag, double>;
using Dollars = Quantity<struct DollarsTag, double>;  // US

// Returns a number that is not negative as an index of a container.
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Returns a / b rounded up. `b` must be positive, and `a` at least 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
// Returns the least multiple of `grain` that is at least `a`.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t grain) { return ceil_div(a, grain) * grain; }

// Returns the size of one of `parts` equal parts, rounded up to whole bytes.
constexpr Bytes share(Bytes total, std::int64_t parts) { return Bytes(ceil_div(total.value, parts)); }
constexpr Seconds at_clock(Cycles c, Hertz clock) { return Seconds(static_cast<double>(c.value) / clock.value); }
// Returns the cycles of the clock in `s`, rounded up: a started cycle counts.
inline Cycles cycles_in(Seconds s, Hertz clock) {
  return Cycles(static_cast<std::int64_t>(std::ceil(s.value * clock.value - 1e-9)));
}
constexpr Seconds transfer_time(Bytes b, BytesPerSecond rate) {
  return Seconds(static_cast<double>(b.value) / rate.value);
}
// Returns whole cycles, rounded up: a started cycle counts.
inline Cycles transfer_time(Bytes b, BytesPerCycle rate) {
  return Cycles(static_cast<std::int64_t>(std::ceil(static_cast<double>(b.value) / rate.value - 1e-9)));
}
// Returns a cycle count times a dimensionless factor, rounded to the nearest cycle.
inline Cycles scaled(Cycles c, double factor) {
  return Cycles(static_cast<std::int64_t>(std::llround(static_cast<double>(c.value) * factor)));
}

namespace literals {
constexpr Cycles operator""_cyc(unsigned long long v) { return Cycles(static_cast<std::int64_t>(v)); }
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(static_cast<std::int64_t>(v)); }
constexpr Bytes operator""_KiB(unsigned long long v) { return Bytes(static_cast<std::int64_t>(v) * 1024); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes(static_cast<std::int64_t>(v) * 1024 * 1024); }
}  // namespace literals

}  // namespace superstep
