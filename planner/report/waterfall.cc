// SPDX-License-Identifier: Apache-2.0
#include "planner/report/waterfall.h"

#include <string_view>
#include <utility>

#include "planner/report/explain_terms.h"

namespace superstep {

std::vector<WaterfallRow> waterfall(const Evaluated& e, const CostModel& model) {
  std::vector<WaterfallRow> rows;
  rows.push_back({"ideal at FP16.16 peak", "compute", "model FLOPs of the step / peak of all IPUs", e.ideal_seconds});
  double sum = e.ideal_seconds;
  auto add = [&](const std::string& name, std::string_view kind, const std::string& why, double seconds) {
    if (seconds == 0) return;
    rows.push_back({name, std::string(kind), why, seconds});
    sum += seconds;
  };
  const double useful = model.seconds(Cycles(e.timeline.step[Term::amp_rows])).value;
  add(kStageImbalance, kind_of(Term::imbalance),
      "AMP rows on the slowest IPU beyond an even share, lower-rate types included; below 0 where it has fewer",
      useful - e.ideal_seconds);
  for (int i = 0; i < kTerms; ++i) {
    const Term term = static_cast<Term>(i);
    if (term == Term::amp_rows) continue;
    add(std::string(name_of(term)), kind_of(term), std::string(explain_term(term).formula),
        model.seconds(Cycles(e.timeline.step[term])).value);
  }
  rows.back().seconds += e.step_seconds - sum;  // rounding of the last place only
  return rows;
}

}  // namespace superstep
