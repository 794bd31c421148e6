// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/heat_legend.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/base/format.h"
#include "gui/paint/color_map.h"
#include "gui/paint/draw.h"
#include "gui/widgets/heat_map.h"

namespace superstep::gui {

HeatLegend::HeatLegend(Session& session, const HeatMap& map, QWidget* parent)
    : QWidget(parent), session_(session), map_(map) {
  setFixedHeight(44);
  connect(&session, &Session::colorMapChanged, this, qOverload<>(&QWidget::update));
}

void HeatLegend::setMarker(std::int64_t value) {
  if (value == marker_) return;
  marker_ = value;
  update();
}

void HeatLegend::paintEvent(QPaintEvent*) {
  if (map_.phases().empty()) return;
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  const HeatScale scale = map_.scaleNow();
  const ColorMap& colors = color_map(session_.colorMap());
  const bool of_data = session_.heatState().limits_of_data;
  const bool memory = session_.heatState().quantity == HeatQuantity::memory;
  const bool error = session_.heatState().quantity == HeatQuantity::error;
  const HeatLayout layout = map_.layoutNow();
  const QRect bar(layout.map.left(), 10, std::max(120, layout.map.width() * 6 / 10), 12);
  for (int x = 0; x < bar.width(); ++x)
    painter.fillRect(bar.left() + x, bar.top(), 1, bar.height(), colors.at((x + 0.5) / bar.width()));
  painter.setPen(theme.secondary);
  painter.drawRect(QRectF(bar).adjusted(-0.5, -0.5, 0.5, 0.5));
  painter.setFont(ui_font(10.5));
  std::vector<QRectF> written;
  for (const double share :
       {0.0, 1.0, 0.5, 0.75, 0.25, 0.625, 0.875}) {  // the first ones have a number, if there is room
    if ((!memory || of_data) && share != 0.5 && share != 0.0 && share != 1.0) continue;
    const double least = of_data ? scale.knee : 0;
    const double value = least + share * (scale.full - least);
    const double x = bar.left() + scale.share(value) * bar.width();
    const QString text = error                                      ? error_percent(std::llround(value))
                         : memory && session_.units() == Units::kib ? fixed_decimals(value / 1024, 0)
                                                                    : grouped(static_cast<std::int64_t>(value));
    painter.drawLine(QPointF(std::floor(x) + 0.5, bar.bottom() + 1), QPointF(std::floor(x) + 0.5, bar.bottom() + 4));
    const double width = number_width(painter.font(), text);
    if (memory && session_.units() == Units::bytes && share != 0 && share != 0.5 && share != 1) continue;
    const QRectF place(x - width / 2, bar.bottom() + 4, width, 14);
    const QRectF around = place.adjusted(-4, 0, 4, 0);
    if (std::ranges::any_of(written, [&](const QRectF& other) { return other.intersects(around); })) continue;
    written.push_back(place);
    draw_number(painter, place, text, Qt::AlignLeft | Qt::AlignVCenter);
  }
  double x = bar.right() + 22;
  const auto entry = [&](const Fill& fill, const QString& text, const QColor& color) {
    const double width = text_width(painter.font(), text);
    if (x + 22 + width > this->width() - 8) return;
    draw_fill(painter, QRectF(x, bar.top(), 16, bar.height()), fill);
    painter.setPen(color);
    draw_text(painter, QRectF(x + 22, bar.top() - 3, width + 2, 18), text);
    x += 22 + width + 16;
  };
  if (scale.limit >= 0) entry({theme.limit, Hatch::none, {}, {}}, tr("over"), theme.limit);
  entry({theme.track, Hatch::rising, theme.faint, theme.faint}, tr("unused"), theme.secondary);
  painter.setPen(theme.secondary);
  const QRectF note(x, bar.top() - 8, std::max(0.0, this->width() - x - 8), 16);
  const QString about = memory && !of_data ? tr("%1 per tile, fixed scale").arg(unit_name(session_.units()))
                        : memory           ? tr("%1 per tile, as in the report").arg(unit_name(session_.units()))
                        : error            ? tr("± % of a phase's time, scale of this report")
                                           : tr("scale of this report");
  if (text_width(painter.font(), about) <= note.width()) {  // else it says nothing
    draw_text(painter, note, about);
    if (memory && !of_data) draw_text(painter, note.translated(0, 15), tr("lower half compressed"));
  }
  if (marker_ != kNoValue) {
    const double at = scale.over(static_cast<double>(marker_))
                          ? bar.right() + 30
                          : bar.left() + scale.share(static_cast<double>(marker_)) * bar.width();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.text);
    painter.drawPolygon(QPolygonF({QPointF(at - 5, 2), QPointF(at + 5, 2), QPointF(at, 9)}));
  }
}

}  // namespace superstep::gui
