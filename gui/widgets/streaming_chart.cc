// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/streaming_chart.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr double kStreamingLeft = 84, kStreamingRight = 16, kStreamingBottom = 24;
constexpr double kMebi = 1 << 20;

}  // namespace

StreamingChart::StreamingChart(QWidget* parent) : QWidget(parent) {
  setObjectName("streamingChart");
  setAccessibleName(tr("Bytes held in Streaming Memory and bandwidth used over a step"));
  setMinimumHeight(150);
}

void StreamingChart::setMemory(std::shared_ptr<const StreamingMemory> memory) {
  memory_ = std::move(memory);
  update();
}

StreamingLayout StreamingChart::layoutNow() const {
  const QRectF area(kStreamingLeft, 0, std::max(20.0, width() - kStreamingLeft - kStreamingRight),
                    std::max(60.0, height() - kStreamingBottom));
  if (isEmpty()) return StreamingLayout::of(area, 1, 1, 1);
  // Loads beside computing and what computing itself moves are counted at a full rate each: together they may pass it.
  double most = memory_->roof;
  for (const StreamStretch& s : memory_->stretches)
    most = std::max(most, memory_->rate(s.load_bytes + s.store_bytes, s.cycles));
  return StreamingLayout::of(area, memory_->cycles, static_cast<double>(memory_->most_held()), most);
}

int StreamingChart::stretchAt(double x) const {
  if (isEmpty()) return -1;
  const StreamingLayout layout = layoutNow();
  for (int i = 0; i < std::ssize(memory_->stretches); ++i) {
    const StreamStretch& s = memory_->stretches[static_cast<std::size_t>(i)];
    const QRectF bar = layout.ahead_bar(s.begin, s.cycles);
    if (x >= bar.left() && x < bar.right()) return i;
  }
  return -1;
}

QString StreamingChart::tipText(int stretch) const {
  const StreamStretch& s = memory_->stretches[static_cast<std::size_t>(stretch)];
  const double mean = memory_->rate(s.load_bytes + s.store_bytes, s.cycles);
  QString tip = "<b>" + QString::fromStdString(s.name).toHtmlEscaped() + "</b><br>" +
                tr("held %1 bytes<br>loaded %2 bytes<br>stored %3 bytes<br>mean %4 of %5 GB/s")
                    .arg(grouped(memory_->held_at(stretch)), grouped(s.load_bytes), grouped(s.store_bytes),
                         fixed_decimals(mean / 1e9, 2), fixed_decimals(memory_->roof / 1e9, 2));
  if (s.ahead_bytes > 0)
    tip += "<br>" + tr("of them %1 bytes ahead, for %2").arg(grouped(s.ahead_bytes), QString::fromStdString(s.ahead));
  return tip;
}

void StreamingChart::paintHeld(QPainter& painter, const StreamingLayout& layout) const {
  for (int i = 0; i < std::ssize(memory_->stretches); ++i) {
    const StreamStretch& s = memory_->stretches[static_cast<std::size_t>(i)];
    double below = 0;
    for (const HeldBytes& h : memory_->held) {
      if (i < h.first || i > h.last) continue;
      const auto bytes = static_cast<double>(h.bytes);
      Fill fill = fill_of_memory(h.category);
      fill.outline = QColor();
      draw_fill(painter, layout.held_bar(s.begin, s.cycles, below, below + bytes), fill);
      below += bytes;
    }
  }
}

// Mean over the stretch: loads below, stores above them.
void StreamingChart::paintRate(QPainter& painter, const StreamingLayout& layout) const {
  for (const StreamStretch& s : memory_->stretches) {
    const double load = memory_->rate(s.load_bytes, s.cycles), store = memory_->rate(s.store_bytes, s.cycles);
    draw_fill(painter, layout.rate_bar(s.begin, s.cycles, 0, load), fill_of_kind("load"));
    draw_fill(painter, layout.rate_bar(s.begin, s.cycles, load, load + store), fill_of_kind("store"));
  }
  const Theme& theme = theme_of(this);
  const double roof = std::floor(layout.per_second.at(memory_->roof)) + 0.5;
  painter.setPen(QPen(theme.limit, 1, Qt::DashLine));
  painter.drawLine(QPointF(layout.rate.left(), roof), QPointF(layout.rate.right(), roof));
}

