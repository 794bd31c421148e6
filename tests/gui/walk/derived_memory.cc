// SPDX-License-Identifier: Apache-2.0
// Of memory, and what streams: heat map, memory view, graph by phase, comparison.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>

#include "tests/gui/walk/derived_rules.h"

namespace superstep::gui {
namespace {

std::string json_name(std::string category) {
  for (char& c : category) c = c == ' ' ? '_' : static_cast<char>(std::tolower(c));
  return category;
}

// Categories as --json says, and their sums.
Titles memory(const Asked& a) {
  const auto& best = a.printed.contains("best") ? a.printed.at("best") : a.printed.at("closest");
  std::map<std::string, std::int64_t> sums;
  std::int64_t ipu = -1;
  std::string last, part;
  for (int r = 0; r < a.t.rows(); ++r) {
    const std::string name = a.t.text(r, "Category");
    if (a.t.text(r, "IPU") != last) ++ipu, sums.clear(), last = a.t.text(r, "IPU");
    const auto& printed = best.at("memory").at("ipus").at(static_cast<std::size_t>(ipu));
    const std::int64_t bytes = a.t.whole(r, "Bytes");
    EXPECT_EQ(bytes, a.t.whole(r, "KiB"));
    EXPECT_DOUBLE_EQ(a.t.value(r, "% of limit"),
                     static_cast<double>(bytes) / best.at("memory").at("tile_limit_bytes").get<double>() * 100);
    if (name == "Always live" || name == "Not always live") {
      part = json_name(name);
      std::int64_t sum = 0;
      for (const auto& each : printed.at(part)) sum += each.get<std::int64_t>();
      EXPECT_EQ(bytes, sum) << name << " of IPU " << ipu;
    } else if (name == "Fullest tile at its peak") {
      EXPECT_EQ(bytes, printed.at("tile_peak_bytes").get<std::int64_t>());
    } else if (name != "Not in a category") {
      EXPECT_EQ(bytes, printed.at(part).at(json_name(name)).get<std::int64_t>()) << name << " of IPU " << ipu;
    }
  }
  return {"KiB", "Bytes", "% of limit"};
}

Titles liveness(const Asked& a) {
  std::int64_t most = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, "Program step"), r);
    EXPECT_EQ(a.t.whole(r, "Total, KiB"), a.t.whole(r, "Resident, KiB") + a.t.whole(r, "Live in the step, KiB"));
    most = std::max(most, a.t.whole(r, "Total, KiB"));
  }
  if (a.t.rows() > 0) {
    const bool known = std::any_of(a.index.ipu_classes().begin(), a.index.ipu_classes().end(),
                                   [&](const auto& ipu) { return ipu.tile_peak_bytes() == most; });
    EXPECT_TRUE(known) << "the peak of all steps is that of an IPU: " << most;
  }
  // What a step has live, and beside it what a call keeps for its backward.
  std::set<std::int64_t> live;
  const std::vector<std::int64_t> bytes = a.report.column_integers("step.live_bytes");
  const std::vector<std::int64_t> keeping = a.report.column_integers("step.keeping_bytes");
  for (std::size_t i = 0; i < bytes.size(); ++i) live.insert(bytes[i]), live.insert(bytes[i] + keeping[i]);
  for (int r = 0; r < a.t.rows(); ++r) EXPECT_TRUE(live.contains(a.t.whole(r, "Live in the step, KiB"))) << "row " << r;
  Titles out{"Program step", "Resident, KiB", "Live in the step, KiB", "Total, KiB"};
  if (a.t.column("Gaps, KiB") < 0) return out;
  std::int64_t highest = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    const std::int64_t top = a.t.whole(r, "Highest address, KiB");
    EXPECT_GE(a.t.whole(r, "Gaps, KiB"), 0);
    EXPECT_EQ(top, a.t.whole(r, "Total, KiB") + a.t.whole(r, "Gaps, KiB")) << "row " << r;
    highest = std::max(highest, top);
  }
  EXPECT_GE(highest, most) << "placed bytes are at least those that are live at once";
  EXPECT_LE(highest, most + most / 20) << "and little more";
  out.insert({"Highest address, KiB", "Gaps, KiB"});
  return out;
}

