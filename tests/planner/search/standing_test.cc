// SPDX-License-Identifier: Apache-2.0
// What a unit holds however it is split, by which cells are left out before there are tables.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/lower/unit_memory.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;

// Models of every kind of layer, small ones; with training and the statistics of batch norm where they have it.
const std::vector<json>& models() {
  static const std::vector<json> list = {
      {{"zoo", "gpt2-small"}, {"layers", 2}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 4000}},
      test::small_bert(2).at("model"),
      {{"zoo", "t5-small"}, {"layers", 2}, {"vocabulary", 4000}, {"sequence_length", 64}},
      {{"zoo", "gptj-6b"}, {"layers", 2}, {"hidden", 256}, {"heads", 4}, {"vocabulary", 3000}},
      {{"zoo", "vit-base"}, {"layers", 2}, {"hidden", 128}, {"heads", 4}},
      {{"zoo", "conformer-m"}, {"layers", 2}},
      {{"zoo", "resnet50"}, {"image_size", 64}},
      {{"zoo", "efficientnet-b0"}, {"image_size", 64}},
      {{"zoo", "lstm"}, {"hidden", 64}, {"vocabulary", 1000}, {"sequence_length", 6}},
  };
  return list;
}

json job_of(const json& model, const std::string& task) {
  json job = {{"model", model}, {"machine", "ipu-pod16"}, {"task", task}};
  if (task == "training") job["optimizer"] = {{"kind", "adam"}};
  return job;
}

std::vector<Pass> passes_of(const World& world) {
  return world.tables.training() ? std::vector{Pass::forward, Pass::backward} : std::vector{Pass::forward};
}

std::function<Bytes(TensorId)> bytes_on_ipu(const GraphFacts& facts) {
  return [&](TensorId t) { return facts.graph.info(t).bytes(); };
}
std::function<Bytes(TensorId)> bytes_on_tile(const GraphFacts& facts, std::int64_t tiles) {
  return [&, tiles](TensorId t) { return per_tile(facts.graph.info(t).bytes(), tiles); };
}

TEST(Standing, IsNoMoreThanAnySplitTakes) {
  for (const json& model : models()) {
    for (const char* task : {"training", "inference"}) {
      World world(job_of(model, task));
      for (const TensorParallel mesh : {TensorParallel{1, 1}, {2, 1}, {2, 2}, {4, 2}}) {
        for (const bool lean : {false, true}) {
          TableKey key;
          key.mesh = mesh;
          key.micro_batch = 3;
          key.split_activations = lean && mesh.size() > 1;
          if (lean) key.proportion = 0.05, key.io_tiles = 32;
          const UnitTable& table = world.tables.table(key);
          for (std::size_t u = 0; u < table.units(); ++u) {
            for (const Pass pass : passes_of(world)) {
              const Footprint& f = pass == Pass::forward ? table.row(u).forward : table.row(u).backward;
              const auto bytes_of = bytes_on_tile(table.facts(), world.job.machine.chip.tiles);
              EXPECT_LE(standing_alone(table.facts(), UnitId(u), pass, bytes_of).value, f.peak.value * mesh.size())
                  << model.at("zoo") << ' ' << task << ' ' << mesh.t1 << 'x' << mesh.t2 << (lean ? " lean, " : ", ")
                  << table.facts().graph.units[UnitId(u)].name << " pass " << static_cast<int>(pass);
            }
          }
        }
      }
    }
  }
}

TEST(Standing, OfOneIpuIsWhatItsTableSays) {
  for (const json& model : models()) {
    World world(job_of(model, "training"));
    TableKey key;
    key.micro_batch = 2;
    const UnitTable& table = world.tables.table(key);
    for (std::size_t u = 0; u < table.units(); ++u) {
      const Bytes alone =
          standing_alone(table.facts(), UnitId(u), Pass::forward, bytes_on_tile(table.facts(), table.tiles()));
      EXPECT_EQ(alone, table.row(u).forward.standing)
          << model.at("zoo") << ' ' << table.facts().graph.units[UnitId(u)].name;
    }
  }
}

// So that two micro-batches bound all larger ones: by as much as the second takes more than the first, and again.
TEST(Standing, GrowsNoLessFromOneMicroBatchToTheNext) {
  const std::vector<std::int64_t> micro_batches = {1, 2, 3, 4, 6, 16, 24};
  for (const json& model : models()) {
    World world(job_of(model, "training"));
    for (const Pass pass : passes_of(world)) {
      std::vector<std::vector<std::int64_t>> standing;  // by micro-batch and unit
      for (const std::int64_t micro_batch : micro_batches) {
        const GraphFacts& facts = world.tables.facts(micro_batch);
        std::vector<std::int64_t>& now = standing.emplace_back();
        for (std::size_t u = 0; u < facts.graph.units.size(); ++u)
          now.push_back(standing_alone(facts, UnitId(u), pass, bytes_on_ipu(facts)).value);
        ASSERT_EQ(now.size(), standing[0].size());
      }
      for (std::size_t k = 1; k < micro_batches.size(); ++k) {
        for (std::size_t u = 0; u < standing[0].size(); ++u) {
          const std::int64_t more = standing[k][u] - standing[k - 1][u];
          EXPECT_GE(more, 0) << model.at("zoo") << " m=" << micro_batches[k];
          if (k < 2) continue;
          const std::int64_t before = standing[k - 1][u] - standing[k - 2][u];
          EXPECT_GE(more * (micro_batches[k - 1] - micro_batches[k - 2]),
                    before * (micro_batches[k] - micro_batches[k - 1]))
              << model.at("zoo") << " m=" << micro_batches[k] << ' '
              << world.tables.facts(1).graph.units[UnitId(u)].name << " pass " << static_cast<int>(pass);
        }
      }
    }
  }
}

}  // namespace
}  // namespace superstep
