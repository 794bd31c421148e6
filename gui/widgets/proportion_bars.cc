// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/proportion_bars.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "gui/paint/draw.h"
#include "gui/widgets/lane_paint.h"

namespace superstep::gui {
namespace {

constexpr double kProportionLeft = 56;
constexpr double kProportionRow = 24;
constexpr double kProportionTop = 6;

Fill fill_of(const Proportion& part) { return plain_fill(part.work); }

}  // namespace

ProportionBars::ProportionBars(QWidget* parent) : QWidget(parent) {
  setObjectName("proportions");
  setAccessibleName(tr("Cycle proportions of each IPU"));
  setMouseTracking(true);
}

void ProportionBars::setTrace(const TimelinePointer& trace) {
  trace_ = trace;
  sums_.clear();
  names_.clear();
  for (const Lane& lane : trace->lanes) {
    if (!lane.name.empty()) continue;
    sums_.push_back(lane.sums(0, trace->cycles));
    names_.push_back(QString::fromStdString(trace->report->index().ipu_classes(lane.ipu_class).name()));
  }
  setFixedHeight(static_cast<int>(kProportionTop + kProportionRow * static_cast<double>(sums_.size()) + 4));
  update();
}

QRectF ProportionBars::segment(int bar, std::size_t part) const {
  const WorkCycles& sums = sums_[static_cast<std::size_t>(bar)];
  const double plot = std::max(20.0, width() - kProportionLeft - 12);
  const auto all = static_cast<double>(std::max<std::int64_t>(1, trace_->cycles));
  double before = 0;
  for (std::size_t i = 0; i < part; ++i) before += static_cast<double>(proportions()[i].of(sums));
  return {kProportionLeft + before / all * plot, kProportionTop + bar * kProportionRow,
          static_cast<double>(proportions()[part].of(sums)) / all * plot, kProportionRow - 5};
}

void ProportionBars::mouseMoveEvent(QMouseEvent* event) {
  setToolTip({});
  for (int bar = 0; bar < bars(); ++bar) {
    for (std::size_t i = 0; i < proportions().size(); ++i) {
      if (!segment(bar, i).contains(event->position())) continue;
      const std::int64_t cycles = proportions()[i].of(sums_[static_cast<std::size_t>(bar)]);
      setToolTip(names_[static_cast<std::size_t>(bar)] + ", " + proportions()[i].name + '\n' +
                 both_texts(*trace_, cycles) + "   " +
                 share_percent(static_cast<double>(cycles), static_cast<double>(trace_->cycles)) + " %");
    }
  }
}

void ProportionBars::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  for (int bar = 0; bar < bars(); ++bar) {
    painter.setFont(ui_font(11));
    painter.setPen(theme.text);
    const double y = kProportionTop + bar * kProportionRow;
    draw_text(painter, QRectF(10, y, kProportionLeft - 14, kProportionRow - 5), names_[static_cast<std::size_t>(bar)]);
    painter.setFont(ui_font(10.5));
    for (std::size_t i = 0; i < proportions().size(); ++i) {
      const QRectF box = segment(bar, i);
      if (box.width() <= 0) continue;
      const Fill fill = fill_of(proportions()[i]);
      draw_fill(painter, box, fill);
      const QString text = share_percent(static_cast<double>(proportions()[i].of(sums_[static_cast<std::size_t>(bar)])),
                                         static_cast<double>(trace_->cycles));
      const double need = number_width(painter.font(), text) + 4;
      if (need > box.width() - 2) continue;
      const QRectF label(box.center().x() - need / 2, box.top() + 2, need, box.height() - 4);
      if (fill.hatch != Hatch::none) painter.fillRect(label, fill.color);
      painter.setPen(fill.color.lightness() < 150 ? QColor(Qt::white) : QColor(0x1B, 0x21, 0x27));
      draw_number(painter, label, text, Qt::AlignHCenter | Qt::AlignVCenter);
    }
  }
}

}  // namespace superstep::gui
