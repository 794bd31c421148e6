// SPDX-License-Identifier: Apache-2.0
// Products against the definition written down once more: std::fma in the order of k, chunk by chunk, joined by
// recursion.
#include "model/numerics/contract.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "model/error.h"

namespace superstep::numerics {
namespace {

template <class T>
SumOf<T> widen(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return to_float(value);
  else
    return value;
}

// An element of a product by the definition in docs/explanation/numerics.md: chunk counts are halved, the left half has
// the odd one.
template <class Real>
Real sum_of(const std::vector<Real>& a, const std::vector<Real>& b, std::size_t begin, std::size_t end,
            std::size_t chunk, Partials partials) {
  const std::size_t chunks = (end - begin + chunk - 1) / chunk;
  const auto keep = [&](Real value) {
    return partials == Partials::fp16 ? static_cast<Real>(nearest_half_value(static_cast<float>(value), Overflow::clip))
                                      : value;
  };
  if (chunks <= 1) {
    Real sum = 0;
    for (std::size_t k = begin; k < end; ++k) sum = std::fma(a[k], b[k], sum);
    return keep(sum);
  }
  const std::size_t middle = begin + (chunks - chunks / 2) * chunk;
  return keep(sum_of(a, b, begin, middle, chunk, partials) + sum_of(a, b, middle, end, chunk, partials));
}

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

template <class T>
struct Case {
  std::int64_t rows, columns, steps;
  std::vector<T> a, b;  // row-major

  Case(std::int64_t m, std::int64_t n, std::int64_t k, std::mt19937& random) : rows(m), columns(n), steps(k) {
    std::normal_distribution<float> normal;
    const auto draw = [&](std::vector<T>& to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        // Now and then something that is small, a zero or a negative zero.
        float value = normal(random);
        if (random() % 16 == 0) value *= 0x1p-70f;
        if (random() % 16 == 0) value *= 0.0f;
        if constexpr (std::is_same_v<T, Half>)
          to.push_back(round_to_nearest(value, Overflow::clip));
        else
          to.push_back(static_cast<T>(value));
      }
    };
    draw(a, m * k);
    draw(b, k * n);
  }

  std::vector<SumOf<T>> expected(std::int64_t chunk, Partials partials = Partials::full) const {
    std::vector<SumOf<T>> result;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        std::vector<SumOf<T>> x, y;
        for (std::int64_t k = 0; k < steps; ++k) {
          x.push_back(widen(a[static_cast<std::size_t>(i * steps + k)]));
          y.push_back(widen(b[static_cast<std::size_t>(k * columns + j)]));
        }
        result.push_back(sum_of<SumOf<T>>(x, y, 0, x.size(), static_cast<std::size_t>(chunk), partials));
      }
    }
    return result;
  }

  std::vector<SumOf<T>> product(Team& team, Product how, const Kernels& kernels = fastest_kernels()) const {
    std::vector<SumOf<T>> c(static_cast<std::size_t>(rows * columns));
    contract<T>(team, how, {a.data() + how.part.begin, steps}, {b.data() + how.part.begin * columns, columns},
                {c.data(), columns}, kernels);
    return c;
  }
  Product whole(std::int64_t chunk) const { return {1, rows, columns, ContractionTree(steps, chunk)}; }
};

template <class T>
class Contractions : public testing::Test {};
using Types = testing::Types<float, Half, double>;
TYPED_TEST_SUITE(Contractions, Types);

TYPED_TEST(Contractions, EqualTheirDefinitionOnEveryInstructionSetAndTeam) {
  std::mt19937 random(1);
  Team one(1), three(3);
  const std::int64_t sizes[] = {0, 1, 2, 5, 13, 14, 15, 29, 33, 64, 70};
  for (int trial = 0; trial < 60; ++trial) {
    const auto pick = [&] { return sizes[random() % std::size(sizes)]; };
    const std::int64_t steps = trial % 4 == 0 ? static_cast<std::int64_t>(random() % 1200) : pick();
    const Case<TypeParam> c(pick(), pick(), steps, random);
    const std::int64_t chunk = trial % 3 == 0 ? 256 : 1 + static_cast<std::int64_t>(random() % 24);
    const auto expected = c.expected(chunk);
    for (const Kernels* kernels : available_kernels()) {
      ASSERT_TRUE(same_bits(c.product(one, c.whole(chunk), *kernels), expected))
          << name_of(kernels->isa) << " " << c.rows << "x" << c.steps << "x" << c.columns << " chunk " << chunk;
      ASSERT_TRUE(same_bits(c.product(three, c.whole(chunk), *kernels), expected)) << name_of(kernels->isa);
    }
  }
}

