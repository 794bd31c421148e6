// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/waterfall_chart.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "gui/base/format.h"
#include "gui/models/report_tables.h"
#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

// Columns of waterfall_table().
constexpr int kTerm = 0;
constexpr int kMs = 2;
constexpr int kPercent = 3;
constexpr int kSeconds = 4;
constexpr double kWaterfallMargin = 12;

}  // namespace

WaterfallChart::WaterfallChart(const TableModel& model, QWidget* parent) : QWidget(parent), model_(model) {
  setObjectName("waterfall");
  setAccessibleName(tr("Waterfall from ideal to predicted step time"));
  connect(&model, &TableModel::modelReset, this, [this] {
    updateGeometry();
    update();
  });
}

QString WaterfallChart::cell(int row, int column) const { return model_.index(row, column).data().toString(); }

WaterfallLayout WaterfallChart::layoutNow() const {
  std::vector<double> seconds;
  double label = 0;
  double number = 0;
  double error = 0;
  for (int row = 0; row < model_.rowCount(); ++row) {
    if (row + 1 < model_.rowCount()) seconds.push_back(model_.index(row, kSeconds).data(kExactRole).toDouble());
    label = std::max(
        label,
        text_width(ui_font(12, row + 1 < model_.rowCount() ? QFont::Normal : QFont::DemiBold), cell(row, kTerm)) + 1);
    number = std::max(number, number_width(ui_font(12, QFont::DemiBold), cell(row, kMs)));
    if (hasErrors()) error = std::max(error, number_width(ui_font(11), errorText(row)));
  }
  const double reach = band_ ? band_->high : 0;
  const auto with_errors = WaterfallLayout::of(seconds, width(), height(), label, number, reach, error);
  // Names are not cut for the errors' sake, which the table and the tips have too.
  return with_errors.label_width >= label
             ? with_errors
             : WaterfallLayout::of(std::move(seconds), width(), height(), label, number, reach);
}

bool WaterfallChart::hasErrors() const { return model_.columnCount() > kTermError; }

QString WaterfallChart::errorText(int row) const {
  const QString text = hasErrors() ? cell(row, kTermError) : QString();
  return text.isEmpty() ? text : QString::fromUtf8("± ") + text;
}

QSize WaterfallChart::minimumSizeHint() const {
  return {260,
          static_cast<int>(WaterfallLayout::kAxisHeight + WaterfallLayout::kLeastRow * std::max(1, model_.rowCount()))};
}

QSize WaterfallChart::sizeHint() const {
  return {500, static_cast<int>(WaterfallLayout::kAxisHeight + 26 * std::max(1, model_.rowCount()))};
}

void WaterfallChart::setBand(std::optional<Band> band) {
  band_ = band;
  update();
}

void WaterfallChart::paintBand(QPainter& painter, const WaterfallLayout& layout) const {
  if (!band_) return;
  const QRectF bar = layout.bar(layout.rows() - 1);
  const double low = std::round(layout.scale.at(band_->low)), high = std::round(layout.scale.at(band_->high));
  const double y = std::floor(bar.center().y());
  const QColor color = theme_of(this).text;
  painter.fillRect(QRectF(low, y, high - low, 1), color);
  for (const double x : {low, high}) painter.fillRect(QRectF(x, y - 5, 1, 11), color);
}

QString WaterfallChart::bandText() const {
  if (!band_) return {};
  return tr("95 % band %1 to %2 ms").arg(milliseconds(band_->low, band_->high), milliseconds(band_->high, band_->high));
}

void WaterfallChart::setSelectedTerm(const QString& term) {
  selectedTerm_ = term;
  update();
}

