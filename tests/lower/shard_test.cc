// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism as it comes out of the splits that ops declare: Megatron's, without being told.
#include "model/lower/shard.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "model/graph/autodiff.h"
#include "model/lower/unit_table.h"
#include "model/machine/load_machine.h"
#include "model/zoo/zoo.h"

namespace superstep {
namespace {

constexpr std::int64_t kLayers = 3;
constexpr std::int64_t kBig = 1 << 16;  // elements; biases and scales are below

struct Sharded {
  TransformerSpec spec;
  std::int64_t micro_batch;
  Graph graph;
  GraphSharding sharding;

  Sharded(const std::string& model, TensorParallel mesh, std::int64_t m, const ShardRules& rules = {})
      : Sharded(transformer_spec(model), mesh, m, rules) {}
  Sharded(const TransformerSpec& s, TensorParallel mesh, std::int64_t m, const ShardRules& rules)
      : spec(s), micro_batch(m) {
    spec.layers = kLayers;
    graph = build(spec, m, DType::fp16);
    add_optimizer(graph, add_gradients(graph), OptimizerSpec{.kind = "adam"});
    const CostModel cost(load_machine(nlohmann::json("ipu-pod64"), "test"), load_calibration());
    sharding = shard(graph, mesh, collective_time(cost, mesh), work_time(graph, cost.machine().chip), rules);
  }

  // Collectives in the layers' units: how often each kind moves how many bytes.
  std::map<std::pair<CollectiveKind, std::int64_t>, std::int64_t> in_layers(Pass pass) const {
    std::map<std::pair<CollectiveKind, std::int64_t>, std::int64_t> found;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const Op& op = graph.ops[OpId(i)];
      if (op.pass != pass || graph.units[op.unit].layer < 0) continue;
      for (const Conversion& c : sharding.of(OpId(i)).conversions) ++found[{c.kind, c.bytes.value}];
    }
    return found;
  }

  Bytes local(TensorId t) const {
    return Bytes(local_volume(graph.info(t).shape, sharding.of(t), sharding.mesh) * size_of(graph.info(t).type));
  }
};

struct BlocksCase {
  std::string model;
  std::int64_t t, micro_batch;
};
void PrintTo(const BlocksCase& c, std::ostream* out) { *out << c.model << " t=" << c.t << " m=" << c.micro_batch; }

class Blocks : public testing::TestWithParam<BlocksCase> {};

TEST_P(Blocks, NeedTwoAllReducesForwardAndTwoBackward) {
  const Sharded s(GetParam().model, {GetParam().t, 1}, GetParam().micro_batch);
  const std::int64_t bytes = s.micro_batch * s.spec.sequence_length * s.spec.hidden * 2;
  const std::map<std::pair<CollectiveKind, std::int64_t>, std::int64_t> two = {
      {{CollectiveKind::all_reduce, bytes}, 2 * kLayers}};
  EXPECT_EQ(s.in_layers(Pass::forward), two);
  EXPECT_EQ(s.in_layers(Pass::backward), two);
}

// With activations split, the same bytes move as a reduce-scatter and a gather where an all-reduce stood, and what
// the backward pass reads whole is gathered again.
TEST_P(Blocks, ScatterAndGatherWhereActivationsAreSplit) {
  const Sharded s(GetParam().model, {GetParam().t, 1}, GetParam().micro_batch, {kSmallWeight, true, Bytes(0)});
  const std::int64_t bytes = s.micro_batch * s.spec.sequence_length * s.spec.hidden * 2;
  if (s.spec.sequence_length % GetParam().t != 0) return;  // positions are not split
  const std::map<std::pair<CollectiveKind, std::int64_t>, std::int64_t> once_each = {
      {{CollectiveKind::reduce_scatter, bytes}, 2 * kLayers}, {{CollectiveKind::all_gather, bytes}, 2 * kLayers}};
  EXPECT_EQ(s.in_layers(Pass::forward), once_each);
  std::map<CollectiveKind, std::int64_t> large;
  for (const auto& [kind, count] : s.in_layers(Pass::backward)) {
    if (kind.second >= bytes) large[kind.first] += count;
  }
  EXPECT_EQ(large[CollectiveKind::all_reduce], 0);
  EXPECT_EQ(large[CollectiveKind::reduce_scatter], 2 * kLayers);
  EXPECT_GE(large[CollectiveKind::all_gather], 2 * kLayers);
  EXPECT_LE(large[CollectiveKind::all_gather], 6 * kLayers);  // two products, each: its input, and its gradient twice
}

TEST_P(Blocks, KeepNoWholeActivationForTheBackwardPass) {
  const Sharded s(GetParam().model, {GetParam().t, 1}, GetParam().micro_batch, {kSmallWeight, true, Bytes(0)});
  if (s.spec.sequence_length % GetParam().t != 0) return;
  const GraphFacts facts(s.graph);
  const std::int64_t bytes = s.micro_batch * s.spec.sequence_length * s.spec.hidden * 2;
  for (std::size_t i = 0; i < s.graph.tensors.size(); ++i) {
    const Tensor& t = s.graph.tensors[TensorId(i)];
    if (!facts.read_in_backward[i] || s.graph.units[s.graph.ops[t.producer].unit].layer < 0) continue;
    if (t.info.bytes().value < bytes) continue;
    EXPECT_EQ(s.local(TensorId(i)) * GetParam().t, t.info.bytes()) << t.name;
  }
}

TEST_P(Blocks, StoreEachLargeWeightOnce) {
  const Sharded s(GetParam().model, {GetParam().t, 1}, GetParam().micro_batch);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < s.graph.tensors.size(); ++i) {
    const Tensor& t = s.graph.tensors[TensorId(i)];
    if (t.kind != TensorKind::weight || t.name.find("layer") != 0 || t.info.elements() < kBig) continue;
    ++seen;
    EXPECT_EQ(s.local(TensorId(i)) * GetParam().t, Bytes(t.info.elements() * 2)) << t.name;
  }
  EXPECT_EQ(seen, 4 * kLayers);  // qkv, out, up, down
}

