// SPDX-License-Identifier: Apache-2.0
// Models built from a few numbers. A family of networks is a struct of its numbers and one file that has its
// networks, what a job may change, and how the graph is built; zoo.cc lists the families.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/graph/autodiff.h"
#include "model/graph/graph.h"
#include "model/json_reader.h"
#include "model/zoo/network_specs.h"

namespace superstep {

std::vector<std::string> zoo_names();
ZooSpec zoo_spec(const std::string& name);  // throws Error with the nearest name
// The same, and throw Error for a network of another family.
TransformerSpec transformer_spec(const std::string& name);
ResNetSpec resnet_spec(const std::string& name);
EfficientNetSpec efficientnet_spec(const std::string& name);
VitSpec vit_spec(const std::string& name);
ConformerSpec conformer_spec(const std::string& name);
T5Spec t5_spec(const std::string& name);
LlamaSpec llama_spec(const std::string& name);
LstmSpec lstm_spec(const std::string& name);
DeepVoiceSpec deep_voice_spec(const std::string& name);
HmcSpec hmc_spec(const std::string& name);

const std::string& name_of(const ZooSpec& spec);
const std::string& family_of(const ZooSpec& spec);
const std::string& source_of(const ZooSpec& spec);
// The samples that batch norm takes one mean and variance over (0: a micro-batch); null for a family without it.
std::int64_t* statistics_group_of(ZooSpec& spec);
// All that a job may override, by the key of the job, with its value.
nlohmann::json numbers_of(const ZooSpec& spec);
// Reads those keys. Throws Error for the key of another family.
void override_numbers(JsonReader& r, ZooSpec& spec);

// The forward graph for `micro_batch` samples, with loss for training. Weights and activations have type `precision`.
// Units of transformers, also those of images: "embedding", per layer "layerN/attention", "layerN/ffn_up",
// "layerN/ffn_down", then "head"; of image networks: "stem", per residual block "stageS/blockB", which is a layer, then
// "head"; of a Conformer, whose decoder's layers are counted on after the encoder's: "embedding", per layer
// "encoderN/ffn1", "/attention", "/convolution", "/ffn2", "decoderN/attention", "/source", "/ffn", then "head".
Graph build(const ZooSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use = GraphUse::training);

}  // namespace superstep
