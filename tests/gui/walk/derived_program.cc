// SPDX-License-Identifier: Apache-2.0
// Of the program: operations, program tree, ops of a call.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "tests/gui/walk/derived_rules.h"

namespace superstep::gui {
namespace {

// The supersteps of one function, those of an op together.
Titles ops_of_call(const Asked& a) {
  times(a, "µs", "Cycles", 1e6);
  const TextColumn names = a.report.column_texts("step.name"), kinds = a.report.column_texts("step.kind");
  const std::vector<std::int64_t> cycles = a.report.column_integers("step.cycles");
  const std::vector<std::int64_t> bytes = a.report.column_integers("step.bytes");
  using Op = std::array<std::int64_t, 3>;  // supersteps, cycles, bytes
  std::vector<Op> shown;
  for (int r = 0; r < a.t.rows(); ++r)
    shown.push_back({a.t.whole(r, "Supersteps"), a.t.whole(r, "Cycles"), a.t.whole(r, "Bytes moved")});
  const auto ops_of = [&](const report::Function& f) {
    std::vector<Op> ops;
    for (auto i = static_cast<std::size_t>(f.first_step()), end = i + static_cast<std::size_t>(f.steps()); i < end;
         ++i) {
      if (ops.empty() || names[i] != names[i - 1]) ops.push_back({});
      ops.back()[0] += 1, ops.back()[1] += cycles[i];
      if (kinds[i] != "compute") ops.back()[2] += bytes[i];
    }
    return ops;
  };
  EXPECT_TRUE(std::any_of(a.index.functions().begin(), a.index.functions().end(), [&](const auto& f) {
    return ops_of(f) == shown;
  })) << "no function has these ops";
  return {"µs", "Cycles", "Bytes moved"};
}

// Calls of a function by the program, times what its steps say.
Titles operations(const Asked& a) {
  const Reckoned reckoned(a.index);
  const TextColumn names = a.report.column_texts("step.name");
  std::map<std::string, std::vector<std::int64_t>> columns;
  for (const char* c : {"cycles", "compute_cycles", "exchange_cycles", "sync_cycles", "bytes"}) {
    columns[c] = a.report.column_integers(std::string("step.") + c);
  }
  for (int r = 0; r < a.t.rows(); ++r) {
    const auto function = std::find_if(a.index.functions().begin(), a.index.functions().end(),
                                       [&](const auto& f) { return f.name() == a.t.text(r, "In"); });
    if (function == a.index.functions().end()) continue;  // a step outside of functions
    const std::int64_t calls = a.t.whole(r, "Calls");
    const auto number = static_cast<std::int64_t>(function - a.index.functions().begin());
    EXPECT_TRUE(std::any_of(reckoned.calls.begin(), reckoned.calls.end(),
                            [&](const auto& each) { return each.first.second == number && each.second == calls; }))
        << "no IPU calls " << function->name() << " " << calls << " times";
    const std::pair<const char*, const char*> sums[] = {{"Cycles", "cycles"},
                                                        {"Compute", "compute_cycles"},
                                                        {"Exchange", "exchange_cycles"},
                                                        {"Sync", "sync_cycles"},
                                                        {"Bytes moved", "bytes"}};
    for (const auto& [title, column] : sums) {
      std::int64_t sum = 0;
      for (auto i = function->first_step(); i < function->first_step() + function->steps(); ++i) {
        const auto row = static_cast<std::size_t>(i);
        if (names[row] == a.t.text(r, "Operation")) sum += columns[column][row];
      }
      EXPECT_EQ(a.t.whole(r, title), sum * calls) << title << " of " << a.t.text(r, "Operation");
    }
  }
  times(a, "ms", "Cycles");
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_NEAR(a.t.value(r, "% of step"), a.t.value(r, "ms") / a.index.plan().step_time_s() / 10, 1e-9);
    EXPECT_LE(a.t.value(r, "% of peak"), 100);
  }
  return {"Cycles", "Compute", "Exchange", "Sync", "Bytes moved", "ms", "% of step", "% of peak"};
}

Titles program(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, "Cycles in total"),
              a.t.whole(r, "Cycles of one") * a.t.whole(r, "Times") * a.t.whole(r, "Iterations"));
  }
  return {"Cycles in total"};
}

}  // namespace

Rules program_rules() {
  return {
      {"graph/Ops of a call", ops_of_call},
      {"operations/Operations", operations},
      {"program/Program", program},
  };
}

}  // namespace superstep::gui
