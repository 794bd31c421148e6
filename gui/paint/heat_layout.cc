// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/heat_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "gui/paint/pass_heads.h"

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

HeatLayout HeatLayout::of(QRect area, const HeatWindow& window, ColumnEdges edges) {
  constexpr int kLeft = 52;   // tile numbers
  constexpr int kRight = 78;  // maxima and their gap
  constexpr int kTotals = 56;
  constexpr int kHeads = 17;
  constexpr int kBelow = 22;  // names of phases
  const int width = std::max(16, area.width() - kLeft - kRight);
  const int left = area.left() + kLeft;
  HeatLayout out;
  out.window = window;
  out.edges = std::move(edges);
  out.totals = QRect(left, area.top() + 4, width, kTotals);
  out.heads = QRect(left, out.totals.bottom() + 7, width, kHeads);
  const int top = out.heads.bottom() + 3;
  const int height = std::max(16, area.bottom() - kBelow - top);
  out.map = QRect(left, top, width, height);
  out.maxima = QRect(out.map.right() + 11, top, 52, height);
  out.ticks = QRect(left, out.map.bottom() + 1, width, kBelow);
  return out;
}

ColumnEdges edges_by_cycles(const HeatData& data, std::span<const int> phases) {
  double total = 0;
  const auto cycles = [&](int phase) {
    const HeatPhase& p = data.phases[static_cast<std::size_t>(phase)];
    return static_cast<double>(p.cycles) * static_cast<double>(std::max<std::int64_t>(1, p.repeats));
  };
  for (const int phase : phases) total += cycles(phase);
  if (!(total > 0)) return nullptr;
  auto out = std::make_shared<std::vector<double>>(1, 0.0);
  double sum = 0;
  for (const int phase : phases) out->push_back((sum += cycles(phase)) / total * static_cast<double>(phases.size()));
  return out;
}

