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

class Signature {
 public:
  Signature(const Graph& graph, std::uint64_t first) : graph_(graph), hash_(mix(0x5357u, first)) {}

  void add(std::span<const OpId> ops) {
    hash_ = mix(hash_, ops.size());
    for (OpId id : ops) {
      const Op& op = graph_.ops[id];
      hash_ = mix(mix(hash_, op.def->name), *op.def, op.attrs);
      for (TensorId t : op.inputs) visit(t);
      for (TensorId t : op.outputs) visit(t);
    }
  }
  // Which of the ops are in loops, and where turns begin.
  void add_turns(std::span<const OpId> ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Turn turn = graph_.ops[ops[i]].turn;
      if (turn.loop < 0) continue;
      const bool begins = i == 0 || graph_.ops[ops[i - 1]].turn != turn;
      hash_ = mix(mix(hash_, i), begins ? 1 : 0);
    }
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void visit(TensorId t) {
    if (!t.valid()) return void(hash_ = mix(hash_, ~0ull));
    const auto [at, fresh] = number_.emplace(t, number_.size());
    hash_ = mix(hash_, at->second);
    if (!fresh) return;
    const Tensor& tensor = graph_.tensors[t];
    hash_ = mix(mix(hash_, static_cast<std::uint64_t>(tensor.kind)), tensor.info);
    if (tensor.kind == TensorKind::constant && tensor.data) hash_ = mix(hash_, *tensor.data);
  }

  const Graph& graph_;
  std::unordered_map<TensorId, std::uint64_t> number_;  // tensors in order of first occurrence
  std::uint64_t hash_;
};

}  // namespace

std::uint64_t signature(const Graph& graph, UnitId unit, std::span<const Pass> passes) {
  Signature s(graph, static_cast<std::uint64_t>(graph.units[unit].role));
  for (Pass p : passes) {
    s.add(graph.units[unit].ops[static_cast<std::size_t>(p)]);
    s.add_turns(graph.units[unit].ops[static_cast<std::size_t>(p)]);
  }
  return s.hash();
}

std::uint64_t signature(const Graph& graph, std::span<const OpId> ops) {
  Signature s(graph, 0);
  s.add(ops);
  return s.hash();
}

}  // namespace superstep
