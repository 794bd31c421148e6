// SPDX-License-Identifier: Apache-2.0
// Calculon (calculon-ai/calculon): a model and an execution, in a file each. Its system file has no equal: a job runs
// on IPUs.
#include <algorithm>

#include "planner/configurations/formats.h"

namespace superstep {
namespace {

using nlohmann::json;

// Transformers of the zoo have 4 x hidden as ffn unless said, and heads x head size = hidden.
void read_calculon(Settings& s, Draft& d) {
  const std::int64_t hidden = s.integer("hidden"), heads = s.integer("attn_heads"),
                     size = s.integer("attn_size", hidden / heads);
  d.job["task"] = s.boolean("training", true) ? "training" : "inference";
  set_transformer("gpt3-175b", s.integer("num_blocks"), hidden, heads, d);
  d.model()["ffn"] = s.integer("feedforward", 4 * hidden);
  d.model()["sequence_length"] = s.integer("seq_size");
  d.model()["positions"] = s.integer("seq_size");
  if (size * heads != hidden) {
    d.lacks("attn_size = " + std::to_string(size) + ": heads of the zoo are hidden / attn_heads wide");
  }
  d.note("vocabulary and head are those of GPT-3: Calculon has blocks alone");
  json& plan = d.plan();
  const std::int64_t replicas = s.integer("data_par", 1);
  plan["tensor_parallel"] = s.integer("tensor_par", 1);
  plan["pipeline_stages"] = s.integer("pipeline_par", 1);
  plan["replicas"] = replicas;
  plan["micro_batch"] = s.integer("microbatch_size");
  const std::int64_t batch = s.integer("batch_size"), each = replicas * plan["micro_batch"].get<std::int64_t>();
  if (batch % each != 0)
    s.fail("batch_size", "found " + std::to_string(batch) + ", expected a multiple of data_par x microbatch_size");
  plan["gradient_accumulation"] = batch / each;
  const std::int64_t procs =
      replicas * plan["tensor_parallel"].get<std::int64_t>() * plan["pipeline_stages"].get<std::int64_t>();
  if (const std::int64_t given = s.integer("num_procs", procs); given != procs)
    s.fail("num_procs",
           "found " + std::to_string(given) + ", but tensor_par x pipeline_par x data_par is " + std::to_string(procs));
  plan["phases"] = 1;
  const auto place = [&](const char* key) { return s.boolean(key, false) ? "streaming" : "in_processor"; };
  plan["location"] = {{"weights", place("weight_offload")}, {"activations", place("activations_offload")}};
  if (d.job["task"] == "training") {
    plan["location"]["optimizer_state"] = place("optimizer_offload");
    plan["replicated_tensor_sharding"]["optimizer_state"] = s.boolean("optimizer_sharding", false) ? replicas : 1;
    const std::string recompute = s.text("activation_recompute", "none");
    if (recompute != "full" && recompute != "attn_only" && recompute != "none")
      s.fail("activation_recompute", "found \"" + recompute + "\", expected full, attn_only or none");
    plan["recompute"] = recompute == "full" ? "layer" : "none";
    if (recompute == "attn_only") {
      d.lacks("activation_recompute = attn_only: a job recomputes whole layers or nothing");
    }
    d.job["optimizer"] = {{"kind", "adam"}};
    plan["schedule"] = "interleaved";  // one forward, one backward
  }
  const bool shares = s.text("tensor_par_comm_type", "ar") != "ar";
  plan["activation_sharding"] = plan["tensor_parallel"] == 1 ? "none" : shares ? "throughout" : "none";
  if (const std::string type = s.text("datatype", "float16"); type == "float32") {
    plan["precision"] = {{"weights", "fp32"}, {"activations", "fp32"}, {"partials", "fp32"}};
  } else if (type != "float16") {
    d.lacks("datatype = " + type + ": fp16 stands for it");
  }
  d.lacks(s, "pipeline_interleaving", "stages that visit an IPU several times", 1);
  d.lacks(s, "attention_type", "heads that share keys and values", "multihead");
  d.lacks(s, "data_par_overlap", "collectives beside the backward pass", false);
  d.lacks(s, "tensor_par_overlap", "collectives beside products", "none");
  d.lacks(s, "seq_par_ag_redo", "gathering once more for the backward pass", false);
  s.skip({"num_procs", "tensor_par_net", "pipeline_par_net", "data_par_net", "fused_activation", "activation_recompute",
          "optimizer_offload", "optimizer_sharding"});
}

}  // namespace

std::vector<ConfigurationFormat> calculon_formats() {
  return {
      {"Calculon", "a model's and an execution's JSON",
       [](const json& k) { return k.contains("num_procs") && k.contains("tensor_par") && k.contains("attn_heads"); },
       read_calculon}};
}

}  // namespace superstep
