// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/memory_columns.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "gui/base/format.h"
#include "gui/paint/draw.h"
#include "gui/widgets/fit_bars.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

constexpr double kColumnsAxisWidth = 58;
constexpr double kAbove = 26;
constexpr double kColumnNames = 70;  // name, contents, to spare, always live

QString axis_text(std::int64_t bytes, Units units) {
  return units == Units::kib ? fixed_decimals(static_cast<double>(bytes) / 1024, 0) : grouped(bytes);
}

bool is_dark(const QColor& color) { return color.lightnessF() < 0.55; }

}  // namespace

MemoryColumns::MemoryColumns(QWidget* parent) : QWidget(parent) {
  setObjectName("memoryColumns");
  setAccessibleName(tr("Memory by category on the fullest tile of each IPU"));
}

void MemoryColumns::setReport(ReportPointer report, Units units) {
  report_ = std::move(report);
  units_ = units;
  update();
}

void MemoryColumns::setSelected(int ipu_class, const QString& category) {
  selectedClass_ = ipu_class;
  selectedCategory_ = category;
  update();
}

std::int64_t MemoryColumns::limit() const {
  std::int64_t most = 1;
  for (const auto& ipu : report_->index().ipu_classes()) most = std::max<std::int64_t>(most, ipu.tile_limit_bytes());
  return most;
}

ColumnLayout MemoryColumns::layoutNow() const {
  std::int64_t most = report_ ? limit() : 1;
  if (report_) {
    for (const auto& ipu : report_->index().ipu_classes()) most = std::max<std::int64_t>(most, memory_stack(ipu).top);
  }
  const QRectF plot(kColumnsAxisWidth, kAbove, std::max(20.0, width() - kColumnsAxisWidth - 16),
                    std::max(40.0, height() - kAbove - kColumnNames));
  return ColumnLayout::of(plot, classes(), static_cast<double>(most) * 1.03);
}

void MemoryColumns::paintAxis(QPainter& painter, const ColumnLayout& layout) const {
  const Theme& theme = theme_of(this);
  const double unit = units_ == Units::kib ? 1024 : 1;
  painter.setFont(ui_font(10.5));
  const double limit_y = std::floor(layout.scale.at(static_cast<double>(limit()))) + 0.5;
  for (const double tick : nice_ticks(layout.scale.full / unit, layout.plot.height() > 220 ? 6 : 4)) {
    const double y = std::floor(layout.scale.at(tick * unit)) + 0.5;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(layout.plot.left(), y), QPointF(layout.plot.right(), y));
    if (std::abs(y - limit_y) < 15) continue;
    painter.setPen(theme.secondary);
    draw_number(painter, QRectF(0, y - 8, kColumnsAxisWidth - 8, 16),
                axis_text(static_cast<std::int64_t>(tick * unit), units_));
  }
  painter.setPen(theme.limit);
  painter.setFont(ui_font(10.5, QFont::Medium));
  draw_number(painter, QRectF(0, limit_y - 8, kColumnsAxisWidth - 8, 16), axis_text(limit(), units_));
  draw_number(painter, QRectF(0, limit_y - 22, kColumnsAxisWidth - 8, 16), tr("limit"));
}

void MemoryColumns::paintMarks(QPainter& painter, const ColumnLayout& layout, int column,
                               const MemoryStack& stack) const {
  const Theme& theme = theme_of(this);
  const QRectF bar = layout.bar(column);
  const double y = std::floor(layout.scale.at(static_cast<double>(stack.always_live))) + 0.5;
  painter.fillRect(QRectF(bar.left() - 5, y - 1, bar.width() + 10, 2), theme.panel);
  painter.setPen(QPen(theme.text, 1, Qt::DashLine));
  painter.drawLine(QPointF(bar.left() - 5, y), QPointF(bar.right() + 5, y));
}