// Large enough for every kind of block: of columns, of rows, of rows while sums wait.
TYPED_TEST(Contractions, AreTheSameHoweverTheyAreBlocked) {
  std::mt19937 random(2);
  Team team(2);
  for (const auto& [rows, columns, steps] :
       {std::array<std::int64_t, 3>{3, 2100, 40}, {2100, 40, 530}, {40, 2100, 530}, {300, 600, 400}}) {
    const Case<TypeParam> c(rows, columns, steps, random);
    const auto expected = c.expected(16);
    EXPECT_TRUE(same_bits(c.product(team, c.whole(16)), expected));
  }
}

TYPED_TEST(Contractions, JoinTheSumsOfNodesToTheBitsOfTheWhole) {
  std::mt19937 random(3);
  Team team;
  for (int trial = 0; trial < 40; ++trial) {
    const std::int64_t chunk = 16;
    const Case<TypeParam> c(9, 21, 1 + static_cast<std::int64_t>(random() % 900), random);
    const ContractionTree tree(c.steps, chunk);
    const auto whole = c.product(team, c.whole(chunk));
    // Shards end at borders of chunks drawn at random; each gives the sums of its nodes.
    std::vector<std::vector<SumOf<TypeParam>>> memory;
    std::vector<PartialSum<SumOf<TypeParam>>> sums;
    memory.reserve(static_cast<std::size_t>(tree.chunks()));
    for (std::int64_t at = 0; at < tree.chunks();) {
      const std::int64_t next = std::min(tree.chunks(), at + 1 + static_cast<std::int64_t>(random() % 12));
      for (const StepRange& node : tree.nodes_of({at * chunk, next * chunk})) {
        Product part = c.whole(chunk);
        part.part = node;
        memory.push_back(c.product(team, part));
        sums.push_back({node, memory.back().data()});
      }
      at = next;
    }
    std::shuffle(sums.begin(), sums.end(), random);
    // Some are joined first, as a shard or an instance would.
    const auto some = static_cast<std::ptrdiff_t>(random() % sums.size());
    std::vector<PartialSum<SumOf<TypeParam>>> first(sums.begin(), sums.begin() + some);
    std::vector<PartialSum<SumOf<TypeParam>>> rest(sums.begin() + some, sums.end());
    const std::int64_t count = c.rows * c.columns;
    for (const auto& joined : join_partials(tree, first, count)) rest.push_back(joined);
    const auto joined = join_partials(tree, rest, count);
    ASSERT_EQ(joined.size(), 1u);
    EXPECT_EQ(joined[0].node, tree.root());
    EXPECT_EQ(0, std::memcmp(joined[0].data, whole.data(), whole.size() * sizeof(whole[0])));
  }
}

TEST(Contraction, SummedAsARingDoesHasOtherBits) {
  std::mt19937 random(4);
  Team team;
  const Case<float> c(16, 16, 512, random);
  const auto whole = c.product(team, c.whole(16));
  std::vector<float> ring(whole.size());
  for (std::int64_t shard = 0; shard < 4; ++shard) {
    Product part = c.whole(16);
    part.part = {shard * 128, (shard + 1) * 128};
    const auto sum = c.product(team, part);
    for (std::size_t i = 0; i < ring.size(); ++i) ring[i] += sum[i];
  }
  EXPECT_FALSE(same_bits(ring, whole));
}

