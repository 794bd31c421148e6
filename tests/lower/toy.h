// SPDX-License-Identifier: Apache-2.0
// The toy machine (data/machines/toy.json) with nothing fitted: 4 tiles, 2 workers, 1 cycle = 1 us, a
// byte received per cycle, 10 cycles per superstep, weight blocks of 16 x 16 with 4 cycles per row
// and 10 to begin, 2 bytes per cycle on a rung and 1 on a rail, 10 cycles per hop, 20 per external sync.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "model/cost/cost.h"
#include "model/graph/autodiff.h"
#include "model/graph/builder.h"
#include "model/lower/lower.h"
#include "model/lower/shard.h"
#include "model/machine/load_machine.h"
#include "model/zoo/zoo.h"

namespace superstep::test {

// Factor 1 and no fixed costs.
inline Calibration nothing_fitted() { return {}; }

inline Machine toy(std::int64_t ipus) {
  return load_machine(ipus == 8 ? nlohmann::json("toy") : nlohmann::json{{"base", "toy"}, {"partition", ipus}}, "test");
}

// A GPT of so many layers with Adam: four heads, one sample of `length` tokens.
inline Graph small_gpt(std::int64_t layers, std::int64_t hidden, std::int64_t length, std::int64_t vocabulary) {
  TransformerSpec spec = transformer_spec("gpt2-small");
  spec.layers = layers, spec.hidden = hidden, spec.heads = 4, spec.ffn = 4 * hidden, spec.vocabulary = vocabulary;
  spec.sequence_length = spec.positions = length;
  Graph graph = build(spec, 1, DType::fp16);
  add_optimizer(graph, add_gradients(graph), OptimizerSpec{.kind = "adam"});
  return graph;
}

// A finished graph with its splits and table.
struct Lowered {
  Lowered(Graph g, std::int64_t ipus, TensorParallel mesh, bool training,
          const Calibration& calibration = nothing_fitted())
      : Lowered(std::move(g), toy(ipus), mesh, training, calibration) {}
  Lowered(Graph g, const Machine& machine, TensorParallel mesh, bool training,
          const Calibration& calibration = nothing_fitted())
      : graph(std::move(g)),
        model(machine, calibration),
        facts(graph),
        sharding(shard(graph, mesh, collective_time(model, mesh), work_time(graph, model.machine().chip))),
        shared(model, model.machine().chip.tiles),
        table(facts, sharding, model, shared, key(mesh), training) {}
  static TableKey key(TensorParallel mesh) {
    TableKey k;
    k.mesh = mesh;
    return k;
  }
  Graph graph;
  CostModel model;
  GraphFacts facts;
  GraphSharding sharding;
  SharedCosts shared;
  UnitTable table;
};

}  // namespace superstep::test
