// SPDX-License-Identifier: Apache-2.0
// The inner loops for any processor: std::fma is the fused operation wherever the machine has none.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "model/numerics/kernel_tables.h"
#include "model/numerics/kernels.h"

namespace superstep::numerics {

namespace {

// A vector of one; the compiler widens what it can.
template <class Scalar>
struct One {
  using Real = Scalar;
  using Vector = Scalar;
  static constexpr int kCount = 1;
  static Vector zero() { return 0; }
  static Vector load(const Real* from) { return *from; }
  static void store(Real* to, Vector value) { *to = value; }
  static Vector broadcast(Real value) { return value; }
  static Vector fma(Vector a, Vector b, Vector sum) { return std::fma(a, b, sum); }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector canonical(Vector value) { return value == value ? value : std::numeric_limits<Real>::quiet_NaN(); }
};
using Floats = One<float>;
using Doubles = One<double>;
constexpr int kTileHeight = 4;
constexpr int kTileVectors = 4;

#include "model/numerics/function_loops.inc"
#include "model/numerics/kernel_loops.inc"

}  // namespace

extern const Kernels kGenericKernels = make_kernels(Isa::generic);

}  // namespace superstep::numerics
