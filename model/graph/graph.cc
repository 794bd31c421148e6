// SPDX-License-Identifier: Apache-2.0
#include "model/graph/graph.h"

#include <algorithm>

#include "model/error.h"

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

std::string_view name_of(UnitRole role) {
  static constexpr std::string_view kNames[] = {"other", "embedding", "attention", "feed_forward", "head"};
  return kNames[static_cast<std::size_t>(role)];
}

}  // namespace superstep
