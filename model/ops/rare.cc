// SPDX-License-Identifier: Apache-2.0
// Opaque ops of their own kind: determinant, and the counts of n-grams (tf_idf).
#include <algorithm>
#include <cmath>

#include "model/error.h"
#include "model/ops/families.h"
#include "model/ops/opaque.h"

namespace superstep::ops {

namespace {

// determinant(x [..., n, n])

std::vector<TensorInfo> determinant_infer(const OpCall& call) {
  Shape shape = call.in[0].shape;
  if (shape.size() < 2 || shape[shape.size() - 1] != shape[shape.size() - 2]) {
    throw Error("", "determinant of " + to_text(shape) + ", expected square matrices");
  }
  shape.resize(shape.size() - 2);
  return {{call.in[0].type, shape}};
}

// By elimination with row pivots; m is used up.
double determinant_of(std::vector<double>& m, std::size_t n) {
  double product = 1;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r) {
      if (std::abs(m[r * n + c]) > std::abs(m[pivot * n + c])) pivot = r;
    }
    if (m[pivot * n + c] == 0) return 0;
    if (pivot != c) {
      std::swap_ranges(m.begin() + static_cast<std::ptrdiff_t>(c * n),
                       m.begin() + static_cast<std::ptrdiff_t>(c * n + n),
                       m.begin() + static_cast<std::ptrdiff_t>(pivot * n));
      product = -product;
    }
    product *= m[c * n + c];
    for (std::size_t r = c + 1; r < n; ++r) {
      const double factor = m[r * n + c] / m[c * n + c];
      for (std::size_t k = c; k < n; ++k) m[r * n + k] -= factor * m[c * n + k];
    }
  }
  return product;
}

void determinant(const OpCall&, std::span<const Dense> in, std::span<Dense> out) {
  const auto n = static_cast<std::size_t>(in[0].shape.back());
  for (std::size_t i = 0; i < out[0].values.size(); ++i) {
    const auto begin = in[0].values.begin() + static_cast<std::ptrdiff_t>(i * n * n);
    std::vector<double> matrix(begin, begin + static_cast<std::ptrdiff_t>(n * n));
    out[0].values[i] = determinant_of(matrix, n);
  }
}

// tf_idf(x [c] or [n, c]): how often each n-gram of the pool occurs in a row, with up to max_skip elements left
// out between neighbours; as counts (TF), as weights of those that occur (IDF), or both (TFIDF).

std::int64_t columns_of(const OpCall& call) {
  const auto& indexes = call.attrs.integers("indexes");
  return indexes.empty() ? 0 : *std::max_element(indexes.begin(), indexes.end()) + 1;
}

// Where the n-grams of each length begin in the pool, and the end.
std::vector<std::size_t> pool_parts(const OpCall& call) {
  std::vector<std::size_t> begins;
  for (std::int64_t begin : call.attrs.integers("counts")) begins.push_back(static_cast<std::size_t>(begin));
  begins.push_back(call.attrs.integers("pool").size());
  return begins;
}

std::vector<TensorInfo> tf_idf_infer(const OpCall& call) {
  Shape shape = call.in[0].shape;
  if (shape.empty() || shape.size() > 2) throw Error("", "n-grams of " + to_text(shape) + ", expected a list or rows");
  const std::vector<std::size_t> begins = pool_parts(call);
  const auto& weights = std::get<std::vector<double>>(*call.attrs.find("weights"));
  const std::size_t indexes = call.attrs.integers("indexes").size();
  std::size_t grams = 0;
  for (std::size_t n = 1; n < begins.size(); ++n) {
    if (begins[n] < begins[n - 1] || (begins[n] - begins[n - 1]) % n != 0) throw Error("", "parts of the pool");
    grams += (begins[n] - begins[n - 1]) / n;
  }
  const auto& columns = call.attrs.integers("indexes");
  if (call.attrs.integer("min_length") < 1) throw Error("", "n-grams of no element");
  const bool negative = std::any_of(columns.begin(), columns.end(), [](std::int64_t c) { return c < 0; });
  if (grams != indexes || negative || (!weights.empty() && weights.size() != indexes)) {
    throw Error("", std::to_string(indexes) + " places and " + std::to_string(weights.size()) + " weights of " +
                        std::to_string(grams) + " n-grams");
  }
  shape.back() = columns_of(call);
  return {{DType::fp32, shape}};
}