// What is live at once stands side by side: by address each ends before the next one begins.
void expect_apart(const Asked& a) {
  std::map<std::int64_t, std::int64_t> ends;
  for (int r = 0; r < a.t.rows(); ++r) {
    const std::int64_t address = a.t.whole(r, "Address");
    EXPECT_EQ(address % 8, 0) << "row " << r;
    EXPECT_TRUE(ends.emplace(address, address + a.t.whole(r, "Bytes")).second) << "two stand at " << address;
  }
  for (auto at = ends.begin(); at != ends.end() && std::next(at) != ends.end(); ++at)
    EXPECT_LE(at->second, std::next(at)->first) << "at " << at->first;
}

// Those that are live at the peak are the fullest tile.
Titles variables(const Asked& a) {
  std::int64_t sum = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    sum += a.t.whole(r, "Bytes");
    EXPECT_LE(a.t.whole(r, "First step"), a.t.whole(r, "Last step"));
    EXPECT_EQ(a.t.whole(r, "Lifetime, steps"), a.t.whole(r, "Last step") - a.t.whole(r, "First step") + 1);
  }
  EXPECT_TRUE(std::any_of(a.index.ipu_classes().begin(), a.index.ipu_classes().end(),
                          [&](const auto& ipu) { return ipu.tile_peak_bytes() == sum; }))
      << "no IPU's fullest tile has " << sum << " bytes";
  if (a.t.column("Address") >= 0) expect_apart(a);
  return {"First step", "Last step", "Lifetime, steps", "Address"};
}

Titles streaming_memory(const Asked& a) {
  std::int64_t most = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    most = std::max(most, a.t.whole(r, "Held, bytes"));
    const double bytes = a.t.value(r, "Loaded, bytes") + a.t.value(r, "Stored, bytes");
    const double takes = a.t.value(r, "Takes, ms") / 1e3;
    if (takes == 0) continue;
    EXPECT_NEAR(a.t.value(r, "Mean, GB/s"), bytes / takes / 1e9, 1e-9 * bytes / takes / 1e9);
    EXPECT_NEAR(a.t.value(r, "% of roof"), bytes / takes / a.index.streaming_bytes_per_s() * 100, 1e-6);
  }
  EXPECT_LE(most, a.index.plan().ddr_bytes_per_ipu());
  return {"Held, bytes", "Mean, GB/s", "% of roof"};
}

// A phase computes, loads and stores for no longer than it takes; its times in ms are those in cycles.
Titles streams(const Asked& a) {
  Titles out;
  for (const char* what : {"Computing", "Loading", "Storing"}) {
    const std::string in_ms = std::string(what) + ", ms", in_cycles = std::string(what) + ", cycles";
    times(a, in_ms.c_str(), in_cycles.c_str());
    for (int r = 0; r < a.t.rows(); ++r) EXPECT_LE(a.t.whole(r, in_cycles.c_str()), a.t.whole(r, "Takes, cycles"));
    out.insert({in_ms, in_cycles});
  }
  return out;
}

Titles phases(const Asked& a) {
  Titles out = streams(a);
  times(a, "Begins, ms", "Begins, cycles");
  times(a, "Takes, ms", "Takes, cycles");
  if (a.t.rows() > 0) {
    EXPECT_EQ(a.t.whole(0, "Begins, cycles"), 0);
  }
  out.insert({"Begins, ms", "Begins, cycles"});
  return out;
}

// Of each phase the tiles that compute.
Titles heat_tiles(const Asked& a) {
  std::map<std::pair<std::string, std::string>, std::int64_t> active;
  const auto phase = [&](int r) { return std::pair(a.t.text(r, "IPU"), a.t.text(r, "Phase")); };
  std::map<std::pair<std::string, std::string>, std::int64_t> said;
  std::map<std::pair<std::string, std::string>, std::set<std::int64_t>> cycles;  // phases of one name may differ
  const TextColumn names = a.report.column_texts("heat.phase");
  const auto ipus = a.report.column_integers("heat.phase_ipu_class");
  const auto takes = a.report.column_integers("heat.phase_cycles");
  for (std::size_t i = 0; i < names.size(); ++i)
    cycles[{a.index.ipu_classes(static_cast<int>(ipus[i])).name(), names[i]}].insert(takes[i]);
  bool unique = true;  // phases of one name follow each other
  for (int r = 0; r < a.t.rows(); ++r) {
    if (a.t.whole(r, "Compute cycles") > 0) active[phase(r)] += a.t.whole(r, "Tiles");
    unique = unique && (!said.contains(phase(r)) || said[phase(r)] == a.t.whole(r, "Active tiles"));
    said[phase(r)] = a.t.whole(r, "Active tiles");
    EXPECT_LE(a.t.whole(r, "Active tiles"), a.index.tiles_per_ipu());
    EXPECT_TRUE(cycles[phase(r)].contains(a.t.whole(r, "Idle cycles") + a.t.whole(r, "Compute cycles"))) << "row " << r;
  }
  if (unique) {
    for (const auto& [name, tiles] : active) EXPECT_EQ(tiles % said[name], 0) << name.second;
  }
  Titles out{"Active tiles", "Idle cycles"};
  if (a.report.has_column("heat.phase_function") && a.index.functions_size() > 0 &&
      a.index.functions(0).has_relative_error()) {
    const auto functions = a.report.column_integers("heat.phase_function");
    std::map<std::pair<std::string, std::string>, std::set<double>> errors;
    for (std::size_t i = 0; i < names.size(); ++i) {
      errors[{a.index.ipu_classes(static_cast<int>(ipus[i])).name(), names[i]}].insert(
          a.index.functions(static_cast<int>(functions[i])).relative_error() * 100);
    }
    for (int r = 0; r < a.t.rows(); ++r) EXPECT_TRUE(errors[phase(r)].contains(a.t.value(r, "Error, ± %"))) << r;
    out.insert("Error, ± %");
  }
  return out;
}

