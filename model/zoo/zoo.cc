// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/zoo.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/zoo/families.h"

namespace superstep {

namespace {

template <class Spec>
void add(std::vector<ZooSpec>& all, std::vector<Spec> specs) {
  all.insert(all.end(), specs.begin(), specs.end());
}

// The families, in the order of the lists that users see.
const std::vector<ZooSpec>& all_specs() {
  static const std::vector<ZooSpec> all = [] {
    std::vector<ZooSpec> specs;
    add(specs, zoo::transformer_specs());
    add(specs, zoo::resnet_specs());
    add(specs, zoo::efficientnet_specs());
    add(specs, zoo::vit_specs());
    add(specs, zoo::conformer_specs());
    add(specs, zoo::t5_specs());
    add(specs, zoo::llama_specs());
    add(specs, zoo::lstm_specs());
    add(specs, zoo::deep_voice_specs());
    add(specs, zoo::hmc_specs());
    return specs;
  }();
  return all;
}

template <class Spec>
Spec spec_of(const std::string& name, const char* kind) {
  const ZooSpec spec = zoo_spec(name);
  if (const Spec* found = std::get_if<Spec>(&spec)) return *found;
  std::vector<std::string> names;
  for (const ZooSpec& s : all_specs()) {
    if (std::holds_alternative<Spec>(s)) names.push_back(name_of(s));
  }
  throw Error("", "\"" + name + "\" is no " + kind + name_hint("", names));
}

std::string listed_keys(const nlohmann::json& numbers) {
  std::string text;
  for (const auto& [key, value] : numbers.items()) text += (text.empty() ? "" : ", ") + key;
  return text;
}

// A number of another family would be a number that nothing reads.
void refuse_other_families(JsonReader& r, const ZooSpec& spec) {
  const nlohmann::json own = numbers_of(spec);
  for (const ZooSpec& other : all_specs()) {
    const nlohmann::json others = numbers_of(other);
    for (const auto& [key, value] : others.items()) {
      if (own.contains(key) || !r.value().contains(key)) continue;
      throw Error(r.at(key), "found a number of networks such as " + name_of(other) + "; " + name_of(spec) + " has " +
                                 listed_keys(own));
    }
  }
}

}  // namespace

void zoo::check_positive(const std::string& name, const char* field, std::int64_t value) {
  if (value < 1) throw Error(name, std::string(field) + " must be at least 1, found " + std::to_string(value));
}

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const ZooSpec& spec : all_specs()) names.push_back(name_of(spec));
  return names;
}

ZooSpec zoo_spec(const std::string& name) {
  for (const ZooSpec& spec : all_specs()) {
    if (name_of(spec) == name) return spec;
  }
  throw Error("", "unknown model \"" + name + "\"" + name_hint(name, zoo_names()));
}

TransformerSpec transformer_spec(const std::string& name) { return spec_of<TransformerSpec>(name, "transformer"); }
ResNetSpec resnet_spec(const std::string& name) { return spec_of<ResNetSpec>(name, "residual image network"); }
EfficientNetSpec efficientnet_spec(const std::string& name) { return spec_of<EfficientNetSpec>(name, "EfficientNet"); }
VitSpec vit_spec(const std::string& name) { return spec_of<VitSpec>(name, "vision transformer"); }
ConformerSpec conformer_spec(const std::string& name) { return spec_of<ConformerSpec>(name, "Conformer"); }
T5Spec t5_spec(const std::string& name) { return spec_of<T5Spec>(name, "T5"); }
LlamaSpec llama_spec(const std::string& name) { return spec_of<LlamaSpec>(name, "Llama"); }
LstmSpec lstm_spec(const std::string& name) { return spec_of<LstmSpec>(name, "recurrent network"); }
DeepVoiceSpec deep_voice_spec(const std::string& name) { return spec_of<DeepVoiceSpec>(name, "speech network"); }
HmcSpec hmc_spec(const std::string& name) { return spec_of<HmcSpec>(name, "sampler"); }

const std::string& name_of(const ZooSpec& spec) {
  return std::visit([](const auto& s) -> const std::string& { return s.name; }, spec);
}

const std::string& family_of(const ZooSpec& spec) {
  return std::visit([](const auto& s) -> const std::string& { return s.family; }, spec);
}

const std::string& source_of(const ZooSpec& spec) {
  return std::visit([](const auto& s) -> const std::string& { return s.source; }, spec);
}

std::int64_t* statistics_group_of(ZooSpec& spec) {
  return std::visit(
      [](auto& s) -> std::int64_t* {
        if constexpr (requires { s.statistics_group; }) return &s.statistics_group;
        return nullptr;
      },
      spec);
}

nlohmann::json numbers_of(const ZooSpec& spec) {
  return std::visit([](const auto& s) { return zoo::numbers_of(s); }, spec);
}

void override_numbers(JsonReader& r, ZooSpec& spec) {
  refuse_other_families(r, spec);
  std::visit([&](auto& s) { zoo::override_numbers(r, s); }, spec);
}

Graph build(const ZooSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  return std::visit([&](const auto& s) { return zoo::build(s, micro_batch, precision, use); }, spec);
}

}  // namespace superstep
