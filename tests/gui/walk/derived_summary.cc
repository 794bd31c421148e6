// SPDX-License-Identifier: Apache-2.0
// Of plans and their numbers: summary, landscape.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "tests/gui/walk/derived_rules.h"

namespace superstep::gui {
namespace {

Titles spare(const Asked& a, const char* title, const char* peak, const char* limit) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, title), a.t.whole(r, limit) - a.t.whole(r, peak)) << title << ", row " << r;
  }
  return {title};
}

Titles plans(const Asked& a) {
  const auto& best = a.index.plan();
  for (int r = 0; r < a.t.rows(); ++r) {
    const auto& plan = r == 0 ? best : a.index.runners_up(r - 1);
    EXPECT_EQ(a.t.whole(r, "spare"), plan.tile_limit_bytes() - plan.tile_peak_bytes());
    EXPECT_EQ(a.t.value(r, "samples/s"), plan.samples_per_second());
    EXPECT_EQ(a.t.value(r, "step s"), plan.step_time_s());
    EXPECT_DOUBLE_EQ(a.t.value(r, "±%"), (plan.samples_per_second() / best.samples_per_second() - 1) * 100);
    const auto& printed = a.printed.contains("best") ? a.printed : a.printed.at("closest");
    const auto& one = r > 0                        ? a.printed.at("runners_up").at(static_cast<std::size_t>(r - 1))
                      : a.printed.contains("best") ? printed.at("best")
                                                   : printed;
    EXPECT_EQ(a.t.text(r, "Plan"), one.at("label").get<std::string>());
    EXPECT_EQ(a.t.value(r, "samples/s"), one.at("samples_per_second").get<double>()) << "as --json says";
    EXPECT_EQ(a.t.value(r, "step s"), one.at("step_time_s").get<double>()) << "as --json says";
  }
  return {"spare", "±%"};
}

// In the order of the plan, then the search, then the facts.
Titles key_numbers(const Asked& a) {
  const auto& plan = a.index.plan();
  const auto& search = a.index.search();
  std::map<std::string, double> values{
      {"Throughput", plan.samples_per_second()},
      {"Step time", plan.step_time_s()},
      {"Model FLOP utilisation", plan.flop_utilisation() * 100},
      {"Fullest tile", static_cast<double>(plan.tile_peak_bytes())},
      {"To spare", static_cast<double>(plan.tile_limit_bytes() - plan.tile_peak_bytes())},
      {"Streaming Memory per IPU", static_cast<double>(plan.ddr_bytes_per_ipu())},
      {"Settings of the space", search.explored() + search.pruned()},
      {"Gap", search.gap() * 100}};
  std::vector<double> worlds(plan.step_time_in_worlds_s().begin(), plan.step_time_in_worlds_s().end());
  std::sort(worlds.begin(), worlds.end());
  const auto nearest = [&](double share) {
    return worlds[static_cast<std::size_t>(std::round(share * static_cast<double>(worlds.size() - 1)))];
  };
  if (!worlds.empty()) {
    values["Step time, 95 % from"] = nearest(0.025), values["Step time, 95 % to"] = nearest(0.975);
    const double slowest = plan.step_time_s() / nearest(0.975), fastest = plan.step_time_s() / nearest(0.025);
    values["Throughput, 95 % from"] = plan.samples_per_second() * slowest;
    values["Throughput, 95 % to"] = plan.samples_per_second() * fastest;
    values["Model FLOP utilisation, 95 % from"] = plan.flop_utilisation() * 100 * slowest;
    values["Model FLOP utilisation, 95 % to"] = plan.flop_utilisation() * 100 * fastest;
  }
  for (int r = 0; r < a.t.rows(); ++r) {
    const auto known = values.find(a.t.text(r, "Figure"));
    if (known == values.end()) continue;
    EXPECT_DOUBLE_EQ(a.t.value(r, "Value"), known->second) << known->first;
  }
  return {"Value"};
}

Titles changes(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.value(r, "step s"), a.index.helpful_changes(r).step_time_s());
    EXPECT_DOUBLE_EQ(a.t.value(r, "+%"), (a.index.plan().step_time_s() / a.t.value(r, "step s") - 1) * 100);
  }
  return {"+%"};
}

