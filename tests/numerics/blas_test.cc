// SPDX-License-Identifier: Apache-2.0
// Products by OpenBLAS (a package of the tests) against our own: in every layout that the kernels of ops hand over.
#include "model/numerics/blas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "model/numerics/contract.h"

namespace superstep::numerics {
namespace {

// A layout of rows x columns elements, `batch` times, in an array.
struct Layout {
  std::int64_t row_step, column_step, batch_step, elements;
  std::vector<std::int64_t> row_at, column_at;

  Layout(std::int64_t rows, std::int64_t columns, std::int64_t batch, int kind) {
    const std::int64_t apart = kind / 2 == 1 ? 2 : 1;  // between neighbours
    const bool turned = kind % 2 == 1;
    row_step = turned ? apart : columns * apart + 3;
    column_step = turned ? rows * apart + 3 : apart;
    batch_step = turned ? columns * column_step : rows * row_step;
    elements = batch * batch_step;
    if (kind < 4) return;
    for (std::int64_t i = 0; i < rows; ++i) row_at.push_back(i * row_step);
    for (std::int64_t j = 0; j < columns; ++j) column_at.push_back(j * column_step);
  }
  template <class T>
  Matrix<T> of(T* data, bool result = false) const {
    Matrix<T> m{data, row_step, column_step, batch_step};
    if (!row_at.empty() && !result) m.row_at = row_at.data();
    if (!column_at.empty()) m.column_at = column_at.data();
    return m;
  }
};

template <class T>
std::vector<T> drawn(std::int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, Half>)
      values.push_back(round_to_nearest(normal(random), Overflow::clip));
    else
      values.push_back(static_cast<T>(normal(random)));
  }
  return values;
}

template <class T>
void compare(std::mt19937& random, Team& team) {
  const auto any = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const std::int64_t batch = any(1, 3), rows = any(1, 40), columns = any(1, 300), steps = any(1, 70);
  const int kinds[] = {static_cast<int>(any(0, 5)), static_cast<int>(any(0, 5)), static_cast<int>(any(0, 4))};
  SCOPED_TRACE(std::to_string(batch) + " times " + std::to_string(rows) + " x " + std::to_string(steps) + " x " +
               std::to_string(columns) + ", layouts " + std::to_string(kinds[0]) + std::to_string(kinds[1]) +
               std::to_string(kinds[2]));
  const Layout a_at(rows, steps, batch, kinds[0]), b_at(steps, columns, batch, kinds[1]);
  const Layout c_at(rows, columns, batch, kinds[2]);
  const std::vector<T> a = drawn<T>(a_at.elements, random), b = drawn<T>(b_at.elements, random);
  using Real = SumOf<T>;
  // What is no element of the result stays as it was.
  std::vector<Real> ours(static_cast<std::size_t>(c_at.elements), Real{7}), theirs = ours;
  Product product{batch, rows, columns, ContractionTree(steps, 16)};
  contract<T>(team, product, a_at.of(a.data()), b_at.of(b.data()), c_at.of(ours.data(), true));
  product.blas = &Blas::found();
  contract<T>(team, product, a_at.of(a.data()), b_at.of(b.data()), c_at.of(theirs.data(), true));
  const double tolerance = (std::is_same_v<Real, float> ? 1e-6 : 1e-15) * static_cast<double>(steps);
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], theirs[i], tolerance) << "at " << i;
}

TEST(OpenBlas, MultipliesWhatOurOwnProductsDo) {
  std::mt19937 random(11);
  Team one(1), two(2);
  for (int trial = 0; trial < 300; ++trial) {
    Team& team = trial % 2 == 0 ? one : two;
    compare<float>(random, team);
    compare<double>(random, team);
    compare<Half>(random, team);
    if (HasFatalFailure()) return;
  }
}

// A right operand of more than is copied at a time, in listed places: the windows of a convolution.
TEST(OpenBlas, CopiesLargeOperandsPieceByPiece) {
  std::mt19937 random(12);
  Team team(2);
  const std::int64_t m = 24, n = 3000, k = 2000;
  const std::vector<float> a = drawn<float>(m * k, random), b = drawn<float>(k * n, random);
  std::vector<std::int64_t> row_at, column_at, to;
  for (std::int64_t i = 0; i < k; ++i) row_at.push_back(i * n);
  for (std::int64_t j = 0; j < n; ++j) column_at.push_back(n - 1 - j);
  for (std::int64_t j = 0; j < n; ++j) to.push_back(j < n / 3 ? j : j + 5);
  std::vector<float> ours(static_cast<std::size_t>(m * (n + 5)), 0), theirs = ours;
  Product product{1, m, n, ContractionTree(k)};
  for (std::vector<float>* result : {&ours, &theirs}) {
    product.blas = result == &theirs ? &Blas::found() : nullptr;
    contract<float>(team, product, {a.data(), k}, {b.data(), 0, 0, 0, row_at.data(), column_at.data()},
                    {result->data(), n + 5, 1, 0, nullptr, to.data()});
  }
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_NEAR(ours[i], theirs[i], 1e-3) << "at " << i;
}

// They are summed in an order that is prescribed, which OpenBLAS does not know.
TEST(OpenBlas, LeavesHalfPartialsToOurOwnProducts) {
  std::mt19937 random(13);
  Team team;
  const std::vector<Half> a = drawn<Half>(3 * 700, random), b = drawn<Half>(700 * 5, random);
  Product product{1, 3, 5, ContractionTree(700, 16)};
  product.partials = Partials::fp16;
  std::vector<float> ours(15), theirs(15);
  contract<Half>(team, product, {a.data(), 700}, {b.data(), 5}, {ours.data(), 5});
  product.blas = &Blas::found();
  contract<Half>(team, product, {a.data(), 700}, {b.data(), 5}, {theirs.data(), 5});
  EXPECT_EQ(ours, theirs);
}

}  // namespace
}  // namespace superstep::numerics
