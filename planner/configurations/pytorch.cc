// SPDX-License-Identifier: Apache-2.0
// Graphcore's PyTorch examples (graphcore/examples@3cc8f81): BERT, GPT-2, ViT and convolutional networks. Facts behind
// a key are of the example's source, which is named where a key does not say them.
#include <algorithm>
#include <cmath>
#include <map>

#include "planner/configurations/formats.h"
#include "planner/job/job.h"

namespace superstep {
namespace {

using nlohmann::json;

const char* state_name(const std::string& type) { return type == "float32" || type == "fp32" ? "fp32" : "fp16"; }

// Keys that all these examples have.
void read_execution(Settings& s, Draft& d, const char* micro_batch, const char* replicas) {
  d.plan()["micro_batch"] = s.integer(micro_batch);
  d.plan()["gradient_accumulation"] = s.integer("gradient_accumulation", 1);
  d.plan()["replicas"] = s.integer(replicas, 1);
  d.plan()["schedule"] = "grouped";
  d.job["run"]["rounding"] = "stochastic";
  if (const double scale = s.number("loss_scaling", 1); scale > 0 && scale != 1) d.job["run"]["loss_scale"] = scale;
  d.lacks(s, "auto_loss_scaling", "the histograms of gradients that it keeps take memory", false);
  if (s.integer("device_iterations", 1) > 1)
    d.note("device_iterations is how many steps the host asks for at once; a job is one of them");
}

void read_adam(Settings& s, Draft& d, const std::string& fallback) {
  static const std::map<std::string, json> kinds = {
      {"AdamW", {{"kind", "adamw"}}},
      {"Adam", {{"kind", "adam"}}},
      {"LAMB", {{"kind", "lamb"}}},
      {"LAMBNoBiasCorrection", {{"kind", "lamb"}, {"bias_correction", false}}},
      {"SGD", {{"kind", "sgd_momentum"}}}};
  const std::string name = s.text("optimizer", fallback);
  const auto kind = kinds.find(name);
  if (kind == kinds.end())
    s.fail("optimizer", "found \"" + name + "\", expected AdamW, Adam, LAMB, LAMBNoBiasCorrection or SGD");
  d.job["optimizer"] = kind->second;
  d.job["optimizer"]["weight_decay"] = s.number("weight_decay", 0);
  if (s.has("learning_rate")) d.job["optimizer"]["learning_rate"] = s.number("learning_rate", 0);
  if (name == "SGD" && s.has("momentum")) d.job["optimizer"]["momentum"] = s.number("momentum", 0);
}

// A list for each IPU, or one number n: layers / n IPUs of n layers each.
std::vector<std::int64_t> layers_by_ipu(Settings& s, std::int64_t layers) {
  std::vector<std::int64_t> out = s.integers("layers_per_ipu", kRestOfLayers);
  if (out.empty()) s.fail("layers_per_ipu", "is absent, expected the layers of each IPU");
  if (out.size() == 1 && out[0] > 0 && layers % out[0] == 0) out.assign(layers / out[0], out[0]);
  return out;
}

void read_bert(Settings& s, Draft& d) {
  const bool squad = s.text("dataset", "pretraining") == "squad";
  const std::int64_t layers = s.integer("num_hidden_layers"), hidden = s.integer("hidden_size");
  d.job["task"] = "training";
  set_transformer(hidden > 768 ? "bert-large" : "bert-base", layers, hidden, s.integer("num_attention_heads"), d);
  const std::int64_t length = s.integer("sequence_length");
  d.model()["sequence_length"] = squad ? 384 : length;
  if (squad && length != 384) d.note("sequence_length is not read: the example pads SQuAD to 384 (squad_data.py)");
  d.model()["vocabulary"] = s.integer("vocab_size");
  d.model()["attention_dropout"] = s.number("attention_probs_dropout_prob", 0.1);
  read_execution(s, d, "micro_batch_size", "replication_factor");
  std::int64_t masked = s.integer("mask_tokens", 20, 0);
  if (s.boolean("packed_data", false) && !squad) {
    const json* factors = s.find("packing_factor");
    const std::string at = std::to_string(length);
    if (factors == nullptr || !factors->is_object() || !factors->contains(at))
      s.fail("packing_factor", "found none for sequences of " + at + ", expected one, as the data are packed");
    const double factor = factors->at(at).get<double>();
    d.model()["packed"] = true;
    d.model()["sequences_per_pack"] = factor;
    masked += s.integer("max_sequences_per_pack", 3) - 1;
    json& accumulation = d.plan()["gradient_accumulation"];
    accumulation = static_cast<std::int64_t>(std::ceil(accumulation.get<double>() / factor));
  } else {
    d.model()["packed"] = false;
  }
  d.model()["head"] = squad ? "question_answering" : "masked_language";
  if (!squad) d.model()["masked_tokens"] = masked;
  // Pre-training has its head beside the word table, which it shares (modeling.py:193).
  set_layers(layers_by_ipu(s, layers), !squad, d);
  set_pipeline(s.boolean("optimizer_state_offchip", true), s.boolean("replicated_tensor_sharding", false),
               d.plan()["replicas"], d);
  set_proportions(s.numbers("matmul_proportion"), d);
  d.plan()["recompute"] = s.boolean("recompute_checkpoint_every_layer", false) ? "layer" : "stage";
  const std::int64_t parts = s.integer("embedding_serialization_factor", 1);
  d.plan()["serialisation"]["embedding"] = parts;
  if (!squad) d.plan()["serialisation"]["head"] = parts;
  d.plan()["precision"] = {{"partials", s.boolean("enable_half_partials", false) ? "fp16" : "fp32"},
                           {"first_moment", s.boolean("enable_half_first_order_momentum", false) ? "fp16" : "fp32"}};
  read_adam(s, d, "AdamW");
  s.skip({"ipus_per_replica", "packing_factor", "max_sequences_per_pack", "layer_norm_eps", "lr_schedule", "lr_warmup",
          "training_steps", "num_epochs", "dataloader_workers", "async_dataloader", "input_files", "random_seed",
          "custom_ops", "executable_cache_dir", "dataset", "mask_tokens", "packed_data", "config"});
  d.lacks(s, "synthetic_data", "nothing would come from the host", false);
}

void read_gpt2(Settings& s, Draft& d) {
  static const std::map<std::string, const char*> zoo = {
      {"gpt2", "gpt2-small"}, {"gpt2-medium", "gpt2-medium"}, {"gpt2-large", "gpt2-large"}, {"gpt2-xl", "gpt2-xl"}};
  const std::string name = s.text("model", "gpt2");
  if (zoo.count(name) == 0)
    s.fail("model", "found \"" + name + "\", expected gpt2, gpt2-medium, gpt2-large or gpt2-xl");
  const bool trains = s.text("script", "train_gpt2.py").find("inference") == std::string::npos;
  d.job["task"] = trains ? "training" : "inference";
  const std::int64_t length = s.integer("max_len", 128);
  d.model() = {{"zoo", zoo.at(name)}, {"sequence_length", length}, {"positions", length}, {"vocabulary", 50272}};
  d.note("vocabulary 50,272 is that of the example's config/*.json");
  read_execution(s, d, "batch_size", "replication_factor");
  const std::vector<std::int64_t> by_ipu = layers_by_ipu(s, 0);
  set_layers(by_ipu, true, d);  // the head shares the word table of IPU 0 (train_gpt2.py:111)
  if (by_ipu.size() > 1 && by_ipu[0] > 0) {
    d.lacks("layers_per_ipu begins with " + std::to_string(by_ipu[0]) +
            ": the example's position table is on IPU 1, so that its pipeline visits IPU 0 twice more");
  }
  set_pipeline(s.boolean("optimizer_state_offchip", true), s.boolean("replicated_tensor_sharding", false),
               d.plan()["replicas"], d);
  set_proportions(s.numbers("matmul_proportion"), d);
  const std::int64_t parts = s.integer("embedding_serialization_factor", 1);
  d.plan()["serialisation"] = {{"embedding", parts}, {"head", parts}};
  d.plan()["precision"]["partials"] = s.boolean("enable_half_partials", false) ? "fp16" : "fp32";
  if (trains) {
    d.plan()["recompute"] = s.boolean("recompute_checkpoint_every_layer", false) ? "layer" : "stage";
    d.plan()["precision"]["first_moment"] = "fp16";
    d.note("the first moment is in fp16: no flag of the example says so (tools.py:320)");
    read_adam(s, d, "AdamW");
  } else {
    d.plan()["schedule"] = "sequential";
    d.note("IPUs run one after the other in inference: the example uses ShardedExecution");
  }
  d.lacks(s, "enable_sequence_serialized", "the loss is made in pieces of tokens, in a job of all tokens", false);
  d.lacks(s, "remap_logit", "logits are copied to a linear layout", false);
  s.skip({"ipus_per_replica", "lr_schedule", "lr_warmup", "epochs", "dataset", "input_files", "stride", "num_workers",
          "seed", "async_dataloader", "custom_ops", "optimizer", "learning_rate", "weight_decay",
          "executable_cache_dir", "replicated_tensor_sharding", "optimizer_state_offchip",
          "recompute_checkpoint_every_layer", "serialized_seq_len"});
}

void read_vit(Settings& s, Draft& d) {
  const std::int64_t layers = s.integer("num_hidden_layers"), hidden = s.integer("hidden_size");
  d.job["task"] = "training";
  set_transformer(hidden > 768 ? "vit-large" : "vit-base", layers, hidden, s.integer("num_attention_heads"), d);
  const bool pretrains = s.boolean("pretrain", false);
  d.model().update({{"ffn", s.integer("mlp_dim", 4 * hidden)},
                    {"patch", s.integer("patches_size", 16)},
                    {"image_size", 224},
                    {"classes", s.integer("num_labels", 1000)},
                    {"dropout", s.number("hidden_dropout_prob", 0.1)},
                    {"attention_dropout", s.number("attention_probs_dropout_prob", 0)},
                    {"pixels", s.boolean("byteio", false) ? "uint8" : "normalised"}});
  if (pretrains) d.model()["representation"] = s.integer("representation_size", 0, 0);
  read_execution(s, d, "micro_batch_size", "replication_factor");
  set_layers(layers_by_ipu(s, layers), false, d);
  set_pipeline(s.boolean("optimizer_state_offchip", true), s.boolean("enable_rts", false), d.plan()["replicas"], d);
  set_proportions(s.numbers("matmul_proportion"), d);
  d.plan()["recompute"] = s.boolean("recompute_checkpoint_every_layer", false) ? "layer" : "stage";
  d.plan()["prefetch_depth"] = std::max<std::int64_t>(1, s.integer("prefetch_depth", 1, 0));
  const std::string precision = s.text("precision", "16.16");
  if (precision != "16.16") s.fail("precision", "found " + precision + ", expected \"16.16\": others are not imported");
  d.plan()["precision"] = {{"partials", s.boolean("half_partials", true) ? "fp16" : "fp32"},
                           {"accumulators", state_name(s.text("accum_type", "fp16"))},
                           {"first_moment", state_name(s.text("first_order_type", "fp32"))}};
  read_adam(s, d, "SGD");
  if (s.text("optimizer", "SGD") != "SGD")
    d.plan()["precision"]["second_moment"] = state_name(s.text("second_order_type", "fp32"));
  if (pretrains) d.lacks(s, "recompute_mid_layers", "one more checkpoint within these layers");
  d.lacks(s, "mixup", "images are mixed on IPU 0", false);
  s.skip({"ipus_per_replica",
          "lr_schedule",
          "warmup_steps",
          "training_steps",
          "epochs",
          "layer_norm_eps",
          "loss",
          "reduction_type",
          "stochastic_rounding",
          "extra_aug",
          "alpha",
          "rebatched_worker_size",
          "dataloader_workers",
          "dataset",
          "dataset_path",
          "random_seed",
          "pretrained_checkpoint",
          "checkpoint_output_dir",
          "momentum",
          "checkpoint_save_steps",
          "resume_training_from_checkpoint",
          "wandb",
          "wandb_project_name",
          "recompute_mid_layers",
          "representation_size",
          "drop_path_rate",
          "adam_betas",
          "adam_eps",
          "bias_correction",
          "max_norm",
          "max_norm_bias",
          "use_popdist",
          "second_order_type",
          "synthetic_data",
          "config"});
}

// Blocks of an image network by the name of the first module of a stage: "layer2/0/conv1", "blocks/3/0/conv_pw".
std::int64_t block_of(Settings& s, const std::string& split, const std::vector<std::int64_t>& blocks, Draft& d) {
  int stage = -1, block = -1, length = 0;
  const bool residual = std::sscanf(split.c_str(), "layer%d/%d/%n", &stage, &block, &length) == 2 && length > 0;
  if (!residual) std::sscanf(split.c_str(), "blocks/%d/%d/%n", &stage, &block, &length);
  const std::int64_t number = residual ? stage - 1 : stage;
  if (length == 0 || number < 0 || number >= std::ssize(blocks) || block < 0 || block >= blocks[number])
    s.fail("pipeline_splits", "found \"" + split + "\", which names no block of the network");
  std::int64_t first = block;
  for (std::int64_t i = 0; i < number; ++i) first += blocks[i];
  const std::string module = split.substr(length);
  if (module != "conv1" && module != "conv_pw" && !(number == 0 && module == "conv_dw"))
    d.note("pipeline_splits \"" + split + "\" is within a block; the job cuts ahead of the block");
  return first;
}

// Blocks of the sections of a network; empty: the zoo has no such network.
std::vector<std::int64_t> blocks_of(const std::string& network) {
  static const std::map<std::string, std::vector<std::int64_t>> all = {{"resnet50", {3, 4, 6, 3}},
                                                                       {"efficientnet-b0", {1, 2, 2, 3, 3, 4, 1}},
                                                                       {"efficientnet-b4", {2, 4, 4, 6, 6, 8, 2}}};
  const auto it = all.find(network);
  return it == all.end() ? std::vector<std::int64_t>() : it->second;
}

// Ends of blocks among the checkpoints of a ResNet: "add" is the sum of block 0, "add_3" that of block 3.
std::vector<std::int64_t> checkpointed_blocks(Settings& s) {
  std::vector<std::int64_t> ends;
  const json* names = s.find("recompute_checkpoints");
  for (const json& name : names != nullptr && names->is_array() ? *names : json::array()) {
    int block = 0, length = 0;
    const std::string text = name.is_string() ? name.get<std::string>() : "";
    if (text == "add" || (std::sscanf(text.c_str(), "add_%d%n", &block, &length) == 1 && length == std::ssize(text)))
      ends.push_back(block);
  }
  std::ranges::sort(ends);
  return ends;
}

void read_cnn_optimizer(Settings& s, Draft& d) {
  const std::string name = s.text("optimizer", "sgd");
  json& optimizer = d.job["optimizer"];
  json& precision = d.plan()["precision"];
  if (name == "sgd_combined") {
    optimizer = {{"kind", "sgd"}};
    d.note("sgd_combined keeps velocity and sum of gradients in one tensor: plain sgd here holds as much");
  } else if (name == "sgd") {
    optimizer = {{"kind", "sgd_momentum"}, {"momentum", s.number("momentum", 0)}};
    precision.update({{"accumulators", "fp32"}, {"first_moment", "fp32"}});
  } else if (name.starts_with("rmsprop") || name == "adamw") {
    optimizer = {{"kind", name == "adamw" ? "adamw" : "adam"}};
    precision.update({{"accumulators", "fp32"}, {"first_moment", "fp32"}, {"second_moment", "fp32"}});
    if (name != "adamw") {
      d.lacks("optimizer = " + name + ": adam, which too keeps two numbers for each weight, stands for it");
    }
  } else {
    s.fail("optimizer", "found \"" + name + "\", expected sgd, sgd_combined, adamw, rmsprop or rmsprop_tf");
  }
  optimizer["weight_decay"] = s.number("weight_decay", 1e-4);
  if (s.has("lr")) optimizer["learning_rate"] = s.number("lr", 0.01);
}

void read_cnn(Settings& s, Draft& d) {
  const std::string network = s.text("model", "resnet18");
  const std::vector<std::int64_t> blocks = blocks_of(network);
  if (blocks.empty())
    s.fail("model", "found \"" + network +
                        "\", expected resnet50, efficientnet-b0 or efficientnet-b4: others are not in the zoo");
  const bool trains = s.has("optimizer") || s.has("gradient_accumulation");
  d.job["task"] = trains ? "training" : "inference";
  d.model() = {
      {"zoo", network},
      {"pixels",
       s.boolean("eight_bit_io", false) && s.text("normalization_location", "host") == "ipu" ? "uint8" : "normalised"}};
  read_execution(s, d, "micro_batch_size", "replicas");
  const bool resnet = network == "resnet50";
  if (!resnet) {
    const bool group_norm = s.text("norm_type", "batch") == "group";
    d.model().update({{"group_size", s.integer("efficientnet_group_dim", 1)},
                      {"expansion", s.integer("efficientnet_expand_ratio", 6)},
                      {"norm", group_norm ? "group" : "batch"}});
    if (group_norm) d.model()["norm_groups"] = s.integer("norm_num_groups", 32);
  } else if (trains) {
    d.model()["statistics_group"] = d.plan()["micro_batch"];
  }
  std::int64_t all = 0;
  for (const std::int64_t n : blocks) all += n;
  std::vector<std::int64_t> firsts = {0}, by_ipu;
  for (const std::string& split : s.texts("pipeline_splits")) firsts.push_back(block_of(s, split, blocks, d));
  firsts.push_back(all);
  for (std::size_t i = 0; i + 1 < firsts.size(); ++i) by_ipu.push_back(firsts[i + 1] - firsts[i]);
  set_layers(by_ipu, false, d);
  const bool one = by_ipu.size() == 1;
  if (one) d.plan()["schedule"] = "sequential";
  set_pipeline(s.boolean("offload_optimizer", false), s.boolean("enable_optimizer_rts", false), d.plan()["replicas"],
               d);
  d.plan()["precision"] = {{"partials", s.boolean("half_partial", false) ? "fp16" : "fp32"}};
  const std::string precision = s.text("precision", "16.16");
  if (precision != "16.16") s.fail("precision", "found " + precision + ", expected \"16.16\": others are not imported");
  const std::vector<double> bounds = s.numbers("available_memory_proportion");
  set_proportions(bounds.empty() ? std::vector<double>{0.6} : bounds, d);
  if (bounds.empty()) d.note("available_memory_proportion 0.6 is Poplar's default: the configuration has none");
  if (trains) {
    read_cnn_optimizer(s, d);
    const std::string mode = s.text("recompute_mode", "none");
    d.plan()["recompute"] = one ? (mode == "none" ? "none" : "layer") : "stage";
    const std::vector<std::int64_t> ends = checkpointed_blocks(s);
    if (resnet && one && mode == "manual" && !ends.empty()) {
      std::int64_t before = -1;
      json& counts = d.model()["blocks_per_checkpoint"] = json::array();
      for (const std::int64_t end : ends) counts.push_back(end - before), before = end;
      if (before < all - 1) counts.push_back(all - 1 - before);
      d.note("recompute_checkpoints within blocks are left out: a job's checkpoints are at the ends of blocks");
    } else {
      d.lacks(s, "recompute_checkpoints", "checkpoints within a stage of several blocks", json::array());
    }
    d.lacks(s, "mixup_alpha", "images are mixed on the IPU", 0);
    d.lacks(s, "cutmix_disable_prob", "images are cut and mixed on the IPU");
  } else {
    d.plan()["gradient_accumulation"] = s.integer("device_iterations", 1);
  }
  d.lacks(s, "exchange_memory_target", "exchange code against cycles", "cycles");
  s.skip({"data",
          "enable_stochastic_rounding",
          "label_smoothing",
          "lr_schedule",
          "warmup_epoch",
          "epoch",
          "seed",
          "lr_scheduler_freq",
          "lr_decay",
          "norm_eps",
          "disable_stable_batchnorm",
          "enable_fast_groupnorm",
          "optimizer",
          "use_bbox_info",
          "validation_mode",
          "weight_avg_strategy",
          "weight_avg_exp_decay",
          "initial_loss_scaling",
          "momentum",
          "optimizer_eps",
          "rmsprop_decay",
          "random_weights",
          "cutmix_lambda_low",
          "cutmix_lambda_high",
          "norm_type",
          "norm_num_groups",
          "offload_optimizer",
          "enable_optimizer_rts",
          "recompute_mode",
          "efficientnet_group_dim",
          "efficientnet_expand_ratio",
          "recompute_checkpoints",
          "config"});
}

}  // namespace

std::vector<ConfigurationFormat> pytorch_formats() {
  return {
      {"BERT, PopTorch examples", "configs_pretraining.yml, configs_squad.yml",
       [](const json& k) {
         return k.contains("layers_per_ipu") && k.contains("num_attention_heads") && k.contains("vocab_size") &&
                k.contains("micro_batch_size");
       },
       read_bert},
      {"ViT, PopTorch examples", "configs.yml",
       [](const json& k) { return k.contains("layers_per_ipu") && k.contains("patches_size"); }, read_vit},
      {"GPT-2, PopTorch examples", "benchmarks.yml",
       [](const json& k) {
         return k.contains("layers_per_ipu") && k.value("model", json()).is_string() &&
                k["model"].get<std::string>().starts_with("gpt2");
       },
       read_gpt2},
      {"ResNet-50 and EfficientNet, PopTorch examples", "train/configs.yml, inference/configs.yml",
       [](const json& k) {
         return k.value("model", json()).is_string() && k.contains("micro_batch_size") && !k.contains("layers_per_ipu");
       },
       read_cnn},
  };
}

}  // namespace superstep
