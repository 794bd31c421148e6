// SPDX-License-Identifier: Apache-2.0
// Graphcore's PopXL examples (graphcore/examples@3cc8f81): BERT, GPT-3, GPT-J, T5, BLOOM, Llama 2, Dolly. All run in
// phases: the embedding, each layer and the head come in from Streaming Memory one after the other.
#include <algorithm>

#include "planner/configurations/formats.h"

namespace superstep {
namespace {

using nlohmann::json;

// Numbers of the network, and its defaults where the configuration has none (config/config.py of each example).
void read_popxl_model(Settings& s, Draft& d) {
  json& model = d.model();
  const std::int64_t layers = s.integer("model.layers"), hidden = s.integer("model.hidden_size");
  const std::int64_t heads = s.integer("model.attention.heads");
  const bool trains = d.job["task"] == "training";
  const double dropout = s.number("model.dropout_prob", -1);
  const auto set_dropout = [&](double fallback) {
    if (!trains) return;
    model["dropout"] = dropout < 0 ? fallback : dropout;
    model["attention_dropout"] = model["dropout"];
  };
  if (s.text("group", "") == "phased") {
    set_transformer(hidden > 768 ? "bert-large" : "bert-base", layers, hidden, heads, d);
    if (s.has("model.mlm.mask_tokens"))
      model["masked_tokens"] = s.integer("model.mlm.mask_tokens");
    else
      model["head"] = "question_answering";
    set_dropout(0.15);
    model["vocabulary"] = s.integer("model.embedding.vocab_size", 30522);
  } else if (s.has("model.d_ff")) {
    model = {{"zoo", hidden > 2048 ? "t5-xxl" : "t5-xl"}, {"layers", layers}, {"hidden", hidden}, {"heads", heads}};
    model.update({{"head_size", s.integer("model.attention.d_kv", 64)},
                  {"ffn", s.integer("model.d_ff")},
                  {"target_length", s.integer("model.sequence_length")},
                  {"vocabulary", s.integer("model.embedding.vocab_size", 32128)},
                  {"dropout", trains ? std::max(0.0, dropout) : 0}});
    d.note("the example's encoder layers have cross-attention weights too (of zeros), those of the zoo do not");
  } else if (trains && s.has("training.epochs")) {
    set_transformer(hidden > 768 ? "bert-large" : "bert-base", layers, hidden, heads, d);
    model.update(
        {{"head", "classification"}, {"classes", 3}, {"vocabulary", s.integer("model.embedding.vocab_size", 50257)}});
    set_dropout(0.1);
    d.lacks("the network is a GPT with a head of three classes (MNLI): a BERT of its sizes stands for it");
  } else if (s.has("model.intermediate_size")) {
    model = {{"zoo", "llama2-7b"}, {"layers", layers}, {"hidden", hidden}, {"heads", heads}};
    model.update({{"key_value_heads", s.integer("model.attention.kv_heads", heads)},
                  {"head_size", hidden / heads},
                  {"ffn", s.integer("model.intermediate_size")},
                  {"vocabulary", s.integer("model.embedding.vocab_size", 32000)}});
  } else {
    const bool rotary = s.has("model.attention.rotary_dim");
    const bool gpt3 = trains && !rotary;
    set_transformer(gpt3 ? "gpt3-2.7b" : "gptj-6b", layers, hidden, heads, d);
    model["vocabulary"] = s.integer("model.embedding.vocab_size", rotary ? 50400 : 50257);
    if (gpt3) model["positions"] = s.integer("model.embedding.max_positional_length", 1024);
    set_dropout(gpt3 ? 0.1 : 0);
    if (!gpt3 && !rotary)
      d.lacks("the network shares its word table over all IPUs: a GPT-J of its sizes stands for it");
  }
  model["sequence_length"] = s.integer("model.sequence_length");
  s.skip({"model.eps", "model.attention.rotary_dim", "model.attention.rotary_positional_embeddings_base", "model.eval",
          "model.embedding.max_positional_length", "model.dropout_prob"});
}

void read_training(Settings& s, Draft& d, bool squad) {
  json& plan = d.plan();
  const std::int64_t replicas = plan["replicas"], micro_batch = plan["micro_batch"];
  const std::int64_t batch = s.integer("training.global_batch_size", 32);
  if (batch % (replicas * micro_batch) != 0)
    s.fail("training.global_batch_size",
           "found " + std::to_string(batch) + ", expected a multiple of data_parallel x micro_batch_size");
  plan["gradient_accumulation"] = batch / (replicas * micro_batch);
  plan["recompute"] = "stage";
  plan["location"].update({{"gradients", squad ? "in_processor" : "streaming"},
                           {"optimizer_state", "streaming"},
                           {"activations", "streaming"}});
  for (const char* what : {"weights", "gradients", "optimizer_state"})
    plan["replicated_tensor_sharding"][what] = replicas;
  const std::int64_t io_tiles = s.integer("execution.io_tiles", 0, 0);
  plan["io_tiles"] = io_tiles < 32 ? 0 : io_tiles;
  plan["precision"]["first_moment"] = squad ? "fp16" : "fp32";
  d.job["optimizer"] = {{"kind", "adamw"},
                        {"epsilon", 1e-6},
                        {"weight_decay", s.number("training.optimizer.weight_decay", 0.01)},
                        {"bias_correction", !squad},
                        {"clip_norm", squad ? 0 : s.number("training.optimizer.gradient_clipping", 1)}};
  for (const char* beta : {"beta1", "beta2"}) {
    if (s.has(std::string("training.optimizer.") + beta))
      d.job["optimizer"][beta] = s.number(std::string("training.optimizer.") + beta, 0);
  }
  if (s.has("training.optimizer.learning_rate.maximum"))
    d.job["optimizer"]["learning_rate"] = s.number("training.optimizer.learning_rate.maximum", 0);
  d.job["run"]["rounding"] = "stochastic";
  if (const double scale = s.number("execution.loss_scaling", 1); scale != 1) d.job["run"]["loss_scale"] = scale;
  d.note("the optimizer is AdamW with clipping at norm 1, whatever its name: the example always builds it so");
  if (plan["io_tiles"] != 0 && !s.has("model.mlm.mask_tokens"))
    d.note("the example waits for its IO tiles (io_mode \"io\"); here they move activations beside the work");
}

void read_popxl(Settings& s, Draft& d) {
  const bool trains = s.has("training") && !s.boolean("model.eval", false);
  const bool squad = s.text("group", "") == "phased" && !s.has("model.mlm.mask_tokens");
  d.job["task"] = trains ? "training" : "inference";
  read_popxl_model(s, d);
  json& plan = d.plan();
  const std::int64_t t1 = s.integer("execution.tensor_parallel_1", 0), t2 = s.integer("execution.tensor_parallel_2", 1);
  plan["tensor_parallel"] = t1 > 0 ? json{t1, t2} : json(s.integer("execution.tensor_parallel", 1));
  plan["pipeline_stages"] = 1;
  plan["replicas"] = s.integer("execution.data_parallel", 1);
  plan["micro_batch"] = s.integer("execution.micro_batch_size", 1);
  plan["gradient_accumulation"] = 1;
  plan["placement"] = "t-p-r";
  plan["io_tiles"] = 0;
  plan["load"] = "on_demand";
  plan["phase_order"] = trains ? "phase_outer" : "micro_batch_outer";
  plan["location"] = {
      {"weights", "streaming"}, {"activations", trains ? "streaming" : "in_processor"}, {"code", "in_processor"}};
  const bool shares = t1 > 0 || (trains && (s.has("model.d_ff") || s.has("model.attention.rotary_dim")));
  plan["activation_sharding"] = shares && trains ? "stored" : "none";
  plan["precision"] = {{"partials", squad && !trains ? "fp32" : "fp16"}};
  std::vector<double> bounds = s.numbers("execution.available_memory_proportion");
  if (bounds.empty()) bounds = {0.28}, d.note("available_memory_proportion 0.28 is the example's default");
  plan["available_memory_proportion"] = bounds[0];
  if (const std::int64_t parts = s.integer("execution.attention_serialisation", 1); parts > 1)
    plan["serialisation"]["attention"] = parts;
  if (trains)
    read_training(s, d, squad);
  else if (s.integer("execution.io_tiles", 0, 0) > 0)
    d.note("io_tiles of inference set tiles aside that nothing uses; left out");
  d.one_phase_per_layer = true;
  d.note("a phase for the embedding, each layer and the head, as the example's code has it");
  d.lacks(s, "execution.group_quantise_weights", "weights of 4 bits", 0);
  d.lacks(s, "execution.attention_tensor_parallel", "attention over fewer IPUs than the other parts");
  d.lacks(s, "execution.extended_memory", "more Streaming Memory for an IPU", false);
  d.lacks(s, "execution.disable_fc_pass", "keeps no transposed weights", false);
  s.skip({"group", "checkpoint.*", "training.*", "execution.memmap_dir", "execution.loss_scaling", "execution.io_tiles",
          "execution.code_load", "execution.rts_activations", "execution.device_iterations"});
}

}  // namespace

std::vector<ConfigurationFormat> popxl_formats() {
  return {{"BERT, GPT-3, GPT-J, T5, BLOOM, Llama 2 and Dolly, PopXL examples", "config/*.yml",
           [](const json& k) { return k.contains("execution") && k.contains("model") && k["model"].is_object(); },
           read_popxl}};
}

}  // namespace superstep