TEST(Contraction, JoinsOnlySiblings) {
  const ContractionTree tree(64, 16);
  std::vector<float> data = {1, 2, 4, 8};
  const auto joined = join_partials<float>(tree, {{{48, 64}, &data[3]}, {{16, 32}, &data[1]}, {{32, 48}, &data[2]}}, 1);
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].node, (StepRange{16, 32}));
  EXPECT_EQ(joined[1].node, (StepRange{32, 64}));
  EXPECT_EQ(data, (std::vector<float>{1, 2, 12, 8}));
  EXPECT_THROW(join_partials<float>(tree, {{{0, 8}, &data[0]}}, 1), std::logic_error);
  EXPECT_THROW(join_partials<float>(tree, {{{0, 32}, &data[0]}, {{16, 32}, &data[0]}}, 1), std::logic_error);
}

TEST(Contraction, OfAPartThatIsNoNodeIsRefused) {
  std::mt19937 random(5);
  Team team;
  const Case<float> c(2, 2, 64, random);
  Product part = c.whole(16);
  part.part = {16, 48};
  EXPECT_THROW(c.product(team, part), std::logic_error);
}

TEST(Contraction, RoundsHalfPartialsAtEveryChunkAndJoin) {
  std::mt19937 random(6);
  Team team;
  for (const std::int64_t steps : {5, 64, 700}) {
    const Case<Half> c(15, 35, steps, random);
    for (const std::int64_t chunk : {16, 256}) {
      Product product = c.whole(chunk);
      product.partials = Partials::fp16;
      product.overflow = Overflow::clip;
      const auto expected = c.expected(chunk, Partials::fp16);
      for (const Kernels* kernels : available_kernels())
        EXPECT_TRUE(same_bits(c.product(team, product, *kernels), expected)) << steps << " " << chunk;
    }
  }
}

// Any steps between elements; transposed operands and results; batches, with an operand that repeats.
TEST(Contraction, ReadsAndWritesMatricesInAnyLayout) {
  std::mt19937 random(7);
  Team one(1), two(2);
  const std::int64_t m = 19, n = 37, k = 50;
  const Case<float> c(m, n, k, random);
  const auto expected = c.expected(16);
  std::vector<float> a_turned(c.a.size()), b_apart(2 * c.b.size());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      a_turned[static_cast<std::size_t>(j * m + i)] = c.a[static_cast<std::size_t>(i * k + j)];
  for (std::size_t i = 0; i < c.b.size(); ++i) b_apart[2 * i] = c.b[i];
  for (Team* team : {&one, &two}) {
    for (const std::int64_t batch : {1, 3}) {
      std::vector<float> rows(static_cast<std::size_t>(batch * m * n)), turned(rows);
      const Product product{batch, m, n, ContractionTree(k, 16)};
      contract<float>(*team, product, {a_turned.data(), 1, m, 0}, {b_apart.data(), 2 * n, 2, 0},
                      {rows.data(), n, 1, m * n});
      contract<float>(*team, product, {a_turned.data(), 1, m, 0}, {b_apart.data(), 2 * n, 2, 0},
                      {turned.data(), 1, m, m * n});
      for (std::int64_t at = 0; at < batch * m * n; ++at) {
        const std::int64_t i = at / n % m, j = at % n;
        const float wanted = expected[static_cast<std::size_t>(i * n + j)];
        ASSERT_EQ(rows[static_cast<std::size_t>(at)], wanted);
        ASSERT_EQ(turned[static_cast<std::size_t>(at / (m * n) * m * n + j * m + i)], wanted);
      }
    }
  }
}

// Columns of two samples that are apart, in a result with room between them.
TEST(Contraction, WritesColumnsWhereTheyAreListed) {
  std::mt19937 random(9);
  Team one(1), two(2);
  const std::int64_t m = 19, n = 150, k = 50, gap = 7;
  const Case<float> c(m, n, k, random);
  const auto expected = c.expected(16);
  std::vector<std::int64_t> at;
  for (std::int64_t j = 0; j < n; ++j) at.push_back(j < 77 ? j : j + gap);
  for (Team* team : {&one, &two}) {
    std::vector<float> found(static_cast<std::size_t>(m * (n + gap)), 5);
    contract<float>(*team, c.whole(16), {c.a.data(), k}, {c.b.data(), n},
                    {found.data(), n + gap, 0, 0, nullptr, at.data()});
    for (std::int64_t i = 0; i < m; ++i) {
      const float* row = found.data() + i * (n + gap);
      for (std::int64_t j = 0; j < n; ++j)
        ASSERT_EQ(row[at[static_cast<std::size_t>(j)]], expected[static_cast<std::size_t>(i * n + j)]) << i << " " << j;
      for (std::int64_t j = 77; j < 77 + gap; ++j) ASSERT_EQ(row[j], 5);
    }
  }
}

