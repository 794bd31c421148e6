// SPDX-License-Identifier: Apache-2.0
#include "model/quantity_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <vector>

#include "model/error.h"

namespace superstep {
namespace {

struct Unit {
  const char* name;
  double scale;  // in the base unit of the quantity
};

constexpr std::array<Unit, 10> kByteUnits{{{"B", 1},
                                           {"kB", 1e3},
                                           {"KB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12},
                                           {"KiB", 1024.0},
                                           {"MiB", 1048576.0},
                                           {"GiB", 1073741824.0},
                                           {"TiB", 1099511627776.0}}};
constexpr std::array<Unit, 2> kCycleUnits{{{"cycles", 1}, {"cycle", 1}}};
constexpr std::array<Unit, 4> kSecondUnits{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
constexpr std::array<Unit, 4> kHertzUnits{{{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}}};
constexpr std::array<Unit, 5> kRateUnits{{{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}};
constexpr std::array<Unit, 1> kPerCycleUnits{{{"B/cycle", 1}}};
constexpr std::array<Unit, 5> kFlopUnits{
    {{"FLOP/s", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"EFLOP/s", 1e18}}};
constexpr std::array<Unit, 1> kDollarUnits{{{"USD", 1}}};
constexpr std::array<Unit, 3> kWattUnits{{{"W", 1}, {"kW", 1e3}, {"MW", 1e6}}};

// Above this, in the base unit, a number is a slip of the pen; it also keeps integers exact.
constexpr double kLargest = 1e18;

[[noreturn]] void refuse(std::string_view text, const std::string& where, const std::string& reason) {
  throw Error(where, "found \"" + std::string(text.substr(0, 40)) + "\", " + reason);
}

std::string expected(std::span<const Unit> units) {
  std::string list = "expected a number and a unit, one of: ";
  for (std::size_t i = 0; i < units.size(); ++i) list += (i == 0 ? "" : ", ") + std::string(units[i].name);
  return list;
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

double scale_of(std::string_view name, std::string_view text, const std::string& where, std::span<const Unit> units) {
  std::vector<std::string> names;
  for (const Unit& unit : units) {
    if (name == unit.name) return unit.scale;
    names.emplace_back(unit.name);
  }
  const std::string nearest = nearest_name(name, names);
  refuse(text, where, expected(units) + (nearest.empty() ? "" : " (did you mean \"" + nearest + "\"?)"));
}

// The value in the base unit.
double parse(std::string_view text, const std::string& where, std::span<const Unit> units) {
  const std::string_view body = without_spaces(text);
  double number = 0;
  const auto [end, status] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (status == std::errc::result_out_of_range) refuse(text, where, "which is out of range");
  if (status != std::errc() || !std::isfinite(number)) refuse(text, where, expected(units));
  const auto used = static_cast<std::size_t>(end - body.data());
  const double scale = scale_of(without_spaces(body.substr(used)), text, where, units);
  if (std::signbit(number)) refuse(text, where, "which is negative");
  if (number * scale > kLargest) refuse(text, where, "which is out of range");
  return number * scale;
}

// Decimal fractions of large units are rarely exact in binary: 0.3 kB is 300 B all the same.
std::int64_t parse_whole(std::string_view text, const std::string& where, std::span<const Unit> units) {
  const double value = parse(text, where, units);
  const double whole = std::round(value);
  if (std::abs(value - whole) > 1e-9 * std::max(1.0, whole)) {
    refuse(text, where, std::string("which is not a whole number of ") + units[0].name);
  }
  return static_cast<std::int64_t>(whole);
}

std::string formatted(const char* format, double value, const char* unit) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return std::string(buffer.data()) + " " + unit;
}

// Picks the largest unit that leaves at least one whole, with `decimals` digits after the point.
std::string scaled_text(double value, std::span<const Unit> ascending, const char* format) {
  const Unit* chosen = &ascending.front();
  for (const Unit& unit : ascending) {
    if (std::abs(value) >= unit.scale * 0.99995) chosen = &unit;
  }
  return formatted(format, value / chosen->scale, chosen->name);
}

// Three significant digits: 1.96 s, 42.0 ms, 420 us.
std::string three_digits(double value, const char* unit) {
  const double size = std::abs(value);
  return formatted(size >= 99.95 ? "%.0f" : size >= 9.995 ? "%.1f" : "%.2f", value, unit);
}

}  // namespace

Bytes parse_bytes(std::string_view text, const std::string& where) {
  return Bytes(parse_whole(text, where, kByteUnits));
}
Cycles parse_cycles(std::string_view text, const std::string& where) {
  return Cycles(parse_whole(text, where, kCycleUnits));
}
Seconds parse_seconds(std::string_view text, const std::string& where) {
  return Seconds(parse(text, where, kSecondUnits));
}
Hertz parse_hertz(std::string_view text, const std::string& where) { return Hertz(parse(text, where, kHertzUnits)); }
BytesPerSecond parse_bytes_per_second(std::string_view text, const std::string& where) {
  return BytesPerSecond(parse(text, where, kRateUnits));
}
BytesPerCycle parse_bytes_per_cycle(std::string_view text, const std::string& where) {
  return BytesPerCycle(parse(text, where, kPerCycleUnits));
}
Watts parse_watts(std::string_view text, const std::string& where) { return Watts(parse(text, where, kWattUnits)); }

Dollars parse_dollars(std::string_view text, const std::string& where) {
  return Dollars(parse(text, where, kDollarUnits));
}

std::string to_text(Bytes b) {
  static constexpr std::array<Unit, 5> kUnits{
      {{"B", 1.0}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}}};
  const Unit* chosen = kUnits.data();
  const auto value = static_cast<double>(b.value);
  for (const Unit& unit : kUnits) {
    if (std::abs(value) >= unit.scale * 0.99995) chosen = &unit;
  }
  const double shown = value / chosen->scale;
  return formatted(shown == std::floor(shown) ? "%.0f" : "%.1f", shown, chosen->name);
}

std::string to_text(Cycles c) {
  return with_thousands(c.value) + (c.value == 1 || c.value == -1 ? " cycle" : " cycles");
}

std::string to_text(Seconds s) {
  const double size = std::abs(s.value);
  if (size == 0) return "0 s";
  if (size >= 0.9995) return three_digits(s.value, "s");
  if (size >= 0.9995e-3) return three_digits(s.value * 1e3, "ms");
  if (size >= 0.9995e-6) return three_digits(s.value * 1e6, "us");
  return three_digits(s.value * 1e9, "ns");
}

std::string to_text(Hertz h) { return scaled_text(h.value, kHertzUnits, "%.4g"); }
std::string to_text(BytesPerSecond r) { return scaled_text(r.value, kRateUnits, "%.1f"); }
std::string to_text(BytesPerCycle r) { return formatted("%g", r.value, "B/cycle"); }
std::string to_text(FlopsPerSecond f) { return scaled_text(f.value, kFlopUnits, "%.5g"); }
std::string to_text(Dollars d) { return with_thousands(std::llround(d.value)) + " USD"; }
std::string to_text(Watts w) { return scaled_text(w.value, kWattUnits, "%.4g"); }

std::string with_thousands(std::int64_t v) {
  std::string digits = std::to_string(v);
  const std::size_t sign = v < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > sign + 3;) digits.insert(i -= 3, ",");
  return digits;
}

}  // namespace superstep
