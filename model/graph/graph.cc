// SPDX-License-Identifier: Apache-2.0
#include "model/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "model/error.h"
#include "model/hash.h"
#include "model/ops/op.h"

namespace superstep {

const AttrValue* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : items_) {
    if (key == name) return &value;
  }
  return nullptr;
}

namespace {
template <class T>
const T& attribute(const Attributes& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  SUPERSTEP_CHECK(value != nullptr && std::holds_alternative<T>(*value), "attribute " + std::string(name));
  return std::get<T>(*value);
}
}  // namespace

std::int64_t Attributes::integer(std::string_view name) const { return attribute<std::int64_t>(*this, name); }
double Attributes::number(std::string_view name) const { return attribute<double>(*this, name); }
const std::string& Attributes::text(std::string_view name) const { return attribute<std::string>(*this, name); }
const std::vector<std::int64_t>& Attributes::integers(std::string_view name) const {
  return attribute<std::vector<std::int64_t>>(*this, name);
}

void Attributes::set(std::string name, AttrValue value) {
  const auto less = [](const auto& item, const std::string& key) { return item.first < key; };
  auto at = std::lower_bound(items_.begin(), items_.end(), name, less);
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::move(name), std::move(value));
  }
}

std::int64_t Graph::parameters() const {
  std::int64_t total = 0;
  for (const Tensor& t : tensors) total += t.kind == TensorKind::weight ? t.info.elements() : 0;
  return total;
}

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

std::string_view name_of(UnitRole role) {
  static constexpr std::string_view kNames[] = {"other", "embedding", "attention", "feed_forward", "head"};
  return kNames[static_cast<std::size_t>(role)];
}

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

namespace {

void check_unit(const Graph& graph, UnitId unit) {
  for (int pass = 0; pass < 3; ++pass) {
    for (OpId id : graph.units[unit].ops[pass]) {
      const Op& op = graph.ops[id];
      SUPERSTEP_CHECK(op.unit == unit && static_cast<int>(op.pass) == pass,
                      "op " + op.name + " in the list of its unit");
    }
  }
}

void check_op(const Graph& graph, OpId id, const std::vector<bool>& defined) {
  const Op& op = graph.ops[id];
  const auto inputs = static_cast<int>(op.inputs.size());
  SUPERSTEP_CHECK(op.def != nullptr, "op " + op.name + " has a definition");
  SUPERSTEP_CHECK(op.unit.valid(), "op " + op.name + " has a unit");
  SUPERSTEP_CHECK(inputs >= op.def->min_inputs && inputs <= op.def->max_inputs, "operand count of " + op.name);
  for (TensorId t : op.inputs) {
    SUPERSTEP_CHECK(!t.valid() || defined[static_cast<std::size_t>(t.index)], "operands come before " + op.name);
  }
  for (TensorId t : op.outputs)
    SUPERSTEP_CHECK(graph.tensors[t].producer == id, "producer of the result of " + op.name);
  for (const AttrSpec& spec : op.def->attrs) {
    SUPERSTEP_CHECK(op.attrs.find(spec.name), "attribute " + std::string(spec.name) + " of " + op.name);
  }
}

}  // namespace

void check(const Graph& graph) {
  std::vector<bool> defined(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    defined[i] = !tensor.producer.valid();
    SUPERSTEP_CHECK(tensor.kind != TensorKind::constant || tensor.data, "values of constant " + tensor.name);
    SUPERSTEP_CHECK(tensor.kind != TensorKind::weight_gradient || tensor.weight.valid(), "weight of " + tensor.name);
  }
  std::size_t listed = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    check_op(graph, OpId(i), defined);
    for (TensorId t : graph.ops[OpId(i)].outputs) defined[static_cast<std::size_t>(t.index)] = true;
  }
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    check_unit(graph, UnitId(u));
    for (const auto& pass : graph.units[UnitId(u)].ops) listed += pass.size();
  }
  SUPERSTEP_CHECK(listed == graph.ops.size(), "every op is in the list of one unit");
  for (const auto& [before, after] : graph.updates) {
    SUPERSTEP_CHECK(graph.info(before) == graph.info(after),
                    "an update keeps the type of " + graph.tensors[before].name);
  }
}

}  // namespace superstep
