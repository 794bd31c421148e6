// SPDX-License-Identifier: Apache-2.0
#include "model/ops/opaque.h"

#include "model/ops/kernel.h"
#include "model/ops/vertex.h"

namespace superstep::ops {

Space opaque_space(const OpCall& call) {
  Space s;
  for (const TensorInfo& info : call.in) s.in.emplace_back(info.shape.size());
  for (const TensorInfo& info : call.out) s.out.emplace_back(info.shape.size());
  return s;
}

Cycles opaque_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t>) {
  Cycles all(0);
  for (const auto& side : {call.in, call.out}) {
    for (const TensorInfo& info : side) {
      all = all + copy_loop(costs, 1, info.elements(), info.type) +
            flat_loop(costs, info.elements(), info.type, {0, 1, 1});
    }
  }
  return all;
}

Dense dense(const ConstView& view) {
  Dense d;
  if (!view.data) return d;
  for (const Range& range : view.region) d.shape.push_back(range.extent());
  d.values.resize(static_cast<std::size_t>(volume(view.region)));
  load_row(view.data, view.type, 0, 1, static_cast<std::int64_t>(d.values.size()), d.values.data());
  return d;
}

void store(const Dense& from, const View& to) {
  store_row(to.data, to.type, 0, 1, static_cast<std::int64_t>(from.values.size()), from.values.data());
}

Along along(const Shape& shape, std::size_t axis) {
  Along a;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    (d < axis ? a.before : d == axis ? a.n : a.after) *= shape[d];
  }
  return a;
}

}  // namespace superstep::ops