class Grams {
 public:
  explicit Grams(const OpCall& call) : pool_(call.attrs.integers("pool")), begins_(pool_parts(call)) {}

  // Adds the n-grams of length n, `step` apart, to the counts per n-gram.
  void count(std::span<const double> row, std::size_t n, std::size_t step, std::vector<double>& counts) const {
    if (n >= begins_.size()) return;
    std::size_t gram = 0;
    for (std::size_t k = 1; k < n; ++k) gram += (begins_[k] - begins_[k - 1]) / k;
    for (std::size_t at = begins_[n - 1]; at + n <= begins_[n]; at += n, ++gram) {
      for (std::size_t first = 0; first + (n - 1) * step < row.size(); ++first) {
        std::size_t same = 0;
        while (same < n && row[first + same * step] == static_cast<double>(pool_[at + same])) ++same;
        counts[gram] += same == n ? 1 : 0;
      }
    }
  }

 private:
  const std::vector<std::int64_t>& pool_;
  const std::vector<std::size_t> begins_;
};

void tf_idf(const OpCall& call, std::span<const Dense> in, std::span<Dense> out) {
  const Grams grams(call);
  const auto& indexes = call.attrs.integers("indexes");
  const auto& weights = std::get<std::vector<double>>(*call.attrs.find("weights"));
  const std::string& mode = call.attrs.text("mode");
  const auto width = static_cast<std::size_t>(in[0].shape.back()), columns = static_cast<std::size_t>(columns_of(call));
  const std::size_t rows = width == 0 ? 0 : in[0].values.size() / width;
  const std::int64_t skips = std::min(call.attrs.integer("max_skip"), in[0].shape.back());
  const auto longest =
      std::min(call.attrs.integer("max_length"), static_cast<std::int64_t>(call.attrs.integers("counts").size()));
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const double> row = std::span(in[0].values).subspan(r * width, width);
    std::vector<double> counts(indexes.size());
    for (std::int64_t n = call.attrs.integer("min_length"); n <= longest; ++n) {
      for (std::int64_t skip = 0; skip <= (n == 1 ? 0 : skips); ++skip) {
        grams.count(row, static_cast<std::size_t>(n), static_cast<std::size_t>(skip + 1), counts);
      }
    }
    for (std::size_t g = 0; g < counts.size(); ++g) {
      const double weight = weights.empty() ? 1 : weights[g];
      const double value = mode == "TF" ? counts[g] : mode == "IDF" ? (counts[g] > 0 ? weight : 0) : counts[g] * weight;
      out[0].values[r * columns + static_cast<std::size_t>(indexes[g])] += value;
    }
  }
}

}  // namespace

std::vector<const OpDef*> rare_ops() {
  using Integers = std::vector<std::int64_t>;
  static const OpDef defs[] = {opaque_op<determinant>("determinant", 1, {}, determinant_infer),
                               opaque_op<tf_idf>("tf_idf", 1,
                                                 {{"mode", std::string("TF")},
                                                  {"min_length", std::int64_t{1}},
                                                  {"max_length", std::int64_t{1}},
                                                  {"max_skip", std::int64_t{0}},
                                                  {"counts", Integers{}},
                                                  {"indexes", Integers{}},
                                                  {"pool", Integers{}},
                                                  {"weights", std::vector<double>{}}},
                                                 tf_idf_infer)};
  return {&defs[0], &defs[1]};
}

}  // namespace superstep::ops
