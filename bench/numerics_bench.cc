// SPDX-License-Identifier: Apache-2.0
// The arithmetic of exact mode: products beside OpenBLAS's in the same run (where it is installed), sums beside plain
// loops, rounding and random bits. bench/run --numerics starts it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "model/numerics/blas.h"
#include "model/numerics/contract.h"
#include "model/numerics/exact_sum.h"
#include "model/numerics/random_bits.h"

namespace {

using namespace superstep::numerics;

std::vector<float> normal_floats(std::int64_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

void set_rate(benchmark::State& state, const char* name, double per_iteration) {
  state.counters[name] = benchmark::Counter(per_iteration * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

// rows, columns, contracted; what they are in BERT-base (batch 4, sequence 128) and ResNet-50.
struct Shape {
  const char* what;
  std::int64_t batch, m, n, k;
  bool b_transposed = false;
};
const Shape kShapes[] = {{"square-1024", 1, 1024, 1024, 1024},    {"bert-qkv", 1, 512, 768, 768},
                         {"bert-up", 1, 512, 3072, 768},          {"bert-down", 1, 512, 768, 3072},
                         {"bert-dx", 1, 512, 768, 3072, true},    {"bert-dw", 1, 768, 3072, 512},
                         {"bert-scores", 48, 128, 128, 64, true}, {"bert-mix", 48, 128, 64, 128},
                         {"resnet-56x56", 1, 64, 3136, 576},      {"resnet-7x7", 1, 512, 49, 4608}};

struct Operands {
  std::vector<float> a, b, c;
  explicit Operands(const Shape& s)
      : a(normal_floats(s.batch * s.m * s.k)),
        b(normal_floats(s.batch * s.k * s.n)),
        c(static_cast<std::size_t>(s.batch * s.m * s.n)) {}
};

void float_product(benchmark::State& state, const Shape& s, std::int64_t chunk, int threads, const Kernels& kernels,
                   const Blas* blas = nullptr) {
  Operands operands(s);
  Team team(threads);
  Product product{s.batch, s.m, s.n, ContractionTree(s.k, chunk)};
  product.blas = blas;
  const Matrix<const float> a{operands.a.data(), s.k, 1, s.m * s.k};
  const Matrix<const float> b = s.b_transposed ? Matrix<const float>{operands.b.data(), 1, s.k, s.k * s.n}
                                               : Matrix<const float>{operands.b.data(), s.n, 1, s.k * s.n};
  for (auto _ : state) contract<float>(team, product, a, b, {operands.c.data(), s.n, 1, s.m * s.n}, kernels);
  set_rate(state, "GFLOP/s", 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k));
}

void half_product(benchmark::State& state, const Shape& s) {
  const Operands operands(s);
  std::vector<Half> a(operands.a.size()), b(operands.b.size());
  round_to_nearest(operands.a, a.data(), Overflow::infinity);
  round_to_nearest(operands.b, b.data(), Overflow::infinity);
  std::vector<float> c(operands.c.size());
  Team team;
  Product product{s.batch, s.m, s.n, ContractionTree(s.k)};
  for (auto _ : state) contract<Half>(team, product, {a.data(), s.k}, {b.data(), s.n}, {c.data(), s.n});
  set_rate(state, "GFLOP/s", 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k));
}

// 3 x 3 windows of 64 channels of 56 x 56, from an input with its padding.
void exact_convolution(benchmark::State& state) {
  const std::int64_t side = 56, channels = 64, padded = side + 2, filters = 64;
  std::vector<std::int64_t> taps, places;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t tap = 0; tap < 9; ++tap) taps.push_back((c * padded + tap / 3) * padded + tap % 3);
  for (std::int64_t place = 0; place < side * side; ++place) places.push_back(place / side * padded + place % side);
  const std::int64_t k = std::ssize(taps), n = std::ssize(places);
  const auto input = normal_floats(channels * padded * padded), weights = normal_floats(filters * k);
  std::vector<float> output(static_cast<std::size_t>(filters * n));
  Team team;
  const Product product{1, filters, n, ContractionTree(k)};
  for (auto _ : state)
    contract<float>(team, product, {weights.data(), k}, {input.data(), 0, 0, 0, taps.data(), places.data()},
                    {output.data(), n});
  set_rate(state, "GFLOP/s", 2.0 * static_cast<double>(filters * n * k));
}
BENCHMARK(exact_convolution);

void exact_sums(benchmark::State& state) {
  const auto values = normal_floats(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(exact_sum(values));
  set_rate(state, "G/s", static_cast<double>(values.size()));
}

// Terms of every exponent, so that each block needs all windows.
void exact_sums_of_any_bits(benchmark::State& state) {
  std::mt19937 random(7);
  std::vector<float> values(static_cast<std::size_t>(state.range(0)));
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xbfffffffu);
  for (auto _ : state) benchmark::DoNotOptimize(exact_sum(values));
  set_rate(state, "G/s", static_cast<double>(values.size()));
}

void exact_sums_of_doubles(benchmark::State& state) {
  const auto floats = normal_floats(state.range(0));
  const std::vector<double> values(floats.begin(), floats.end());
  for (auto _ : state) benchmark::DoNotOptimize(exact_sum(values));
  set_rate(state, "G/s", static_cast<double>(values.size()));
}

void exact_column_sums(benchmark::State& state) {
  const std::int64_t rows = 512, columns = state.range(0);
  const auto values = normal_floats(rows * columns);
  std::vector<ExactSum<float>> sums(static_cast<std::size_t>(columns));
  for (auto _ : state) add_columns(values.data(), rows, columns, columns, sums.data());
  set_rate(state, "G/s", static_cast<double>(values.size()));
}

// One after another, as a loop of the language says.
void plain_sums(benchmark::State& state) {
  const auto values = normal_floats(state.range(0));
  for (auto _ : state) {
    float sum = 0;
    for (float value : values) sum += value;
    benchmark::DoNotOptimize(sum);
  }
  set_rate(state, "G/s", static_cast<double>(values.size()));
}

void halves_nearest(benchmark::State& state) {
  const auto values = normal_floats(state.range(0));
  std::vector<Half> halves(values.size());
  for (auto _ : state) {
    round_to_nearest(values, halves.data(), Overflow::clip);
    benchmark::ClobberMemory();
  }
  set_rate(state, "G/s", static_cast<double>(values.size()));
}

void halves_stochastic(benchmark::State& state) {
  const auto values = normal_floats(state.range(0));
  std::vector<Half> halves(values.size());
  std::vector<std::uint32_t> random(values.size());
  RandomBits(RandomSite{}).fill(0, random);
  for (auto _ : state) {
    round_stochastic(values, random.data(), halves.data(), Overflow::clip);
    benchmark::ClobberMemory();
  }
  set_rate(state, "G/s", static_cast<double>(values.size()));
}

void floats_of_halves(benchmark::State& state) {
  const auto values = normal_floats(state.range(0));
  std::vector<Half> halves(values.size());
  round_to_nearest(values, halves.data(), Overflow::clip);
  std::vector<float> back(values.size());
  for (auto _ : state) {
    to_floats(halves, back.data());
    benchmark::ClobberMemory();
  }
  set_rate(state, "G/s", static_cast<double>(values.size()));
}

void random_words(benchmark::State& state) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(state.range(0)));
  const RandomBits bits(RandomSite{.seed = 1, .tensor = 2});
  for (auto _ : state) {
    bits.fill(0, words);
    benchmark::ClobberMemory();
  }
  set_rate(state, "G/s", static_cast<double>(words.size()));
}

