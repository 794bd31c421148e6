// SPDX-License-Identifier: Apache-2.0
// How the heat map looks.
#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gui/base/format.h"
#include "gui/paint/axis.h"
#include "gui/paint/color_map.h"
#include "gui/paint/draw.h"
#include "gui/paint/pass_heads.h"
#include "gui/widgets/heat_map.h"

namespace superstep::gui {
namespace {

QColor strip_color(const Theme& theme) { return theme.dark ? QColor(0x5E, 0x7F, 0x84) : QColor(0x7F, 0x9E, 0xA3); }

class Colors {
 public:
  Colors(const HeatScale& scale, const ColorMap& map, const Theme& theme)
      : scale_(scale), limit_(theme.limit.rgb()), faint_(theme.faint.rgb()), track_(theme.track.rgb()) {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      steps_[i] = map.at(static_cast<double>(i) / (steps_.size() - 1)).rgb();
  }
  QRgb of(std::int64_t value) const {
    const auto v = static_cast<double>(value);
    if (scale_.over(v)) return limit_;
    return steps_[static_cast<std::size_t>(std::lround(scale_.share(v) * (steps_.size() - 1)))];
  }
  QRgb unused(int x, int y) const { return (x + y) % 6 == 0 ? faint_ : track_; }  // hatched

 private:
  const HeatScale& scale_;
  QRgb limit_, faint_, track_;
  std::array<QRgb, 1024> steps_;
};

// Some columns at a time: values stand column by column, colours line by line. Tiles below one another are often equal.
void color(const HeatImage& values, const HeatScale& scale, const ColorMap& map, const Theme& theme, QImage& image) {
  constexpr int kColumns = 16;
  if (image.size() != QSize(values.width, values.height))
    image = QImage(values.width, values.height, QImage::Format_RGB32);
  const Colors colors(scale, map, theme);
  for (int left = 0; left < values.width; left += kColumns) {
    const int right = std::min(left + kColumns, values.width);
    std::array<std::int64_t, kColumns> above;
    std::array<QRgb, kColumns> its;
    above.fill(kNoValue);
    for (int y = 0; y < values.height; ++y) {
      auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
      for (int x = left; x < right; ++x) {
        const std::int64_t value = values.at(x, y);
        const auto i = static_cast<std::size_t>(x - left);
        if (value != std::exchange(above[i], value) && value != kNoValue) its[i] = colors.of(value);
        line[x] = value == kNoValue ? colors.unused(x, y) : its[i];
      }
    }
  }
}

}  // namespace

void HeatMap::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (phases_.empty()) {
    draw_empty(painter, theme, rect(), tr("The report has no values per tile and phase."));
    return;
  }
  const HeatLayout layout = layoutNow();
  paintMap(painter, layout);
  paintTotals(painter, layout);
  paintMaxima(painter, layout);
  paintNames(painter, layout);
  paintCross(painter, layout);
  paintTip(painter, layout);
}

void HeatMap::paintMap(QPainter& painter, const HeatLayout& layout) {
  const Theme& theme = theme_of(this);
  if (imageIsStale_) {
    values_ = rasterized(*data_, phases_, session_.heatState().quantity, layout, pyramid_.get());
    color(values_, scaleNow(), color_map(session_.colorMap()), theme, image_);
    imageIsStale_ = false;
  }
  painter.drawImage(layout.map.topLeft(), image_);
  // Tile numbers at eighths of what is seen.
  painter.setFont(ui_font(10.5));
  painter.setPen(theme.secondary);
  const double span = layout.window.tile_to - layout.window.tile_from;
  const int steps = layout.map.height() > 300 ? 8 : 4;
  std::int64_t last = -1;
  for (int i = 0; i <= steps; ++i) {
    const auto tile = static_cast<std::int64_t>(std::floor(layout.window.tile_from + span * i / steps));
    const std::int64_t shown = std::min(tile, data_->tiles - 1);
    if (shown == last) continue;  // fewer tiles than ticks
    last = shown;
    const double y =
        std::clamp(layout.y_of(static_cast<double>(tile)), double(layout.map.top()), double(layout.map.bottom()));
    painter.drawLine(QPointF(layout.map.left() - 4, std::floor(y) + 0.5),
                     QPointF(layout.map.left() - 1, std::floor(y) + 0.5));
    draw_number(painter, QRectF(0, y - 8, layout.map.left() - 8, 16), grouped(shown));
  }
  painter.setPen(theme.secondary);
  painter.drawRect(QRectF(layout.map).adjusted(-0.5, -0.5, 0.5, 0.5));
}