void MemoryColumns::paintColumn(QPainter& painter, const ColumnLayout& layout, int column) const {
  const Theme& theme = theme_of(this);
  const report::IpuClass& ipu = report_->index().ipu_classes(column);
  const MemoryStack stack = memory_stack(ipu);
  painter.setFont(ui_font(10.5));
  for (const StackSegment& s : stack.segments) {
    const QRectF rect = layout.segment(column, s);
    const auto& category = *stack.categories[static_cast<std::size_t>(s.category)];
    const Fill fill = fill_of_memory(category.name());
    draw_fill(painter, rect, fill);
    painter.fillRect(QRectF(rect.left(), rect.top(), rect.width(), 1), QColor(255, 255, 255, 90));
    const QString number = tile_bytes(category.bytes_per_tile(), units_);
    if (rect.height() < 14 || number_width(painter.font(), number) + 10 > rect.width()) continue;
    painter.setPen(is_dark(fill.color) ? QColor(Qt::white) : QColor(0x1B, 0x21, 0x27));
    const double needed =
        number_width(painter.font(), number) + 18 + text_width(painter.font(), QString::fromStdString(category.name()));
    if (needed < rect.width()) {
      draw_text(painter, rect.adjusted(6, 0, 0, 0), QString::fromStdString(category.name()));
      draw_number(painter, rect.adjusted(0, 0, -6, 0), number);
    } else {
      draw_number(painter, rect, number, Qt::AlignHCenter | Qt::AlignVCenter);
    }
  }
  for (const StackSegment& s : stack.segments) {
    const bool named =
        QString::fromStdString(stack.categories[static_cast<std::size_t>(s.category)]->name()) == selectedCategory_;
    if (column == selectedClass_ && named) draw_selection(painter, layout.segment(column, s));
  }
  paintMarks(painter, layout, column, stack);

  // The peak above the bar; under it the name, what it holds, and what is left.
  const QRectF slot = layout.slot(column).adjusted(3, 0, -3, 0);
  const QRectF bar = layout.bar(column);
  const double top = layout.scale.at(static_cast<double>(stack.top));
  const double limit_y = layout.scale.at(static_cast<double>(limit()));
  painter.setPen(theme.text);
  painter.setFont(ui_font(12, QFont::DemiBold));
  const QString peak = tile_bytes(ipu.tile_peak_bytes(), units_);
  if (number_width(painter.font(), peak) <= slot.width()) {
    const double y = std::min(top, limit_y) - 18;  // one row for all that fit
    draw_number(painter, QRectF(bar.left(), y, bar.width(), 16), peak, Qt::AlignHCenter | Qt::AlignVCenter);
  }
  if (column == selectedClass_)
    painter.fillRect(QRectF(slot.left(), layout.plot.bottom() + 2, slot.width(), kColumnNames - 4), theme.accent_fill);
  double y = layout.plot.bottom() + 3;
  painter.setPen(theme.text);
  draw_text(painter, QRectF(slot.left(), y, slot.width(), 16), QString::fromStdString(ipu.name()),
            Qt::AlignHCenter | Qt::AlignVCenter);
  painter.setPen(theme.secondary);
  painter.setFont(ui_font(11));
  y += 16;
  draw_text(painter, QRectF(slot.left(), y, slot.width(), 15), QString::fromStdString(ipu.contents()),
            Qt::AlignHCenter | Qt::AlignVCenter);
  const Fit fit = fit_of(ipu);
  const std::int64_t margin = margin_bytes(ipu);
  painter.setPen(fit_color(theme, fit));
  y += 15;
  const QString left = QString::fromUtf8(fit_sign(fit)) + ' ' + tile_bytes(std::abs(margin), units_) +
                       (margin < 0 ? tr(" over") : tr(" spare"));
  draw_text(painter, QRectF(slot.left(), y, slot.width(), 16), left, Qt::AlignHCenter | Qt::AlignVCenter);
  painter.setPen(theme.secondary);
  y += 16;
  draw_text(painter, QRectF(slot.left(), y, slot.width(), 15),
            tr("%1 always live").arg(tile_bytes(stack.always_live, units_)), Qt::AlignHCenter | Qt::AlignVCenter);
}

void MemoryColumns::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (classes() == 0) {
    draw_empty(painter, theme, rect(), tr("The report has no plan, so no tile is filled."));
    return;
  }
  const ColumnLayout layout = layoutNow();
  paintAxis(painter, layout);
  for (int column = 0; column < classes(); ++column) paintColumn(painter, layout, column);
  const double limit_y = std::floor(layout.scale.at(static_cast<double>(limit())));
  painter.fillRect(QRectF(layout.plot.left(), limit_y - 1, layout.plot.width(), 2), theme.limit);
  painter.setPen(theme.secondary);
  painter.drawLine(layout.plot.bottomLeft(), layout.plot.bottomRight());
}

QString MemoryColumns::categoryAt(const QPointF& at) const {
  const ColumnLayout layout = layoutNow();
  const int column = layout.column_at(at.x());
  if (column < 0) return {};
  const MemoryStack stack = memory_stack(report_->index().ipu_classes(column));
  for (const StackSegment& s : stack.segments) {
    if (layout.segment(column, s).contains(at))
      return QString::fromStdString(stack.categories[static_cast<std::size_t>(s.category)]->name());
  }
  return {};
}

void MemoryColumns::mousePressEvent(QMouseEvent* event) {
  const int column = layoutNow().column_at(event->position().x());
  if (column >= 0) emit clicked(column, categoryAt(event->position()));
}

bool MemoryColumns::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !report_) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int column = layoutNow().column_at(help->pos().x());
  if (column >= 0) {
    QToolTip::showText(help->globalPos(), memory_tip(report_->index().ipu_classes(column), units_), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace superstep::gui
