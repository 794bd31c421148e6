// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/lane_paint.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/base/format.h"
#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr double kColumn = 2;
constexpr double kTick = 78;  // pixels between ticks, at least

// Shares of height from the base up; waiting is left out.
void paint_shares(QPainter& painter, const WorkCycles& sums, const QRectF& column, const FillOfWork& fill) {
  const auto total = static_cast<double>(std::max<std::int64_t>(1, sums.total()));
  double y = column.bottom();
  for (int i = 0; i < kWorks; ++i) {
    const Work work = static_cast<Work>(i);
    if (sums[work] == 0 || work == Work::idle || waits(work)) continue;
    const QColor color = fill(work).color;
    if (color.alpha() == 0) continue;
    const double height = static_cast<double>(sums[work]) / total * column.height();
    painter.fillRect(QRectF(column.left(), y - height, column.width(), height), color);
    y -= height;
  }
}

}  // namespace

Fill plain_fill(Work work) {
  static const auto all = [] {
    std::array<Fill, kWorks> fills;
    for (int i = 0; i < kWorks; ++i)
      fills[static_cast<std::size_t>(i)] = fill_of_kind(std::string(kind_text(static_cast<Work>(i))));
    return fills;
  }();
  return all[static_cast<std::size_t>(work)];
}

void paint_joined(QPainter& painter, const Timeline& timeline, const Lane& lane, const TimeAxis& axis,
                  const QRectF& row, std::int64_t from, std::int64_t to, const FillOfWork& fill) {
  const double begin = std::max(axis.x_of(from), axis.left), end = std::min(axis.x_of(to), axis.right);
  if (end <= begin) return;
  const auto least = static_cast<std::int64_t>(axis.per_pixel() * kColumn * 4);
  WorkCycles waiting = lane.sums(from, to);
  for (int i = 0; i < kWorks; ++i) {
    if (!waits(static_cast<Work>(i))) waiting[static_cast<Work>(i)] = 0;
  }
  if (waiting.total() > 0) {
    draw_fill(painter, QRectF(begin, row.top(), end - begin, row.height()), fill(waiting.most()));
  }
  for (double x = begin; x < end; x += kColumn) {
    const double width = std::min(kColumn, end - x);
    const std::int64_t t0 = std::max(from, axis.time_at(x)), t1 = std::min(to, axis.time_at(x + width));
    const auto [s0, s1] = timeline.whole_rounds(t0, std::max(t1, t0 + 1), least);
    paint_shares(painter, lane.sums(s0, s1), QRectF(x, row.top(), width, row.height()), fill);
  }
}

void paint_box(QPainter& painter, const Lane& lane, const Slice& slice, const QRectF& box, const FillOfWork& fill) {
  const bool whole = lane.node(slice.node).kind == LaneNode::Kind::leaf || waits(slice.work);
  if (whole) return draw_fill(painter, box, fill(slice.work));
  const WorkCycles sums = lane.sums(slice.from, slice.to);
  double x = box.left();
  for (const Work work : {Work::host, Work::load, Work::forward, Work::recompute, Work::backward, Work::update,
                          Work::copy, Work::collective, Work::store, Work::fixed}) {
    const double width = static_cast<double>(sums[work]) / static_cast<double>(sums.total()) * box.width();
    if (width > 0.3) draw_fill(painter, QRectF(x, box.top(), width, box.height()), fill(work));
    x += width;
  }
}

namespace {

std::vector<WorkCycles> overview_columns(const Timeline& timeline, const TimeAxis& whole) {
  std::vector<WorkCycles> out;
  const auto least = static_cast<std::int64_t>(whole.per_pixel() * kColumn * 4);
  for (double x = whole.left; x < whole.right; x += kColumn) {
    const std::int64_t at = whole.time_at(x);
    const auto [from, to] = timeline.whole_rounds(at, std::max(at + 1, whole.time_at(x + kColumn)), least);
    WorkCycles& sums = out.emplace_back();
    for (const Lane& lane : timeline.lanes) {
      if (lane.name.empty()) sums += lane.sums(from, to);
    }
  }
  return out;
}

}  // namespace

void Overview::paint(QPainter& painter, const TimelinePointer& timeline, const QRectF& strip, const TimeAxis& seen,
                     const Theme& theme) {
  const TimeAxis whole = TimeAxis::of(timeline->cycles, {}, {}, strip.left(), strip.right());
  if (of_ != timeline || width_ != strip.width()) {
    of_ = timeline, width_ = strip.width();
    columns_ = overview_columns(*timeline, whole);
  }
  painter.fillRect(strip, theme.track);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const QRectF column(strip.left() + kColumn * static_cast<double>(i), strip.top(), kColumn, strip.height());
    paint_shares(painter, columns_[i], column, plain_fill);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(theme.frame);
  painter.drawRect(strip);
  painter.setPen(QPen(theme.accent, 2));
  for (const TimeAxis::Piece& piece : seen.seen()) {
    if (piece.folded) continue;
    const double left = whole.x_of(piece.from), right = whole.x_of(piece.to);
    painter.drawRect(QRectF(left, strip.top() - 1, std::max(2.0, right - left), strip.height() + 2));
  }
}

void paint_time_axis(QPainter& painter, const Timeline& timeline, const TimeAxis& axis, const QRectF& rect,
                     bool in_cycles, const Theme& theme) {
  in_cycles = in_cycles || timeline.clock_hz <= 0;
  const double unit = in_cycles ? 1 : timeline.clock_hz / 1e3;
  painter.setFont(ui_font(10.5));
  painter.setPen(theme.faint);
  painter.drawLine(QPointF(rect.left(), rect.top()), QPointF(rect.right(), rect.top()));
  double free_from = rect.left() - 20;
  const double least = axis.per_pixel() * kTick / unit;
  const int decimals = in_cycles ? 0 : std::clamp(static_cast<int>(std::ceil(-std::log10(least))), 0, 6);
  for (const TimeAxis::Piece& piece : axis.seen()) {
    if (piece.folded) continue;
    for (const double tick :
         ticks_between(static_cast<double>(piece.from) / unit, static_cast<double>(piece.to) / unit, least)) {
      const double x = axis.x_of(static_cast<std::int64_t>(std::llround(tick * unit)));
      const QString text = fixed_decimals(tick, decimals);
      const double need = number_width(painter.font(), text);
      painter.setPen(theme.faint);
      painter.drawLine(QPointF(std::floor(x) + 0.5, rect.top()), QPointF(std::floor(x) + 0.5, rect.top() + 4));
      if (x - need / 2 < free_from || x + need / 2 > rect.right() + 10) continue;
      painter.setPen(theme.secondary);
      draw_number(painter, QRectF(x - need / 2, rect.top() + 5, need, 14), text, Qt::AlignLeft | Qt::AlignVCenter);
      free_from = x + need / 2 + 10;
    }
  }
}

}  // namespace superstep::gui
