// SPDX-License-Identifier: Apache-2.0
// The list of all ops. A new family: its file, a line in families.h, a line here.
#include <algorithm>
#include <string_view>

#include "model/error.h"
#include "model/ops/families.h"

namespace superstep {

namespace {

std::vector<const OpDef*> collect() {
  std::vector<const OpDef*> all;
  for (auto family : {ops::unary_ops, ops::binary_ops, ops::random_ops, ops::reduce_ops, ops::matmul_ops,
                      ops::layout_ops, ops::join_ops, ops::gather_ops, ops::pick_ops, ops::conv_ops, ops::pool_ops,
                      ops::scatter_ops, ops::sample_ops, ops::rare_ops}) {
    for (const OpDef* def : family()) all.push_back(def);
  }
  std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < all.size(); ++i) {
    SUPERSTEP_CHECK(all[i - 1]->name != all[i]->name, "op defined twice: " + std::string(all[i]->name));
  }
  return all;
}

const std::vector<const OpDef*>& registry() {
  static const std::vector<const OpDef*> all = collect();
  return all;
}

}  // namespace

std::span<const OpDef* const> all_ops() { return registry(); }

const OpDef* find_op(std::string_view name) {
  const auto& all = registry();
  const auto at = std::lower_bound(all.begin(), all.end(), name,
                                   [](const OpDef* def, std::string_view wanted) { return def->name < wanted; });
  return at != all.end() && (*at)->name == name ? *at : nullptr;
}

}  // namespace superstep
