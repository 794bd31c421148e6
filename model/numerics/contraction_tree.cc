// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/contraction_tree.h"

#include <algorithm>

#include "model/error.h"

namespace superstep::numerics {

ContractionTree::ContractionTree(std::int64_t extent, std::int64_t chunk) : extent_(extent), chunk_(chunk), chunks_(1) {
  SUPERSTEP_CHECK(extent >= 0 && chunk >= 1, "a contraction has an extent and a chunk of at least one step");
  chunks_ = std::max<std::int64_t>(1, (extent + chunk - 1) / chunk);
}

std::int64_t ContractionTree::chunks_of(StepRange node) const {
  return std::max<std::int64_t>(1, (node.extent() + chunk_ - 1) / chunk_);
}

StepRange ContractionTree::without_padding(StepRange range) const {
  if (range.end > extent_ && range.end <= chunks_ * chunk_) range.end = extent_;
  return range;
}

ContractionTree::Halves ContractionTree::halves(StepRange node) const {
  const std::int64_t count = chunks_of(node);
  SUPERSTEP_CHECK(count > 1, "one chunk is not halved");
  const std::int64_t middle = node.begin + (count - count / 2) * chunk_;
  return {{node.begin, middle}, {middle, node.end}};
}

bool ContractionTree::is_node(StepRange range) const {
  range = without_padding(range);
  StepRange node = root();
  while (range != node) {
    if (range.begin < node.begin || range.end > node.end || chunks_of(node) == 1) return false;
    const auto [left, right] = halves(node);
    node = range.begin < right.begin ? left : right;
  }
  return true;
}

namespace {

void collect_nodes(const ContractionTree& tree, StepRange node, StepRange range, std::vector<StepRange>& found) {
  if (range.begin <= node.begin && node.end <= range.end) {
    found.push_back(node);
  } else if (node.begin < range.end && range.begin < node.end) {
    const auto [left, right] = tree.halves(node);
    collect_nodes(tree, left, range, found);
    collect_nodes(tree, right, range, found);
  }
}

void collect_steps(const ContractionTree& tree, StepRange node, std::int64_t largest, std::vector<NodeStep>& found) {
  if (node.extent() <= largest || tree.chunks_of(node) == 1) {
    found.push_back({node, 0});
    return;
  }
  const auto [left, right] = tree.halves(node);
  collect_steps(tree, left, largest, found);
  collect_steps(tree, right, largest, found);
  ++found.back().joins;
}

}  // namespace

std::vector<StepRange> ContractionTree::nodes_of(StepRange range) const {
  range = without_padding(range);
  const auto at_border = [&](std::int64_t step) { return step % chunk_ == 0 || step == extent_; };
  if (range.begin < 0 || range.end > extent_ || !at_border(range.begin) || !at_border(range.end)) return {};
  std::vector<StepRange> found;
  if (range.begin < range.end || range == root()) collect_nodes(*this, root(), range, found);
  return found;
}

std::vector<NodeStep> in_steps(const ContractionTree& tree, StepRange node, std::int64_t largest) {
  std::vector<NodeStep> found;
  collect_steps(tree, node, largest, found);
  return found;
}

}  // namespace superstep::numerics