double HeatLayout::x_of(double phase) const {
  if (edges) {
    const auto last = static_cast<double>(edges->size() - 1);
    const double at = std::clamp(phase, 0.0, last);
    const auto column = static_cast<std::size_t>(std::min(at, last - 1));
    const double begin = (*edges)[column];
    phase = begin + (at - static_cast<double>(column)) * ((*edges)[column + 1] - begin);
  }
  return map.left() + (phase - window.phase_from) / (window.phase_to - window.phase_from) * map.width();
}
double HeatLayout::y_of(double tile) const {
  return map.top() + (tile - window.tile_from) / (window.tile_to - window.tile_from) * map.height();
}
double HeatLayout::phase_at(double x) const {
  const double across = across_at(x);
  if (!edges) return across;
  const auto after = std::upper_bound(edges->begin(), edges->end(), across) - edges->begin();
  const auto column = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(after - 1, 0, std::ssize(*edges) - 2));
  const double begin = (*edges)[column], width = (*edges)[column + 1] - begin;
  return static_cast<double>(column) + (width > 0 ? std::clamp((across - begin) / width, 0.0, 1.0) : 0);
}
int HeatLayout::first_column() const { return std::max(0, static_cast<int>(phase_at(map.left()))); }
double HeatLayout::across_at(double x) const {
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

HeatScale HeatScale::of_data(std::int64_t least, std::int64_t most, std::int64_t limit) {
  const std::int64_t full = std::max<std::int64_t>({1, most, least});
  const auto knee = static_cast<double>(std::clamp<std::int64_t>(least, 0, full - 1));
  return {static_cast<double>(full), knee, 0, static_cast<double>(limit)};
}

double HeatScale::share(double value) const {
  const double v = std::clamp(value, 0.0, full);
  if (v <= knee) return knee > 0 ? v / knee * knee_share : 0;
  return knee_share + (v - knee) / (full - knee) * (1 - knee_share);
}

namespace {

// Paints columns one by one: the largest of what falls on a pixel stays.
class Raster {
 public:
  explicit Raster(const HeatLayout& layout)
      : layout_(layout), image_{layout.map.width(), layout.map.height(), {}, {}}, rows_(at(layout.map.height())) {
    image_.row_largest.assign(rows_, kNoValue);
    image_.pixels.assign(rows_ * at(image_.width), kNoValue);
    column_.resize(rows_);
  }
  // False: it is not seen.
  bool begin(double from, double to) {
    const double left = layout_.x_of(from) - layout_.map.left(), right = layout_.x_of(to) - layout_.map.left();
    if (right <= 0 || left >= image_.width) return false;
    // Neighbours share a rounded edge; one that rounds to nothing, or over the edge, keeps a pixel.
    begin_ = std::clamp(static_cast<int>(std::lround(left)), 0, image_.width - 1);
    end_ = std::clamp(static_cast<int>(std::lround(right)), begin_ + 1, image_.width);
    into_ = image_.pixels.data() + at(begin_) * rows_;
    if (end_ - begin_ == 1) return true;  // straight onto its pixels
    std::fill(column_.begin(), column_.end(), kNoValue);
    into_ = column_.data();
    return true;
  }
  void run(std::int64_t first, std::int64_t count, std::int64_t value) {
    const double top = layout_.y_of(static_cast<double>(first)) - layout_.map.top();
    const double bottom = layout_.y_of(static_cast<double>(first + count)) - layout_.map.top();
    const PixelRange down = pixels(top, bottom, image_.height);
    for (int y = down.begin; y < down.end; ++y) into_[y] = std::max(into_[y], value);
  }
  void end() {
    if (into_ != column_.data()) return;
    for (int x = begin_; x < end_; ++x) raise(image_.pixels.data() + at(x) * rows_, column_.data());
  }
  HeatImage take() {
    for (int x = 0; x < image_.width; ++x) raise(image_.row_largest.data(), image_.pixels.data() + at(x) * rows_);
    return std::move(image_);
  }

 private:
  const HeatLayout& layout_;
  HeatImage image_;
  std::size_t rows_;
  std::vector<std::int64_t> column_;  // of a phase that is wider than a pixel
  std::int64_t* into_ = nullptr;
  int begin_ = 0, end_ = 0;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  void raise(std::int64_t* to, const std::int64_t* by) const {
    for (std::size_t y = 0; y < rows_; ++y) to[y] = std::max(to[y], by[y]);
  }
};

}  // namespace

HeatImage rasterized(const HeatData& data, std::span<const int> phases, HeatQuantity quantity, const HeatLayout& layout,
                     const HeatPyramid* pyramid) {
  Raster raster(layout);
  const double per_pixel = (layout.window.phase_to - layout.window.phase_from) / std::max(1, layout.map.width());
  const int columns = static_cast<int>(phases.size());
  // Groups of columns that are not alike have no width of their own.
  const int level = pyramid && !layout.edges ? pyramid->level_for(per_pixel) : 0;
  const int size = 1 << level;
  const int first = layout.first_column() / size;
  const double right = layout.map.left() + layout.map.width();
  for (int g = first; g * size < columns && layout.x_of(g * size) < right; ++g) {
    if (!raster.begin(g * size, std::min(columns, (g + 1) * size))) continue;
    if (level > 0) {
      for (const HeatPyramid::Run& run : pyramid->levels[static_cast<std::size_t>(level)].group(g)) {
        raster.run(run.first, run.count, run.value);
      }
    } else {
      const HeatPhase& phase = data.phases[static_cast<std::size_t>(phases[static_cast<std::size_t>(g)])];
      for (std::size_t r = phase.first_run; r < phase.first_run + phase.runs; ++r) {
        raster.run(data.runs[r].first, data.runs[r].count, value_of(phase, data.runs[r], quantity));
      }
    }
    raster.end();
  }
  return raster.take();
}

std::vector<PhaseSpan> group_spans(const HeatData& data, std::span<const int> phases) {
  return spans(data, phases, [](const HeatPhase& phase) { return phase.group; });
}

std::vector<PhaseSpan> name_spans(const HeatData& data, std::span<const int> phases) {
  // Layer 5 forward and layer 5 backward may be neighbours and are two.
  auto out = spans(data, phases, [](const HeatPhase& phase) { return phase.group + "\n" + short_layer(phase.name); });
  for (auto& span : out) span.text.erase(0, span.text.find('\n') + 1);
  return out;
}

}  // namespace superstep::gui
