// SPDX-License-Identifier: Apache-2.0
// What a unit does, as one number.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "model/graph/op_def.h"
#include "model/hash.h"

namespace superstep {

namespace {

using superstep::mix;

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix(hash, text.size());
}

std::uint64_t mix(std::uint64_t hash, const TensorInfo& info) {
  hash = mix(hash, static_cast<std::uint64_t>(info.type));
  for (std::int64_t extent : info.shape) hash = mix(hash, static_cast<std::uint64_t>(extent));
  return mix(hash, info.shape.size());
}

std::uint64_t mix_bits(std::uint64_t hash, std::int64_t v) { return mix(hash, static_cast<std::uint64_t>(v)); }
std::uint64_t mix_bits(std::uint64_t hash, const std::string& v) { return mix(hash, std::string_view(v)); }
std::uint64_t mix_bits(std::uint64_t hash, double v) {
  std::uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return mix(hash, bits);
}
template <class T>
std::uint64_t mix_bits(std::uint64_t hash, const std::vector<T>& values) {
  for (const T& v : values) hash = mix_bits(hash, v);
  return mix(hash, values.size());
}

std::uint64_t mix(std::uint64_t hash, const OpDef& def, const Attributes& attrs) {
  for (const auto& [name, value] : attrs.items()) {
    const auto spec = std::ranges::find(def.attrs, name, &AttrSpec::name);
    if (spec != def.attrs.end() && !spec->of_work) continue;
    hash = std::visit([h = mix(hash, std::string_view(name))](const auto& v) { return mix_bits(h, v); }, value);
  }
  return hash;
}

// Constants count by some of their bytes: enough to tell masks and scalars apart.
std::uint64_t mix(std::uint64_t hash, const Array& array) {
  const std::size_t step = std::max<std::size_t>(1, array.data.size() / 256);
  for (std::size_t i = 0; i < array.data.size(); i += step) hash = mix(hash, static_cast<std::uint64_t>(array.data[i]));
  return hash;
}

}  // namespace

std::uint64_t signature(const Graph& graph, UnitId unit, std::span<const Pass> passes) {
  std::unordered_map<TensorId, std::uint64_t> number;  // tensors in order of first occurrence
  std::uint64_t hash = mix(0x5357u, static_cast<std::uint64_t>(graph.units[unit].role));
  const auto visit = [&](TensorId t) {
    if (!t.valid()) return void(hash = mix(hash, ~0ull));
    const auto [at, fresh] = number.emplace(t, number.size());
    hash = mix(hash, at->second);
    if (!fresh) return;
    const Tensor& tensor = graph.tensors[t];
    hash = mix(mix(hash, static_cast<std::uint64_t>(tensor.kind)), tensor.info);
    if (tensor.kind == TensorKind::constant && tensor.data) hash = mix(hash, *tensor.data);
  };
  for (Pass p : passes) {
    const std::vector<OpId>& ops = graph.units[unit].ops[static_cast<std::size_t>(p)];
    hash = mix(hash, ops.size());
    for (OpId id : ops) {
      const Op& op = graph.ops[id];
      hash = mix(mix(hash, op.def->name), *op.def, op.attrs);
      for (TensorId t : op.inputs) visit(t);
      for (TensorId t : op.outputs) visit(t);
    }
  }
  return hash;
}

}  // namespace superstep
