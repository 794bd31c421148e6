// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>

#include "model/error.h"
#include "model/numerics/contract.h"

namespace superstep::numerics {

namespace {

template <class Real>
struct Joining {
  const ContractionTree& tree;
  const std::vector<PartialSum<Real>>& sums;  // in order
  std::int64_t count;
  Partials partials;
  Overflow overflow;
  std::vector<PartialSum<Real>> left_over;

  void add(Real* left, const Real* right) const {
    for (std::int64_t i = 0; i < count; ++i) {
      Real sum = left[i] + right[i];
      if constexpr (std::is_same_v<Real, float>) {
        if (partials == Partials::fp16) sum = nearest_half_value(sum, overflow);
      }
      left[i] = sum == sum ? sum : std::numeric_limits<Real>::quiet_NaN();
    }
  }

  // The node's sum if its parts are all there; what parts there are go to left_over otherwise.
  std::optional<PartialSum<Real>> join(StepRange node, std::size_t begin, std::size_t end) {
    if (begin == end) return std::nullopt;
    if (sums[begin].node == node) return sums[begin];
    const auto [left_node, right_node] = tree.halves(node);
    std::size_t middle = begin;
    while (middle < end && sums[middle].node.begin < right_node.begin) ++middle;
    const auto left = join(left_node, begin, middle);
    if (left && middle == end) {
      left_over.push_back(*left);
      return std::nullopt;
    }
    // Kept in order: what is left over of the right comes after the left.
    const std::size_t before = left_over.size();
    const auto right = join(right_node, middle, end);
    if (left && right) {
      add(left->data, right->data);
      return PartialSum<Real>{node, left->data};
    }
    if (left) left_over.insert(left_over.begin() + static_cast<std::ptrdiff_t>(before), *left);
    if (right) left_over.push_back(*right);
    return std::nullopt;
  }
};

}  // namespace

template <class Real>
std::vector<PartialSum<Real>> join_partials(const ContractionTree& tree, std::vector<PartialSum<Real>> sums,
                                            std::int64_t count, Partials partials, Overflow overflow) {
  std::sort(sums.begin(), sums.end(), [](const auto& x, const auto& y) { return x.node.begin < y.node.begin; });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    SUPERSTEP_CHECK(tree.is_node(sums[i].node), "a partial sum is of a node of its tree");
    SUPERSTEP_CHECK(i == 0 || sums[i - 1].node.end <= sums[i].node.begin, "partial sums do not overlap");
  }
  Joining<Real> joining{tree, sums, count, partials, overflow, {}};
  if (const auto whole = joining.join(tree.root(), 0, sums.size())) joining.left_over.push_back(*whole);
  return joining.left_over;
}

template std::vector<PartialSum<float>> join_partials(const ContractionTree&, std::vector<PartialSum<float>>,
                                                      std::int64_t, Partials, Overflow);
template std::vector<PartialSum<double>> join_partials(const ContractionTree&, std::vector<PartialSum<double>>,
                                                       std::int64_t, Partials, Overflow);

}  // namespace superstep::numerics
