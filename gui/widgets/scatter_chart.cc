// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/scatter_chart.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/paint/draw.h"
#include "traces/text_table.h"

namespace superstep::gui {
namespace {

constexpr double kScatterLeft = 70;
constexpr double kScatterTop = 22;
constexpr double kScatterBottom = 44;
constexpr double kReach = 12;  // of a click

const LandscapeAxis& axis_of(int axis) { return landscape_axes()[static_cast<std::size_t>(axis)]; }

bool is_somewhere(QPointF dot) { return std::isfinite(dot.x()) && std::isfinite(dot.y()); }

QString tick_text(double tick) { return fixed_decimals(tick, tick != std::floor(tick) ? 1 : 0); }

}  // namespace

QColor ScatterChart::valueColor(int value) {
  static const std::array<QRgb, kMostColors> kColors{0x8CCBF2, 0x3D86C6, 0xEBD34A, 0xE07A3C,
                                                     0xCF82AE, 0x6FB27D, 0x8A6BB8, 0x9A8468};
  return QColor::fromRgb(kColors[static_cast<std::size_t>(std::max(0, value)) % kColors.size()]);
}

ScatterChart::ScatterChart(QWidget* parent) : QWidget(parent) {
  setObjectName("scatter");
  setAccessibleName(tr("Plans as dots over two quantities"));
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(140);
}

void ScatterChart::setPlans(ReportPointer report, Plans plans) {
  report_ = std::move(report);
  plans_ = std::move(plans);
  selected_ = -1;
  setAxes(axes_);
}

void ScatterChart::setAxes(Axes axes) {
  axes_ = axes;
  if (plans_) classes_ = color_classes(*plans_, landscape_colors()[static_cast<std::size_t>(axes.color)]);
  update();
}

void ScatterChart::setParetoLine(bool shown) {
  paretoLine_ = shown;
  update();
}

void ScatterChart::setSelected(int plan) {
  selected_ = plan;
  update();
}

double ScatterChart::value(int plan, int axis) const {
  return axis_of(axis).value((*plans_)[static_cast<std::size_t>(plan)]);
}

double ScatterChart::limit() const {
  std::int64_t limit = 0;
  for (const LandscapePlan& plan : *plans_) limit = std::max<std::int64_t>(limit, plan.summary->tile_limit_bytes());
  return static_cast<double>(limit) / 1024;
}

ScatterLayout ScatterChart::layoutNow() const {
  const QRectF plot(kScatterLeft, kScatterTop, std::max(40.0, width() - kScatterLeft - 18),
                    std::max(40.0, height() - kScatterTop - kScatterBottom));
  std::vector<double> xs, ys;
  if (isEmpty()) return ScatterLayout::of(plot, xs, ys, 0, 0);
  for (int i = 0; i < static_cast<int>(plans_->size()); ++i) {
    xs.push_back(value(i, axes_.x));
    ys.push_back(value(i, axes_.y));
  }
  return ScatterLayout::of(plot, xs, ys, axes_.x == kTileAxis ? limit() : 0, axes_.y == kTileAxis ? limit() : 0);
}

void ScatterChart::paintAxes(QPainter& painter, const ScatterLayout& layout) const {
  const Theme& theme = theme_of(this);
  const QRectF& plot = layout.plot;
  painter.setFont(ui_font(10.5));
  for (const double tick :
       range_ticks(layout.x.least, layout.x.most, std::max(2, static_cast<int>(plot.width() / 90)))) {
    const double x = std::floor(layout.x.at(tick)) + 0.5;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    painter.setPen(theme.secondary);
    draw_number(painter, QRectF(x - 40, plot.bottom() + 5, 80, 15), tick_text(tick),
                Qt::AlignHCenter | Qt::AlignVCenter);
  }
  for (const double tick :
       range_ticks(layout.y.least, layout.y.most, std::max(2, static_cast<int>(plot.height() / 60)))) {
    const double y = std::floor(layout.y.at(tick)) + 0.5;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.secondary);
    draw_number(painter, QRectF(0, y - 8, kScatterLeft - 8, 16), tick_text(tick));
  }
  painter.setPen(theme.secondary);
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.setFont(ui_font(11));
  draw_text(painter, QRectF(plot.left(), plot.bottom() + 22, plot.width(), 17), tr(axis_of(axes_.x).title),
            Qt::AlignCenter);
  draw_text(painter, QRectF(8, 2, plot.width(), 17), tr(axis_of(axes_.y).title));
}

