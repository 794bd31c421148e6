// SPDX-License-Identifier: Apache-2.0
#include "gui/models/lifetimes.h"

#include <algorithm>
#include <numeric>

#include "gui/models/operations.h"
#include "traces/damaged.h"

namespace superstep::gui {
namespace {

// The points of a phase, [first, end).
struct Range {
  int first = 0, end = 0;
};

class LifetimesBuilder {
 public:
  LifetimesBuilder(const report::Index& index, const Liveness& liveness, const Steps& steps, const HeatData& heat)
      : index_(index), liveness_(liveness), steps_(steps), heat_(heat), of_phase_(heat.phases.size()) {
    for (std::size_t i = 0; i < liveness.points.size(); ++i) {
      Range& range = of_phase_[static_cast<std::size_t>(liveness.points[i].phase)];
      if (range.end == 0) range.first = static_cast<int>(i);
      range.end = static_cast<int>(i) + 1;
    }
  }

  // Phases of other IPUs lie between.
  void add_variables(const Variables& v) {
    const std::vector<int> mine = heat_.phases_of(liveness_.ipu_class);
    for (std::size_t i = 0; i < v.name.size(); ++i) {
      if (v.ipu_class[i] != liveness_.ipu_class) continue;
      const auto first = std::lower_bound(mine.begin(), mine.end(), v.first_phase[i]);
      const auto end = std::upper_bound(first, mine.end(), v.last_phase[i]);
      if (first == end) continue;
      add({v.name[i], v.category[i], v.bytes_per_tile[i], range(*first).first, range(*(end - 1)).end - 1});
    }
  }

  void add_results(const Results& r) {
    std::vector<std::vector<std::size_t>> of_function(static_cast<std::size_t>(index_.functions_size()));
    for (std::size_t i = 0; i < r.name.size(); ++i) of_function[static_cast<std::size_t>(r.function[i])].push_back(i);
    for (const int phase : heat_.phases_of(liveness_.ipu_class)) {
      const HeatPhase& p = heat_.phases[static_cast<std::size_t>(phase)];
      const Range at = range(phase);
      if (p.function < 0 || at.first == at.end || liveness_.points[static_cast<std::size_t>(at.first)].step < 0)
        continue;
      for (const std::size_t i : of_function[static_cast<std::size_t>(p.function)]) {
        const bool to_end = p.keeps && r.stays[i] != 0;
        const int last = to_end ? at.end - 1 : at.first + static_cast<int>(r.last_step[i]);
        const int first = at.first + static_cast<int>(r.first_step[i]);
        add({p.name + " · " + r.name[i], "activations", r.bytes_per_tile[i], first, std::min(last, at.end - 1)});
      }
      add_temporaries(p, at);
    }
  }

  std::vector<Lifetime> take() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return std::move(rows_);
  }

 private:
  const report::Index& index_;
  const Liveness& liveness_;
  const Steps& steps_;
  const HeatData& heat_;
  std::vector<Range> of_phase_;
  std::vector<Lifetime> rows_;

  const Range& range(int phase) const { return of_phase_[static_cast<std::size_t>(phase)]; }
  void add(Lifetime row) {
    if (row.bytes > 0 && row.first <= row.last) rows_.push_back(std::move(row));
  }
  // What an op needs while it runs; its steps follow one another.
  void add_temporaries(const HeatPhase& p, Range at) {
    const auto row = [&](int point) {
      return static_cast<std::size_t>(liveness_.points[static_cast<std::size_t>(point)].step);
    };
    for (int first = at.first; first < at.end;) {
      int end = first + 1;
      const std::int64_t bytes = steps_.temporary_bytes[row(first)];
      const std::string& name = steps_.name[row(first)];
      while (end < at.end && steps_.temporary_bytes[row(end)] == bytes && steps_.name[row(end)] == name) ++end;
      add({p.name + " · " + name.substr(name.rfind('/') + 1) + " needs", "temporaries", bytes, first, end - 1});
      first = end;
    }
  }
};

}  // namespace

Results load_results(const ReportFile& report) {
  Results r;
  if (!report.has_column("result.name")) return r;
  r.name = report.column_texts("result.name");
  r.function = report.column_integers("result.function");
  r.bytes_per_tile = report.column_integers("result.bytes_per_tile");
  r.first_step = report.column_integers("result.first_step");
  r.last_step = report.column_integers("result.last_step");
  r.stays = report.column_integers("result.stays");
  const std::size_t n = r.name.size();
  check_rows(report, "result.*", n, r.function, r.bytes_per_tile, r.first_step, r.last_step, r.stays);
  for (std::size_t i = 0; i < n; ++i) {
    const bool known = r.function[i] >= 0 && r.function[i] < report.index().functions_size();
    if (!known) damaged(report, "a result of function " + std::to_string(r.function[i]));
    const std::int64_t steps = report.index().functions(static_cast<int>(r.function[i])).steps();
    if (r.first_step[i] < 0 || r.first_step[i] > r.last_step[i] || r.last_step[i] >= steps)
      damaged(report, "a result from step " + std::to_string(r.first_step[i]) + " to " +
                          std::to_string(r.last_step[i]) + " of " + std::to_string(steps));
  }
  return r;
}

std::vector<int> Lifetimes::at(int point, bool without_always) const {
  std::vector<int> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (without_always && rows[i].first == 0 && rows[i].last == points - 1) continue;
    if (point < 0 || rows[i].stands_at(point)) out.push_back(static_cast<int>(i));
  }
  return out;
}

Lifetimes lifetimes_of(const report::Index& index, const Liveness& liveness, const Steps& steps, const HeatData& heat,
                       const Variables& variables, const Results& results) {
  Lifetimes out;
  if (!variables.have_lifetimes() || steps.temporary_bytes.empty() || liveness.points.empty()) return out;
  out.points = static_cast<int>(liveness.points.size());
  LifetimesBuilder builder(index, liveness, steps, heat);
  builder.add_variables(variables);
  builder.add_results(results);
  out.rows = builder.take();
  return out;
}

}  // namespace superstep::gui
