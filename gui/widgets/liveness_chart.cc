// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/liveness_chart.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>

namespace superstep::gui {

LivenessChart::LivenessChart(QWidget* parent) : QWidget(parent) {
  setObjectName("livenessChart");
  setAccessibleName(tr("Live memory over program steps"));
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(120);
}

void LivenessChart::setData(Data shown, Units units) {
  data_ = std::move(shown);
  units_ = units;
  totals_.clear();
  if (!isEmpty()) {
    for (const LivenessPoint& p : data_.liveness->points) totals_.push_back(p.total());
  }
  cursor_ = std::min(cursor_, static_cast<int>(totals_.size()) - 1);
  marks_.clear();
  line_.clear();
  update();
}

void LivenessChart::setMarks(std::vector<Mark> marks) {
  marks_ = std::move(marks);
  update();
}

void LivenessChart::setLine(std::vector<std::int64_t> totals, bool hatched) {
  line_ = std::move(totals);
  if (line_.size() != totals_.size()) line_.clear();
  hatched_ = hatched;
  update();
}

void LivenessChart::setCursor(int point) {
  cursor_ = std::clamp(point, -1, static_cast<int>(totals_.size()) - 1);
  update();
}

void LivenessChart::setAlwaysLiveShown(bool shown) {
  alwaysShown_ = shown;
  update();
}

QString LivenessChart::stepName(int point) const {
  const LivenessPoint& p = data_.liveness->points[static_cast<std::size_t>(point)];
  const std::string& phase = data_.heat->phases[static_cast<std::size_t>(p.phase)].name;
  if (p.step < 0) return QString::fromStdString(phase);
  const std::string& step = data_.steps->name[static_cast<std::size_t>(p.step)];
  return QString::fromStdString(phase + " · " + step.substr(step.rfind('/') + 1));
}

QString LivenessChart::peakText() const {
  if (isEmpty()) return {};
  const int peak = data_.liveness->peak;
  return tr("Peak %1 at step %2").arg(tile_bytes_text(totals_[static_cast<std::size_t>(peak)], units_), grouped(peak));
}

QString LivenessChart::peakDetail() const {
  if (isEmpty()) return {};
  const int peak = data_.liveness->peak;
  const std::int64_t spare = data_.liveness->limit - totals_[static_cast<std::size_t>(peak)];
  return stepName(peak) + " · " + tile_bytes(std::abs(spare), units_) + (spare < 0 ? tr(" over") : tr(" spare"));
}

QString LivenessChart::tipText(int point) const {
  const LivenessPoint& p = data_.liveness->points[static_cast<std::size_t>(point)];
  const std::int64_t spare = data_.liveness->limit - p.total();
  const auto bytes = [](std::int64_t value) { return grouped(value) + tr(" bytes"); };
  return tr("<b>Program step %1</b><br>%2<br>resident %3<br>live in the superstep %4<br>total %5<br>%6 %7")
      .arg(grouped(point), stepName(point).toHtmlEscaped(), bytes(p.resident_bytes), bytes(p.live_bytes),
           bytes(p.total()), bytes(std::abs(spare)), spare < 0 ? tr("over") : tr("to spare"));
}

void LivenessChart::moveTo(int point) {
  if (isEmpty()) return;
  setCursor(std::clamp(point, 0, static_cast<int>(totals_.size()) - 1));
  emit cursorChosen(cursor_);
}

void LivenessChart::mousePressEvent(QMouseEvent* event) { mouseMoveEvent(event); }

void LivenessChart::mouseMoveEvent(QMouseEvent* event) {
  if (isEmpty() || !event->buttons().testFlag(Qt::LeftButton)) return;
  const LivenessLayout layout = layoutNow();
  const int at = layout.point_at(event->position().x());
  // The highest of those under the pixel: what is seen there.
  const auto pixels = layout.pixels();
  const auto pixel = static_cast<std::size_t>(std::clamp(event->position().x() - layout.plot.left(), 0.0,
                                                         std::max(0.0, static_cast<double>(pixels.size()) - 1)));
  setCursor(pixels.empty() ? at : largest_in(totals_, pixels[pixel]));
  emit cursorMoved(cursor_);
}

void LivenessChart::mouseReleaseEvent(QMouseEvent* event) {
  if (!isEmpty() && event->button() == Qt::LeftButton && cursor_ >= 0) emit cursorChosen(cursor_);
}

void LivenessChart::keyPressEvent(QKeyEvent* event) {
  const int at = cursor_ >= 0 ? cursor_ : isEmpty() ? 0 : data_.liveness->peak;
  switch (event->key()) {
    case Qt::Key_Right:
    case Qt::Key_Period:
      return moveTo(at + 1);
    case Qt::Key_Left:
    case Qt::Key_Comma:
      return moveTo(at - 1);
    case Qt::Key_Home:
      return moveTo(0);
    case Qt::Key_End:
      return moveTo(static_cast<int>(totals_.size()) - 1);
    default:
      QWidget::keyPressEvent(event);
  }
}

bool LivenessChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || isEmpty()) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const LivenessLayout layout = layoutNow();
  if (layout.plot.contains(help->pos())) {
    QToolTip::showText(help->globalPos(), tipText(layout.point_at(help->pos().x())), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace superstep::gui
