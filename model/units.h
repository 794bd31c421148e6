// SPDX-License-Identifier: Apache-2.0
// Quantities with a unit. A value adds and compares only with its own kind; every change of unit
// is a named function here, so rounding is decided in one place.
#pragma once

#include <cmath>
#include <compare>
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

// Integer division rounding up; both positive.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
// The least multiple of `grain` that is at least `a`.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t grain) { return ceil_div(a, grain) * grain; }

constexpr Bytes share(Bytes total, std::int64_t parts) { return Bytes(ceil_div(total.value, parts)); }
constexpr Seconds at_clock(Cycles c, Hertz clock) { return Seconds(static_cast<double>(c.value) / clock.value); }
// Rounds up: a started cycle counts.
inline Cycles cycles_in(Seconds s, Hertz clock) {
  return Cycles(static_cast<std::int64_t>(std::ceil(s.value * clock.value - 1e-9)));
}
constexpr Seconds transfer_time(Bytes b, BytesPerSecond rate) {
  return Seconds(static_cast<double>(b.value) / rate.value);
}
// Rounds up: a started cycle counts.
inline Cycles transfer_time(Bytes b, BytesPerCycle rate) {
  return Cycles(static_cast<std::int64_t>(std::ceil(static_cast<double>(b.value) / rate.value - 1e-9)));
}
// A cycle count scaled by a dimensionless factor, to the nearest cycle.
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
