// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/heat_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace superstep::gui {
namespace {

// Shifts [from, from + size) into [0, whole).
double kept_inside(double from, double size, double whole) {
  return std::clamp(from, 0.0, std::max(0.0, whole - size));
}

// Whole pixels that the part [from, to) of an axis covers; at least one.
struct PixelRange {
  int begin, end;
};
PixelRange pixels(double from, double to, int count) {
  const int begin = static_cast<int>(std::floor(std::clamp(from, 0.0, static_cast<double>(count))));
  const int end = static_cast<int>(std::ceil(std::clamp(to, 0.0, static_cast<double>(count)) - 1e-9));
  return {begin, to <= 0 || from >= count ? begin : std::max(end, begin + 1)};
}

std::vector<PhaseSpan> spans(const HeatData& data, std::span<const int> phases,
                             const std::function<std::string(const HeatPhase&)>& text_of) {
  std::vector<PhaseSpan> out;
  for (int column = 0; column < static_cast<int>(phases.size()); ++column) {
    const HeatPhase& phase = data.phases[static_cast<std::size_t>(phases[static_cast<std::size_t>(column)])];
    const std::string text = text_of(phase);
    if (out.empty() || out.back().text != text) out.push_back({text, column, column});
    out.back().to = column + 1;
  }
  return out;
}

}  // namespace

HeatWindow HeatWindow::whole(int phases, std::int64_t tiles) {
  return {0, static_cast<double>(std::max(1, phases)), 0, static_cast<double>(std::max<std::int64_t>(1, tiles))};
}

HeatWindow HeatWindow::zoomed(double factor, double phase, double tile, int phases, std::int64_t tiles) const {
  const HeatWindow all = whole(phases, tiles);
  const double width = phase_to - phase_from;
  const double height = tile_to - tile_from;
  const double new_width = std::clamp(width * factor, std::min(2.0, all.phase_to), all.phase_to);
  const double new_height = std::clamp(height * factor, std::min(8.0, all.tile_to), all.tile_to);
  const double from = kept_inside(phase - (phase - phase_from) / width * new_width, new_width, all.phase_to);
  const double top = kept_inside(tile - (tile - tile_from) / height * new_height, new_height, all.tile_to);
  return {from, from + new_width, top, top + new_height};
}

HeatWindow HeatWindow::moved(double by_phases, double by_tiles, int phases, std::int64_t tiles) const {
  const HeatWindow all = whole(phases, tiles);
  const double width = phase_to - phase_from;
  const double height = tile_to - tile_from;
  const double from = kept_inside(phase_from + by_phases, width, all.phase_to);
  const double top = kept_inside(tile_from + by_tiles, height, all.tile_to);
  return {from, from + width, top, top + height};
}

HeatWindow HeatWindow::resolved(int phases, std::int64_t tiles) const {
  return *this == HeatWindow{} ? whole(phases, tiles) : *this;
}

HeatLayout HeatLayout::of(QRect area, const HeatWindow& window) {
  constexpr int kLeft = 52;   // tile numbers
  constexpr int kRight = 78;  // maxima and their gap
  constexpr int kTotals = 56;
  constexpr int kHeads = 17;
  constexpr int kBelow = 22;  // names of phases
  const int width = std::max(16, area.width() - kLeft - kRight);
  const int left = area.left() + kLeft;
  HeatLayout out;
  out.window = window;
  out.totals = QRect(left, area.top() + 4, width, kTotals);
  out.heads = QRect(left, out.totals.bottom() + 7, width, kHeads);
  const int top = out.heads.bottom() + 3;
  const int height = std::max(16, area.bottom() - kBelow - top);
  out.map = QRect(left, top, width, height);
  out.maxima = QRect(out.map.right() + 11, top, 52, height);
  out.ticks = QRect(left, out.map.bottom() + 1, width, kBelow);
  return out;
}

double HeatLayout::x_of(double phase) const {
  return map.left() + (phase - window.phase_from) / (window.phase_to - window.phase_from) * map.width();
}
double HeatLayout::y_of(double tile) const {
  return map.top() + (tile - window.tile_from) / (window.tile_to - window.tile_from) * map.height();
}
double HeatLayout::phase_at(double x) const {
  return window.phase_from + (x - map.left()) / map.width() * (window.phase_to - window.phase_from);
}
double HeatLayout::tile_at(double y) const {
  return window.tile_from + (y - map.top()) / map.height() * (window.tile_to - window.tile_from);
}

