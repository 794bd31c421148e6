// SPDX-License-Identifier: Apache-2.0
// Hugging Face Optimum Graphcore (huggingface/optimum-graphcore@b8cd6e0): ipu_config.json beside the config.json of a
// model. Arguments of the trainer are given with --set: per_device_train_batch_size and others.
#include <algorithm>

#include "planner/configurations/formats.h"

namespace superstep {
namespace {

using nlohmann::json;

// What of a network decides its place (optimum/graphcore/models).
struct Network {
  bool returns = false;     // the head shares the word table of IPU 0
  bool cuts_head = false;   // embedding_serialization_factor is of the head, else of the lookup
  bool two_stacks = false;  // encoder layers, then decoder layers
};

Network read_network(Settings& s, Draft& d) {
  const std::string type = s.text("model_type", "");
  const std::string head =
      s.text("head", type == "gpt2" || type == "t5" || type == "mt5" ? "language" : "classification");
  json& model = d.model();
  const std::int64_t length = s.integer("sequence_length", 0);
  const auto transformer = [&](const char* zoo, const char* layers, const char* hidden, const char* heads) {
    set_transformer(zoo, s.integer(layers), s.integer(hidden), s.integer(heads), d);
  };
  if (type == "bert" || type == "roberta") {
    transformer(s.integer("hidden_size") > 768 ? "bert-large" : "bert-base", "num_hidden_layers", "hidden_size",
                "num_attention_heads");
    model.update({{"ffn", s.integer("intermediate_size")},
                  {"vocabulary", s.integer("vocab_size")},
                  {"positions", s.integer("max_position_embeddings", 512)},
                  {"sequence_length", length > 0 ? length : 128},
                  {"dropout", s.number("hidden_dropout_prob", 0.1)},
                  {"attention_dropout", s.number("attention_probs_dropout_prob", 0.1)}});
    if (length == 0) d.note("sequences of 128 tokens are assumed; give --set sequence_length=N");
    if (head == "masked_language") {
      model["masked_tokens"] = s.integer("max_num_masked_tokens", 20);
      model["packed"] = false;
      return {true, true, false};
    }
    model["head"] = head;
    if (!s.has("head"))
      d.note("the head is assumed to be " + head +
             "; give --set head=masked_language, question_answering or none for another");
    return {};
  }
  if (type == "gpt2") {
    transformer("gpt2-small", "n_layer", "n_embd", "n_head");
    model.update({{"vocabulary", s.integer("vocab_size")},
                  {"positions", s.integer("n_positions", 1024)},
                  {"sequence_length", length > 0 ? length : s.integer("n_positions", 1024)},
                  {"dropout", s.number("resid_pdrop", 0.1)},
                  {"attention_dropout", s.number("attn_pdrop", 0.1)}});
    // The vocabulary is padded to a multiple of the parts (modeling_gpt2.py:112).
    const std::int64_t parts = std::max<std::int64_t>(1, s.integer("embedding_serialization_factor", 1, 0));
    model["vocabulary"] = (model["vocabulary"].get<std::int64_t>() + parts - 1) / parts * parts;
    return {true, true, false};
  }
  if (type == "vit") {
    transformer(s.integer("hidden_size") > 768 ? "vit-large" : "vit-base", "num_hidden_layers", "hidden_size",
                "num_attention_heads");
    model.update({{"ffn", s.integer("intermediate_size")},
                  {"image_size", s.integer("image_size", 224)},
                  {"patch", s.integer("patch_size", 16)},
                  {"classes", s.integer("num_labels", 1000)},
                  {"dropout", s.number("hidden_dropout_prob", 0)},
                  {"attention_dropout", s.number("attention_probs_dropout_prob", 0)}});
    return {};
  }
  if (type == "t5" || type == "mt5") {
    const bool gated = s.text("feed_forward_proj", "relu").starts_with("gated");
    model = {{"zoo", gated ? "t5-xl" : "t5-small"},
             {"layers", s.integer("num_layers")},
             {"hidden", s.integer("d_model")},
             {"heads", s.integer("num_heads")},
             {"head_size", s.integer("d_kv", 64)},
             {"ffn", s.integer("d_ff")},
             {"vocabulary", s.integer("vocab_size", 32128)},
             {"sequence_length", length > 0 ? length : 512},
             {"target_length", s.integer("target_length", 128)},
             {"dropout", s.number("dropout_rate", 0.1)}};
    if (length == 0)
      d.note("sequences of 512 and 128 tokens are assumed; give --set sequence_length=N and target_length=N");
    d.note("the decoder looks up its tokens on its own IPU here, on IPU 0 in the example");
    return {type == "t5", type == "t5", true};
  }
  s.fail("model_type", "found \"" + type +
                           "\", expected bert, roberta, gpt2, vit, t5 or mt5; the config.json of the model is to be "
                           "given beside ipu_config.json");
}

// "layers_per_ipu", with -1 for what remains, shared evenly; default: evenly over the IPUs.
std::vector<std::int64_t> layers_by_ipu(Settings& s, const std::string& key, std::int64_t ipus, std::int64_t layers) {
  std::vector<std::int64_t> out = s.integers(key, -1);
  if (out.empty() || (out.size() == 1 && out[0] == -1)) out.assign(ipus > 0 ? ipus : 1, -1);
  if (ipus == 1) return {layers};
  std::int64_t rest = layers, open = 0;
  for (const std::int64_t n : out) n < 0 ? ++open : rest -= n;
  for (std::int64_t& n : out) {
    if (n >= 0) continue;
    n = open == 1 ? rest : rest / open;
    rest -= n, --open;
  }
  return out;
}

void read_optimum(Settings& s, Draft& d) {
  const bool trains = s.text("task", "training") == "training";
  d.job["task"] = trains ? "training" : "inference";
  const Network network = read_network(s, d);
  // Inference has keys of its own, and training's where they are absent.
  const auto key = [&](const std::string& name) {
    return !trains && s.has("inference_" + name) ? "inference_" + name : name;
  };
  const std::int64_t layers = d.model()["layers"].get<std::int64_t>() * (network.two_stacks ? 2 : 1);
  const std::vector<std::int64_t> by_ipu =
      layers_by_ipu(s, key("layers_per_ipu"), s.integer(key("ipus_per_replica"), 0), layers);
  if (const std::int64_t ipus = s.integer(key("ipus_per_replica"), std::ssize(by_ipu)); ipus != std::ssize(by_ipu))
    s.fail(key("ipus_per_replica"), "found " + std::to_string(ipus) + ", but " + key("layers_per_ipu") + " has " +
                                        std::to_string(by_ipu.size()) + " IPUs");
  set_layers(by_ipu, network.returns, d);
  json& plan = d.plan();
  std::int64_t replicas = 1;
  if (const json* given = s.find(trains ? "replication_factor" : "inference_replication_factor");
      given != nullptr && given->is_object())
    replicas = given->value("pod16", std::int64_t{1}),
    d.note("replicas are those of a POD16; give --set replication_factor=N for another");
  else
    replicas = s.integer(trains ? "replication_factor" : "inference_replication_factor", 1);
  plan["micro_batch"] = s.integer(trains ? "per_device_train_batch_size" : "per_device_eval_batch_size", 1);
  if (!s.has(trains ? "per_device_train_batch_size" : "per_device_eval_batch_size"))
    d.note(std::string("a micro-batch of 1 is assumed; give --set per_device_") + (trains ? "train" : "eval") +
           "_batch_size=N");
  plan["gradient_accumulation"] = trains ? s.integer("gradient_accumulation_steps", 1) : 1;
  set_pipeline(s.boolean("optimizer_state_offchip", false), s.boolean("replicated_tensor_sharding", false), replicas,
               d);
  std::vector<double> bounds = s.numbers(key("matmul_proportion"));
  if (trains && bounds.size() > 1 && bounds.size() != by_ipu.size())
    s.fail("matmul_proportion", "found " + std::to_string(bounds.size()) + " numbers, expected one, or " +
                                    std::to_string(by_ipu.size()) + " for as many IPUs");
  if (bounds.empty() || (bounds.size() > 1 && bounds.size() != by_ipu.size())) bounds = {0.2};
  set_proportions(bounds, d);
  plan["precision"] = {{"partials", s.boolean("enable_half_partials", true) ? "fp16" : "fp32"}};
  const char* cut = network.cuts_head ? "head" : "embedding";
  if (const std::int64_t parts = s.integer("embedding_serialization_factor", 1, 0); parts > 1)
    plan["serialisation"][cut] = parts;
  if (s.integer("projection_serialization_factor", 1) > 1)
    plan["serialisation"]["head"] = s.integer("projection_serialization_factor");
  if (const std::vector<std::int64_t> splits = s.integers("serialized_embedding_splits_per_ipu"); !splits.empty()) {
    std::int64_t sum = 0;
    for (const std::int64_t n : splits) sum += n;
    plan["serialisation"]["embedding"] = sum;
    if (std::ranges::count_if(splits, [](std::int64_t n) { return n > 0; }) > 1)
      d.lacks("serialized_embedding_splits_per_ipu: the word table is on several IPUs there, on one here");
  }
  if (const std::vector<std::int64_t> splits = s.integers("serialized_projection_splits_per_ipu"); !splits.empty())
    plan["serialisation"]["head"] = std::max<std::int64_t>(1, *std::ranges::max_element(splits));
  if (trains) {
    const bool checkpoints = s.boolean("recompute_checkpoint_every_layer", false);
    plan["recompute"] = by_ipu.size() == 1 ? "none" : checkpoints ? "layer" : "stage";
    plan["schedule"] = by_ipu.size() == 1 ? "sequential" : "grouped";
    plan["precision"]["first_moment"] = "fp16";
    d.job["optimizer"] = {
        {"kind", s.boolean("lamb", false) || s.boolean("lamb_no_bias_correction", false) ? "lamb" : "adamw"},
        {"weight_decay", s.number("weight_decay", 0)},
        {"learning_rate", s.number("learning_rate", 5e-5)}};
    d.job["run"]["rounding"] = "stochastic";
    d.note("the first moment is in fp16, as the trainer has it");
  } else {
    plan["schedule"] = "sequential";
    d.note("IPUs run one after the other in inference: Optimum uses sharded execution");
  }
  d.lacks(s, "auto_loss_scaling", "the histograms of gradients that it keeps take memory", false);
  d.lacks(s, "explicit_ir_inference", "another order of memory", false);
  if (s.integer("device_iterations", 1) > 1)
    d.note("device_iterations is how many steps the host asks for at once; a job is one of them");
  s.skip({"executable_cache_dir",
          "seed",
          "output_mode",
          "optimum_version",
          "transformers_version",
          "inference_*",
          "enable_half_first_order_momentum",
          "profile_dir",
          "use_popdist",
          "sharded_execution_for_inference",
          "execute_encoder_on_cpu_for_generation",
          "decompose_grad_sum",
          "parallelize_kwargs.*",
          "inference_parallelize_kwargs.*",
          "inference_device_iterations",
          "inference_replication_factor",
          "inference_layers_per_ipu",
          "inference_ipus_per_replica",
          "inference_matmul_proportion",
          "layer_norm_eps",
          "hidden_act",
          "type_vocab_size",
          "initializer_range",
          "architectures",
          "model_type",
          "n_ctx",
          "embd_pdrop",
          "layer_norm_epsilon",
          "tie_word_embeddings",
          "relative_attention_num_buckets",
          "n_positions",
          "num_decoder_layers",
          "num_channels",
          "qkv_bias",
          "lamb",
          "lamb_no_bias_correction",
          "weight_decay",
          "learning_rate",
          "feed_forward_proj",
          "activation_function",
          "bos_token_id",
          "eos_token_id",
          "pad_token_id"});
}

}  // namespace

std::vector<ConfigurationFormat> optimum_formats() {
  return {{"Hugging Face Optimum", "ipu_config.json and the model's config.json",
           [](const json& k) {
             const bool is_execution = k.contains("layers_per_ipu") || k.contains("inference_layers_per_ipu") ||
                                       k.contains("ipus_per_replica");
             return is_execution && !k.contains("random_seed");  // the examples of PyTorch have one
           },
           read_optimum}};
}

}  // namespace superstep
