// SPDX-License-Identifier: Apache-2.0
// Matrix products by OpenBLAS instead of our own: for device mode, whose sums have no prescribed order. It is looked
// for when it is first asked for, so that the tool neither needs it to be built nor to run.
#pragma once

#include "model/numerics/matrix.h"
#include "model/numerics/team.h"

namespace superstep::numerics {

class Blas {
 public:
  // The one of this process. Throws std::runtime_error, with the loader's reason, where there is none.
  static const Blas& found();
  static const Blas* installed();  // the same, or null

  // As contract(), in whatever order OpenBLAS sums; fp16 is widened first. Members of the team call it at the same
  // time, so its own threads are off. Not for fp16 partials.
  template <class T>
  void multiply(Team& team, const Product& product, Matrix<const T> a, Matrix<const T> b, Matrix<SumOf<T>> c) const;

  // cblas_?gemm of row-major operands: c = a b, each of which may be the transpose of what is stored.
  template <class Real>
  using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, Real alpha, const Real* a,
                        int lead_a, const Real* b, int lead_b, Real beta, Real* c, int lead_c);

 private:
  Blas();
  Gemm<float> multiply_floats_ = nullptr;
  Gemm<double> multiply_doubles_ = nullptr;
};

}  // namespace superstep::numerics