void ScatterChart::paintLimit(QPainter& painter, const ScatterLayout& layout) const {
  const Theme& theme = theme_of(this);
  const double most = limit();
  const QRectF& plot = layout.plot;
  const QString text = tr("limit %1 KiB").arg(fixed_decimals(most, 0));
  painter.setFont(ui_font(10.5, QFont::Medium));
  if (axes_.x == kTileAxis && most > layout.x.least && most <= layout.x.most) {
    const double x = std::floor(layout.x.at(most));
    const QRectF beyond(x, plot.top(), plot.right() - x, plot.height());
    draw_fill(painter, beyond, {Qt::transparent, Hatch::rising, theme.grid, {}});
    painter.fillRect(QRectF(x - 1, plot.top(), 2, plot.height()), theme.limit);
    painter.setPen(theme.limit);
    const double wide = text_width(painter.font(), text) + 1;
    draw_text(painter, QRectF(std::min(x - wide / 2, plot.right() - wide), plot.top() - 19, wide, 16), text);
  }
  if (axes_.y == kTileAxis && most > layout.y.least && most <= layout.y.most) {
    const double y = std::floor(layout.y.at(most));
    draw_fill(painter, QRectF(plot.left(), plot.top(), plot.width(), y - plot.top()),
              {Qt::transparent, Hatch::rising, theme.grid, {}});
    painter.fillRect(QRectF(plot.left(), y - 1, plot.width(), 2), theme.limit);
    painter.setPen(theme.limit);
    draw_text(painter, QRectF(plot.left() + 4, y - 18, plot.width(), 16), text);
  }
}

// Throughput against tile memory is what the front is of; over other axes its dots are only ringed.
void ScatterChart::paintPareto(QPainter& painter, const ScatterLayout& layout) const {
  const bool across = axes_.x == kTileAxis && axes_.y == kThroughputAxis;
  const bool along = axes_.x == kThroughputAxis && axes_.y == kTileAxis;
  if (!paretoLine_ || (!across && !along)) return;
  std::vector<QPointF> front;
  for (std::size_t i = 0; i < plans_->size(); ++i) {
    if ((*plans_)[i].pareto) front.push_back(layout.dots[i]);
  }
  std::sort(front.begin(), front.end(), [](const QPointF& a, const QPointF& b) { return a.x() < b.x(); });
  QPolygonF line;
  for (std::size_t i = 0; i < front.size(); ++i) {
    if (i > 0) line << QPointF(front[i].x(), front[i - 1].y());
    line << front[i];
  }
  painter.setPen(QPen(theme_of(this).text, 1.5));
  painter.drawPolyline(line);
}

// Smaller and without an edge: a cloud below the few plans that were lowered.
void ScatterChart::paintFound(QPainter& painter, const ScatterLayout& layout) const {
  const double radius = 3;
  painter.setPen(QPen(QColor(0, 0, 0, 60), 0.5));
  for (std::size_t i = plans_->size(); i-- > 0;) {
    if (!(*plans_)[i].found || !is_somewhere(layout.dots[i])) continue;
    painter.setBrush(valueColor(classes_.of_plan.empty() ? 0 : classes_.of_plan[i]));
    painter.drawEllipse(layout.dots[i], radius, radius);
  }
}

void ScatterChart::paintDot(QPainter& painter, const ScatterLayout& layout, int i) const {
  const Theme& theme = theme_of(this);
  const LandscapePlan& plan = (*plans_)[static_cast<std::size_t>(i)];
  const QPointF at = layout.dots[static_cast<std::size_t>(i)];
  if (!is_somewhere(at)) return;
  const QColor color = valueColor(classes_.of_plan.empty() ? 0 : classes_.of_plan[static_cast<std::size_t>(i)]);
  const bool fits = plan.fit() == Fit::fits || plan.fit() == Fit::tight;
  const double radius = 5.5;
  painter.setPen(QPen(fits ? theme.text : theme.over, plan.pareto ? 2 : 1));
  painter.setBrush(fits ? QBrush(color) : QBrush(theme.panel));
  painter.drawEllipse(at, radius, radius);
  if (!fits) {  // struck through, in its colour
    painter.setPen(QPen(color, 2));
    painter.drawLine(at + QPointF(-3.5, 3.5), at + QPointF(3.5, -3.5));
  }
  if (plan.shown || i == selected_) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(plan.shown ? theme.accent : theme.text, 2));
    painter.drawEllipse(at, radius + 4, radius + 4);
  }
}