QRectF HeatLayout::cell(int phase, double tile, double tiles) const {
  return QRectF(QPointF(x_of(phase), y_of(tile)), QPointF(x_of(phase + 1), y_of(tile + tiles)));
}

HeatScale HeatScale::of_memory(std::int64_t limit_bytes) {
  const auto limit = static_cast<double>(std::max<std::int64_t>(1, limit_bytes));
  return {limit, limit / 2, 0.22, limit};
}

HeatScale HeatScale::linear(std::int64_t largest) {
  const auto full = static_cast<double>(std::max<std::int64_t>(1, largest));
  return {full, full / 2, 0.5, -1};
}

double HeatScale::share(double value) const {
  const double v = std::clamp(value, 0.0, full);
  if (v <= knee) return v / knee * knee_share;
  return knee_share + (v - knee) / (full - knee) * (1 - knee_share);
}

HeatImage rasterized(const HeatData& data, std::span<const int> phases, HeatQuantity quantity,
                     const HeatLayout& layout) {
  const int width = layout.map.width();
  const int height = layout.map.height();
  HeatImage image{width, height, {}, std::vector<std::int64_t>(static_cast<std::size_t>(height), kNoValue)};
  image.pixels.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), kNoValue);
  std::vector<std::int64_t> column(static_cast<std::size_t>(height));
  for (std::size_t c = 0; c < phases.size(); ++c) {
    const double left = layout.x_of(static_cast<double>(c)) - layout.map.left();
    const double right = layout.x_of(static_cast<double>(c) + 1) - layout.map.left();
    if (right <= 0 || left >= width) continue;
    // Neighbours share a rounded edge; one that rounds to nothing, or over the edge, keeps a pixel.
    const int begin = std::clamp(static_cast<int>(std::lround(left)), 0, width - 1);
    const PixelRange across{begin, std::clamp(static_cast<int>(std::lround(right)), begin + 1, width)};
    std::fill(column.begin(), column.end(), kNoValue);
    const HeatPhase& phase = data.phases[static_cast<std::size_t>(phases[c])];
    for (std::size_t r = phase.first_run; r < phase.first_run + phase.runs; ++r) {
      const TileRun& run = data.runs[r];
      const double top = layout.y_of(static_cast<double>(run.first)) - layout.map.top();
      const double bottom = layout.y_of(static_cast<double>(run.first + run.count)) - layout.map.top();
      const PixelRange down = pixels(top, bottom, height);
      const std::int64_t value = value_of(run, quantity);
      for (int y = down.begin; y < down.end; ++y) {
        auto& largest = column[static_cast<std::size_t>(y)];
        largest = std::max(largest, value);
      }
    }
    for (int y = 0; y < height; ++y) {
      const std::int64_t value = column[static_cast<std::size_t>(y)];
      auto* row = image.pixels.data() + static_cast<std::ptrdiff_t>(y) * width;
      for (int x = across.begin; x < across.end; ++x) row[x] = std::max(row[x], value);
      auto& largest = image.row_largest[static_cast<std::size_t>(y)];
      largest = std::max(largest, value);
    }
  }
  return image;
}

QColor viridis(double share) {
  constexpr std::array<std::array<int, 3>, 9> kStops{{{68, 1, 84},
                                                      {71, 44, 122},
                                                      {59, 81, 139},
                                                      {44, 113, 142},
                                                      {33, 144, 141},
                                                      {39, 173, 129},
                                                      {92, 200, 99},
                                                      {170, 220, 50},
                                                      {253, 231, 37}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto lower = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(lower);
  const auto mix = [&](std::size_t i) {
    return static_cast<int>(std::lround(kStops[lower][i] + part * (kStops[lower + 1][i] - kStops[lower][i])));
  };
  return QColor(mix(0), mix(1), mix(2));
}

std::vector<PhaseSpan> group_spans(const HeatData& data, std::span<const int> phases) {
  return spans(data, phases, [](const HeatPhase& phase) { return phase.group; });
}

std::vector<PhaseSpan> name_spans(const HeatData& data, std::span<const int> phases) {
  // Layer 5 forward and layer 5 backward may be neighbours and are two.
  auto out = spans(data, phases, [](const HeatPhase& phase) {
    return phase.group + "\n" + phase.name.substr(0, phase.name.find('/'));
  });
  for (auto& span : out) span.text.erase(0, span.text.find('\n') + 1);
  return out;
}

}  // namespace superstep::gui
