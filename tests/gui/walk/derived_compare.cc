// SPDX-License-Identifier: Apache-2.0
// Of reports side by side.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/gui/walk/derived_rules.h"

namespace superstep::gui {
namespace {

// Of each report's own clock; what neither works nor waits is idle.
Titles compared_pipelines(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    const double ms_per_cycle = a.t.value(r, "Step, ms") / a.t.value(r, "Step, cycles");
    EXPECT_LE(a.t.whole(r, "Works, cycles") + a.t.whole(r, "Waits, cycles"), a.t.whole(r, "Step, cycles"));
    EXPECT_NEAR(a.t.value(r, "Works, ms"), a.t.value(r, "Works, cycles") * ms_per_cycle, 1e-6);
    EXPECT_NEAR(a.t.value(r, "Waits, ms"), a.t.value(r, "Waits, cycles") * ms_per_cycle, 1e-6);
  }
  return {"Works, cycles", "Waits, cycles", "Works, ms", "Waits, ms"};
}

Titles compared_terms(const Asked& a) {
  const auto& rows = a.printed.contains("labels") ? a.printed.at("waterfall") : nlohmann::json::array();
  for (int r = 0; r < a.t.rows() && !rows.empty(); ++r) {
    const double source = a.t.value(r, "Source, s"), target = a.t.value(r, "Target, s");
    if (r < std::ssize(rows)) {
      const auto& printed = rows.at(static_cast<std::size_t>(r)).at("seconds");
      EXPECT_EQ(source, printed.at(0).get<double>()) << "as compare --json says";
      EXPECT_EQ(target, printed.at(1).get<double>()) << "as compare --json says";
    }
    EXPECT_NEAR(a.t.value(r, "Diff, ms"), (target - source) * 1e3, 1e-9);
    if (source > 0) {
      EXPECT_NEAR(a.t.value(r, "Diff, %"), (target / source - 1) * 100, 1e-9);
    }
  }
  return {"Diff, ms", "Diff, %"};
}

// Those of the source that are its program's calls by name, times how often they run.
Titles compared_phases(const Asked& a) {
  std::map<std::string, std::int64_t> cycles;
  const std::function<void(const report::ProgramNode&, std::int64_t)> walk = [&](const auto& n, std::int64_t times) {
    if (n.kind() == "repeat") times *= n.micro_batches() > 0 ? n.micro_batches() : n.count();
    if (n.kind() == "call") cycles[n.name()] += times * n.cycles();
    for (const auto& child : n.children()) walk(child, times);
  };
  walk(a.index.program(), 1);
  times(a, "Source, ms", "Source, cycles");
  times(a, "Target, ms", "Target, cycles");
  for (int r = 0; r < a.t.rows(); ++r) {
    const auto known = cycles.find(a.t.text(r, "Layer and phase"));
    if (known != cycles.end()) {
      EXPECT_EQ(a.t.whole(r, "Source, cycles"), known->second) << known->first;
    }
    EXPECT_DOUBLE_EQ(a.t.value(r, "Diff, ms"), a.t.value(r, "Target, ms") - a.t.value(r, "Source, ms"));
  }
  return {"Source, ms", "Target, ms", "Diff, ms", "Source, cycles", "Target, cycles"};
}

}  // namespace

Rules compare_rules() {
  return {
      {"compare/Waterfalls", compared_terms},
      {"compare/Pipelines", compared_pipelines},
      {"compare/Layers and phases", compared_phases},
  };
}

}  // namespace superstep::gui
