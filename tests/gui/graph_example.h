// SPDX-License-Identifier: Apache-2.0
// An example report with a model graph of six layers of two units between a stem and a head, and a program whose
// numbers a reader can follow. Phased, of 5 + 140 + 50 cycles:
//   load phase 0                          5
//   phase 0 forward            4 x 30 beside load phase 1 of 40, then 20 of store boundary: 140
//     stem 10, a0/in 10 on IPU 0; a0/out 20 on IPU 1
//   phase 1 backward                     50
//     head backward 30 on IPU 1, then update phase 1 of 20, which stores weights
#pragma once

#include "tests/gui/program_example.h"

namespace superstep::gui {

inline void add_graph(ExampleReport& example) {
  std::vector<std::string> names{"stem"};
  std::vector<std::int64_t> layers{-1}, stages{0}, classes{0}, phases{0}, parameters{10}, bytes{20};
  const auto add = [&](const std::string& name, std::int64_t layer, std::int64_t ipu, std::int64_t phase) {
    names.push_back(name), layers.push_back(layer), stages.push_back(ipu), classes.push_back(ipu);
    phases.push_back(phase), parameters.push_back(1000), bytes.push_back(2'000'000 + layer);
  };
  for (std::int64_t layer = 0; layer < 6; ++layer) {
    add("a" + std::to_string(layer) + "/in", layer, layer < 3 ? 0 : 1, layer < 1 ? 0 : 1);
    add("a" + std::to_string(layer) + "/out", layer, layer < 3 && layer > 0 ? 0 : 1, layer < 1 ? 0 : 1);
  }
  add("head", -1, 1, 1);
  std::vector<std::int64_t> from, to, passed;
  for (std::int64_t i = 0; i + 1 < static_cast<std::int64_t>(names.size()); ++i) {
    from.push_back(i), to.push_back(i + 1), passed.push_back(4096 + i);
  }
  auto& columns = example.columns;
  columns.add_texts("unit.name", names);
  columns.add_integers("unit.layer", "index", layers);
  columns.add_integers("unit.stage", "index", stages);
  columns.add_integers("unit.ipu_class", "index", classes);
  columns.add_integers("unit.phase", "index", phases);
  columns.add_integers("unit.parameters", "count", parameters);
  columns.add_integers("unit.weight_bytes", "bytes", bytes);
  columns.add_integers("edge.from", "index", from);
  columns.add_integers("edge.to", "index", to);
  columns.add_integers("edge.bytes", "bytes", passed);
}

inline report::ProgramNode on_ipu(int ipu, std::int64_t cycles) {
  report::ProgramNode node = program_node("sequence", "IPU " + std::to_string(ipu), cycles);
  node.set_ipu_class(ipu);
  return node;
}

inline std::filesystem::path write_graph_example(const std::filesystem::path& folder) {
  ExampleReport example = example_report(Example::tight);
  add_graph(example);
  auto& root = *example.index.mutable_program() = program_node("sequence", "step", 195);
  auto& before = *root.add_children() = program_node("parallel", "load phase 0", 5);
  *before.add_children() = program_node("step", "load weights", 5);
  auto& phases = *root.add_children() = program_node("sequence", "phases", 190);
  auto& first = *phases.add_children() = program_node("sequence", "phase 0 forward", 140);
  auto& beside = *first.add_children() = program_node("parallel", "compute and preload", 120);
  auto& loop = *beside.add_children() = program_node("repeat", "forward micro-batches", 30, 4);
  auto& cycle = *loop.add_children() = program_node("parallel", "pipeline cycle", 30);
  auto& left = *cycle.add_children() = on_ipu(0, 20);
  *left.add_children() = program_call("stem forward", 0, 10);
  *left.add_children() = program_call("a0/in forward", 0, 10);
  auto& right = *cycle.add_children() = on_ipu(1, 20);
  *right.add_children() = program_call("a0/out forward", 1, 20);
  auto& preload = *beside.add_children() = program_node("parallel", "load phase 1", 40);
  *preload.add_children() = program_node("step", "load weights", 40);
  *first.add_children() = program_node("step", "store boundary", 20);
  auto& second = *phases.add_children() = program_node("sequence", "phase 1 backward", 50);
  auto& back = *second.add_children() = on_ipu(1, 30);
  *back.add_children() = program_call("head backward", 2, 30);
  auto& update = *second.add_children() = program_node("parallel", "update phase 1", 20);
  *update.add_children() = program_node("step", "store weights", 20);
  example.columns.finish(example.index, folder / "graph.ssr");
  return folder / "graph.ssr";
}

// The same graph in a pipeline of two stages, without phases: 3 micro-batches, then an update.
inline std::filesystem::path write_pipeline_graph(const std::filesystem::path& folder) {
  ExampleReport example = example_report(Example::tight);
  add_graph(example);
  auto& root = *example.index.mutable_program() = program_node("sequence", "step", 340);
  auto& loop = *root.add_children() = program_node("repeat", "micro-batches", 100, 3);
  auto& cycle = *loop.add_children() = program_node("parallel", "pipeline cycle", 100);
  auto& left = *cycle.add_children() = on_ipu(0, 60);
  *left.add_children() = program_call("stem forward", 0, 10);
  *left.add_children() = program_call("a1/in forward", 0, 15);
  *left.add_children() = program_call("a1/in recompute", 0, 15);
  *left.add_children() = program_call("a1/in backward", 2, 20);
  auto& right = *cycle.add_children() = on_ipu(1, 100);
  *right.add_children() = program_call("a3/in forward", 0, 15);
  *right.add_children() = program_call("head forward", 1, 35);
  *right.add_children() = program_call("head backward", 2, 50);
  auto& update = *root.add_children() = on_ipu(0, 40);
  *update.add_children() = program_call("stem update", 4, 40);
  example.columns.finish(example.index, folder / "pipeline.ssr");
  return folder / "pipeline.ssr";
}

}  // namespace superstep::gui
