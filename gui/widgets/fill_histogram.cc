// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/fill_histogram.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr double kFillAxis = 18, kFillTop = 16, kFillMargin = 12;
const QColor kBar(0x7F, 0x9E, 0xA3);

QFont axis_font() { return ui_font(10.5); }

std::vector<double> count_ticks(std::int64_t most) { return nice_ticks(static_cast<double>(most), 2); }

}  // namespace

FillHistogram::FillHistogram(QWidget* parent) : QWidget(parent) {
  setObjectName("fillHistogram");
  setAccessibleName(tr("Tiles by bytes used at their peak"));
  setFocusPolicy(Qt::StrongFocus);
}

void FillHistogram::setFill(std::shared_ptr<const TileFill> fill, Units units) {
  fill_ = std::move(fill), units_ = units, selected_ = -1;
  update();
}

void FillHistogram::setSelected(int ipu_class, std::int64_t tile) {
  selected_ = -1;
  for (const TilePeak& peak : fill_ ? fill_->peaks : std::vector<TilePeak>()) {
    if (peak.ipu_class == ipu_class && tile >= peak.first && tile < peak.first + peak.count)
      selected_ = fill_->bin_of(peak.bytes);
  }
  update();
}

HistogramLayout FillHistogram::layoutNow() const {
  std::int64_t most = 1;
  for (const FillBin& bin : fill_->bins) most = std::max(most, bin.tiles);
  const double left = kFillMargin + number_width(axis_font(), grouped(std::llround(count_ticks(most).back()))) + 6;
  const auto first = static_cast<double>(std::max<std::int64_t>(0, fill_->bins.front().from));
  const auto last = static_cast<double>(fill_->bins.back().to);
  // Air behind the limit, so that it does not stand on the edge.
  return HistogramLayout::of(
      QRectF(left, kFillTop, width() - left - kFillMargin, std::max(20.0, height() - kFillTop - kFillAxis)), first,
      last + (last - first) * 0.04, most);
}

QRectF FillHistogram::bar(int bin) const {
  const FillBin& b = fill_->bins[static_cast<std::size_t>(bin)];
  return layoutNow().bar(static_cast<double>(b.from), static_cast<double>(b.to), b.tiles);
}

int FillHistogram::binAt(const QPointF& at) const {
  if (isEmpty()) return -1;
  const QRectF plot = layoutNow().plot;
  for (int i = 0; i < std::ssize(fill_->bins); ++i) {
    const QRectF place = bar(i);
    const bool under = at.x() >= place.left() - 1 && at.x() <= place.right() + 1 && at.y() >= plot.top() - kFillTop;
    if (under && at.y() <= plot.bottom() + 2 && fill_->bins[static_cast<std::size_t>(i)].tiles > 0) return i;
  }
  return -1;
}

void FillHistogram::paintAxes(QPainter& painter, const HistogramLayout& layout) const {
  const Theme& theme = theme_of(this);
  painter.setFont(axis_font());
  for (const double tick : count_ticks(static_cast<std::int64_t>(layout.scale.full))) {
    const double y = std::floor(layout.scale.at(tick)) + 0.5;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(layout.plot.left(), y), QPointF(layout.plot.right(), y));
    painter.setPen(theme.secondary);
    draw_number(painter, QRectF(0, y - 8, layout.plot.left() - 6, 16), grouped(std::llround(tick)));
  }
  const double limit_x = std::floor(layout.x(static_cast<double>(fill_->limit)));
  const double unit = units_ == Units::kib ? 1024 : 1;
  const QString limit = fixed_decimals(static_cast<double>(fill_->limit) / unit, 0);
  const double limit_half = number_width(axis_font(), limit) / 2 + 8;
  HistogramLayout in_units = layout;
  in_units.from /= unit, in_units.to /= unit;
  painter.setPen(theme.secondary);
  for (const double tick : in_units.ticks(std::max(2, static_cast<int>(layout.plot.width() / 70)))) {
    const QString text = grouped(std::llround(tick));
    const double half = number_width(axis_font(), text) / 2, x = in_units.x(tick);
    if (std::abs(x - limit_x) < half + limit_half || x + half > width() || x - half < 0) continue;
    draw_number(painter, QRectF(x - 40, layout.plot.bottom() + 2, 80, kFillAxis - 2), text,
                Qt::AlignHCenter | Qt::AlignVCenter);
  }
  painter.setPen(theme.limit);
  const double left = std::min(limit_x - limit_half + 8, width() - 2 * limit_half + 12);
  draw_number(painter, QRectF(left, layout.plot.bottom() + 2, 2 * limit_half, kFillAxis - 2), limit,
              Qt::AlignLeft | Qt::AlignVCenter);
}

void FillHistogram::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (isEmpty()) {
    draw_empty(painter, theme, rect(), tr("The report does not say how full its tiles are."));
    return;
  }
  const HistogramLayout layout = layoutNow();
  paintAxes(painter, layout);
  for (int i = 0; i < std::ssize(fill_->bins); ++i) {
    const FillBin& b = fill_->bins[static_cast<std::size_t>(i)];
    if (b.tiles == 0) continue;
    const QColor color = fill_->is_over(b) ? theme.limit : fill_->is_tight(b) ? theme.tight : kBar;
    draw_fill(painter, bar(i), {color, fill_->is_over(b) ? Hatch::rising : Hatch::none, theme.panel, {}});
    if (i == selected_) draw_selection(painter, bar(i).adjusted(-1, -1, 1, 0));
  }
  painter.setPen(theme.secondary);
  painter.drawLine(layout.plot.bottomLeft(), layout.plot.bottomRight());
  const double x = std::floor(layout.x(static_cast<double>(fill_->limit)));
  painter.fillRect(QRectF(x - 1, layout.plot.top() - 6, 2, layout.plot.height() + 6), theme.limit);
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

void FillHistogram::mousePressEvent(QMouseEvent* event) {
  const int bin = binAt(event->position());
  if (bin >= 0) emit binClicked(bin);
}

void FillHistogram::mouseDoubleClickEvent(QMouseEvent* event) {
  const int bin = binAt(event->position());
  if (bin >= 0) emit binOpened(bin);
}

void FillHistogram::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  if (isEmpty()) return QWidget::keyPressEvent(event);
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && selected_ >= 0)
    return emit binOpened(selected_);
  if (step == 0) return QWidget::keyPressEvent(event);
  const auto count = static_cast<int>(fill_->bins.size());
  int at = selected_ < 0 ? (step > 0 ? -1 : count) : selected_;
  do at += step;
  while (at >= 0 && at < count && fill_->bins[static_cast<std::size_t>(at)].tiles == 0);
  if (at >= 0 && at < count) emit binClicked(at);
}

bool FillHistogram::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int bin = binAt(help->pos());
  if (bin < 0) {
    QToolTip::hideText();
    return true;
  }
  const FillBin& b = fill_->bins[static_cast<std::size_t>(bin)];
  QToolTip::showText(help->globalPos(),
                     tr("%1 tiles with more than %2 and at most %3 at their peak")
                         .arg(grouped(b.tiles), tile_bytes_text(std::max<std::int64_t>(0, b.from), units_),
                              tile_bytes_text(b.to, units_)),
                     this);
  return true;
}

}  // namespace superstep::gui
