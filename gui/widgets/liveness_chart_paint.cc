// SPDX-License-Identifier: Apache-2.0
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/paint/draw.h"
#include "gui/paint/pass_heads.h"
#include "gui/paint/stack_layout.h"
#include "gui/widgets/liveness_chart.h"

namespace superstep::gui {
namespace {

constexpr double kLivenessAxisWidth = 58;
constexpr double kLivenessHead = 17;  // passes, above
constexpr double kPeakBox = 40;       // between the passes and the plot
constexpr double kLayers = 20;        // names below

bool is_again(const HeatPhase& phase) { return phase.name.ends_with(" recompute"); }

// Calls see(first, end, text) for each run of points with the same text.
template <class Text, class See>
void runs(const Liveness& liveness, Text text, See see) {
  const auto& points = liveness.points;
  for (std::size_t first = 0; first < points.size();) {
    std::size_t end = first + 1;
    while (end < points.size() && text(points[end]) == text(points[first])) ++end;
    see(static_cast<int>(first), static_cast<int>(end), text(points[first]));
    first = end;
  }
}

}  // namespace

std::int64_t LivenessChart::base() const { return alwaysShown_ ? 0 : data_.liveness->always_live; }

double LivenessChart::y(const LivenessLayout& layout, std::int64_t bytes) const {
  return layout.bytes.at(static_cast<double>(std::max<std::int64_t>(0, bytes - base())));
}

LivenessLayout LivenessChart::layoutNow() const {
  const QRectF plot(kLivenessAxisWidth, kLivenessHead + kPeakBox, std::max(20.0, width() - kLivenessAxisWidth - 16),
                    std::max(20.0, height() - kLivenessHead - kPeakBox - kLayers));
  if (isEmpty()) return LivenessLayout::of(plot, 0, 1);
  std::int64_t most = std::max(data_.liveness->limit, totals_[static_cast<std::size_t>(data_.liveness->peak)]);
  for (const std::int64_t total : line_) most = std::max(most, total);
  return LivenessLayout::of(plot, static_cast<int>(totals_.size()),
                            static_cast<double>(std::max<std::int64_t>(1, most - base())) * 1.03);
}

void LivenessChart::paintResident(QPainter& painter, const LivenessLayout& layout, double left, double right) const {
  const MemoryStack stack = memory_stack(data_.report->index().ipu_classes(data_.liveness->ipu_class));
  for (const StackSegment& s : stack.segments) {
    const auto& category = *stack.categories[static_cast<std::size_t>(s.category)];
    if (!category.always_live()) continue;
    const double top = y(layout, s.to);
    draw_fill(painter, QRectF(left, top, right - left, y(layout, s.from) - top), fill_of_memory(category.name()));
  }
}

// What stands there, as the report tells it apart phase by phase; where it does not, the always-live of the IPU, and
// one grey in phases that hold less.
void LivenessChart::paintStands(QPainter& painter, const LivenessLayout& layout) const {
  const Liveness& liveness = *data_.liveness;
  const auto pixels = layout.pixels();
  const auto of = [&](std::size_t px) { return largest_in(totals_, pixels[px]); };
  const auto alike = [&](std::size_t a, std::size_t b) {
    const auto *left = liveness.stands_at(of(a)), *right = liveness.stands_at(of(b));
    if (left || right) return left && right && *left == *right;
    return liveness.points[static_cast<std::size_t>(of(a))].resident_bytes ==
           liveness.points[static_cast<std::size_t>(of(b))].resident_bytes;
  };
  const double begin = std::floor(layout.plot.left());
  for (std::size_t i = 0; i < pixels.size();) {
    std::size_t end = i + 1;
    while (end < pixels.size() && alike(i, end)) ++end;
    const double left = begin + static_cast<double>(i), wide = static_cast<double>(end - i);
    const std::int64_t resident = liveness.points[static_cast<std::size_t>(of(i))].resident_bytes;
    const auto fill = [&](std::int64_t from, std::int64_t to, const Fill& with) {
      const double top = y(layout, to);
      draw_fill(painter, QRectF(left, top, wide, y(layout, from) - top), with);
    };
    if (const auto* stands = liveness.stands_at(of(i))) {
      std::int64_t below = 0;
      for (std::size_t c = 0; c < stands->size(); ++c) {
        fill(below, below + (*stands)[c], fill_of_memory(liveness.categories[c]));
        below += (*stands)[c];
      }
    } else if (liveness.tile < 0 && resident >= liveness.always_live) {
      paintResident(painter, layout, left, left + wide);
      fill(liveness.always_live, resident, fill_of_memory("activations"));
    } else {
      fill(0, resident, {fill_of(TermKind::total).color});
    }
    i = end;
  }
}

void LivenessChart::paintOutline(QPainter& painter, const LivenessLayout& layout,
                                 const std::vector<std::int64_t>& totals) const {
  const auto pixels = layout.pixels();
  QPolygonF outline;
  for (std::size_t px = 0; px < pixels.size(); ++px) {
    const double x = std::floor(layout.plot.left()) + static_cast<double>(px);
    const double top = std::floor(y(layout, totals[static_cast<std::size_t>(largest_in(totals, pixels[px]))])) + 0.5;
    outline << QPointF(x, top) << QPointF(x + 1, top);
  }
  painter.drawPolyline(outline);
}

void LivenessChart::paintAreas(QPainter& painter, const LivenessLayout& layout) const {
  paintStands(painter, layout);
  const auto pixels = layout.pixels();
  const QColor results = fill_of_memory("activations").color, temporaries = fill_of_memory("temporaries").color;
  for (std::size_t px = 0; px < pixels.size(); ++px) {
    const LivenessPoint& p = data_.liveness->points[static_cast<std::size_t>(largest_in(totals_, pixels[px]))];
    const double x = std::floor(layout.plot.left()) + static_cast<double>(px);
    const std::int64_t temporary = p.temporary_bytes < 0 ? p.live_bytes : p.temporary_bytes;
    const double resident = y(layout, p.resident_bytes), middle = y(layout, p.total() - temporary);
    const double top = y(layout, p.total());
    painter.fillRect(QRectF(x, middle, 1, resident - middle), results);
    painter.fillRect(QRectF(x, top, 1, middle - top), temporaries);
  }
  const Theme& theme = theme_of(this);
  if (!line_.empty()) {
    for (std::size_t px = 0; hatched_ && px < pixels.size(); ++px) {
      const auto highest = [&](const std::vector<std::int64_t>& of) {
        return y(layout, of[static_cast<std::size_t>(largest_in(of, pixels[px]))]);
      };
      const double top = highest(line_), x = std::floor(layout.plot.left()) + static_cast<double>(px);
      painter.fillRect(QRectF(x, top, 1, highest(totals_) - top), QBrush(theme.secondary, Qt::BDiagPattern));
    }
    painter.setPen(QPen(theme.secondary, 1));
    paintOutline(painter, layout, line_);
  }
  painter.setPen(QPen(theme.text, 1));
  paintOutline(painter, layout, totals_);
}

// Lifetimes of what is selected in the table: bars below one another at the top of the plot.
void LivenessChart::paintMarks(QPainter& painter, const LivenessLayout& layout) const {
  constexpr double kHeight = 6;
  double top = layout.plot.top() + 3;
  for (const Mark& mark : marks_) {
    if (top + kHeight > layout.plot.bottom()) break;
    const double left = layout.x(mark.first), right = std::max(left + 3, layout.x(mark.last + 1));
    const QRectF bar(left, top, right - left, kHeight);
    painter.fillRect(bar.adjusted(-1, -1, 1, 1), theme_of(this).text);
    draw_fill(painter, bar, fill_of_memory(mark.category));
    top += kHeight + 4;
  }
}

void LivenessChart::paintAxis(QPainter& painter, const LivenessLayout& layout) const {
  const Theme& theme = theme_of(this);
  const double unit = units_ == Units::kib ? 1024 : 1;
  const double limit_y = std::floor(y(layout, data_.liveness->limit)) + 0.5;
  painter.setFont(ui_font(10.5));
  for (const double tick : nice_ticks(layout.bytes.full / unit, layout.plot.height() > 200 ? 6 : 3)) {
    const double at = std::floor(layout.bytes.at(tick * unit)) + 0.5;
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(layout.plot.left(), at), QPointF(layout.plot.right(), at));
    if (std::abs(at - limit_y) < 15) continue;
    painter.setPen(theme.secondary);
    draw_number(painter, QRectF(0, at - 8, kLivenessAxisWidth - 8, 16), fixed_decimals(tick, 0));
  }
  painter.setPen(theme.limit);
  painter.setFont(ui_font(10.5, QFont::Medium));
  const std::int64_t shown = data_.liveness->limit - base();
  draw_number(painter, QRectF(0, limit_y - 8, kLivenessAxisWidth - 8, 16),
              units_ == Units::kib ? fixed_decimals(static_cast<double>(shown) / 1024, 0) : grouped(shown));
  draw_number(painter, QRectF(0, limit_y - 22, kLivenessAxisWidth - 8, 16), alwaysShown_ ? tr("limit") : tr("left"));
}

