// SPDX-License-Identifier: Apache-2.0
// An example report with a small program of its own, whose numbers a reader can follow:
//   step                         sequence       5 * 60 + 40 = 340
//     micro-batches              repeat 5       60
//       stages                   parallel       60
//         IPU 0                  sequence       60
//           L0/attention forward call 0         10
//           L1/attention forward call 0         10
//           L0/attention backward call 2        40
//         IPU 1                  sequence       20
//           L6/attention forward call 0         20
//     update                     step           40
#pragma once

#include "tests/traces/example_report.h"

namespace superstep::gui {

inline report::ProgramNode program_node(const std::string& kind, const std::string& name, std::int64_t cycles,
                                        std::int64_t count = 1) {
  report::ProgramNode node;
  node.set_kind(kind), node.set_name(name), node.set_cycles(cycles), node.set_count(count);
  node.set_function(-1), node.set_ipu_class(-1);
  return node;
}

inline report::ProgramNode program_call(const std::string& name, std::int64_t function, std::int64_t cycles) {
  report::ProgramNode node = program_node("call", name, cycles);
  node.set_function(function);
  return node;
}

inline std::filesystem::path write_program_example(const std::filesystem::path& folder) {
  ExampleReport example = example_report(Example::tight);
  auto& root = *example.index.mutable_program();
  root = program_node("sequence", "step", 340);
  auto& loop = *root.add_children() = program_node("repeat", "micro-batches", 60, 5);
  auto& stages = *loop.add_children() = program_node("parallel", "stages", 60);
  auto& first = *stages.add_children() = program_node("sequence", "IPU 0", 60);
  *first.add_children() = program_call("L0/attention forward", 0, 10);
  *first.add_children() = program_call("L1/attention forward", 0, 10);
  *first.add_children() = program_call("L0/attention backward", 2, 40);
  auto& second = *stages.add_children() = program_node("sequence", "IPU 1", 20);
  *second.add_children() = program_call("L6/attention forward", 0, 20);
  *root.add_children() = program_node("step", "update", 40);
  auto& product = *example.index.add_efficiency();
  product.set_unit("layer/attention forward"), product.set_op("layer/attention forward/query");
  product.set_calls(384), product.set_product("1024 x 1024 x 3072"), product.set_amp_efficiency(0.75);
  product.set_useful_seconds(0.25), product.set_seconds(0.5);
  const auto path = folder / "program.ssr";
  example.columns.finish(example.index, path);
  return path;
}

}  // namespace superstep::gui
