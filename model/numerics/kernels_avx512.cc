// SPDX-License-Identifier: Apache-2.0
// The inner loops for processors with AVX-512 (F, BW, DQ, VL).
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
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif

namespace superstep::numerics {

namespace {

struct Floats {
  using Real = float;
  using Vector = __m512;
  static constexpr int kCount = 16;
  [[gnu::always_inline]] static Vector zero() { return _mm512_setzero_ps(); }
  [[gnu::always_inline]] static Vector load(const Real* from) { return _mm512_loadu_ps(from); }
  [[gnu::always_inline]] static void store(Real* to, Vector value) { _mm512_storeu_ps(to, value); }
  [[gnu::always_inline]] static Vector broadcast(Real value) { return _mm512_set1_ps(value); }
  [[gnu::always_inline]] static Vector fma(Vector a, Vector b, Vector sum) { return _mm512_fmadd_ps(a, b, sum); }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  [[gnu::always_inline]] static Vector canonical(Vector value) {
    const Vector nan = broadcast(std::numeric_limits<Real>::quiet_NaN());
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), value, nan);
  }
};

struct Doubles {
  using Real = double;
  using Vector = __m512d;
  static constexpr int kCount = 8;
  [[gnu::always_inline]] static Vector zero() { return _mm512_setzero_pd(); }
  [[gnu::always_inline]] static Vector load(const Real* from) { return _mm512_loadu_pd(from); }
  [[gnu::always_inline]] static void store(Real* to, Vector value) { _mm512_storeu_pd(to, value); }
  [[gnu::always_inline]] static Vector broadcast(Real value) { return _mm512_set1_pd(value); }
  [[gnu::always_inline]] static Vector fma(Vector a, Vector b, Vector sum) { return _mm512_fmadd_pd(a, b, sum); }
  [[gnu::always_inline]] static Vector add(Vector a, Vector b) { return _mm512_add_pd(a, b); }
  [[gnu::always_inline]] static Vector canonical(Vector value) {
    const Vector nan = broadcast(std::numeric_limits<Real>::quiet_NaN());
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q), value, nan);
  }
};

constexpr int kTileHeight = 14;  // 28 of 32 registers are sums
constexpr int kTileVectors = 2;

#include "model/numerics/function_loops.inc"
#include "model/numerics/kernel_loops.inc"

}  // namespace

extern const Kernels kAvx512Kernels = make_kernels(Isa::avx512);

}  // namespace superstep::numerics

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
