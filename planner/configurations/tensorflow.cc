// SPDX-License-Identifier: Apache-2.0
// Graphcore's TensorFlow 2 examples (graphcore/examples@3cc8f81): BERT and ResNet-50.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>

#include "planner/configurations/formats.h"

namespace superstep {
namespace {

using nlohmann::json;

void read_tensorflow_model(Settings& s, Draft& d, bool pretrains) {
  json& model = d.model();
  if (s.has("bert_config.hidden_size")) {
    const std::int64_t hidden = s.integer("bert_config.hidden_size");
    set_transformer(hidden > 768 ? "bert-large" : "bert-base", s.integer("bert_config.num_hidden_layers"), hidden,
                    s.integer("bert_config.num_attention_heads"), d);
    model.update({{"ffn", s.integer("bert_config.intermediate_size", 4 * hidden)},
                  {"vocabulary", s.integer("bert_config.vocab_size")},
                  {"positions", s.integer("bert_config.max_position_embeddings", 512)},
                  {"dropout", s.number("bert_config.hidden_dropout_prob", 0.1)},
                  {"attention_dropout", s.number("bert_config.attention_probs_dropout_prob", 0.1)}});
  } else {
    const std::string name = s.text("bert_model_name", "");
    if (name != "bert-base-uncased" && name != "bert-large-uncased")
      s.fail("bert_model_name",
             "found \"" + name + "\", expected bert-base-uncased or bert-large-uncased, or a bert_config");
    model["zoo"] = name.substr(0, name.rfind('-'));
  }
  if (!s.has("max_seq_length") && !pretrains)
    d.note("sequences of 512 are the tokenizer's: max_seq_length is not given");
  model["sequence_length"] = s.integer("max_seq_length", 512);
  if (pretrains) {
    model["masked_tokens"] = s.integer("max_predictions_per_seq");
    model["packed"] = false;
    d.note("the example's head has no dense layer and norm (use_cls_layer), the zoo's has");
  }
}

// Stages by the names of their parts: "hid" is a layer.
void read_stages(Settings& s, Draft& d) {
  const json* stages = s.find("ipu_config.pipeline_stages");
  if (stages == nullptr || !stages->is_array() || stages->empty())
    s.fail("ipu_config.pipeline_stages", "is absent or empty, expected a list of stages");
  static const std::set<std::string> parts = {"emb", "hid", "enc_out", "pool", "heads", "qa_head", "glue_head"};
  for (const json& stage : *stages) {
    const auto is_part = [&](const json& part) { return part.is_string() && parts.count(part.get<std::string>()) > 0; };
    if (!stage.is_array() || stage.empty() || !std::ranges::all_of(stage, is_part))
      s.fail(
          "ipu_config.pipeline_stages",
          "found stage " + stage.dump() + ", expected a list of emb, hid, enc_out, pool, heads, qa_head or glue_head");
  }
  json& plan = d.plan();
  plan["layers_per_stage"] = json::array();
  for (const json& stage : *stages)
    plan["layers_per_stage"].push_back(std::ranges::count(stage.is_array() ? stage : json::array(), "hid"));
  const std::vector<std::int64_t> ipus = s.integers("ipu_config.pipeline_device_mapping");
  if (ipus.size() != stages->size())
    s.fail("ipu_config.pipeline_device_mapping", "found " + std::to_string(ipus.size()) +
                                                     " IPUs, expected one for each of " +
                                                     std::to_string(stages->size()) + " stages");
  plan["stage_ipu"] = ipus;
  plan["pipeline_stages"] = std::ranges::max(ipus) + 1;
  plan["schedule"] = "grouped";
}

void read_tensorflow_bert(Settings& s, Draft& d) {
  const std::string text = s.find("ipu_config.pipeline_stages") ? s.find("ipu_config.pipeline_stages")->dump() : "";
  const auto names = [&](const char* part) { return text.find("\"" + std::string(part) + "\"") != std::string::npos; };
  const bool pretrains = names("heads");
  d.job["task"] = "training";
  read_tensorflow_model(s, d, pretrains);
  if (!pretrains) d.model()["head"] = names("qa_head") ? "question_answering" : "classification";
  read_stages(s, d);
  json& plan = d.plan();
  plan["micro_batch"] = s.integer("global_batch.micro_batch_size");
  plan["gradient_accumulation"] = s.integer("global_batch.grad_acc_steps_per_replica");
  // Sharding and the loss scale are read by pre-training alone (run_pretraining.py:168, 209).
  const bool shards = s.boolean("ipu_config.replicated_tensor_sharding", false) && pretrains;
  set_pipeline(s.boolean("optimizer_state_offchip", true), shards, s.integer("global_batch.replicas"), d);
  set_proportions(s.numbers("ipu_config.matmul_available_memory_proportion_per_pipeline_stage"), d);
  const bool recomputes = s.boolean("enable_recomputation", true);
  plan["recompute"] = json::array();
  for (std::size_t i = 0; i < plan["stage_ipu"].size(); ++i)
    plan["recompute"].push_back(recomputes && i + 1 < plan["stage_ipu"].size() ? "layer" : "none");
  plan["precision"] = {{"partials", s.text("matmul_partials_type", "half") == "half" ? "fp16" : "fp32"}};
  plan["prefetch_depth"] = 3;
  const std::int64_t parts = s.integer("embedding_serialization_factor", 2);
  plan["serialisation"]["embedding"] = parts;
  if (pretrains) plan["serialisation"]["head"] = parts;
  if (!s.has("embedding_serialization_factor")) d.note("2 parts of the word table are the example's default");
  const std::string optimizer = s.text("optimizer_opts.name", "");
  if (optimizer != "LAMB" && optimizer != "AdamW")
    s.fail("optimizer_opts.name", "found \"" + optimizer + "\", expected LAMB or AdamW");
  d.job["optimizer"] = {{"kind", optimizer == "LAMB" ? "lamb" : "adamw"},
                        {"weight_decay", s.number("optimizer_opts.weight_decay_rate", 0)},
                        {"epsilon", 1e-6}};
  if (s.has("optimizer_opts.learning_rate.max_learning_rate"))
    d.job["optimizer"]["learning_rate"] = s.number("optimizer_opts.learning_rate.max_learning_rate", 0);
  d.job["run"] = {{"rounding", "stochastic"}, {"overflow", "clip"}};
  if (const double scale = s.number("optimizer_opts.loss_scaling", 1); pretrains && scale != 1)
    d.job["run"]["loss_scale"] = scale;
  s.skip({"bert_config.*",
          "bert_model_name",
          "optimizer_opts.*",
          "seed",
          "num_epochs",
          "total_num_train_samples",
          "global_batches_per_log",
          "show_accuracy",
          "glue_task",
          "do_training",
          "do_validation",
          "do_test",
          "dataset_dir",
          "output_dir",
          "enable_wandb",
          "wandb_tags",
          "name",
          "logging",
          "pretrained_ckpt_path",
          "save_ckpt_path",
          "compile_only",
          "generated_dataset",
          "max_predictions_per_seq"});
}

// The block that a stage begins behind: conv3_block1_out is the first of the second section.
std::int64_t block_behind(Settings& s, const std::string& name) {
  static const std::vector<std::int64_t> blocks = {3, 4, 6, 3};
  int section = 0, block = 0, length = 0;
  if (std::sscanf(name.c_str(), "conv%d_block%d_out%n", &section, &block, &length) != 2 || length != std::ssize(name) ||
      section < 2 || section > 5 || block < 1 || block > blocks[section - 2])
    s.fail("pipeline-splits", "found \"" + name + "\", expected the end of a block, such as conv3_block1_out");
  std::int64_t out = block;
  for (int i = 2; i < section; ++i) out += blocks[i - 2];
  return out;
}

void read_resnet(Settings& s, Draft& d) {
  const std::string network = s.text("model-name", s.text("model", "toy_model"));
  if (network != "resnet50")
    s.fail("model-name", "found \"" + network + "\", expected resnet50: others are not in the zoo");
  const bool trains = s.boolean("training", true);
  d.job["task"] = trains ? "training" : "inference";
  const bool uint8 = s.boolean("eight-bit-transfer", false) && s.boolean("accelerator-side-preprocess", false);
  d.model() = {{"zoo", "resnet50"}, {"pixels", uint8 ? "uint8" : "normalised"}};
  if (s.text("dataset", "cifar10") == "cifar10") d.model().update({{"image_size", 32}, {"classes", 10}});
  json& plan = d.plan();
  const std::int64_t replicas = s.integer("num-replicas", 1), micro_batch = s.integer("micro-batch-size", 1);
  plan["micro_batch"] = micro_batch;
  plan["gradient_accumulation"] = s.integer("gradient-accumulation-count", 1);
  if (s.has("global-batch-size")) {
    const std::int64_t batch = s.integer("global-batch-size");
    const double each = static_cast<double>(micro_batch * replicas);
    const std::int64_t rounds = std::max<std::int64_t>(1, std::llround(static_cast<double>(batch) / each));
    plan["gradient_accumulation"] = rounds;
    if (rounds * micro_batch * replicas != batch)
      d.note("global-batch-size " + std::to_string(batch) + " is rounded to " +
             std::to_string(rounds * micro_batch * replicas) + ", as the example does");
  }
  std::vector<std::int64_t> ends, counts, mapping = s.integers("device-mapping");
  for (const std::string& split : s.texts("pipeline-splits")) ends.push_back(block_behind(s, split));
  ends.push_back(16);
  for (std::size_t i = 0; i < ends.size(); ++i) counts.push_back(ends[i] - (i == 0 ? 0 : ends[i - 1]));
  const bool one = mapping.empty() ? counts.size() == 1 : std::ranges::max(mapping) == 0;
  set_layers(one ? std::vector<std::int64_t>{16} : counts, false, d);
  if (one && counts.size() > 1) d.model()["blocks_per_checkpoint"] = counts;
  set_pipeline(s.boolean("optimizer-state-offloading", true), false, replicas, d);
  std::string schedule = s.text("pipeline-schedule", "Grouped");
  if (!schedule.empty()) schedule[0] = static_cast<char>(std::tolower(schedule[0]));
  plan["schedule"] = one ? "sequential" : schedule;
  if (trains) plan["recompute"] = !s.boolean("recomputation", false) ? "none" : one ? "layer" : "stage";
  std::vector<double> percent = s.numbers("available-memory-proportion");
  if (percent.size() > 1)
    d.lacks("available-memory-proportion: a bound for convolutions and one for products; the first is taken"),
        percent.resize(1);
  plan["available_memory_proportion"] = percent.empty() ? 0.6 : percent[0] / 100;
  plan["precision"] = {{"partials", s.boolean("half-partials", false) ? "fp16" : "fp32"}};
  const std::string precision = s.text("precision", "16.16");
  if (precision == "16.32") {
    plan["precision"].update({{"master", true}, {"accumulators", "fp32"}, {"first_moment", "fp32"}});
    d.lacks("precision = 16.32: weights in fp32 that are cast for each product; a master copy stands for them");
  } else if (precision == "16.16") {
    plan["precision"]["first_moment"] = "fp16";
  } else {
    s.fail("precision", "found " + precision + ", expected 16.16 or 16.32");
  }
  if (trains) {
    const std::string optimizer = s.text("optimizer", "sgd");
    if (optimizer != "sgd" && optimizer != "lars")
      s.fail("optimizer", "found \"" + optimizer + "\", expected sgd or lars");
    const double momentum = s.number("optimizer-params.momentum", 0);
    d.job["optimizer"] = {{"kind", optimizer == "lars" ? "lars" : momentum > 0 ? "sgd_momentum" : "sgd"}};
    if (momentum > 0) d.job["optimizer"]["momentum"] = momentum;
    d.job["optimizer"]["weight_decay"] =
        optimizer == "lars" ? s.number("optimizer-params.weight_decay", 0) : s.number("l2-regularization", 0);
    d.model()["statistics_group"] = micro_batch * s.integer("dbn-replica-group-size", 1);
    d.job["run"]["rounding"] = s.text("stochastic-rounding", "ON") == "ON" ? "stochastic" : "nearest";
    // The example multiplies the loss scale by the replicas (optimizer_factory.py:110).
    if (const double scale = s.number("loss-scaling", 0); scale > 0)
      d.job["run"]["loss_scale"] = scale * static_cast<double>(replicas);
  }
  if (s.text("norm-layer.name", "custom_batch_norm") == "group_norm")
    d.lacks("norm-layer = group_norm: ResNets of the zoo have batch norm");
  d.lacks(s, "stable-norm", "mean first, then variance", false);
  d.lacks(s, "fused-preprocessing", "one op that normalises images", false);
  d.lacks(s, "gather-conv-output", "small all-reduces in one", false);
  d.lacks(s, "internal-exchange-optimization-target", "exchange code against cycles");
  d.lacks(s, "max-cross-replica-buffer-size", "bytes of gradients that wait for one collective");
  s.skip({"dataset-path",
          "num-epochs",
          "validation",
          "logs-per-epoch",
          "ckpts-per-epoch",
          "lr-schedule",
          "model",
          "lr-schedule-params.*",
          "lr-warmup-params.*",
          "lr-staircase",
          "label-smoothing",
          "norm-layer.*",
          "optimizer-params.*",
          "l2-regularization",
          "min-remote-tensor-size",
          "validation-micro-batch-size",
          "pipeline-validation-model",
          "weight-decay",
          "first-ckpt-epoch",
          "stochastic-rounding",
          "seed"});
}

}  // namespace

std::vector<ConfigurationFormat> tensorflow_formats() {
  return {{"BERT, TensorFlow 2 examples", "configs/*.json",
           [](const json& k) {
             return k.contains("ipu_config") && k["ipu_config"].is_object() &&
                    k["ipu_config"].contains("pipeline_stages");
           },
           read_tensorflow_bert},
          {"ResNet-50, TensorFlow 2 examples", "configs.yml",
           [](const json& k) { return k.contains("micro-batch-size"); }, read_resnet}};
}

}  // namespace superstep
