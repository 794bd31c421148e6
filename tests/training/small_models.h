// SPDX-License-Identifier: Apache-2.0
// Networks that train in milliseconds, and folders that go away again.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "model/error.h"
#include "model/graph/autodiff.h"
#include "model/training/initial_values.h"
#include "model/training/trainer.h"
#include "model/zoo/zoo.h"

namespace superstep {

constexpr std::int64_t kTinyUnits = 8;  // of tiny("gpt2-small")

inline TransformerSpec tiny(const std::string& name) {
  TransformerSpec spec = transformer_spec(name);
  spec.layers = 2, spec.hidden = 16, spec.heads = 4, spec.ffn = 32, spec.vocabulary = 24;
  spec.sequence_length = 4, spec.positions = 6;
  spec.masked_tokens = spec.family == "bert" ? 2 : 0;
  spec.dropout = spec.attention_dropout = 0.1;
  return spec;
}

inline Graph tiny_training(const std::string& name, std::int64_t samples, const OptimizerSpec& optimizer,
                           LossScaling scaling = LossScaling::none, DType type = DType::fp32) {
  Graph graph = build(tiny(name), samples, type);
  add_optimizer(graph, add_gradients(graph, scaling), optimizer, scaling);
  return graph;
}

inline Trainer::Run plain_run(const Graph& graph) {
  return [&graph](const Values& feeds, const KernelContext& context) { return evaluate(graph, feeds, context); };
}

inline TrainingState fresh_state(const Graph& graph, std::uint64_t seed) {
  return {.tensors = initial_values(graph, WeightSource::stored_or_drawn, seed), .seed = seed};
}

class Folder {
 public:
  Folder() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) / (std::string(info->test_suite_name()) + "." + info->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// The message of the Error that `f` throws; empty: none.
template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace superstep
