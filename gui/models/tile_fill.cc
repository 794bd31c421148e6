// SPDX-License-Identifier: Apache-2.0
#include "gui/models/tile_fill.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "gui/models/meanings.h"
#include "gui/models/steps.h"
#include "gui/models/table_columns.h"
#include "gui/models/tile_tables.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

constexpr int kMostBins = 26;
constexpr std::size_t kFullestShown = 5;

QString tiles_text(const TilePeak& peak) {
  const QString first = grouped(peak.first);
  return peak.count == 1 ? first : first + QChar(0x2013) + grouped(peak.first + peak.count - 1);
}

// Runs have few different bounds, so that their peaks are kept per stretch between bounds and not per tile.
void add_peaks(std::vector<TilePeak>& out, const HeatData& heat, int ipu_class, std::int64_t alike) {
  const std::vector<int> phases = heat.phases_of(ipu_class);
  std::vector<std::int64_t> bounds;
  const auto runs_of = [&](int phase) {
    const HeatPhase& p = heat.phases[static_cast<std::size_t>(phase)];
    return std::span(heat.runs).subspan(p.first_run, p.runs);
  };
  for (const int phase : phases) {
    for (const TileRun& run : runs_of(phase)) bounds.push_back(run.first), bounds.push_back(run.first + run.count);
    if (bounds.size() < 4096) continue;
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::vector<TilePeak> stretches(bounds.empty() ? 0 : bounds.size() - 1);
  for (std::size_t i = 0; i < stretches.size(); ++i)
    stretches[i] = {ipu_class, bounds[i], bounds[i + 1] - bounds[i], -1, -1, alike};
  for (const int phase : phases) {
    for (const TileRun& run : runs_of(phase)) {
      auto at = static_cast<std::size_t>(std::lower_bound(bounds.begin(), bounds.end(), run.first) - bounds.begin());
      for (; at < stretches.size() && stretches[at].first < run.first + run.count; ++at) {
        if (run.memory_bytes > stretches[at].bytes) stretches[at].bytes = run.memory_bytes, stretches[at].phase = phase;
      }
    }
  }
  for (const TilePeak& stretch : stretches) {
    if (stretch.phase < 0) continue;  // between runs
    const bool joins = !out.empty() && out.back().ipu_class == ipu_class && out.back().bytes == stretch.bytes &&
                       out.back().phase == stretch.phase && out.back().first + out.back().count == stretch.first;
    if (joins) {
      out.back().count += stretch.count;
    } else {
      out.push_back(stretch);
    }
  }
}

// The narrowest steps of whole KiB that make few enough bins.
std::int64_t bin_width(std::int64_t range) {
  for (std::int64_t ten = 1;; ten *= 10) {
    for (const std::int64_t step : {1, 2, 5}) {
      if (range / (step * ten * 1024) < kMostBins) return step * ten * 1024;
    }
  }
}

}  // namespace

std::vector<TilePeak> tile_peaks(const HeatData& heat, const report::Index& index) {
  std::vector<TilePeak> out;
  for (int i = 0; i < index.ipu_classes_size(); ++i)
    add_peaks(out, heat, i, std::max<std::int64_t>(1, index.ipu_classes(i).count()));
  return out;
}

bool TileFill::is_tight(const FillBin& bin) const {
  if (bin.fullest < 0) return false;
  return fit_in(peaks[static_cast<std::size_t>(bin.fullest)].bytes, limit) == Fit::tight;
}

int TileFill::bin_of(std::int64_t bytes) const {
  if (bins.empty()) return -1;
  const auto at =
      std::lower_bound(bins.begin(), bins.end(), bytes, [](const FillBin& bin, std::int64_t b) { return bin.to < b; });
  return at == bins.end() ? -1 : static_cast<int>(at - bins.begin());
}

