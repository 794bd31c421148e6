// SPDX-License-Identifier: Apache-2.0
#include "model/program/terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/cost/calibration.h"
#include "model/machine/load_machine.h"

namespace superstep {
namespace {

TEST(Terms, EveryTermHasARowOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kTerms; ++i) {
    const TermDef& def = def_of(static_cast<Term>(i));
    EXPECT_EQ(def.id, static_cast<Term>(i)) << "row " << i << " stands elsewhere";
    EXPECT_TRUE(names.insert(def.name).second) << def.name << " is the name of two";
    EXPECT_FALSE(def.name.empty() || def.formula.empty());
    EXPECT_LT(def.kind, TermKind::ideal) << def.name << " is of a kind that is no term's";
    EXPECT_FALSE(def.machine_rows.empty()) << def.name;
  }
  for (const TermDef* bar : {&ideal_bar(), &stage_imbalance_bar()}) {
    EXPECT_TRUE(names.insert(bar->name).second) << bar->name;
    EXPECT_FALSE(bar->formula.empty());
  }
}

// Some numbers are in files of several domains alone, or of those whose host copies.
TEST(Terms, RowsThatAFormulaReadsAreInAFile) {
  std::set<std::string_view> numbers, constants;
  std::vector<Machine> machines;
  for (const char* name : {"toy", "ipu-pod4", "ipu-pod256", "bow-pod16", "ipu-64000"})
    machines.push_back(load_machine(name));
  for (const Machine& machine : machines) {
    for (const SourcedRow& row : machine.rows) numbers.insert(row.pointer);
  }
  const Calibration calibration = load_calibration();
  for (const Calibration::Row& row : calibration.rows) constants.insert(row.name);
  for (int i = 0; i < kTerms; ++i) {
    const TermDef& def = def_of(static_cast<Term>(i));
    for (std::string_view row : def.machine_rows) EXPECT_TRUE(numbers.contains(row)) << def.name << ": " << row;
    for (std::string_view row : def.calibration_rows) EXPECT_TRUE(constants.contains(row)) << def.name << ": " << row;
  }
}

}  // namespace
}  // namespace superstep
