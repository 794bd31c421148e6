// SPDX-License-Identifier: Apache-2.0
// Configurations of other programs: how files are read, and what their keys become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/configurations/import_configuration.h"
#include "planner/configurations/read_file.h"

namespace superstep {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(ConfigurationFiles, YamlHasTheTypesOfItsScalars) {
  const json read = parse_yaml(
      "a: 8\nb: 0.25\nc: 6e-5\nd: true\ne: ~\nf: \"16.16\"\ng: [0, 3, 3]\nh: {128: 1.17}\ni: +5\nj: AdamW\nk: 1_000\n",
      "test");
  EXPECT_EQ(read, (json{{"a", 8},
                        {"b", 0.25},
                        {"c", 6e-5},
                        {"d", true},
                        {"e", nullptr},
                        {"f", "16.16"},
                        {"g", {0, 3, 3}},
                        {"h", {{"128", 1.17}}},
                        {"i", 5},
                        {"j", "AdamW"},
                        {"k", "1_000"}}));
}

TEST(ConfigurationFiles, YamlMergesAndNearerKeysWin) {
  const std::string text =
      "base: &base\n  x: 1\n  y: 1\nother: &other\n  y: 2\n  z: 2\none:\n  <<: *base\n  x: 3\nboth:\n  <<: [*base, "
      "*other]\n";
  const json read = parse_yaml(text, "test");
  EXPECT_EQ(read["one"], (json{{"x", 3}, {"y", 1}}));
  EXPECT_EQ(read["both"], (json{{"x", 1}, {"y", 1}, {"z", 2}}));
}

TEST(ConfigurationFiles, BadYamlIsTold) {
  const auto message = [](const std::string& text) { return message_of([&] { parse_yaml(text, "bad.yml"); }); };
  EXPECT_THAT(message("a: 1\nb: [1,\n"), HasSubstr("bad.yml:"));
  EXPECT_THAT(message("a: 1\nb: 2\na: 3\n"), HasSubstr("bad.yml:3: found key \"a\" a second time with another value"));
  EXPECT_EQ(message("a: 1\na: 1\n"), "accepted");
  EXPECT_THAT(message("a:\n  <<: 5\n"), HasSubstr("expected a mapping"));
  EXPECT_THAT(message("[1, 2]: x\n"), HasSubstr("expected a name"));
  std::string deep(300, '['), repeated = "list: &list [0";
  deep += std::string(300, ']');
  EXPECT_THAT(message(deep), HasSubstr("nested deeper than 200 levels"));
  for (int i = 0; i < 2000; ++i) repeated += ", 0";
  repeated += "]\nall: [*list";
  for (int i = 0; i < 600; ++i) repeated += ", *list";
  EXPECT_THAT(message(repeated + "]\n"), HasSubstr("more than 1000000 values"));
}

TEST(ConfigurationFiles, FlagsOfACommandAreKeys) {
  EXPECT_EQ(parse_flags("poprun --num-replicas 4 python3 train.py --batch-size 8 --layers-per-ipu 0 4 4 --rate=1e-5 "
                        "--half --dataset 'generated' --flag True"),
            (json{{"batch_size", 8},
                  {"layers_per_ipu", {0, 4, 4}},
                  {"rate", 1e-5},
                  {"half", true},
                  {"dataset", "generated"},
                  {"flag", true}}));
}

class Configurations : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("configurations_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::filesystem::path folder_;
};

const char* kBert =
    "large: &large\n  dataset: pretraining\n  num_hidden_layers: 24\n  hidden_size: 1024\n  num_attention_heads: 16\n"
    "  vocab_size: 30522\n  sequence_length: 128\n  mask_tokens: 20\n  micro_batch_size: 8\n  replication_factor: 4\n"
    "  gradient_accumulation: 2048\n  layers_per_ipu: [3, 7, 7, 7]\n  matmul_proportion: [0.15, 0.25, 0.25, 0.25]\n"
    "  replicated_tensor_sharding: True\n  recompute_checkpoint_every_layer: True\n  optimizer: LAMBNoBiasCorrection\n"
    "  embedding_serialization_factor: 2\n  enable_half_partials: True\n"
    "packed:\n  <<: *large\n  packed_data: True\n  packing_factor: {128: 1.17}\n"
    "rest:\n  <<: *large\n  layers_per_ipu: [3, -1, 7, 7]\n"
    "odd:\n  <<: *large\n  embedding_serialization_factor: 6\n  brand_new_key: 5\n  auto_loss_scaling: True\n";

TEST_F(Configurations, PublishedPipelinesBecomeJobs) {
  const std::string file = write("configs.yml", kBert);
  const json job = import_configuration({{file}, "large", "", {}}).job;
  const json& plan = job["plan"];
  EXPECT_EQ(job["machine"], "ipu-pod16");
  EXPECT_EQ(job["batch"]["global"], 65536);
  EXPECT_EQ(job["optimizer"], (json{{"kind", "lamb"}, {"bias_correction", false}, {"weight_decay", 0.0}}));
  EXPECT_EQ(plan["layers_per_stage"], (json{3, 7, 7, 7, 0}));  // the head is beside the embedding
  EXPECT_EQ(plan["stage_ipu"], (json{0, 1, 2, 3, 0}));
  EXPECT_EQ(plan["available_memory_proportion"], (json{{"stages", {0.15, 0.25, 0.25, 0.25}}}));
  EXPECT_EQ(plan["location"]["optimizer_state"], "streaming");
  EXPECT_EQ(plan["replicated_tensor_sharding"]["optimizer_state"], 4);
  EXPECT_EQ(plan["serialisation"], (json{{"embedding", 2}, {"head", 2}}));
  EXPECT_THAT(job["notes"].get<std::vector<std::string>>(), ElementsAre(HasSubstr("machine: the smallest IPU-POD")));
  // As the example does, accumulation is rounded up once packs hold more than one sequence.
  const json packed = import_configuration({{file}, "packed", "", {}}).job;
  EXPECT_EQ(packed["plan"]["gradient_accumulation"], 1751);
  EXPECT_EQ(packed["model"]["masked_tokens"], 22);
  EXPECT_EQ(import_configuration({{file}, "rest", "bow-pod64", {}}).job["machine"], "bow-pod64");
  EXPECT_EQ(import_configuration({{file}, "large", "", {{"micro_batch_size", "4"}}}).job["batch"]["global"], 32768);
}

TEST_F(Configurations, WhatNoJobCanSayIsTold) {
  const std::string file = write("configs.yml", kBert);
  const ImportedJob odd = import_configuration({{file}, "odd", "", {}});
  EXPECT_THAT(odd.no_equal,
              ElementsAre(HasSubstr("auto_loss_scaling = true"), "brand_new_key = 5: not known, left out"));
  EXPECT_EQ(odd.job["plan"]["serialisation"]["embedding"], 4);  // 6 does not cut 1024 columns
  EXPECT_THAT(odd.job["notes"].get<std::vector<std::string>>(), Contains(HasSubstr("embedding in 4 parts, not 6")));
}

TEST_F(Configurations, RefusalsNameTheKey) {
  const std::string file = write("configs.yml", kBert);
  const auto message = [&](ConfigurationRequest request) { return message_of([&] { import_configuration(request); }); };
  EXPECT_THAT(message({{file}, "", "", {}}), HasSubstr("expected --name with one of: large, odd, packed, rest"));
  EXPECT_THAT(message({{file}, "lrge", "", {}}), HasSubstr("did you mean \"large\""));
  EXPECT_THAT(message({{file}, "large", "", {{"optimizer", "Adafactor"}}}),
              HasSubstr("large, optimizer: found \"Adafactor\""));
  EXPECT_THAT(message({{file}, "large", "", {{"micro_batch_size", "eight"}}}),
              HasSubstr("micro_batch_size: found \"eight\", expected an integer"));
  EXPECT_THAT(message({{write("other.json", "{\"a\": 1}")}, "", "", {}}), HasSubstr("keys of no known configuration"));
  EXPECT_THAT(message({{write("net.yml", "n:\n  model: resnet18\n  micro_batch_size: 2\n")}, "n", "", {}}),
              HasSubstr("model: found \"resnet18\""));
  EXPECT_THAT(message({{write("none.yml", "")}, "", "", {}}), HasSubstr("expected an object of keys"));
  EXPECT_THAT(message({{(folder_ / "absent.yml").string()}, "", "", {}}), HasSubstr("absent.yml"));
}

// Values that would divide by zero, overflow, or be dropped are refused by their key.
TEST_F(Configurations, ValuesOutOfRangeAreRefused) {
  const std::string file = write("configs.yml", kBert);
  const auto with = [&](const std::string& key, const std::string& value) {
    return message_of([&] { import_configuration({{file}, "large", "", {{key, value}}}); });
  };
  for (const char* value : {"0", "-4", "9223372036854775807", "null", "[8]", "\"x\""})
    EXPECT_THAT(with("micro_batch_size", value), HasSubstr("micro_batch_size")) << value;
  EXPECT_THAT(with("replication_factor", "0"), HasSubstr("found 0, expected an integer of at least 1"));
  EXPECT_THAT(with("layers_per_ipu", "[3, 7, 7]"), HasSubstr("layers_per_stage"));
  EXPECT_THAT(with("layers_per_ipu", "[3, -2, 7, 7]"), HasSubstr("layers_per_ipu: found -2"));
  EXPECT_THAT(with("hidden_size.x", "3"), HasSubstr("--set: found hidden_size.x, but hidden_size is 1024"));
  EXPECT_EQ(with("a~b/c", "3"), "accepted");
  const std::string stages = write("pretrain.json", R"({"bert_model_name": "bert-base-uncased", "global_batch":
      {"micro_batch_size": 1, "replicas": 1, "grad_acc_steps_per_replica": 20}, "optimizer_opts": {"name": "AdamW"},
      "ipu_config": {"pipeline_stages": [["emb"], ["hid", "hidden"]], "pipeline_device_mapping": [0, 1]}})");
  EXPECT_THAT(message_of([&] {
                import_configuration({{stages}, "", "", {}});
              }),
              HasSubstr("found stage [\"hid\",\"hidden\"]"));
}

