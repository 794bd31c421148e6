// SPDX-License-Identifier: Apache-2.0
#include "planner/configurations/formats.h"

#include <algorithm>
#include <iterator>

namespace superstep {

using nlohmann::json;

const std::vector<ConfigurationFormat>& configuration_formats() {
  static const std::vector<ConfigurationFormat> all = [] {
    std::vector<ConfigurationFormat> out;
    for (auto&& some :
         {popxl_formats(), calculon_formats(), tensorflow_formats(), pytorch_formats(), optimum_formats()})
      std::ranges::copy(some, std::back_inserter(out));
    return out;
  }();
  return all;
}

void set_proportions(const std::vector<double>& by_ipu, Draft& draft) {
  if (by_ipu.empty()) return;
  const bool alike = std::ranges::all_of(by_ipu, [&](double v) { return v == by_ipu[0]; });
  draft.plan()["available_memory_proportion"] = alike ? json(by_ipu[0]) : json{{"stages", by_ipu}};
}

void set_layers(const std::vector<std::int64_t>& by_ipu, bool returns, Draft& draft) {
  const auto ipus = static_cast<std::int64_t>(by_ipu.size());
  json& plan = draft.plan();
  plan["pipeline_stages"] = ipus;
  if (ipus == 1) return;
  plan["layers_per_stage"] = by_ipu;
  if (!returns) return;
  plan["layers_per_stage"].push_back(0);
  for (std::int64_t i = 0; i <= ipus; ++i) plan["stage_ipu"].push_back(i % ipus);
}

void set_pipeline(bool state_outside, bool shards_state, std::int64_t replicas, Draft& draft) {
  json& plan = draft.plan();
  plan["tensor_parallel"] = 1;
  plan["replicas"] = replicas;
  plan["phases"] = 1;
  plan["location"] = {{"weights", "in_processor"}, {"activations", "in_processor"}};
  if (draft.job.value("task", "") != "training") return;
  plan["location"]["gradients"] = "in_processor";
  plan["location"]["optimizer_state"] = state_outside ? "streaming" : "in_processor";
  plan["replicated_tensor_sharding"] = {
      {"weights", 1}, {"gradients", 1}, {"optimizer_state", shards_state ? replicas : 1}};
}

void set_transformer(const char* zoo, std::int64_t layers, std::int64_t hidden, std::int64_t heads, Draft& draft) {
  draft.model()["zoo"] = zoo;
  draft.model().update({{"layers", layers}, {"hidden", hidden}, {"heads", heads}, {"ffn", 4 * hidden}});
}

void set_batch(Draft& draft) {
  const json& plan = draft.plan();
  draft.job["batch"]["global"] = plan.at("micro_batch").get<std::int64_t>() *
                                 plan.at("gradient_accumulation").get<std::int64_t>() *
                                 plan.at("replicas").get<std::int64_t>();
}

}  // namespace superstep