BENCHMARK(plain_sums)->Arg(1 << 16);
BENCHMARK(exact_sums)->Arg(1 << 16)->Arg(768);
BENCHMARK(exact_sums_of_any_bits)->Arg(1 << 16);
BENCHMARK(exact_sums_of_doubles)->Arg(1 << 16);
BENCHMARK(exact_column_sums)->Arg(768);
BENCHMARK(halves_nearest)->Arg(1 << 14);
BENCHMARK(halves_stochastic)->Arg(1 << 14);
BENCHMARK(floats_of_halves)->Arg(1 << 14);
BENCHMARK(random_words)->Arg(1 << 14);

void register_products() {
  for (const Shape& shape : kShapes) {
    const std::string name = std::string("product/") + shape.what;
    const auto add = [&](const std::string& how, auto run) {
      benchmark::RegisterBenchmark((name + "/" + how).c_str(), run)->UseRealTime();
    };
    add("exact", [&](benchmark::State& s) { float_product(s, shape, 256, 1, fastest_kernels()); });
    if (const Blas* blas = Blas::installed())
      add("openblas", [&, blas](benchmark::State& s) { float_product(s, shape, 256, 1, fastest_kernels(), blas); });
    add("exact-2-threads", [&](benchmark::State& s) { float_product(s, shape, 256, 2, fastest_kernels()); });
  }
  const auto add = [&](const std::string& how, auto run) {
    benchmark::RegisterBenchmark(("product/square-1024/" + how).c_str(), run)->UseRealTime();
  };
  for (std::int64_t chunk : {16, 64, 1024})
    add("chunk-" + std::to_string(chunk),
        [chunk](benchmark::State& s) { float_product(s, kShapes[0], chunk, 1, fastest_kernels()); });
  for (const Kernels* kernels : available_kernels())
    add(name_of(kernels->isa), [kernels](benchmark::State& s) { float_product(s, kShapes[0], 256, 1, *kernels); });
  add("fp16", [](benchmark::State& s) { half_product(s, kShapes[0]); });
}

}  // namespace

int main(int argc, char** argv) {
  register_products();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