TEST_F(Configurations, ABenchmarkReplacesKeysOfItsConfiguration) {
  const std::string configs = write("configs.yml", kBert);
  const std::string benchmarks = write("benchmarks.yml",
                                       "bench:\n  description: x\n  cmd: >-\n    python3 run_pretraining.py\n      "
                                       "--config large\n      --micro-batch-size 4\n");
  const json job = import_configuration({{configs, benchmarks}, "bench", "", {}}).job;
  EXPECT_EQ(job["plan"]["micro_batch"], 4);
  EXPECT_EQ(job["plan"]["layers_per_stage"], (json{3, 7, 7, 7, 0}));
  EXPECT_THAT(message_of([&] {
                import_configuration({{benchmarks}, "bench", "", {}});
              }),
              HasSubstr("found --config large, expected also the file"));
}

TEST_F(Configurations, PhasedOnesHaveAPhaseForEachLayer) {
  const std::string file =
      write("finetuning.yml",
            "release:\n  tiny:\n    model: {sequence_length: 64, layers: 3, hidden_size: 128, attention: {heads: 4, "
            "rotary_dim: 16}, embedding: {vocab_size: 512}}\n    training: {global_batch_size: 16}\n    execution: "
            "{micro_batch_size: 1, data_parallel: 2, tensor_parallel: 4, io_tiles: 64, available_memory_proportion: "
            "[0.2]}\n");
  const json job = import_configuration({{file}, "tiny", "", {}}).job;
  EXPECT_EQ(job["plan"]["phases"], (json{0, 1, 2, 3, 4}));
  EXPECT_EQ(job["plan"]["stages"], (json{0, 1, 4, 7, 10}));
  EXPECT_EQ(job["plan"]["gradient_accumulation"], 8);
  EXPECT_EQ(job["plan"]["location"]["weights"], "streaming");
}