void WaterfallChart::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (model_.rowCount() == 0) {
    draw_empty(painter, theme, rect(), tr("The report has no plan, so there is no time to explain."));
    return;
  }
  const WaterfallLayout layout = layoutNow();
  const int total_row = layout.rows() - 1;
  const double bottom = layout.row(total_row).bottom();

  painter.setFont(ui_font(10.5));
  for (const double tick : nice_ticks(layout.scale.full * 1e3,
                                      std::max(2, static_cast<int>((layout.scale.end - layout.scale.begin) / 52)))) {
    const double x = std::floor(layout.scale.at(tick / 1e3)) + 0.5;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(x, WaterfallLayout::kAxisHeight), QPointF(x, bottom));
    painter.setPen(theme.secondary);
    draw_number(painter, QRectF(x - 30, 0, 60, WaterfallLayout::kAxisHeight),
                fixed_decimals(tick, tick != std::floor(tick) ? 1 : 0), Qt::AlignHCenter | Qt::AlignVCenter);
  }
  painter.setFont(ui_font(11));
  draw_number(painter, QRectF(0, 0, layout.number_right, WaterfallLayout::kAxisHeight), tr("ms"));
  if (layout.has_errors())
    draw_number(painter, QRectF(0, 0, layout.error_right, WaterfallLayout::kAxisHeight), QString::fromUtf8("± 95 %"));
  draw_number(painter, QRectF(0, 0, layout.percent_right, WaterfallLayout::kAxisHeight), "%");

  for (int row = 0; row < layout.rows(); ++row) {
    const QRectF whole = layout.row(row);
    const bool is_total = row == total_row;
    if (!selectedTerm_.isEmpty() && cell(row, kTerm) == selectedTerm_) painter.fillRect(whole, theme.accent_fill);
    if (is_total) {
      painter.setPen(theme.frame);
      painter.drawLine(QPointF(kWaterfallMargin, whole.top()), QPointF(layout.percent_right, whole.top()));
    }
    painter.setPen(theme.text);
    painter.setFont(ui_font(12, is_total ? QFont::DemiBold : QFont::Normal));
    draw_text(painter, QRectF(kWaterfallMargin, whole.top(), layout.label_width, whole.height()), cell(row, kTerm));
    const QRectF bar = layout.bar(row);
    const QString kind = model_.index(row, kTerm).data(kKindRole).toString();
    draw_fill(painter, bar, fill_of_kind(kind.toStdString()));
    if (row + 2 < layout.rows()) {  // down to where the next bar starts
      painter.setPen(theme.secondary);
      const double x = std::floor(std::min(bar.right(), layout.scale.end - 1)) + 0.5;
      painter.drawLine(QPointF(x, bar.bottom()), QPointF(x, layout.bar(row + 1).top()));
    }
    painter.setPen(theme.text);
    painter.setFont(ui_font(12, QFont::DemiBold));
    draw_number(painter, QRectF(0, whole.top(), layout.number_right, whole.height()), cell(row, kMs));
    painter.setPen(theme.secondary);
    painter.setFont(ui_font(11));
    if (layout.has_errors())
      draw_number(painter, QRectF(0, whole.top(), layout.error_right, whole.height()), errorText(row));
    painter.setFont(ui_font(12));
    draw_number(painter, QRectF(0, whole.top(), layout.percent_right, whole.height()), cell(row, kPercent));
  }
  paintBand(painter, layout);
}

void WaterfallChart::mousePressEvent(QMouseEvent* event) {
  const int row = layoutNow().row_at(event->position().y());
  if (row >= 0 && row + 1 < model_.rowCount()) emit termClicked(cell(row, kTerm));
}

bool WaterfallChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || model_.rowCount() == 0) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int row = layoutNow().row_at(help->pos().y());
  if (row < 0) {
    QToolTip::hideText();
    return true;
  }
  QString text = "<b>" + cell(row, kTerm).toHtmlEscaped() + "</b><br>" + cell(row, kMs) + " ms, " +
                 cell(row, kPercent) + " %<br>" + cell(row, kSeconds) + " s";
  if (!errorText(row).isEmpty())
    text += "<br>" + tr("95 % of the worlds: %1 to %2 ms").arg(cell(row, kTermError + 1), cell(row, kTermError + 2));
  const QString why = model_.index(row, 0).data(Qt::ToolTipRole).toString();
  if (!why.isEmpty()) text += "<br>" + why.toHtmlEscaped();
  if (row == layoutNow().rows() - 1 && band_) text += "<br>" + bandText();
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace superstep::gui