TEST_P(Blocks, SplitGradientsAndStateAsTheWeightsAre) {
  const Sharded s(GetParam().model, {GetParam().t, 1}, GetParam().micro_batch);
  for (std::size_t i = 0; i < s.graph.tensors.size(); ++i) {
    const Tensor& t = s.graph.tensors[TensorId(i)];
    if (t.kind != TensorKind::weight_gradient && t.kind != TensorKind::optimizer_state) continue;
    if (t.info.shape != s.graph.info(t.weight).shape) continue;  // counters
    EXPECT_EQ(s.sharding.of(TensorId(i)), s.sharding.of(t.weight))
        << t.name << " of " << s.graph.tensors[t.weight].name;
  }
}

std::vector<BlocksCase> cases() {
  std::vector<BlocksCase> all;
  for (const char* model : {"bert-large", "gpt3-175b"}) {
    for (std::int64_t t : {2, 4, 8, 16}) all.push_back({model, t, t == 4 ? 2 : 1});
  }
  all.push_back({"gpt2-xl", 5, 1});  // 25 heads
  for (std::int64_t t : {2, 3, 4}) all.push_back({"gpt2-small", t, 1});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Transformers, Blocks, testing::ValuesIn(cases()));

// A narrow model on long samples: its weights are smaller than its activations, and travel instead of them.
TEST(Shard, GathersWeightsWhereTheyAreSmallerThanActivations) {
  TransformerSpec spec = transformer_spec("gpt2-small");
  spec.hidden = 256, spec.ffn = 1024, spec.heads = 4;
  auto gathered = [&](Bytes limit) {
    const Sharded s(spec, {4, 1}, 16, {kSmallWeight, true, limit});
    std::int64_t weights = 0;
    for (std::size_t i = 0; i < s.graph.ops.size(); ++i) {
      const Op& op = s.graph.ops[OpId(i)];
      for (const Conversion& c : s.sharding.of(OpId(i)).conversions) {
        const bool whole = c.kind == CollectiveKind::all_gather && c.operand >= 0 && op.pass == Pass::forward;
        if (!whole) continue;
        const TensorId t = op.inputs[static_cast<std::size_t>(c.operand)];
        weights += s.graph.tensors[t].kind == TensorKind::weight && s.graph.units[op.unit].layer >= 0 ? 1 : 0;
      }
    }
    return weights;
  };
  EXPECT_EQ(gathered(Bytes(1 << 30)), 4 * kLayers);
  EXPECT_EQ(gathered(Bytes(1000)), 0);  // no room to gather
}

// 25 heads are not shared evenly by 2, 4, 8 or 16 IPUs: jobs refuse it, and the splits stay legal all the same.
TEST(Shard, UnevenHeadsStillStoreEveryWeight) {
  for (std::int64_t t : {2, 4, 8, 16}) {
    const Sharded s("gpt2-xl", {t, 1}, 1);
    for (std::size_t i = 0; i < s.graph.tensors.size(); ++i) {
      const Tensor& w = s.graph.tensors[TensorId(i)];
      if (w.kind == TensorKind::weight) {
        EXPECT_GE(s.local(TensorId(i)) * t, Bytes(w.info.elements() * 2)) << w.name;
      }
    }
  }
}

void expect_split_64_fold(const char* model, TensorParallel mesh) {
  const Sharded s(model, mesh, 1);
  for (std::size_t i = 0; i < s.graph.tensors.size(); ++i) {
    const Tensor& t = s.graph.tensors[TensorId(i)];
    if (t.kind != TensorKind::weight || t.name.find("layer") != 0 || t.info.elements() < kBig) continue;
    EXPECT_EQ(s.local(TensorId(i)) * mesh.size(), Bytes(t.info.elements() * 2)) << t.name;
  }
}

TEST(Shard, TwoDimensionalMeshesSplitWeightsBothWays) {
  expect_split_64_fold("bert-large", {2, 2});
  expect_split_64_fold("gpt3-175b", {8, 8});
}

TEST(Shard, OneIpuNeedsNothing) {
  const Sharded s("bert-large", {1, 1}, 2);
  for (const OpSharding& op : s.sharding.ops) EXPECT_TRUE(op.conversions.empty());
}

}  // namespace
}  // namespace superstep