void LivenessChart::paintHeads(QPainter& painter, const LivenessLayout& layout) const {
  const Theme& theme = theme_of(this);
  const auto phase = [&](const LivenessPoint& p) -> const HeatPhase& {
    return data_.heat->phases[static_cast<std::size_t>(p.phase)];
  };
  painter.setFont(ui_font(10.5, QFont::Medium));
  // Recomputing is forward work within the backward pass.
  const bool recomputes =
      std::any_of(data_.heat->phases.begin(), data_.heat->phases.end(), [](const HeatPhase& p) { return is_again(p); });
  const auto pass = [&](const LivenessPoint& p) -> std::string {
    const bool back = phase(p).group == "backward" || is_again(phase(p));
    return back && recomputes ? "recompute and backward" : phase(p).group;
  };
  runs(*data_.liveness, pass, [&](int first, int end, const std::string& group) {
    const QRectF head(layout.x(first) + 0.5, 0, layout.x(end) - layout.x(first) - 1, kLivenessHead);
    draw_pass_head(painter, head, group);
  });
  painter.setFont(ui_font(10));
  double free = layout.plot.left() - 4;  // where the last name ended
  runs(
      *data_.liveness, [&](const LivenessPoint& p) { return QString::fromStdString(short_layer(phase(p).name)); },
      [&](int first, int end, const QString& name) {
        const double left = layout.x(first), right = layout.x(end);
        const double wide = text_width(painter.font(), name);
        painter.setPen(theme.faint);
        painter.drawLine(QPointF(std::floor(left) + 0.5, layout.plot.bottom()),
                         QPointF(std::floor(left) + 0.5, layout.plot.bottom() + 4));
        const double at = (left + right - wide) / 2;
        if (at < free + 6 || at + wide > layout.plot.right() + 8) return;
        painter.setPen(theme.secondary);
        draw_text(painter, QRectF(at, layout.plot.bottom() + 4, wide + 2, kLayers - 5), name);
        free = at + wide;
      });
}

