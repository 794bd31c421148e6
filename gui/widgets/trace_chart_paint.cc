// SPDX-License-Identifier: Apache-2.0
// How the trace is drawn: whatever the zoom, no more slices than pixels.
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/paint/draw.h"
#include "gui/widgets/lane_paint.h"
#include "gui/widgets/trace_chart.h"

namespace superstep::gui {
namespace {

constexpr double kLeastSlice = 2;  // pixels

// The flame's colours: the work's, paler row by row.
QColor paler(const QColor& color, double share) {
  return QColor::fromRgbF(static_cast<float>(color.redF() + (1 - color.redF()) * share),
                          static_cast<float>(color.greenF() + (1 - color.greenF()) * share),
                          static_cast<float>(color.blueF() + (1 - color.blueF()) * share));
}

bool in_band(TraceRow::Kind band, Work work) {
  if (band == TraceRow::Kind::compute) return work < Work::copy || work == Work::compute;
  if (band == TraceRow::Kind::wait) return waits(work) || work == Work::sync || work == Work::fixed;
  return !in_band(TraceRow::Kind::compute, work) && !in_band(TraceRow::Kind::wait, work);
}

}  // namespace

struct TraceChart::Frame {
  QPainter& painter;
  const Theme& theme;
  TimeAxis axis;
  QRectF selected;
};

void TraceChart::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  slicesPainted_ = 0;
  if (timeline_->empty()) {
    draw_empty(painter, theme, rect(),
               tr("The report has no program: no plan was found, or it was written without one. Summary says why; "
                  "\"superstep estimate JOB.json -o FILE\" writes one for the plan of a job."));
    return;
  }
  Frame frame{painter, theme, axisNow(), {}};
  const std::vector<TraceRow> rows = rowsNow();
  painter.setFont(ui_font(10.5));
  painter.setPen(theme.secondary);
  draw_text(painter, QRectF(12, 7, frame.axis.left - 20, 16), tr("step"), Qt::AlignRight | Qt::AlignVCenter);
  overview_.paint(painter, timeline_, QRectF(frame.axis.left, 9, frame.axis.right - frame.axis.left, 12), frame.axis,
                  theme);
  for (const TraceRow& row : rows) {
    const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
    const bool own = lane.name.empty() && row.kind != TraceRow::Kind::stage && row.kind != TraceRow::Kind::layer &&
                     row.kind != TraceRow::Kind::op && row.kind != TraceRow::Kind::active &&
                     !(row.kind == TraceRow::Kind::block && mode() == TraceMode::flame);
    const bool shown = row.lane == shownLane();
    painter.setFont(own ? ui_font(11.5, shown ? QFont::DemiBold : QFont::Normal) : ui_font(10.5));
    painter.setPen(own ? theme.text : theme.secondary);
    draw_text(painter, QRectF(6, row.rect.top(), frame.axis.left - 14, row.rect.height()), row.label,
              Qt::AlignRight | Qt::AlignVCenter);
  }
  painter.save();
  painter.setClipRect(QRectF(frame.axis.left, 0, frame.axis.right - frame.axis.left, height()));
  for (const TraceRow& row : rows) row.kind == TraceRow::Kind::active ? paintActive(frame, row) : paintRow(frame, row);
  if (!frame.selected.isNull()) draw_selection(painter, frame.selected);
  painter.restore();
  const bool in_cycles = session_.timeState().cycles;
  const QRectF axis(frame.axis.left, rows.back().rect.bottom() + 4, frame.axis.right - frame.axis.left, 20);
  paint_time_axis(painter, *timeline_, frame.axis, axis, in_cycles, theme);
  painter.setPen(theme.secondary);
  draw_text(painter, QRectF(6, axis.top() + 5, frame.axis.left - 30, 14), time_unit(in_cycles),
            Qt::AlignRight | Qt::AlignVCenter);
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
  if (hover_ && hover_->row < static_cast<int>(rows.size())) {
    const QRectF row = rows[static_cast<std::size_t>(hover_->row)].rect;
    const double left = std::max(frame.axis.x_of(hover_->slice.from), frame.axis.left);
    const double right = std::min(frame.axis.x_of(hover_->slice.to), frame.axis.right);
    painter.setPen(QPen(theme.text, 1.4));
    painter.drawRect(QRectF(left, row.top(), std::max(2.0, right - left), row.height()));
    const double near = std::min(right, left + 240);  // beside a long slice the tip would be far away
    draw_tip(painter, visiblePart().adjusted(4, 0, -4, -2), QRectF(left, row.top(), near - left, row.height()),
             tipText(*hover_).split('\n'), theme);
  }
}

