// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/walk/derived.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/gui/walk/derived_rules.h"

namespace superstep::gui {

void times(const Asked& a, const char* time, const char* cycles, double unit) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_DOUBLE_EQ(a.t.value(r, time), a.t.value(r, cycles) / a.index.clock_hz() * unit) << time << ", row " << r;
  }
}

void follow(const Asked& a, const char* begins, const char* takes) {
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r + 1, begins), a.t.whole(r, begins) + a.t.whole(r, takes)) << begins << ", row " << r;
  }
}

namespace {

const Rules& all_rules() {
  static const Rules all = [] {
    Rules out;
    for (const Rules& some : {summary_rules(), memory_rules(), time_rules(), program_rules(), compare_rules()})
      out.insert(some.begin(), some.end());
    return out;
  }();
  return all;
}

}  // namespace

Titles check_derived(const SeenTable& table, Session& session, const std::string& printed_json) {
  const auto rule = all_rules().find(table.id);
  if (rule == all_rules().end() || table.rows() == 0) return {};
  const nlohmann::json printed = printed_json.empty() ? nlohmann::json() : nlohmann::json::parse(printed_json);
  SCOPED_TRACE(table.id);
  return rule->second({table, *session.report(), session.report()->index(), printed});
}

}  // namespace superstep::gui
