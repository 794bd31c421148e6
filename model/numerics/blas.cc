// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "model/error.h"
#include "model/numerics/pack.h"

namespace superstep::numerics {

namespace {

constexpr const char* kLibrary = "libopenblas.so.0";
constexpr int kRowMajor = 101, kAsStored = 111, kTransposed = 112;  // CBLAS_ORDER and CBLAS_TRANSPOSE
constexpr std::int64_t kPackedBytes = 4 << 20;                      // of right operands that are copied at a time

template <class Function>
Function symbol(void* library, const char* name) {
  void* const at = dlsym(library, name);
  if (at == nullptr) throw std::runtime_error(std::string(kLibrary) + " has no " + name);
  return reinterpret_cast<Function>(at);
}

// Lines of an operand as BLAS takes them: side by side in memory, `lead` elements from one to the next.
template <class Real>
struct Stored {
  const Real* data = nullptr;
  std::int64_t lead = 0;
  int transpose = kAsStored;
};

template <class T>
bool is_listed(const Matrix<const T>& m) {
  return m.row_at != nullptr || m.column_at != nullptr;
}

// Empty data where the operand has to be copied.
template <class T>
Stored<SumOf<T>> as_stored(const Matrix<const T>& m, std::int64_t rows, std::int64_t columns) {
  if constexpr (!std::is_same_v<T, Half>) {
    if (is_listed(m)) return {};
    const bool one_row = rows == 1, one_column = columns == 1;
    if ((m.column_step == 1 || one_column) && (m.row_step >= columns || one_row))
      return {m.data, one_row ? columns : m.row_step, kAsStored};
    if ((m.row_step == 1 || one_row) && (m.column_step >= rows || one_column))
      return {m.data, one_column ? rows : m.column_step, kTransposed};
  }
  return {};
}

template <class T>
Matrix<T> from(Matrix<T> m, std::int64_t row, std::int64_t column) {
  m.row_at ? static_cast<void>(m.row_at += row) : static_cast<void>(m.data += row * m.row_step);
  m.column_at ? static_cast<void>(m.column_at += column) : static_cast<void>(m.data += column * m.column_step);
  return m;
}

template <class T>
Stored<SumOf<T>> copied(const Matrix<const T>& m, std::int64_t rows, std::int64_t columns, SumOf<T>* to) {
  const bool runs =
      m.column_at == nullptr ? m.column_step == 1 : m.column_at[columns - 1] - m.column_at[0] == columns - 1;
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* line = m.data + (m.row_at ? m.row_at[i] : i * m.row_step);
    SumOf<T>* out = to + i * columns;
    if (runs) {
      line += m.column_at ? m.column_at[0] : 0;
      for (std::int64_t j = 0; j < columns; ++j) out[j] = widened(line[j]);
    } else if (m.column_at) {
      for (std::int64_t j = 0; j < columns; ++j) out[j] = widened(line[m.column_at[j]]);
    } else {
      for (std::int64_t j = 0; j < columns; ++j) out[j] = widened(line[j * m.column_step]);
    }
  }
  return {to, columns, kAsStored};
}

// Part i of n of an extent.
StepRange share(std::int64_t extent, int i, int n) { return {extent * i / n, extent * (i + 1) / n}; }

// Rows and columns of one product of the batch, for one member of the team.
template <class T>
class BlasRectangle {
 public:
  using Real = SumOf<T>;

  BlasRectangle(Blas::Gemm<Real> gemm, std::int64_t rows, std::int64_t columns, std::int64_t steps,
                Workspace& workspace)
      : gemm_(gemm), rows_(rows), columns_(columns), steps_(steps) {
    block_ = std::clamp<std::int64_t>(kPackedBytes / static_cast<std::int64_t>(sizeof(Real)) / steps, 64, columns);
    block_ = std::min(block_, columns);
    packed_a_ = workspace.take<Real>(static_cast<std::size_t>(rows * steps + block_ * (steps + rows)));
    packed_b_ = packed_a_ + rows * steps;
    sums_ = packed_b_ + block_ * steps;
  }

  void run(const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<Real>& c) {
    Stored<Real> left = as_stored(a, rows_, steps_);
    if (left.data == nullptr) left = copied(a, rows_, steps_, packed_a_);
    const bool whole = as_stored(b, steps_, columns_).data != nullptr && column_runs(c, columns_);
    const std::int64_t block = whole ? columns_ : block_;
    for (std::int64_t column = 0; column < columns_; column += block) {
      const std::int64_t count = std::min(block, columns_ - column);
      run_block(left, from(b, 0, column), from(c, 0, column), count);
    }
  }