void TraceChart::paintRow(Frame& f, const TraceRow& row) {
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  const std::int64_t from = f.axis.time_of(f.axis.window.from), to = f.axis.time_of(f.axis.window.to);
  const auto least = static_cast<std::int64_t>(std::ceil(f.axis.per_pixel() * kLeastSlice));
  if (!lane.name.empty() || row.kind >= TraceRow::Kind::compute) f.painter.fillRect(row.rect, f.theme.title_row);
  const Selection& selection = session_.selection();
  visitRow(row, from, to, least, [&](const TraceSlice& s) {
    ++slicesPainted_;
    const double left = std::max(f.axis.x_of(s.slice.from), f.axis.left - 2);
    const double right = std::min(f.axis.x_of(s.slice.to), f.axis.right + 2);
    const QRectF box(left, row.rect.top(), std::max(0.5, right - left), row.rect.height());
    if (s.slice.node < 0) {
      const auto fill = [&](Work work) {
        Fill its = plain_fill(work);
        const bool elsewhere = row.kind >= TraceRow::Kind::compute && !in_band(row.kind, work);
        if (elsewhere || hidden_.contains(static_cast<int>(work))) its = {Qt::transparent};
        return its;
      };
      paint_joined(f.painter, *timeline_, lane, f.axis, row.rect, std::max(from, s.slice.from),
                   std::min(to, s.slice.to), fill);
      return;
    }
    if (s.slice.work == Work::idle || hidden_.contains(static_cast<int>(s.slice.work))) return;
    const bool flame = row.kind < TraceRow::Kind::lane;
    flame ? paintFlame(f, row, s, box) : paintStep(f, row, s, box);
    const bool is_selected = selection.time >= s.slice.from && selection.time < s.slice.to &&
                             selection.ipu_class == lane.ipu_class && lane.name.empty();
    const bool marks = row.kind == (mode() == TraceMode::flat    ? TraceRow::Kind::block
                                    : mode() == TraceMode::flame ? TraceRow::Kind::op
                                                                 : TraceRow::Kind::compute);
    if (is_selected && marks) f.selected = box;
  });
}

// Steps that are wider than two pixels stand as they are; of shorter ones together the most of some, so that a frame
// costs the same however many they are.
void TraceChart::paintActive(Frame& f, const TraceRow& row) {
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  f.painter.fillRect(row.rect, f.theme.title_row);
  const bool known = lane.steps && !lane.steps->tiles.empty();
  f.painter.setFont(ui_font(10.5));
  f.painter.setPen(f.theme.secondary);
  if (!known) return draw_text(f.painter, row.rect, tr("the report does not say"), Qt::AlignCenter);
  const auto all = static_cast<double>(std::max<std::int64_t>(1, timeline_->report->index().tiles_per_ipu()));
  const QColor color = f.theme.dark ? QColor(0x5E, 0x7F, 0x84) : QColor(0xB7, 0xCD, 0xD0);
  constexpr double kTogether = 2;
  const double right = row.rect.right();
  for (double x = row.rect.left(); x < right;) {
    const std::int64_t from = f.axis.time_at(x), until = f.axis.time_at(x + kTogether);
    const Slice at = lane.at(from, Lane::Depth::steps);
    const bool wide = at.to > until;
    const double end = std::min(right, wide ? std::max(x + 1, std::floor(f.axis.x_of(at.to))) : x + kTogether);
    const std::int64_t tiles = activeTiles(from, wide ? from + 1 : std::max(until, from + 1));
    const double high = static_cast<double>(tiles) / all * (row.rect.height() - 2);
    f.painter.fillRect(QRectF(x, row.rect.bottom() - high, end - x, high), color);
    x = end;
  }
  const QString most = tr("of %1").arg(grouped(static_cast<std::int64_t>(all)));
  f.painter.setPen(kDarkText);
  const double need = text_width(f.painter.font(), most) + 8;
  const QRectF label(right - need - 2, row.rect.top() + 2, need, 14);
  f.painter.fillRect(label, QColor(255, 255, 255, 210));
  draw_text(f.painter, label, most, Qt::AlignCenter);
}

