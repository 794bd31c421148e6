// SPDX-License-Identifier: Apache-2.0
// Ops outside the core: evaluated as a whole by a function of dense values, never split, costed as all
// bytes moved and one vector slot per element. Their iteration space has no axes.
#pragma once

#include <string_view>
#include <vector>

#include "model/graph/op_def.h"

namespace superstep::ops {

// A whole operand or result, row-major. A left-out operand is empty.
struct Dense {
  Shape shape;
  std::vector<double> values;
  bool given() const { return !shape.empty() || !values.empty(); }
};

Space opaque_space(const OpCall& call);
Cycles opaque_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents);
Dense dense(const ConstView& view);
void store(const Dense& from, const View& to);

// `Function` fills the results, which come with their shapes and zeros.
template <void (*Function)(const OpCall&, std::span<const Dense>, std::span<Dense>)>
void opaque_kernel(const OpCall& call, const Block&, std::span<const ConstView> in, std::span<const View> out,
                   const KernelContext&) {
  std::vector<Dense> operands, results;
  for (const ConstView& view : in) operands.push_back(dense(view));
  for (const TensorInfo& info : call.out) {
    results.push_back({info.shape, std::vector<double>(static_cast<std::size_t>(info.elements()))});
  }
  Function(call, operands, results);
  for (std::size_t i = 0; i < out.size(); ++i) store(results[i], out[i]);
}

template <void (*Function)(const OpCall&, std::span<const Dense>, std::span<Dense>)>
OpDef opaque_op(std::string_view name, int operands, std::vector<AttrSpec> attrs,
                std::vector<TensorInfo> (*infer)(const OpCall&)) {
  OpDef def;
  def.name = name;
  def.attrs = std::move(attrs);
  def.min_inputs = def.max_inputs = operands;
  def.infer = infer;
  def.space = opaque_space;
  def.kernel = opaque_kernel<Function>;
  def.cycles = opaque_cycles;
  def.core = false;
  return def;
}

// Elements before, along and after one dimension: element (outer, i, inner) is at (outer * n + i) * after + inner.
struct Along {
  std::int64_t before = 1, n = 1, after = 1;
  std::size_t at(std::int64_t outer, std::int64_t i, std::int64_t inner) const {
    return static_cast<std::size_t>((outer * n + i) * after + inner);
  }
};
Along along(const Shape& shape, std::size_t axis);

}  // namespace superstep::ops
