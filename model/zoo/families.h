// SPDX-License-Identifier: Apache-2.0
// What every family of networks gives; zoo.cc puts them together.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "model/json_reader.h"
#include "model/zoo/network_specs.h"

namespace superstep::zoo {

// Throws Error for a number of the network `name` that is below 1.
void check_positive(const std::string& name, const char* field, std::int64_t value);

std::vector<TransformerSpec> transformer_specs();
nlohmann::json numbers_of(const TransformerSpec& spec);
void override_numbers(JsonReader& r, TransformerSpec& spec);
Graph build(const TransformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

std::vector<ResNetSpec> resnet_specs();
nlohmann::json numbers_of(const ResNetSpec& spec);
void override_numbers(JsonReader& r, ResNetSpec& spec);
Graph build(const ResNetSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

std::vector<EfficientNetSpec> efficientnet_specs();
nlohmann::json numbers_of(const EfficientNetSpec& spec);
void override_numbers(JsonReader& r, EfficientNetSpec& spec);
Graph build(const EfficientNetSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

std::vector<VitSpec> vit_specs();
nlohmann::json numbers_of(const VitSpec& spec);
void override_numbers(JsonReader& r, VitSpec& spec);
Graph build(const VitSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

// Of a Conformer: what is left after two convolutions of stride 2 is at least one.
inline constexpr std::int64_t kFewestFrames = 7;
std::vector<ConformerSpec> conformer_specs();
nlohmann::json numbers_of(const ConformerSpec& spec);
void override_numbers(JsonReader& r, ConformerSpec& spec);
Graph build(const ConformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

std::vector<T5Spec> t5_specs();
nlohmann::json numbers_of(const T5Spec& spec);
void override_numbers(JsonReader& r, T5Spec& spec);
Graph build(const T5Spec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

std::vector<LlamaSpec> llama_specs();
nlohmann::json numbers_of(const LlamaSpec& spec);
void override_numbers(JsonReader& r, LlamaSpec& spec);
Graph build(const LlamaSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

std::vector<LstmSpec> lstm_specs();
nlohmann::json numbers_of(const LstmSpec& spec);
void override_numbers(JsonReader& r, LstmSpec& spec);
Graph build(const LstmSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

std::vector<DeepVoiceSpec> deep_voice_specs();
nlohmann::json numbers_of(const DeepVoiceSpec& spec);
void override_numbers(JsonReader& r, DeepVoiceSpec& spec);
Graph build(const DeepVoiceSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

std::vector<HmcSpec> hmc_specs();
nlohmann::json numbers_of(const HmcSpec& spec);
void override_numbers(JsonReader& r, HmcSpec& spec);
Graph build(const HmcSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use);

}  // namespace superstep::zoo