void StreamingChart::paintAhead(QPainter& painter, const StreamingLayout& layout) const {
  const Theme& theme = theme_of(this);
  painter.fillRect(layout.ahead, theme.track);
  painter.setFont(ui_font(10));
  for (const StreamStretch& s : memory_->stretches) {
    if (s.ahead_bytes == 0) continue;
    const QRectF bar = layout.ahead_bar(s.begin, s.cycles).adjusted(0, 1, -1, -1);
    draw_fill(painter, bar, fill_of_kind("load"));
    const QString full = QString::fromStdString(s.ahead), number = full.section(' ', -1);
    const QString text = text_width(painter.font(), full) + 6 < bar.width() ? full : number;
    if (text_width(painter.font(), text) + 4 > bar.width()) continue;
    painter.setPen(QColor(0x1B, 0x21, 0x27));
    draw_text(painter, bar, text, Qt::AlignCenter);
  }
}

void StreamingChart::paintAxes(QPainter& painter, const StreamingLayout& layout) const {
  const Theme& theme = theme_of(this);
  const auto title = [&](const QRectF& of, const QString& left, const QString& right, const QColor& color) {
    painter.setFont(ui_font(11));
    painter.setPen(theme.secondary);
    draw_text(painter, QRectF(of.left(), of.top() - 17, of.width(), 16), left);
    painter.setPen(color);
    painter.setFont(ui_font(11, QFont::Medium));
    draw_text(painter, QRectF(of.left(), of.top() - 17, of.width(), 16), right, Qt::AlignRight | Qt::AlignVCenter);
  };
  const double most = static_cast<double>(memory_->most_held());
  title(layout.held, tr("Held, MiB"), tr("at most %1 MiB").arg(fixed_decimals(most / kMebi, 1)), theme.text);
  title(layout.rate, tr("Bandwidth, mean of each stretch, GB/s"),
        tr("roof %1 GB/s").arg(fixed_decimals(memory_->roof / 1e9, 2)), theme.limit);
  title(layout.ahead, tr("Loads ahead, beside computing"), {}, theme.text);
  const auto ticks = [&](const QRectF& of, const LinearScale& scale, double unit) {
    painter.setFont(ui_font(10.5));
    for (const double tick : nice_ticks(scale.full / unit, std::max(2, static_cast<int>(of.height() / 34)))) {
      const double y = std::floor(scale.at(tick * unit)) + 0.5;
      painter.setPen(theme.grid);
      painter.drawLine(QPointF(of.left(), y), QPointF(of.right(), y));
      painter.setPen(theme.secondary);
      draw_number(painter, QRectF(0, y - 8, kStreamingLeft - 8, 16),
                  fixed_decimals(tick, tick != std::floor(tick) ? 1 : 0));
    }
  };
  ticks(layout.held, layout.bytes, kMebi);
  ticks(layout.rate, layout.per_second, 1e9);
  if (!(memory_->clock > 0)) return;
  const LinearScale ms{static_cast<double>(memory_->cycles) / memory_->clock * 1e3, layout.ahead.left(),
                       layout.ahead.right()};
  painter.setPen(theme.secondary);
  for (const double tick : nice_ticks(ms.full, std::max(2, static_cast<int>(layout.ahead.width() / 90)))) {
    const double x = std::floor(ms.at(tick)) + 0.5;
    painter.drawLine(QPointF(x, layout.ahead.bottom()), QPointF(x, layout.ahead.bottom() + 4));
    draw_number(painter, QRectF(x - 40, layout.ahead.bottom() + 6, 80, 15),
                fixed_decimals(tick, tick != std::floor(tick) ? 1 : 0), Qt::AlignHCenter | Qt::AlignVCenter);
  }
}

void StreamingChart::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (isEmpty() || memory_->most_held() == 0) {
    draw_empty(painter, theme, rect(),
               isEmpty() ? tr("The report does not say what lies in Streaming Memory. Plan the job again to see it.")
                         : tr("This plan keeps nothing in Streaming Memory."));
    return;
  }
  const StreamingLayout layout = layoutNow();
  paintAxes(painter, layout);
  paintHeld(painter, layout);
  paintRate(painter, layout);
  paintAhead(painter, layout);
}

bool StreamingChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || isEmpty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int stretch = stretchAt(help->pos().x());
  if (stretch >= 0) {
    QToolTip::showText(help->globalPos(), tipText(stretch), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace superstep::gui