void LivenessChart::paintLines(QPainter& painter, const LivenessLayout& layout) const {
  const Theme& theme = theme_of(this);
  const double limit = std::floor(y(layout, data_.liveness->limit));
  painter.fillRect(QRectF(layout.plot.left(), limit - 1, layout.plot.width(), 2), theme.limit);
  if (alwaysShown_) {
    const double at = std::floor(y(layout, data_.liveness->always_live)) + 0.5;
    painter.setPen(QPen(Qt::white, 1));
    painter.drawLine(QPointF(layout.plot.left(), at), QPointF(layout.plot.right(), at));
    painter.setPen(QPen(QColor(0x1B, 0x21, 0x27), 1, Qt::DashLine));
    painter.drawLine(QPointF(layout.plot.left(), at), QPointF(layout.plot.right(), at));
    painter.setFont(ui_font(10.5, QFont::Medium));
    const QString text = tr("always live %1").arg(tile_bytes(data_.liveness->always_live, units_));
    const QRectF box(layout.plot.left() + 8, at + 5, text_width(painter.font(), text) + 12, 17);
    painter.fillRect(box, theme.panel);
    painter.setPen(theme.text);
    draw_text(painter, box, text, Qt::AlignCenter);
  }
  painter.setPen(theme.secondary);
  painter.drawLine(layout.plot.bottomLeft(), layout.plot.bottomRight());
  if (cursor_ >= 0) {
    const double x = std::floor(layout.x(cursor_ + 0.5)) + 0.5;
    painter.setPen(QPen(theme.text, 1, Qt::DashLine));
    painter.drawLine(QPointF(x, layout.plot.top()), QPointF(x, layout.plot.bottom()));
  }
}

void LivenessChart::paintPeak(QPainter& painter, const LivenessLayout& layout) const {
  const Theme& theme = theme_of(this);
  const int peak = data_.liveness->peak;
  const std::int64_t bytes = totals_[static_cast<std::size_t>(peak)];
  const QPointF at(layout.x(peak + 0.5), y(layout, bytes));
  const QFont strong = ui_font(11.5, QFont::DemiBold), plain = ui_font(11);
  const double wide =
      std::min(layout.plot.width(), std::max(text_width(strong, peakText()), text_width(plain, peakDetail())) + 22);
  const double left = std::clamp(at.x() + 10, layout.plot.left(), layout.plot.right() - wide);
  const QRectF box(left, kLivenessHead + 3, wide, kPeakBox - 7);
  painter.fillRect(box, theme.panel);
  painter.setPen(theme.frame);
  painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
  painter.fillRect(QRectF(box.left(), box.top(), 3, box.height()),
                   bytes > data_.liveness->limit ? theme.limit : theme.text);
  painter.setPen(theme.text);
  painter.setFont(strong);
  draw_text(painter, QRectF(box.left() + 10, box.top() + 1, wide - 14, box.height() / 2), peakText());
  painter.setPen(theme.secondary);
  painter.setFont(plain);
  draw_text(painter, QRectF(box.left() + 10, box.center().y() - 1, wide - 14, box.height() / 2), peakDetail());
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme.text, 2));
  painter.setBrush(theme.panel);
  painter.drawEllipse(at, 4.5, 4.5);
  painter.restore();
}

void LivenessChart::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  if (isEmpty()) {
    draw_empty(painter, theme, rect(),
               tr("The report has no program steps, so nothing comes and goes. A report of a plan has them."));
    return;
  }
  const LivenessLayout layout = layoutNow();
  paintAxis(painter, layout);
  paintAreas(painter, layout);
  paintHeads(painter, layout);
  paintLines(painter, layout);
  paintMarks(painter, layout);
  paintPeak(painter, layout);
}

}  // namespace superstep::gui