void ScatterChart::paintLabels(QPainter& painter, const ScatterLayout& layout) const {
  const Theme& theme = theme_of(this);
  std::vector<QRectF> taken;
  const QFont strong = ui_font(11, QFont::DemiBold), plain = ui_font(11);
  for (int i = 0; i < static_cast<int>(plans_->size()); ++i) {
    const LandscapePlan& plan = (*plans_)[static_cast<std::size_t>(i)];
    if (!plan.shown && i != selected_) continue;
    if (!is_somewhere(layout.dots[static_cast<std::size_t>(i)])) continue;
    const QString name = (plan.shown ? tr("shown: ") : QString()) + QString::fromStdString(plan.summary->label());
    const std::int64_t margin = margin_bytes(*plan.summary);
    const QString facts = tr("%1 samples/s · %2 KiB %3")
                              .arg(for_viewer(figure(plan.summary->samples_per_second())),
                                   tile_bytes(std::abs(margin), Units::kib), margin < 0 ? tr("over") : tr("spare"));
    const double wide =
        std::min(std::max(text_width(strong, name), text_width(plain, facts)) + 18, layout.plot.width() * 0.6);
    const QRectF box = layout.box_beside(i, QSizeF(wide, 36), taken);
    taken.push_back(box);
    const QPointF at = layout.dots[static_cast<std::size_t>(i)];
    const QPointF near(std::clamp(at.x(), box.left(), box.right()), std::clamp(at.y(), box.top(), box.bottom()));
    painter.setPen(QPen(plan.shown ? theme.accent : theme.text, 1));
    const QPointF away = near - at;
    const double length = std::hypot(away.x(), away.y());
    if (length > 10) painter.drawLine(at + away / length * 9.5, near);
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(box, 3, 3);
    painter.setPen(theme.text);
    painter.setFont(strong);
    draw_text(painter, QRectF(box.left() + 9, box.top() + 2, wide - 14, 16), name);
    painter.setPen(theme.secondary);
    painter.setFont(plain);
    draw_text(painter, QRectF(box.left() + 9, box.top() + 18, wide - 14, 16), facts);
  }
}

void ScatterChart::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (isEmpty()) {
    draw_empty(painter, theme, rect(),
               tr("No plan of the space fits, so there is none to draw. The summary says what failed and the "
                  "nearest change that fits."));
    return;
  }
  const ScatterLayout layout = layoutNow();
  paintAxes(painter, layout);
  paintLimit(painter, layout);
  painter.setRenderHint(QPainter::Antialiasing);
  paintPareto(painter, layout);
  paintFound(painter, layout);
  for (int i = static_cast<int>(plans_->size()) - 1; i >= 0; --i) {
    if (!(*plans_)[static_cast<std::size_t>(i)].found || i == selected_) paintDot(painter, layout, i);
  }
  paintLabels(painter, layout);
}

QString ScatterChart::tipText(int plan) const {
  const LandscapePlan& p = (*plans_)[static_cast<std::size_t>(plan)];
  QString text = "<b>" + QString::fromStdString(p.summary->label()).toHtmlEscaped() + "</b>";
  for (const int axis : {axes_.x, axes_.y}) {
    text +=
        QString("<br>%1: %2").arg(tr(axis_of(axis).title), fixed_decimals(value(plan, axis), axis_of(axis).decimals));
  }
  if (p.found) text += tr("<br>found on the way, by the tables");
  text += "<br>" + grouped(p.summary->tile_peak_bytes()) + tr(" bytes on the fullest tile, ") + fit_words(p.fit());
  const std::string& overflow = p.summary->first_overflow();
  return overflow.empty() ? text : text + "<br>" + QString::fromStdString(overflow).toHtmlEscaped();
}

int ScatterChart::planAt(const QPointF& at) const { return isEmpty() ? -1 : layoutNow().nearest(at, kReach); }

void ScatterChart::mousePressEvent(QMouseEvent* event) {
  const int plan = planAt(event->position());
  if (plan >= 0) emit planClicked(plan);
}

void ScatterChart::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  if (step == 0 || isEmpty()) return QWidget::keyPressEvent(event);
  std::vector<int> order(plans_->size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::erase_if(order, [&](int i) { return std::isnan(value(i, axes_.x)) || std::isnan(value(i, axes_.y)); });
  if (order.empty()) return;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return value(a, axes_.x) < value(b, axes_.x); });
  const auto at = std::find(order.begin(), order.end(), selected_);
  auto place = at == order.end() ? (step > 0 ? 0 : static_cast<int>(order.size()) - 1)
                                 : static_cast<int>(at - order.begin()) + step;
  place = std::clamp(place, 0, static_cast<int>(order.size()) - 1);
  emit planClicked(order[static_cast<std::size_t>(place)]);
}

bool ScatterChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || isEmpty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int plan = layoutNow().nearest(help->pos(), kReach);
  if (plan >= 0) {
    QToolTip::showText(help->globalPos(), tipText(plan), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace superstep::gui
