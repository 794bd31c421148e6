// SPDX-License-Identifier: Apache-2.0
// The inner loops for processors with AVX2 and FMA.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "model/numerics/kernel_tables.h"
#include "model/numerics/kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace superstep::numerics {

namespace {

struct Floats {
  using Real = float;
  using Vector = __m256;
  static constexpr int kCount = 8;
  [[gnu::always_inline]] static Vector zero() { return _mm256_setzero_ps(); }
  [[gnu::always_inline]] static Vector load(const Real* from) { return _mm256_loadu_ps(from); }
  [[gnu::always_inline]] static void store(Real* to, Vector value) { _mm256_storeu_ps(to, value); }
  [[gnu::always_inline]] static Vector broadcast(Real value) { return _mm256_set1_ps(value); }
  [[gnu::always_inline]] static Vector fma(Vector a, Vector b, Vector sum) { return _mm256_fmadd_ps(a, b, sum); }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  [[gnu::always_inline]] static Vector canonical(Vector value) {
    const Vector nan = broadcast(std::numeric_limits<Real>::quiet_NaN());
    return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  }
};

struct Doubles {
  using Real = double;
  using Vector = __m256d;
  static constexpr int kCount = 4;
  [[gnu::always_inline]] static Vector zero() { return _mm256_setzero_pd(); }
  [[gnu::always_inline]] static Vector load(const Real* from) { return _mm256_loadu_pd(from); }
  [[gnu::always_inline]] static void store(Real* to, Vector value) { _mm256_storeu_pd(to, value); }
  [[gnu::always_inline]] static Vector broadcast(Real value) { return _mm256_set1_pd(value); }
  [[gnu::always_inline]] static Vector fma(Vector a, Vector b, Vector sum) { return _mm256_fmadd_pd(a, b, sum); }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
  [[gnu::always_inline]] static Vector canonical(Vector value) {
    const Vector nan = broadcast(std::numeric_limits<Real>::quiet_NaN());
    return _mm256_blendv_pd(value, nan, _mm256_cmp_pd(value, value, _CMP_UNORD_Q));
  }
};

constexpr int kTileHeight = 6;  // 12 of 16 registers are sums
constexpr int kTileVectors = 2;

#include "model/numerics/function_loops.inc"
#include "model/numerics/kernel_loops.inc"

}  // namespace

extern const Kernels kAvx2Kernels = make_kernels(Isa::avx2);

}  // namespace superstep::numerics

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
