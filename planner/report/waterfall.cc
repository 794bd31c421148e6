// SPDX-License-Identifier: Apache-2.0
#include "planner/report/waterfall.h"

#include "model/program/terms.h"

namespace superstep {

std::vector<WaterfallRow> waterfall(const Evaluated& e, const CostModel& model) {
  std::vector<WaterfallRow> rows;
  double sum = 0;
  auto add = [&](const TermDef& def, double seconds) {
    rows.push_back({std::string(def.name), std::string(name_of(def.kind)), std::string(def.formula), seconds});
    sum += seconds;
  };
  add(ideal_bar(), e.ideal_seconds);
  const double useful = model.seconds(Cycles(e.timeline.step[Term::amp_rows])).value;
  if (useful != e.ideal_seconds) add(stage_imbalance_bar(), useful - e.ideal_seconds);
  for (int i = 0; i < kTerms; ++i) {
    const Term term = static_cast<Term>(i);
    const double seconds = model.seconds(Cycles(e.timeline.step[term])).value;
    if (term != Term::amp_rows && seconds != 0) add(def_of(term), seconds);
  }
  rows.back().seconds += e.step_seconds - sum;  // rounding error in the last place only
  return rows;
}

}  // namespace superstep