void HeatMap::paintTotals(QPainter& painter, const HeatLayout& layout) const {
  const Theme& theme = theme_of(this);
  const HeatScale scale = scaleNow();
  const HeatQuantity quantity = session_.heatState().quantity;
  double full = scale.full;
  full = std::max(full, static_cast<double>(largestShown()));
  const LinearScale y{full, double(layout.totals.bottom() + 1), double(layout.totals.top())};
  const int first = layout.first_column();
  const int last = std::min(static_cast<int>(phases_.size()),
                            static_cast<int>(std::ceil(layout.phase_at(layout.map.left() + layout.map.width()))));
  painter.save();
  painter.setClipRect(layout.totals);
  const int level =
      pyramid_ && !edges_ ? pyramid_->level_for((last - first) / std::max(1.0, double(layout.totals.width()))) : 0;
  const int size = 1 << level;
  for (int column = first / size * size; column < last; column += size) {
    const std::int64_t largest =
        pyramid_ ? pyramid_->levels[static_cast<std::size_t>(level)].largest[static_cast<std::size_t>(column / size)]
                 : data_->largest(phases_[static_cast<std::size_t>(column)], quantity);
    const auto most = static_cast<double>(largest);
    const double left = std::round(layout.x_of(column));
    const double right = std::max(left + 1, std::round(layout.x_of(column + size)) - 1);
    painter.fillRect(QRectF(QPointF(left, y.at(most)), QPointF(right, y.begin)),
                     scale.over(most) ? theme.limit : strip_color(theme));
  }
  painter.restore();
  painter.setFont(ui_font(10.5));
  painter.setPen(theme.secondary);
  painter.drawLine(layout.totals.left(), layout.totals.bottom() + 1, layout.totals.right(), layout.totals.bottom() + 1);
  draw_number(painter, QRectF(0, y.begin - 12, layout.map.left() - 8, 14), "0");
  if (scale.limit >= 0) {
    const double at = std::floor(y.at(scale.limit));
    painter.fillRect(QRectF(layout.totals.left(), at, layout.totals.width(), 1), theme.limit);
    painter.setPen(theme.limit);
    draw_text(painter, QRectF(layout.totals.right() + 8, at - 9, 72, 18),
              valueText(static_cast<std::int64_t>(scale.limit)));
    painter.setPen(theme.secondary);
    draw_text(painter, QRectF(layout.totals.right() + 8, at + 9, 72, 16), tr("max of tiles"));
  } else {
    draw_number(
        painter, QRectF(0, layout.totals.top() - 4, layout.map.left() - 8, 14),
        quantity == HeatQuantity::error ? error_percent(std::llround(full)) : grouped(static_cast<std::int64_t>(full)));
    draw_text(painter, QRectF(layout.totals.right() + 8, layout.totals.top() - 4, 72, 16),
              counts_cycles(quantity)           ? tr("cycles")
              : quantity == HeatQuantity::error ? QString::fromUtf8("± %")
                                                : tr("bytes"));
    draw_text(painter, QRectF(layout.totals.right() + 8, layout.totals.top() + 12, 72, 16), tr("max of tiles"));
  }
}

void HeatMap::paintMaxima(QPainter& painter, const HeatLayout& layout) const {
  const Theme& theme = theme_of(this);
  const HeatScale scale = scaleNow();
  double full = scale.full;
  for (const std::int64_t value : values_.row_largest) full = std::max(full, static_cast<double>(value));
  const LinearScale x{full, double(layout.maxima.left()), double(layout.maxima.right())};
  for (int row = 0; row < values_.height; ++row) {
    const auto value = static_cast<double>(values_.row_largest[static_cast<std::size_t>(row)]);
    if (value < 0) continue;
    painter.fillRect(QRectF(x.begin, layout.maxima.top() + row, x.at(value) - x.begin, 1),
                     scale.over(value) ? theme.limit : strip_color(theme));
  }
  if (scale.limit >= 0) {
    const double at = std::floor(x.at(scale.limit));
    painter.setPen(QPen(theme.limit, 1, Qt::DashLine));
    painter.drawLine(QPointF(at + 0.5, layout.maxima.top()), QPointF(at + 0.5, layout.maxima.bottom()));
  }
  painter.setPen(theme.frame);
  painter.drawRect(QRectF(layout.maxima).adjusted(-0.5, -0.5, 0.5, 0.5));
  painter.setPen(theme.secondary);
  painter.setFont(ui_font(10.5));
  draw_text(painter, QRectF(layout.maxima.left() - 10, layout.ticks.top() + 4, 74, 16), tr("max of tile"),
            Qt::AlignHCenter | Qt::AlignVCenter);
}