void TraceChart::paintFlame(Frame& f, const TraceRow& row, const TraceSlice& s, const QRectF& box) {
  Fill fill = plain_fill(s.slice.work);
  const bool waiting = waits(s.slice.work);
  if (!waiting && mode() == TraceMode::flame) {
    const double share = row.kind == TraceRow::Kind::stage   ? 0
                         : row.kind == TraceRow::Kind::layer ? 0.35
                         : row.kind == TraceRow::Kind::block ? 0.6
                                                             : 0.8;
    fill.color = paler(fill.color, fill.hatch == Hatch::none ? share : 0);
    fill.outline = f.theme.panel;
    if (row.kind != TraceRow::Kind::stage) fill.hatch = Hatch::none;
  }
  draw_fill(f.painter, box, fill);
  f.painter.setFont(ui_font(10.5, row.kind == TraceRow::Kind::stage ? QFont::DemiBold : QFont::Normal));
  QString text = s.name;
  const double room = box.intersected(QRectF(f.axis.left, 0, f.axis.right - f.axis.left, height())).width() - 8;
  // Shorter and shorter names: without the layer, without the op's path.
  while (text_width(f.painter.font(), text) > room && text.contains('/')) text = text.section('/', 1);
  if (row.kind == TraceRow::Kind::stage && s.slice.micro_batch >= 0 && text_width(f.painter.font(), text) > room) {
    text = grouped(s.slice.micro_batch);
  }
  if (text.isEmpty() || text_width(f.painter.font(), text) > room) return;
  const QRectF at(std::max(box.left(), f.axis.left) + 4, box.top(), room + 2, box.height());
  if (fill.hatch != Hatch::none) {
    const double need = text_width(f.painter.font(), text) + 4;
    f.painter.fillRect(QRectF(at.left() - 2, at.top() + 3, need, at.height() - 6), fill.color);
  }
  f.painter.setPen(fill.color.lightness() < 150 && fill.color.red() < 240 ? QColor(Qt::white) : kDarkText);
  draw_text(f.painter, at, text);
}

void TraceChart::paintStep(Frame& f, const TraceRow& row, const TraceSlice& s, const QRectF& box) {
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  const bool bands = row.kind != TraceRow::Kind::lane;
  if (s.slice.step < 0) {
    if (bands && !in_band(row.kind, s.slice.work)) return;
    draw_fill(f.painter, box, plain_fill(s.slice.work));
    if (!waits(s.slice.work)) return;
    // Whom it waits for.
    QString text = QString::fromLatin1(name_of(s.slice.work).data());
    // For how long, where the table beside it has it: of the IPU whose steps are listed.
    if (row.lane == shownLane()) text += ", " + both_texts(*timeline_, s.slice.to - s.slice.from).section("   ", 0, 0);
    f.painter.setFont(ui_font(10.5));
    const double need = text_width(f.painter.font(), text) + 8;
    const QRectF seen = box.intersected(QRectF(f.axis.left, 0, f.axis.right - f.axis.left, height()));
    if (need > seen.width()) return;
    const QRectF label(seen.center().x() - need / 2, seen.top() + 2, need, seen.height() - 4);
    f.painter.fillRect(label, QColor(Qt::white));
    f.painter.setPen(kDarkText);
    draw_text(f.painter, label, text, Qt::AlignCenter);
    return;
  }
  const WorkCycles sums = lane.steps->step_sums(s.slice.step);
  double x = box.left();
  const double whole = f.axis.x_of(s.slice.to) - f.axis.x_of(s.slice.from);
  x = f.axis.x_of(s.slice.from);
  for (const Work work : {Work::exchange, Work::collective, Work::compute, Work::sync}) {
    const double width = static_cast<double>(sums[work]) / static_cast<double>(s.slice.to - s.slice.from) * whole;
    if (width > 0.2 && !hidden_.contains(static_cast<int>(work)) && (!bands || in_band(row.kind, work))) {
      Fill fill = plain_fill(work);
      if (width < 4) fill.outline = {};
      const double left = std::max(x, f.axis.left - 2), right = std::min(x + width, f.axis.right + 2);
      if (right > left) draw_fill(f.painter, QRectF(left, box.top(), right - left, box.height()), fill);
    }
    x += width;
  }
}

}  // namespace superstep::gui
