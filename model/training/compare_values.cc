// SPDX-License-Identifier: Apache-2.0
#include "model/training/compare_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/error.h"

namespace superstep {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double apart = std::abs(a - b);
  return std::isfinite(apart) ? apart : kInfinity;
}

Difference compare(const std::string& name, const Array& found, const Array& expected) {
  SUPERSTEP_CHECK(found.info == expected.info, "type and shape of " + name);
  Difference d;
  if (found.data == expected.data) return d;
  d.identical = false;
  d.worst = name;
  double largest = 0;
  for (std::int64_t i = 0; i < found.info.elements(); ++i) {
    const double value = std::abs(expected.at(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
    d.max_abs = std::max(d.max_abs, distance(found.at(i), expected.at(i)));
  }
  d.max_relative = d.max_abs == 0 ? 0 : largest == 0 ? kInfinity : d.max_abs / largest;
  return d;
}

}  // namespace

void Difference::add(const Difference& other) {
  if (worst.empty() || other.max_relative > max_relative) worst = other.worst;
  identical = identical && other.identical;
  max_abs = std::max(max_abs, other.max_abs);
  max_relative = std::max(max_relative, other.max_relative);
}

Difference compare_values(const NamedValues& found, const NamedValues& expected) {
  SUPERSTEP_CHECK(found.size() == expected.size(), "two runs with different tensors");
  Difference all;
  for (const auto& [name, array] : found) {
    const auto at = expected.find(name);
    SUPERSTEP_CHECK(at != expected.end(), "a tensor of one run only: " + name);
    all.add(compare(name, array, at->second));
  }
  return all;
}

}  // namespace superstep
