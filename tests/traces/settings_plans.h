// SPDX-License-Identifier: Apache-2.0
// Plans and a job written by hand, for tests of settings and of the rules of software.
#pragma once

#include <nlohmann/json.hpp>

namespace superstep::exports {

using nlohmann::json;

// A BERT of four layers: units 0 embedding, 1 to 12 layers, 13 head. Two stages of two layers, three units each.
inline json plan() {
  return json::parse(R"({
    "tensor_parallel": 1, "pipeline_stages": 2, "replicas": 4, "placement": "t-p-r", "micro_batch": 3,
    "gradient_accumulation": 8, "stages": [0, 7], "stage_ipu": [0, 1], "schedule": "grouped", "recompute": "layer",
    "phases": [0], "phase_order": "phase_outer", "phase_groups": 1,
    "replicated_tensor_sharding": {"weights": 1, "gradients": 1, "optimizer_state": 4, "groups": "consecutive"},
    "activation_sharding": "none",
    "location": {"weights": "in_processor", "gradients": "in_processor", "optimizer_state": "streaming",
                 "activations": "in_processor", "code": "in_processor"},
    "io_tiles": 0, "load": "on_demand", "prefetch_depth": 1,
    "precision": {"weights": "fp16", "activations": "fp16", "partials": "fp16", "accumulators": "fp16",
                  "first_moment": "fp32", "second_moment": "fp32", "master": false},
    "available_memory_proportion": 0.25,
    "serialisation": {"embedding": 0, "head": 0, "attention": 0, "feed_forward": 0}})");
}

inline json job() {
  return json::parse(R"({"model": {"zoo": "bert-base"}, "machine": "ipu-pod16", "task": "training",
                         "optimizer": {"kind": "lamb"}})");
}

// One layer a phase, all of it in Streaming Memory, as PopXL's examples have it.
inline json phased() {
  json p = plan();
  p["pipeline_stages"] = 1;
  p["stages"] = {0, 1, 4, 7, 10, 13};
  p["stage_ipu"] = {0, 0, 0, 0, 0, 0};
  p["phases"] = {0, 1, 2, 3, 4, 5};
  for (const char* what : {"weights", "gradients", "optimizer_state", "activations"}) p["location"][what] = "streaming";
  for (const char* what : {"weights", "gradients", "optimizer_state"}) p["replicated_tensor_sharding"][what] = 4;
  p["io_tiles"] = 64;
  return p;
}

// Returns the object with another value at a JSON pointer.
inline json with(json object, const char* pointer, const json& value) {
  object[json::json_pointer(pointer)] = value;
  return object;
}

}  // namespace superstep::exports