 private:
  Blas::Gemm<Real> gemm_;
  std::int64_t rows_, columns_, steps_, block_;
  Real *packed_a_, *packed_b_, *sums_;

  bool column_runs(const Matrix<Real>& c, std::int64_t count) const {
    if (c.column_at) return c.column_at[count - 1] - c.column_at[0] == count - 1 && (rows_ == 1 || c.row_step >= count);
    return (c.column_step == 1 || count == 1) && (rows_ == 1 || c.row_step >= count);
  }

  void run_block(const Stored<Real>& left, const Matrix<const T>& b, const Matrix<Real>& c, std::int64_t count) {
    Stored<Real> right = as_stored(b, steps_, count);
    if (right.data == nullptr) right = copied(b, steps_, count, packed_b_);
    const bool direct = column_runs(c, count);
    Real* const to = direct ? c.data + (c.column_at ? c.column_at[0] : 0) : sums_;
    const std::int64_t lead = direct && rows_ > 1 ? c.row_step : count;
    const auto n = [](std::int64_t value) { return static_cast<int>(value); };
    gemm_(kRowMajor, left.transpose, right.transpose, n(rows_), n(count), n(steps_), Real{1}, left.data, n(left.lead),
          right.data, n(right.lead), Real{0}, to, n(lead));
    if (direct) return;
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < count; ++j)
        c.data[i * c.row_step + (c.column_at ? c.column_at[j] : j * c.column_step)] = sums_[i * count + j];
  }
};

}  // namespace

Blas::Blas() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // kept as long as the process
  if (library == nullptr) throw std::runtime_error(dlerror());
  multiply_floats_ = symbol<Gemm<float>>(library, "cblas_sgemm");
  multiply_doubles_ = symbol<Gemm<double>>(library, "cblas_dgemm");
  symbol<void (*)(int)>(library, "openblas_set_num_threads")(1);
}

const Blas& Blas::found() {
  static const Blas blas;
  return blas;
}

const Blas* Blas::installed() {
  try {
    return &found();
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

template <class T>
void Blas::multiply(Team& team, const Product& product, Matrix<const T> a, Matrix<const T> b,
                    Matrix<SumOf<T>> c) const {
  using Real = SumOf<T>;
  SUPERSTEP_CHECK(product.partials == Partials::full, "OpenBLAS has no fp16 partials");
  const std::int64_t steps = product.part.extent();
  for (std::int64_t extent : {product.rows, product.columns, steps, a.row_step, a.column_step, b.row_step,
                              b.column_step, c.row_step, c.column_step})
    SUPERSTEP_CHECK(extent <= std::numeric_limits<int>::max(), "OpenBLAS counts in 32 bits");
  Gemm<Real> gemm;
  if constexpr (std::is_same_v<Real, float>)
    gemm = multiply_floats_;
  else
    gemm = multiply_doubles_;
  const int members = team.size();
  const bool by_batch = product.batch >= members, by_rows = !by_batch && product.rows >= product.columns;
  team.run([&](int member, Workspace& workspace) {
    const auto mine = [&](bool cut, std::int64_t extent) {
      return cut ? share(extent, member, members) : StepRange{0, extent};
    };
    const StepRange batch = mine(by_batch, product.batch), rows = mine(by_rows, product.rows);
    const StepRange columns = mine(!by_batch && !by_rows, product.columns);
    if (batch.extent() == 0 || rows.extent() == 0 || columns.extent() == 0) return;
    BlasRectangle<T> rectangle(gemm, rows.extent(), columns.extent(), steps, workspace);
    for (std::int64_t i = batch.begin; i < batch.end; ++i) {
      const auto of = [&](auto m, std::int64_t row, std::int64_t column) {
        m.data += i * m.batch_step;
        return from(m, row, column);
      };
      rectangle.run(of(a, rows.begin, 0), of(b, 0, columns.begin), of(c, rows.begin, columns.begin));
    }
  });
}

template void Blas::multiply(Team&, const Product&, Matrix<const Half>, Matrix<const Half>, Matrix<float>) const;
template void Blas::multiply(Team&, const Product&, Matrix<const float>, Matrix<const float>, Matrix<float>) const;
template void Blas::multiply(Team&, const Product&, Matrix<const double>, Matrix<const double>, Matrix<double>) const;

}  // namespace superstep::numerics
