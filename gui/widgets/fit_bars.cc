// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/fit_bars.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "gui/base/format.h"
#include "gui/paint/draw.h"
#include "gui/paint/stack_layout.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

constexpr int kFitMargin = 12;
constexpr int kLeastRow = 38;
constexpr int kMostRow = 58;
constexpr int kFitAxis = 24;

}  // namespace

QString memory_tip(const report::IpuClass& ipu, Units units) {
  QString text = "<b>" + QString::fromStdString(ipu.name()).toHtmlEscaped() + "</b> " +
                 QString::fromStdString(ipu.contents()).toHtmlEscaped() + "<table cellspacing=0 cellpadding=1>";
  const auto row = [&](const QString& name, std::int64_t bytes) {
    text += "<tr><td>" + name.toHtmlEscaped() + "&nbsp;&nbsp;</td><td align=right>" + tile_bytes_text(bytes, units) +
            "&nbsp;&nbsp;</td><td align=right>" + grouped(bytes) + " bytes</td></tr>";
  };
  for (const auto& m : ipu.memory()) row(QString::fromStdString(m.name()), m.bytes_per_tile());
  row("always live", always_live_bytes(ipu));
  row("fullest tile", ipu.tile_peak_bytes());
  row("to spare", margin_bytes(ipu));
  return text + "</table>";
}

FitBars::FitBars(const TableModel& model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName("fitBars");
  setAccessibleName(tr("Memory of the fullest tile of each IPU against its limit"));
  connect(&model, &TableModel::modelReset, this, [this] {
    updateGeometry();
    update();
  });
}

void FitBars::setReport(ReportPointer report, Units units) {
  units_ = units;
  report_ = std::move(report);
  update();
}

void FitBars::setSelectedClass(int ipu_class) {
  selectedClass_ = ipu_class;
  update();
}

QSize FitBars::sizeHint() const { return {360, 6 + kMostRow * std::max(1, rows()) + kFitAxis}; }

QSize FitBars::minimumSizeHint() const { return {240, 6 + kLeastRow * std::max(1, rows()) + kFitAxis}; }

double FitBars::rowHeight() const {
  return std::clamp((height() - 6.0 - kFitAxis) / std::max(1, rows()), double{kLeastRow}, double{kMostRow});
}

int FitBars::rowAt(double y) const {
  const int row = static_cast<int>((y - 6) / rowHeight());
  return y >= 6 && row < rows() ? row : -1;
}

void FitBars::paintRow(QPainter& painter, int row, const QRectF& rect, double full) const {
  const Theme& theme = theme_of(this);
  const report::IpuClass& ipu = report_->index().ipu_classes(row);
  const Fit fit = fit_of(ipu);
  const double text_height = 20;
  double right = rect.right() - chip_width(fit);
  draw_chip(painter, QPointF(right, rect.top() + 1), theme, fit);
  right -= 8;

  painter.setPen(theme.text);
  painter.setFont(ui_font(12));
  const std::int64_t margin = margin_bytes(ipu);
  QString spare = model_.index(row, kFitSpare).data().toString() + tr(" spare");
  if (margin < 0) {
    spare = tile_bytes(-margin, units_) + tr(" over");
    painter.setPen(theme.over);
    painter.setFont(ui_font(12, QFont::DemiBold));
  }
  const double spare_width = number_width(painter.font(), spare);
  draw_number(painter, QRectF(rect.left(), rect.top(), right - rect.left(), text_height), spare);
  right -= spare_width + 10;

  painter.setPen(theme.text);
  painter.setFont(ui_font(12, QFont::DemiBold));
  const QString name = model_.index(row, kFitName).data().toString();
  const double name_width = std::min(text_width(painter.font(), name) + 1, right - rect.left());
  draw_text(painter, QRectF(rect.left(), rect.top(), name_width, text_height), name);
  painter.setPen(theme.secondary);
  painter.setFont(ui_font(11));
  const double left = rect.left() + name_width + 10;
  if (right - left > 30)
    draw_text(painter, QRectF(left, rect.top(), right - left, text_height),
              model_.index(row, kFitContents).data().toString());

  const LinearScale scale{full, rect.left(), rect.right()};
  const QRectF track(rect.left(), rect.top() + text_height + 1, rect.width(),
                     std::clamp(rect.height() - 33, 10.0, 22.0));
  painter.fillRect(track, theme.track);
  const MemoryStack stack = memory_stack(ipu);
  for (const StackSegment& s : stack.segments) {
    const double from = scale.at(static_cast<double>(s.from));
    draw_fill(painter, QRectF(from, track.top(), scale.at(static_cast<double>(s.to)) - from, track.height()),
              fill_of_memory(stack.categories[static_cast<std::size_t>(s.category)]->name()));
  }
  painter.fillRect(QRectF(scale.at(static_cast<double>(stack.always_live)) - 1, track.top() - 1, 2, track.height() + 2),
                   theme.panel);
  painter.fillRect(
      QRectF(scale.at(static_cast<double>(ipu.tile_limit_bytes())) - 1, track.top() - 3, 2, track.height() + 6),
      theme.limit);
  if (row == selectedClass_) draw_selection(painter, track);
}

void FitBars::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (!report_ || rows() == 0 || report_->index().ipu_classes_size() != rows()) {
    draw_empty(painter, theme, rect(), tr("The report has no plan, so no tile is filled."));
    return;
  }
  std::int64_t limit = 1;
  std::int64_t most = 1;
  for (const auto& ipu : report_->index().ipu_classes()) {
    limit = std::max<std::int64_t>(limit, ipu.tile_limit_bytes());
    most = std::max<std::int64_t>(most, ipu.tile_peak_bytes());
  }
  const double full = std::max(static_cast<double>(limit) * 1.06, static_cast<double>(most) * 1.02);
  for (int row = 0; row < rows(); ++row) {
    paintRow(painter, row, QRectF(kFitMargin, 6 + row * rowHeight(), width() - 2 * kFitMargin, rowHeight()), full);
  }
  const LinearScale scale{full, double{kFitMargin}, static_cast<double>(width() - kFitMargin)};
  painter.setFont(ui_font(10.5));
  const double axis = 6 + rows() * rowHeight() - 6;
  for (const std::int64_t tick : {std::int64_t{0}, limit / 2, limit}) {
    const double x = scale.at(static_cast<double>(tick));
    painter.setPen(tick == limit ? theme.limit : theme.secondary);
    const QString text = units_ == Units::kib ? fixed_decimals(static_cast<double>(tick) / 1024, 0) : grouped(tick);
    const double w = number_width(painter.font(), text);
    const double left = std::clamp(x - w / 2, double{kFitMargin}, width() - kFitMargin - w);
    draw_number(painter, QRectF(left, axis, w, kFitAxis - 4), text, Qt::AlignLeft | Qt::AlignVCenter);
  }
}

void FitBars::mousePressEvent(QMouseEvent* event) {
  const int row = rowAt(event->position().y());
  if (row >= 0) emit classClicked(row);
}

bool FitBars::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !report_) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int row = rowAt(help->pos().y());
  if (row >= 0 && row < report_->index().ipu_classes_size()) {
    QToolTip::showText(help->globalPos(), memory_tip(report_->index().ipu_classes(row), units_), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace superstep::gui
