// SPDX-License-Identifier: Apache-2.0
#include "model/graph/op_def.h"

#include <algorithm>

#include "model/error.h"

namespace superstep {

std::int64_t volume(const Block& block) {
  std::int64_t product = 1;
  for (const Range& range : block) product *= range.extent();
  return product;
}

Block project(const Projection& projection, const Shape& shape, const Block& block) {
  SUPERSTEP_CHECK(projection.size() == shape.size(), "a projection has one map per dimension");
  Block region(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const DimMap& map = projection[d];
    if (map.axis < 0) {
      region[d] = {0, shape[d]};
      continue;
    }
    const Range& along = block[static_cast<std::size_t>(map.axis)];
    std::int64_t low = along.begin * map.stride + map.offset;
    std::int64_t high = (along.end - 1) * map.stride + map.span + map.offset;
    if (map.window_axis >= 0) {
      const Range& window = block[static_cast<std::size_t>(map.window_axis)];
      low += window.begin * map.dilation;
      high += (window.end - 1) * map.dilation;
    }
    region[d].begin = std::clamp<std::int64_t>(low, 0, shape[d]);
    region[d].end = std::clamp<std::int64_t>(high, region[d].begin, shape[d]);
  }
  return region;
}

// FNV-1a: equal in every plan of the same graph, different for every tensor.
std::uint64_t key_of(std::string_view tensor_name) {
  std::uint64_t key = 0xcbf29ce484222325u;
  for (char c : tensor_name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return key;
}

WeightRole weight_role(const OpDef& def, std::size_t k) {
  if (def.weight_roles.empty()) return def.moves ? WeightRole::passed_on : WeightRole::summand;
  return def.weight_roles[std::min(k, def.weight_roles.size() - 1)];
}

Statistic statistic_of(const Op& op) { return op.def->statistic ? op.def->statistic(op.attrs) : Statistic{}; }

CallOf::CallOf(const Graph& graph, OpId op) : call_{*graph.ops[op].def, graph.ops[op].attrs, {}, {}, {}} {
  const Op& use = graph.ops[op];
  in_.reserve(use.inputs.size());
  out_.reserve(use.outputs.size());
  values_.reserve(use.inputs.size());
  for (TensorId t : use.inputs) {
    in_.push_back(t.valid() ? graph.info(t) : kLeftOut);
    const bool known = t.valid() && graph.tensors[t].kind == TensorKind::constant;
    values_.push_back(known ? graph.tensors[t].data.get() : nullptr);
  }
  for (TensorId t : use.outputs) out_.push_back(graph.info(t));
  call_.in = in_;
  call_.out = out_;
  call_.values = values_;
}

}  // namespace superstep