TileFill tile_fill(const HeatData& heat, const report::Index& index) {
  TileFill out;
  for (const auto& ipu : index.ipu_classes()) out.limit = std::max<std::int64_t>(out.limit, ipu.tile_limit_bytes());
  out.peaks = tile_peaks(heat, index);
  if (out.peaks.empty() || out.limit <= 0) return out;
  const auto [least, most] = std::minmax_element(out.peaks.begin(), out.peaks.end(),
                                                 [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  const std::int64_t top = std::max(out.limit, most->bytes), bottom = std::min(out.limit, least->bytes);
  const std::int64_t width = bin_width(top - bottom);
  // An empty tile has no bytes, which no bin with a lower bound of 0 would take.
  const std::int64_t below = (out.limit - bottom + width) / width;
  const std::int64_t above = (top - out.limit + width - 1) / width;
  for (std::int64_t k = -below; k < above; ++k)
    out.bins.push_back({std::max<std::int64_t>(-1, out.limit + k * width), out.limit + (k + 1) * width});
  for (std::size_t i = 0; i < out.peaks.size(); ++i) {
    FillBin& bin = out.bins[static_cast<std::size_t>(out.bin_of(out.peaks[i].bytes))];
    bin.tiles += out.peaks[i].count * out.peaks[i].alike;
    if (bin.fullest < 0 || out.peaks[static_cast<std::size_t>(bin.fullest)].bytes < out.peaks[i].bytes)
      bin.fullest = static_cast<int>(i);
  }
  return out;
}

TableContents tile_fill_table(const ReportPointer& report, std::shared_ptr<const TileFill> fill, Units units) {
  auto rows = std::make_shared<std::vector<int>>();
  for (int i = 0; i < std::ssize(fill->bins); ++i) {
    if (fill->bins[static_cast<std::size_t>(i)].tiles > 0) rows->push_back(i);
  }
  const auto bin = [=](int row) -> const FillBin& {
    return fill->bins[static_cast<std::size_t>((*rows)[static_cast<std::size_t>(row)])];
  };
  const auto bytes = [=](const ColumnTitle& title, std::int64_t FillBin::*member) {
    const auto value = [=](int row) { return std::max<std::int64_t>(0, bin(row).*member); };
    return TableColumn{title + ", " + unit_name(units), true, [=](int row) { return tile_bytes(value(row), units); },
                       [=](int row) { return exact(value(row)); }};
  };
  const auto ipus = [=, keep = report](int row) {
    QStringList names;
    for (const TilePeak& peak : fill->peaks) {
      const QString name = text(keep->index().ipu_classes(peak.ipu_class).name());
      if (peak.bytes > bin(row).from && peak.bytes <= bin(row).to && !names.contains(name)) names << name;
    }
    return names.join(", ");
  };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {bytes({"More than", means::kFillFrom}, &FillBin::from),
                 bytes({"At most", means::kFillTo}, &FillBin::to),
                 {{"Tiles", means::kFillTiles},
                  true,
                  [=](int row) { return grouped(bin(row).tiles); },
                  [=](int row) { return exact(bin(row).tiles); }},
                 {{"IPUs", means::kFillIpus}, false, ipus}};
  out.source = [rows](int row) { return (*rows)[static_cast<std::size_t>(row)]; };
  return out;
}

namespace {

std::vector<int> fullest(const TileFill& fill) {
  std::vector<int> order(fill.peaks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return fill.peaks[static_cast<std::size_t>(a)].bytes > fill.peaks[static_cast<std::size_t>(b)].bytes;
  });
  order.resize(std::min(order.size(), kFullestShown));
  return order;
}

}  // namespace

TableContents fullest_tiles_table(const ReportPointer& report, std::shared_ptr<const TileFill> fill,
                                  std::shared_ptr<const HeatData> heat, Units units) {
  auto rows = std::make_shared<std::vector<int>>(fullest(*fill));
  const auto peak = [=](int row) -> const TilePeak& {
    return fill->peaks[static_cast<std::size_t>((*rows)[static_cast<std::size_t>(row)])];
  };
  const auto bytes = [=](const ColumnTitle& title, auto value) {
    return TableColumn{title + ", " + unit_name(units), true, [=](int row) { return tile_bytes(value(row), units); },
                       [=](int row) { return exact(value(row)); }};
  };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {{{"IPU", means::kIpu},
                  false,
                  [=, keep = report](int row) { return text(keep->index().ipu_classes(peak(row).ipu_class).name()); }},
                 {{"Tiles", means::kFullTiles}, false, [=](int row) { return tiles_text(peak(row)); }},
                 {{"Phase", means::kFullTilesPhase},
                  false,
                  [=](int row) { return text(heat->phases[static_cast<std::size_t>(peak(row).phase)].name); }},
                 bytes({"Peak", means::kFullTilesPeak}, [=](int row) { return peak(row).bytes; }),
                 bytes({"Spare", means::kFullTilesSpare}, [=](int row) { return fill->limit - peak(row).bytes; })};
  out.source = [rows](int row) { return (*rows)[static_cast<std::size_t>(row)]; };
  return out;
}

QString fullest_sentence(const TileFill& fill, const report::Index& index) {
  const std::vector<int> order = fullest(fill);
  if (order.empty()) return {};
  const TilePeak& most = fill.peaks[static_cast<std::size_t>(order[0])];
  return QString("fullest: %1 of %2").arg(tiles_text(most), text(index.ipu_classes(most.ipu_class).name()));
}

}  // namespace superstep::gui