// Row by row what --json says.
Titles waterfall(const Asked& a) {
  const auto& best = a.printed.contains("best") ? a.printed.at("best") : a.printed.at("closest");
  const auto& rows = best.at("waterfall");
  EXPECT_EQ(a.t.rows(), std::ssize(rows) + 1);
  double sum = 0;
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.text(r, "Term"), rows.at(static_cast<std::size_t>(r)).at("name").get<std::string>());
    EXPECT_EQ(a.t.value(r, "Seconds"), rows.at(static_cast<std::size_t>(r)).at("seconds").get<double>());
    sum += a.t.value(r, "Seconds");
  }
  EXPECT_EQ(a.t.value(a.t.rows() - 1, "Seconds"), sum);
  EXPECT_NEAR(sum, best.at("step_time_s").get<double>(), sum * 1e-12);
  int bands = 0;
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    const auto& term = a.index.waterfall(r);
    if (!term.has_low_s()) continue;
    EXPECT_DOUBLE_EQ(a.t.value(r, "95 % from, ms"), term.low_s() * 1e3);
    EXPECT_DOUBLE_EQ(a.t.value(r, "95 % to, ms"), term.high_s() * 1e3);
    EXPECT_NEAR(a.t.value(r, "± ms"), (term.high_s() - term.low_s()) / 2 * 1e3, 1e-9);
    ++bands;
  }
  return bands > 0 ? Titles{"± ms", "95 % from, ms", "95 % to, ms"} : Titles{};
}

Titles found_plans(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, "Spare, KiB"), a.index.plan().tile_limit_bytes() - a.t.whole(r, "Tile, KiB"));
  }
  return {"Spare, KiB"};
}

// Of each kind of IPU and tile the most bytes of its phases.
std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> tile_peaks_once_more(const ReportFile& report) {
  const auto ipus = report.column_integers("heat.phase_ipu_class");
  const auto phases = report.column_integers("tile.phase"), firsts = report.column_integers("tile.first");
  const auto counts = report.column_integers("tile.count"), bytes = report.column_integers("tile.memory_bytes");
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> out;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    for (std::int64_t tile = firsts[i]; tile < firsts[i] + counts[i]; ++tile) {
      auto& most = out[{ipus[static_cast<std::size_t>(phases[i])], tile}];
      most = std::max(most, bytes[i]);
    }
  }
  return out;
}

Titles tile_fill(const Asked& a) {
  const auto peaks = tile_peaks_once_more(a.report);
  for (int r = 0; r < a.t.rows(); ++r) {
    const std::int64_t from = a.t.whole(r, "More than, KiB") - (r == 0 ? 1 : 0), to = a.t.whole(r, "At most, KiB");
    std::int64_t tiles = 0;
    for (const auto& [tile, bytes] : peaks) {
      if (bytes > from && bytes <= to) tiles += a.index.ipu_classes(static_cast<int>(tile.first)).count();
    }
    EXPECT_EQ(a.t.whole(r, "Tiles"), tiles) << "row " << r;
  }
  return {"More than, KiB", "At most, KiB", "Tiles"};
}

Titles fullest_tiles(const Asked& a) {
  std::int64_t most = 0;
  for (const auto& [tile, bytes] : tile_peaks_once_more(a.report)) most = std::max(most, bytes);
  EXPECT_EQ(a.t.whole(0, "Peak, KiB"), most);
  for (int r = 0; r < a.t.rows(); ++r)
    EXPECT_EQ(a.t.whole(r, "Spare, KiB"), a.index.plan().tile_limit_bytes() - a.t.whole(r, "Peak, KiB"));
  return {"Spare, KiB"};
}

}  // namespace

Rules summary_rules() {
  return {
      {"summary/Key numbers", key_numbers},
      {"summary/Waterfall", waterfall},
      {"summary/Fit", [](const Asked& a) { return spare(a, "Spare, KiB", "Fullest tile, KiB", "Limit, KiB"); }},
      {"summary/Tiles at their peak", tile_fill},
      {"summary/Fullest tiles", fullest_tiles},
      {"summary/Plans", plans},
      {"summary/Changes", changes},
      {"landscape/Plans", found_plans},
      {"landscape/Changes", changes},
  };
}

}  // namespace superstep::gui
