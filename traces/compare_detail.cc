// SPDX-License-Identifier: Apache-2.0
#include "traces/compare_detail.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace superstep {
namespace {

// World by world; none where the two were not drawn in the same worlds.
template <class Of>
std::optional<Band> band_over_worlds(const report::Index& target, const report::Index& source, Of of) {
  const auto& a = target.plan().step_time_in_worlds_s();
  const auto& b = source.plan().step_time_in_worlds_s();
  if (a.empty() || a.size() != b.size()) return std::nullopt;
  std::vector<double> values;
  for (int i = 0; i < a.size(); ++i) values.push_back(of(a[i], b[i]));
  return band_of(std::move(values));
}

}  // namespace

std::optional<SpeedChange> speed_change(const report::Index& target, const report::Index& source) {
  if (!target.has_plan() || !source.has_plan()) return std::nullopt;
  const double change = target.plan().samples_per_second() / source.plan().samples_per_second() - 1;
  if (!std::isfinite(change)) return std::nullopt;
  const auto batches =
      static_cast<double>(target.plan().global_batch()) / static_cast<double>(source.plan().global_batch());
  return SpeedChange{change, band_over_worlds(target, source,
                                              [&](double mine, double theirs) { return batches * theirs / mine - 1; })};
}

std::optional<Band> step_time_band(const report::Index& index) {
  const auto& worlds = index.plan().step_time_in_worlds_s();
  if (worlds.empty()) return std::nullopt;
  return band_of({worlds.begin(), worlds.end()});
}

std::optional<Band> step_difference_band(const report::Index& target, const report::Index& source) {
  return band_over_worlds(target, source, [](double mine, double theirs) { return mine - theirs; });
}

std::string differences_sentence(const Comparison& c, std::size_t target, std::size_t count) {
  std::vector<std::pair<std::string, double>> differences;
  for (const ComparedTerm& row : c.waterfall) {
    const double ms = (row.seconds[target].value_or(0) - row.seconds[0].value_or(0)) * 1e3;
    if (std::abs(ms) >= 0.05) differences.emplace_back(row.name, ms);
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  if (differences.size() > count) differences.resize(count);
  std::string out;
  for (const auto& [name, ms] : differences) {
    out += (out.empty() ? "Largest differences: " : ", ") + name + " " + signed_fixed(ms, 1) + " ms";
  }
  return out.empty() ? out : out + ".";
}

bool ComparedCycles::matched() const {
  return std::all_of(cycles.begin(), cycles.end(), [](const auto& c) { return c.has_value(); });
}

std::vector<ComparedCycles> match_cycles(std::span<const std::vector<NamedCycles>> reports) {
  std::vector<ComparedCycles> rows;
  std::map<std::string, std::size_t> row_of;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    for (const NamedCycles& named : reports[r]) {
      const auto [at, is_new] = row_of.emplace(named.name, rows.size());
      if (is_new) rows.push_back({named.name, std::vector<std::optional<std::int64_t>>(reports.size())});
      auto& cycles = rows[at->second].cycles[r];
      cycles = cycles.value_or(0) + named.cycles;
    }
  }
  std::stable_partition(rows.begin(), rows.end(), [](const ComparedCycles& row) { return row.matched(); });
  return rows;
}

}  // namespace superstep