TEST_F(Configurations, OptimumSharesTheRestOfTheLayers) {
  const std::string model = write(
      "config.json",
      R"({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522})");
  const std::string execution =
      write("ipu_config.json", R"({"layers_per_ipu": [1, -1, -1], "replication_factor": 2, "matmul_proportion": 0.3})");
  const ImportedJob r = import_configuration({{execution, model}, "", "", {{"head", "question_answering"}}});
  EXPECT_EQ(json(r.job)["plan"]["layers_per_stage"], (json{1, 5, 6}));
  EXPECT_EQ(json(r.job)["plan"]["replicas"], 2);
  EXPECT_THAT(r.no_equal, IsEmpty());
  EXPECT_THAT(message_of([&] {
                import_configuration({{execution}, "", "", {}});
              }),
              HasSubstr("config.json of the model"));
}

TEST_F(Configurations, CalculonHasAModelAndAnExecution) {
  const std::string model = write(
      "model.json",
      R"({"hidden": 1024, "feedforward": 4096, "seq_size": 512, "attn_heads": 16, "attn_size": 64, "num_blocks": 8})");
  const std::string execution = write(
      "execution.json",
      R"({"num_procs": 16, "tensor_par": 2, "pipeline_par": 4, "data_par": 2, "batch_size": 64, "microbatch_size": 1, "activation_recompute": "full", "optimizer_sharding": true, "pipeline_interleaving": 2, "training": true})");
  const ImportedJob r = import_configuration({{model, execution}, "", "", {}});
  const json plan = json(r.job)["plan"];
  EXPECT_EQ(plan["tensor_parallel"], 2);
  EXPECT_EQ(plan["gradient_accumulation"], 32);
  EXPECT_EQ(plan["replicated_tensor_sharding"]["optimizer_state"], 2);
  EXPECT_THAT(r.no_equal, ElementsAre(HasSubstr("pipeline_interleaving = 2")));
}

}  // namespace
}  // namespace superstep
