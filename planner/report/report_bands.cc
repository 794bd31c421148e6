// SPDX-License-Identifier: Apache-2.0
#include "planner/report/report_bands.h"

#include "model/program/terms.h"
#include "planner/report/uncertainty.h"
#include "traces/band.h"

namespace superstep {
namespace {

void set_band(report::WaterfallTerm& row, const std::vector<double>& seconds) {
  const Band band = band_of(seconds);
  row.set_low_s(band.low), row.set_high_s(band.high);
}

}  // namespace

void add_bands(report::Index& index, const Evaluated& e, const Tables& tables) {
  if (e.worlds.empty()) return;
  const CostModel& model = tables.model();
  PartsInWorlds parts = parts_in_worlds(e.program, model, subject_of(tables, e));
  const auto in_worlds = [&](Term term) -> std::vector<double>& { return parts.terms[static_cast<std::size_t>(term)]; };
  for (report::WaterfallTerm& row : *index.mutable_waterfall()) {
    if (&row == &index.waterfall(0)) continue;  // the ideal is exact
    if (row.name() == stage_imbalance_bar().name) {
      // Stage imbalance gets its share of the uncertainty of useful rows, because the ideal time among the rows is
      // exact.
      std::vector<double> seconds = in_worlds(Term::amp_rows);
      const double share = row.seconds() / (index.waterfall(0).seconds() + row.seconds());
      for (double& s : seconds) s *= share;
      set_band(row, seconds);
    }
    for (int t = 0; t < kTerms; ++t) {
      if (name_of(static_cast<Term>(t)) == row.name()) set_band(row, in_worlds(static_cast<Term>(t)));
    }
  }
  for (int f = 0; f < index.functions_size(); ++f) {
    const Band band = band_of(parts.functions[static_cast<std::size_t>(f)]);
    const double seconds = model.seconds(Cycles(index.functions(f).cycles())).value;
    if (seconds > 0) index.mutable_functions(f)->set_relative_error((band.high - band.low) / 2 / seconds);
  }
}

}  // namespace superstep