double HeatMap::widthOfName(const QFont& font, std::ptrdiff_t name) {
  const auto at = static_cast<std::size_t>(name);
  if (nameWidths_[at] < 0) nameWidths_[at] = text_width(font, QString::fromStdString(names_[at].text));
  return nameWidths_[at];
}

void HeatMap::paintNames(QPainter& painter, const HeatLayout& layout) {
  const Theme& theme = theme_of(this);
  painter.save();
  painter.setClipRect(QRect(layout.heads.left(), 0, layout.heads.width(), height()));
  const auto visible = [&](const PhaseSpan& span) {
    const double left = std::max(layout.x_of(span.from), double(layout.map.left()));
    const double right = std::min(layout.x_of(span.to), double(layout.map.right() + 1));
    return QRectF(left, 0, std::max(0.0, right - left), 0);
  };
  painter.setFont(ui_font(11, QFont::Medium));
  for (const PhaseSpan& span : groups_) {
    const QRectF x = visible(span);
    if (x.width() < 1 || span.text.empty()) continue;
    draw_pass_head(painter, QRectF(x.left(), layout.heads.top(), x.width() - 1, layout.heads.height()), span.text);
  }
  painter.setFont(ui_font(10.5));
  double free_from = layout.map.left();  // names that would overlap are left out
  const auto seen = std::upper_bound(names_.begin(), names_.end(), layout.phase_at(layout.map.left()),
                                     [](double phase, const PhaseSpan& span) { return phase < span.to; });
  for (auto at = seen; at != names_.end() && layout.x_of(at->from) < layout.map.right() + 1; ++at) {
    const PhaseSpan& span = *at;
    const QRectF x = visible(span);
    if (x.width() < 1) continue;
    painter.setPen(theme.faint);
    painter.drawLine(QPointF(std::floor(x.left()) + 0.5, layout.ticks.top()),
                     QPointF(std::floor(x.left()) + 0.5, layout.ticks.top() + 5));
    const double need = widthOfName(painter.font(), at - names_.begin()) + 6;
    const double left = std::min(x.center().x() - need / 2, layout.map.right() + 1 - need);
    if (left < free_from || need > std::max(x.width() * 1.4, 32.0)) continue;
    painter.setPen(theme.secondary);
    painter.drawText(QRectF(left, layout.ticks.top() + 4, need, 16), Qt::AlignCenter,
                     QString::fromStdString(span.text));
    free_from = left + need;
  }
  painter.restore();
}

void HeatMap::paintCross(QPainter& painter, const HeatLayout& layout) const {
  painter.save();
  painter.setClipRect(layout.map.adjusted(-3, -3, 3, 3));
  const Selection& selection = session_.selection();
  const auto column = std::find(phases_.begin(), phases_.end(), selection.phase);
  if (column != phases_.end() && selection.tile >= 0) {
    QRectF cell = layout.cell(static_cast<int>(column - phases_.begin()), static_cast<double>(selection.tile), 1);
    if (cell.height() < 8) cell = QRectF(cell.left(), cell.center().y() - 4, cell.width(), 8);
    draw_selection(painter, cell);
  }
  painter.restore();
  if (!hover_) return;
  const QRectF cell = layout.cell(hover_->column, static_cast<double>(hover_->tile), 1);
  painter.setPen(QColor(255, 255, 255, 210));
  painter.drawLine(QPointF(layout.map.left(), cell.center().y()), QPointF(layout.map.right(), cell.center().y()));
  painter.drawLine(QPointF(cell.center().x(), layout.map.top()), QPointF(cell.center().x(), layout.map.bottom()));
}

void HeatMap::paintTip(QPainter& painter, const HeatLayout& layout) const {
  if (!hover_) return;
  const QRectF cell = layout.cell(hover_->column, static_cast<double>(hover_->tile), 1);
  draw_tip(painter, QRectF(layout.map), cell, tipText(*hover_).split('\n'), theme_of(this));
}

}  // namespace superstep::gui