// A convolution of 3 channels of 9 x 11 by windows of 3 x 3, without copying windows out; and the gradient of its
// weights, which is contracted over positions. Against the same windows copied out.
TYPED_TEST(Contractions, ReadWindowsWhereTheyLie) {
  std::mt19937 random(8);
  Team team(2);
  const std::int64_t channels = 3, high = 7, wide = 9, filters = 5;
  std::vector<std::int64_t> taps, places;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t y = 0; y < 3; ++y)
      for (std::int64_t x = 0; x < 3; ++x) taps.push_back((c * (high + 2) + y) * (wide + 2) + x);
  for (std::int64_t y = 0; y < high; ++y)
    for (std::int64_t x = 0; x < wide; ++x) places.push_back(y * (wide + 2) + x);
  const auto k = std::ssize(taps), n = std::ssize(places);
  const Case<TypeParam> input(1, channels * (high + 2) * (wide + 2), 1, random);
  Case<TypeParam> windows(filters, n, k, random), turned(filters, k, n, random);
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const TypeParam value =
          input.b[static_cast<std::size_t>(taps[static_cast<std::size_t>(i)] + places[static_cast<std::size_t>(j)])];
      windows.b[static_cast<std::size_t>(i * n + j)] = value;
      turned.b[static_cast<std::size_t>(j * k + i)] = value;
    }
  }
  std::vector<SumOf<TypeParam>> y(static_cast<std::size_t>(filters * n)), dw(static_cast<std::size_t>(filters * k));
  const Matrix<const TypeParam> by_tap{input.b.data(), 0, 0, 0, taps.data(), places.data()};
  const Matrix<const TypeParam> by_place{input.b.data(), 0, 0, 0, places.data(), taps.data()};
  contract<TypeParam>(team, windows.whole(16), {windows.a.data(), k}, by_tap, {y.data(), n});
  contract<TypeParam>(team, turned.whole(16), {turned.a.data(), n}, by_place, {dw.data(), k});
  EXPECT_TRUE(same_bits(y, windows.expected(16)));
  EXPECT_TRUE(same_bits(dw, turned.expected(16)));
}

TEST(Contraction, GivesTheOneNanAndKeepsInfinitiesAndSubnormals) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float payload = std::bit_cast<float>(0xffc12345u), tiny = 0x1p-140f;
  for (const Kernels* kernels : available_kernels()) {
    Team team;
    // One column, so that operands are exchanged; then enough columns for whole tiles.
    for (const std::int64_t n : {1, 64}) {
      const std::vector<float> a = {payload, 1, infinity, -1, infinity, 1, tiny, tiny, 0, -0.0f};
      std::vector<float> b(static_cast<std::size_t>(2 * n), 1.0f);
      std::vector<float> c(static_cast<std::size_t>(5 * n));
      contract<float>(team, {1, 5, n, ContractionTree(2, 1)}, {a.data(), 2}, {b.data(), n}, {c.data(), n}, *kernels);
      const auto at = [&](std::int64_t row) {
        return std::bit_cast<std::uint32_t>(c[static_cast<std::size_t>(row * n)]);
      };
      EXPECT_EQ(at(0), kFloatNan);
      EXPECT_EQ(at(1), kFloatInfinity);
      EXPECT_EQ(at(2), kFloatInfinity);
      EXPECT_EQ(at(3), std::bit_cast<std::uint32_t>(2 * tiny));
      EXPECT_EQ(at(4), 0u);
      for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) b[j] = -infinity;
      contract<float>(team, {1, 5, n, ContractionTree(2, 2)}, {a.data(), 2}, {b.data(), n}, {c.data(), n}, *kernels);
      EXPECT_EQ(at(4), kFloatNan);  // zero times infinity
    }
  }
}

}  // namespace
}  // namespace superstep::numerics
