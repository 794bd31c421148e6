// SPDX-License-Identifier: Apache-2.0
// An example report whose memory over time a reader can follow. IPU 0 runs A forward, which keeps, and A backward; IPU
// 1 runs B forward between them. A tile has 1,000 bytes:
//   step of IPU 0        0    1    2  |  3    4
//   weights            100  100  100  100  100
//   gradients                          50   50
//   A kept for backward                14   14
//   query               10   10   10             results of A forward
//   scores                   11
//   softmax                   4    4             stays, since A forward keeps
//   out                            10
//   out gradient                        6    6   result of A backward
//   needed by the step        5         2
//   total              110  130  124  172  170
#pragma once

#include <string>
#include <vector>

#include "tests/traces/example_report.h"
#include "traces/report_io.h"

namespace superstep::gui {

inline report::Index lifetime_index() {
  report::Index index;
  index.set_title("lifetimes"), index.set_clock_hz(1e6), index.set_tiles_per_ipu(10);
  index.set_streaming_bytes_per_s(20e6);
  for (int i = 0; i < 2; ++i) {
    report::IpuClass& ipu = *index.add_ipu_classes();
    ipu.set_name("IPU " + std::to_string(i)), ipu.set_contents("A"), ipu.set_count(1);
    ipu.set_tile_limit_bytes(1000), ipu.set_executable_limit_bytes(500), ipu.set_tile_peak_bytes(i == 0 ? 172 : 78);
    ipu.set_ddr_bytes(i == 0 ? 900 : 400), ipu.set_ddr_limit_bytes(5000);
    ipu.set_peak_step(3), ipu.set_peak_phase(i == 0 ? 2 : 1);
    const std::vector<std::pair<const char*, int>> memory = {{"weights", i == 0 ? 100 : 70},
                                                             {"gradients", i == 0 ? 50 : 0}};
    for (const auto& [name, bytes] : memory) {
      auto& m = *ipu.add_memory();
      m.set_name(name), m.set_always_live(true), m.set_bytes_per_tile(bytes);
    }
  }
  const std::vector<std::tuple<const char*, int, int>> functions = {{"A forward", 0, 3}, {"A backward", 3, 2}};
  for (const auto& [name, first, steps] : functions) {
    report::Function& f = *index.add_functions();
    f.set_name(name), f.set_first_step(first), f.set_steps(steps), f.set_cycles(100);
  }
  index.mutable_program()->set_name("step"), index.mutable_program()->set_kind("sequence");
  index.mutable_program()->set_cycles(300);
  index.mutable_plan()->set_label("p=2"), index.mutable_plan()->set_fits("fits");
  return index;
}

inline void add_lifetime_columns(ReportWriter& out) {
  using Texts = std::vector<std::string>;
  const auto numbers = [&](const char* name, const char* unit, std::vector<std::int64_t> values) {
    out.add_integers(name, unit, values);
  };
  const auto texts = [&](const char* name, const Texts& values) { out.add_texts(name, values); };
  texts("heat.phase", {"A forward", "B forward", "A backward"});
  texts("heat.phase_group", {"forward", "forward", "backward"});
  numbers("heat.phase_ipu_class", "index", {0, 1, 0});
  numbers("heat.phase_cycles", "cycles", {100, 100, 100});
  numbers("heat.phase_repeats", "index", {1, 1, 1});
  numbers("heat.phase_function", "index", {0, 1, 1});
  numbers("heat.phase_resident", "bytes", {100, 70, 150});
  numbers("heat.phase_kept", "bytes", {0, 0, 14});
  numbers("heat.phase_keeps", "index", {1, 0, 0});
  numbers("tile.phase", "index", {0, 0, 1, 2});
  numbers("tile.first", "index", {0, 4, 0, 0});
  numbers("tile.count", "index", {4, 6, 10, 10});
  numbers("tile.compute_cycles", "cycles", {50, 40, 50, 50});
  numbers("tile.exchange_bytes", "bytes", {5, 4, 5, 5});
  numbers("tile.memory_bytes", "bytes", {130, 124, 78, 172});
  texts("step.name", {"A/query", "A/scores", "A/out", "A/out gradient", "A/sum"});
  texts("step.kind", {"compute", "compute", "compute", "compute", "compute"});
  texts("step.term", {"AMP", "AMP", "AMP", "AMP", "AMP"});
  numbers("step.function", "index", {0, 0, 0, 1, 1});
  for (const char* name : {"step.cycles", "step.compute_cycles", "step.exchange_cycles", "step.sync_cycles"})
    numbers(name, "cycles", {30, 40, 30, 50, 50});
  numbers("step.bytes", "bytes", {1, 1, 1, 1, 1});
  numbers("step.live_bytes", "bytes", {10, 30, 20, 8, 6});
  numbers("step.temporary_bytes", "bytes", {0, 5, 0, 2, 0});
  numbers("step.keeping_bytes", "bytes", {0, 0, 4, 0, 0});
  numbers("step.tiles", "index", {0, 4, 0, 0, 0});
  texts("variable.name", {"w", "A gradients", "A kept for backward", "B/w"});
  texts("variable.category", {"weights", "gradients", "activations", "weights"});
  numbers("variable.ipu_class", "index", {0, 0, 0, 1});
  numbers("variable.bytes_per_tile", "bytes", {100, 50, 14, 70});
  numbers("variable.first_phase", "index", {0, 2, 1, 1});
  numbers("variable.last_phase", "index", {2, 2, 2, 1});
  texts("result.name", {"query", "scores", "softmax", "out", "out gradient"});
  numbers("result.function", "index", {0, 0, 0, 0, 1});
  numbers("result.bytes_per_tile", "bytes", {10, 11, 4, 10, 6});
  numbers("result.first_step", "index", {0, 1, 1, 2, 0});
  numbers("result.last_step", "index", {2, 1, 1, 2, 1});
  numbers("result.stays", "index", {0, 0, 1, 0, 0});
}

// Two stretches. IPU 0 holds 500 of weights and, in the second, 400 of a stash; it loads 600 of 100 cycles at 10 bytes
// per cycle in the first, 200 of them ahead.
inline void add_streaming_columns(ReportWriter& out) {
  const auto numbers = [&](const char* name, const char* unit, std::vector<std::int64_t> values) {
    out.add_integers(name, unit, values);
  };
  out.add_texts("stream.name",
                std::vector<std::string>{"phase 0 forward", "phase 0 forward", "phase 1 forward", "phase 1 forward"});
  out.add_texts("stream.ahead", std::vector<std::string>{"phase 1", "", "", ""});
  numbers("stream.begin", "cycles", {0, 0, 100, 100});
  numbers("stream.cycles", "cycles", {100, 100, 200, 200});
  numbers("stream.repeats", "index", {1, 1, 1, 1});
  numbers("stream.ipu_class", "index", {0, 1, 0, 1});
  numbers("stream.load_bytes", "bytes", {600, 0, 0, 0});
  numbers("stream.load_cycles", "cycles", {60, 0, 0, 0});
  numbers("stream.store_bytes", "bytes", {0, 0, 400, 0});
  numbers("stream.store_cycles", "cycles", {0, 0, 40, 0});
  numbers("stream.ahead_bytes", "bytes", {200, 0, 0, 0});
  out.add_texts("ddr.name", std::vector<std::string>{"weights", "into B", "weights"});
  out.add_texts("ddr.category", std::vector<std::string>{"weights", "stash", "weights"});
  numbers("ddr.ipu_class", "index", {0, 0, 1});
  numbers("ddr.bytes", "bytes", {500, 400, 400});
  numbers("ddr.first", "index", {0, 1, 0});
  numbers("ddr.last", "index", {1, 1, 1});
}

inline std::filesystem::path write_lifetime_example(const std::filesystem::path& folder) {
  ReportWriter out;
  add_lifetime_columns(out);
  add_streaming_columns(out);
  const auto path = folder / "lifetimes.ssr";
  out.finish(lifetime_index(), path);
  return path;
}

}  // namespace superstep::gui