// Of each layer and phase what its calls sum to, and the most of their tiles.
Titles heat_layers(const Asked& a) {
  const TextColumn names = a.report.column_texts("heat.phase");
  const auto takes = a.report.column_integers("heat.phase_cycles"),
             runs = a.report.column_integers("heat.phase_repeats");
  const auto ipus = a.report.column_integers("heat.phase_ipu_class");
  const auto phases = a.report.column_integers("tile.phase"), memory = a.report.column_integers("tile.memory_bytes");
  const auto compute = a.report.column_integers("tile.compute_cycles");
  std::int64_t listed = 0, all = 0;
  std::map<std::string, std::int64_t> cycles, most, idle;
  const auto key = [](std::string name) {  // "L3 attention forward"
    if (name.starts_with("layer") && std::isdigit(static_cast<unsigned char>(name[5]))) name = "L" + name.substr(5);
    const std::size_t slash = name.find_first_of("/ ");
    if (slash != std::string::npos) name[slash] = ' ';
    return name;
  };
  std::set<std::string> on;
  for (int r = 0; r < a.t.rows(); ++r) on.insert(a.t.text(r, "IPU"));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (on.size() == 1 && !on.contains(a.index.ipu_classes(static_cast<int>(ipus[i])).name())) continue;
    cycles[key(names[i])] += takes[i] * runs[i];
    all += takes[i] * runs[i];
  }
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const auto p = static_cast<std::size_t>(phases[i]);
    if (on.size() == 1 && !on.contains(a.index.ipu_classes(static_cast<int>(ipus[p])).name())) continue;
    most[key(names[p])] = std::max(most[key(names[p])], memory[i]);
    idle[key(names[p])] = std::max(idle[key(names[p])], takes[p] - compute[i]);
  }
  for (int r = 0; r < a.t.rows(); ++r) {
    const std::string name = a.t.text(r, "Layer") + " " + a.t.text(r, "Phase");
    EXPECT_EQ(a.t.whole(r, "Cycles in a step"), cycles[name]) << name;
    EXPECT_EQ(a.t.whole(r, "Live bytes"), most[name]) << name;
    EXPECT_EQ(a.t.whole(r, "Idle cycles"), idle[name]) << name;
    listed += a.t.whole(r, "Cycles in a step");
  }
  EXPECT_EQ(listed, all);
  Titles out{"Cycles in a step", "Idle cycles"};
  if (a.index.functions_size() > 0 && a.index.functions(0).has_relative_error()) out.insert("Error, ± %");
  return out;
}

Titles compared_memory(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, "Diff, KiB"), a.t.whole(r, "Target, KiB") - a.t.whole(r, "Source, KiB"));
  }
  return {"Diff, KiB"};
}

}  // namespace

Rules memory_rules() {
  return {
      {"heatmap/Tiles", heat_tiles},
      {"heatmap/Layers", heat_layers},
      {"graph/Phases", phases},
      {"memory/Memory", memory},
      {"memory/Liveness", liveness},
      {"memory/Variables", variables},
      {"memory/Streaming", streams},
      {"memory/Streaming Memory", streaming_memory},
      {"compare/Memory", compared_memory},
  };
}

}  // namespace superstep::gui
