// SPDX-License-Identifier: Apache-2.0
// The formats of configurations that can be imported: how each is known, and what its keys are in a job.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/configurations/settings.h"

namespace superstep {

struct ConfigurationFormat {
  const char* name;   // "BERT, PopTorch examples"
  const char* files;  // the files that people have
  bool (*is)(const nlohmann::json& keys);
  void (*read)(Settings& settings, Draft& draft);
};

// Returns all formats; the first that knows its keys is taken.
const std::vector<ConfigurationFormat>& configuration_formats();

// One file of formats each.
std::vector<ConfigurationFormat> pytorch_formats();
std::vector<ConfigurationFormat> popxl_formats();
std::vector<ConfigurationFormat> tensorflow_formats();
std::vector<ConfigurationFormat> optimum_formats();
std::vector<ConfigurationFormat> calculon_formats();

// What several formats share.

// Sets a bound on temporary memory: one for all if all are equal, else one for each IPU.
void set_proportions(const std::vector<double>& by_ipu, Draft& draft);
// Sets the layers of each stage. `returns`: the head is on the first IPU again, behind the last one.
void set_layers(const std::vector<std::int64_t>& by_ipu, bool returns, Draft& draft);
// Sets t = 1, everything in the processor but the optimiser's state where `state_outside`, and its shards.
void set_pipeline(bool state_outside, bool shards_state, std::int64_t replicas, Draft& draft);
// Sets numbers of a transformer's zoo entry: layers, hidden, heads, and 4 x hidden as ffn.
void set_transformer(const char* zoo, std::int64_t layers, std::int64_t hidden, std::int64_t heads, Draft& draft);
// Sets batch.global to the product of micro_batch, gradient_accumulation and replicas of the plan.
void set_batch(Draft& draft);

}  // namespace superstep
