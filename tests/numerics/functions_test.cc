// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "model/numerics/kernels.h"

namespace superstep::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Every 997th float of both signs, and the special ones.
const std::vector<float>& many_floats() {
  static const std::vector<float> floats = [] {
    std::vector<float> all = {0.0f, -0.0f, 1.0f, -1.0f, kInfinity, -kInfinity, std::nanf("")};
    for (std::uint64_t bits = 1; bits < 0x7f800000u; bits += 997) {
      all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      all.push_back(-all.back());
    }
    return all;
  }();
  return floats;
}

// Of a float's last place at `value`, subnormals included.
double last_place(double value) {
  const int exponent = value == 0 ? -126 : std::max(std::ilogb(value), -126);
  return std::ldexp(1.0, exponent - 23);
}

void expect_near(Functions::Map map, double (*expected)(double)) {
  std::vector<float> results(many_floats().size());
  map(many_floats().data(), results.data(), std::ssize(results));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double x = many_floats()[i], truth = expected(x), found = results[i];
    if (std::isnan(truth)) {
      ASSERT_TRUE(std::isnan(found)) << x;
    } else if (std::isinf(found) || std::isinf(truth)) {
      ASSERT_EQ(found, static_cast<float>(truth)) << x;
    } else {
      ASSERT_LE(std::abs(found - truth), 0.51 * last_place(truth)) << x << " gives " << found << ", not " << truth;
    }
  }
}

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double gelu(double x) { return x == -kInfinity ? 0 : x * normal_below(x); }
constexpr double kRoot = 0.79788456080286535588, kCubic = 0.044715;
double gelu_tanh(double x) { return x == -kInfinity ? 0 : x / (1 + std::exp(-2 * kRoot * (x + kCubic * x * x * x))); }

TEST(Functions, AreWithinALittleMoreThanHalfALastPlace) {
  const Functions& f = functions();
  expect_near(f.exp, [](double x) { return std::exp(x); });
  expect_near(f.log, [](double x) { return std::log(x); });
  expect_near(f.tanh, [](double x) { return std::tanh(x); });
  expect_near(f.sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
  expect_near(f.erf, [](double x) { return std::erf(x); });
  expect_near(f.rsqrt, [](double x) { return 1 / std::sqrt(x); });
  expect_near(f.gelu, gelu);
  expect_near(f.gelu_tanh, gelu_tanh);
}

TEST(Functions, SlopesOfGeluAreTheirDerivatives) {
  std::vector<float> x, by, exact, approximate;
  for (float at = -20; at < 20; at += 0.003f) x.push_back(at), by.push_back(3);
  exact.resize(x.size()), approximate.resize(x.size());
  functions().gelu_slope(x.data(), by.data(), exact.data(), std::ssize(x));
  functions().gelu_tanh_slope(x.data(), by.data(), approximate.data(), std::ssize(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i], density = std::exp(-0.5 * at * at) / std::sqrt(2 * std::numbers::pi);
    ASSERT_NEAR(exact[i], 3 * (normal_below(at) + at * density), 4 * 0x1p-24) << at;
    const double t = std::tanh(kRoot * (at + kCubic * at * at * at));
    ASSERT_NEAR(approximate[i], 3 * (0.5 * (1 + t) + 0.5 * at * (1 - t * t) * kRoot * (1 + 3 * kCubic * at * at)),
                4 * 0x1p-24)
        << at;
  }
}

TEST(Functions, OfOneOperationAreThoseOfTheLanguage) {
  const std::vector<float>& x = many_floats();
  std::vector<float> y(x.rbegin(), x.rend()), found(x.size());
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto expect_same = [&](auto of) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float wanted = of(x[i], y[i]);
      ASSERT_TRUE(std::isnan(wanted) ? std::isnan(found[i]) : bits(wanted) == bits(found[i])) << x[i] << " " << y[i];
    }
  };
  for (const Kernels* kernels : available_kernels()) {
    const Functions& f = kernels->functions;
    f.add(x.data(), y.data(), found.data(), std::ssize(x));
    expect_same([](float a, float b) { return a + b; });
    f.subtract(x.data(), y.data(), found.data(), std::ssize(x));
    expect_same([](float a, float b) { return a - b; });
    f.multiply(x.data(), y.data(), found.data(), std::ssize(x));
    expect_same([](float a, float b) { return a * b; });
    f.relu_slope(x.data(), y.data(), found.data(), std::ssize(x));
    expect_same([](float a, float b) { return a > 0 ? b : 0.0f; });
    f.relu(x.data(), found.data(), std::ssize(x));
    expect_same([](float a, float) { return a > 0 || a != a ? a : 0.0f; });
    found = x;
    found[3] = std::bit_cast<float>(0xffc00001u);
    f.quiet_nans(found.data(), std::ssize(x));
    EXPECT_EQ(bits(found[3]), 0x7fc00000u);
    found[3] = x[3];
    expect_same([](float a, float) { return a; });
  }
}

TEST(Functions, HaveTheSameBitsOnEveryInstructionSet) {
  const std::vector<float>& x = many_floats();
  const auto count = std::ssize(x);
  const auto bits_of = [&](const auto& run) {
    std::vector<float> results(x.size());
    run(results.data());
    for (float& result : results) result = result == result ? result : std::nanf("");
    return results;
  };
  const auto same = [&](const std::vector<float>& a, const std::vector<float>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  };
  const Functions& generic = available_kernels().front()->functions;
  for (const Kernels* kernels : available_kernels()) {
    const Functions& f = kernels->functions;
    for (auto map : {&Functions::exp, &Functions::log, &Functions::tanh, &Functions::sigmoid, &Functions::erf,
                     &Functions::rsqrt, &Functions::gelu, &Functions::gelu_tanh}) {
      EXPECT_TRUE(same(bits_of([&](float* to) { (f.*map)(x.data(), to, count); }),
                       bits_of([&](float* to) { (generic.*map)(x.data(), to, count); })))
          << name_of(kernels->isa);
    }
    for (auto map : {&Functions::gelu_slope, &Functions::gelu_tanh_slope}) {
      EXPECT_TRUE(same(bits_of([&](float* to) { (f.*map)(x.data(), x.data(), to, count); }),
                       bits_of([&](float* to) { (generic.*map)(x.data(), x.data(), to, count); })))
          << name_of(kernels->isa);
    }
  }
}

}  // namespace
}  // namespace superstep::numerics
