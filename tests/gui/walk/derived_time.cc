// SPDX-License-Identifier: Apache-2.0
// Of one step of the IPUs: pipeline, trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "tests/gui/walk/derived_rules.h"

namespace superstep::gui {
namespace {

Titles steps_of_ipus(const Asked& a, const char* sum_row, int from, int to) {
  Titles out;
  for (std::int64_t ipu = 0; ipu < a.index.ipu_classes_size() && a.t.rows() > 0; ++ipu) {
    const std::string title = a.index.ipu_classes(static_cast<int>(ipu)).name();
    if (a.t.column(title.c_str()) < 0) continue;
    std::int64_t sum = 0;
    for (int r = from; r < to; ++r) sum += a.t.whole(r, title.c_str());
    EXPECT_EQ(sum, a.index.program().cycles()) << sum_row << " of " << title;
    out.insert(title);
  }
  return out;
}

// What IPUs work by the program's calls; with waiting it is the step.
Titles work(const Asked& a) {
  const Reckoned reckoned(a.index);
  Titles out = steps_of_ipus(a, "all work", 0, a.t.rows() - 1);
  const double clock_cycles = static_cast<double>(a.index.program().cycles()) * a.index.ipu_classes_size();
  for (int r = 0; r < a.t.rows(); ++r) {
    const std::string name = a.t.text(r, "Work");
    std::int64_t all = 0;
    for (std::int64_t ipu = 0; ipu < a.index.ipu_classes_size(); ++ipu) {
      const std::int64_t cycles = a.t.whole(r, a.index.ipu_classes(static_cast<int>(ipu)).name().c_str());
      all += cycles;
      const auto called = reckoned.cycles.find({ipu, name});
      if (called != reckoned.cycles.end()) {
        EXPECT_EQ(cycles, called->second) << name << " of IPU " << ipu;
      }
    }
    EXPECT_EQ(a.t.whole(r, "Cycles of all"), all);
    EXPECT_DOUBLE_EQ(a.t.value(r, "%"), static_cast<double>(all) / clock_cycles * 100);
  }
  times(a, "ms of all", "Cycles of all");
  out.insert({"Cycles of all", "ms of all", "%"});
  return out;
}

Titles parts(const Asked& a) {
  follow(a, "From, cycles", "Cycles");
  times(a, "From, ms", "From, cycles");
  times(a, "ms", "Cycles");
  std::int64_t end = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    end = a.t.whole(r, "From, cycles") + a.t.whole(r, "Cycles");
    if (a.t.whole(r, "Iterations") > 0) {
      EXPECT_EQ(a.t.whole(r, "Cycles"), a.t.whole(r, "Iterations") * a.t.whole(r, "Cycles of one"));
    }
  }
  if (a.t.rows() > 0) {
    EXPECT_EQ(end, a.index.program().cycles());
  }
  return {"From, cycles", "From, ms", "ms", "Cycles", "Iterations"};
}

// In a lane boxes follow one another.
Titles boxes(const Asked& a) {
  times(a, "ms", "Cycles");
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    EXPECT_LE(a.t.whole(r, "of which recompute"), a.t.whole(r, "Cycles"));
    if (a.t.text(r, "Lane") != a.t.text(r + 1, "Lane")) continue;
    EXPECT_NEAR(a.t.value(r + 1, "From, ms"), a.t.value(r, "From, ms") + a.t.value(r, "ms"),
                a.t.value(r, "From, ms") * 1e-12);
  }
  return {"Cycles", "ms", "From, ms", "of which recompute"};
}

// The copy of so many cycles, below `node`; null: none.
const report::ProgramNode* copy_step(const report::ProgramNode& node, std::int64_t cycles) {
  if (node.work() == "copy" && node.cycles() == cycles) return &node;
  for (const auto& child : node.children()) {
    if (const auto* found = copy_step(child, cycles)) return found;
  }
  return nullptr;
}

// Neighbours send: each micro-batch goes from one IPU to another, in one step for all.
Titles copies(const Asked& a) {
  times(a, "ms", "Cycles");
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_NE(a.t.text(r, "Lane"), a.t.text(r, "To"));
    const auto* step = copy_step(a.index.program(), a.t.whole(r, "Cycles"));
    if (!step) {
      ADD_FAILURE() << "no such copy in the program, row " << r;
      continue;
    }
    EXPECT_EQ(a.t.whole(r, "Bytes"), step->bytes());
    EXPECT_GE(a.t.whole(r, "Micro-batch"), 0);
    EXPECT_GE(a.t.value(r, "From, ms"), 0);
  }
  return {"ms", "Cycles", "Bytes", "Micro-batch", "From, ms"};
}

// Boxes and copies in order, none of which overlap.
Titles path(const Asked& a) {
  times(a, "ms", "Cycles");
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    EXPECT_LE(a.t.value(r, "From, ms") + a.t.value(r, "ms"), a.t.value(r + 1, "From, ms") * (1 + 1e-12));
  }
  return {"ms", "Cycles", "From, ms", "Bytes"};
}

Titles critical_path_runs(const Asked& a) {
  follow(a, "From, cycles", "Cycles");
  times(a, "ms", "Cycles");
  times(a, "From, ms", "From, cycles");
  return {"ms", "Cycles", "From, ms", "From, cycles"};
}

Titles trace_steps(const Asked& a) {
  times(a, "µs", "Cycles", 1e6);
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_LE(a.t.whole(r, "Compute") + a.t.whole(r, "Exchange") + a.t.whole(r, "Sync"), a.t.whole(r, "Cycles"));
    if (r + 1 == a.t.rows()) continue;
    EXPECT_NEAR(a.t.value(r + 1, "From, ms"), a.t.value(r, "From, ms") + ms(a, a.t.value(r, "Cycles")),
                a.t.value(r, "From, ms") * 1e-12);
  }
  return {"µs", "Cycles", "Compute", "Exchange", "Sync", "From, ms"};
}

// Seven parts in %, seven figures, the seven parts in cycles: they make the step.
Titles trace_summary(const Asked& a) {
  Titles out = steps_of_ipus(a, "all parts", 14, a.t.rows());
  for (const std::string& ipu : out) {
    EXPECT_EQ(a.t.whole(7, ipu.c_str()), a.index.program().cycles());
    for (int part = 0; part < 7; ++part) {
      EXPECT_DOUBLE_EQ(a.t.value(part, ipu.c_str()),
                       a.t.value(14 + part, ipu.c_str()) / static_cast<double>(a.index.program().cycles()) * 100);
    }
  }
  return out;
}

}  // namespace

Rules time_rules() {
  return {
      {"pipeline/Work", work},
      {"pipeline/Parts", parts},
      {"pipeline/Boxes", boxes},
      {"pipeline/Copies", copies},
      {"pipeline/Path", path},
      {"pipeline/Critical path", critical_path_runs},
      {"trace/Steps shown", trace_steps},
      {"trace/Summary of one step", trace_summary},
  };
}

}  // namespace superstep::gui
