// SPDX-License-Identifier: Apache-2.0
// How the pipeline is drawn.
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/paint/draw.h"
#include "gui/widgets/lane_paint.h"
#include "gui/widgets/pipeline_chart.h"
#include "gui/widgets/pipeline_frame.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

constexpr double kLeastBox = 3;   // pixels
constexpr double kLeastPart = 4;  // of a box drawn part by part, on average

}  // namespace

Fill PipelineChart::fillOf(Work work) const {
  Fill fill = fill_of_kind(std::string(kind_text(work)));
  if (hidden_.contains(static_cast<int>(work))) return {QColor(Qt::transparent)};
  if (highlighted_ && *highlighted_ != work) {
    for (QColor* c : {&fill.color, &fill.line, &fill.outline}) {
      if (c->isValid()) c->setAlpha(60);
    }
  }
  return fill;
}

QRectF PipelineChart::rectOf(const Frame& f, const PipelineLayout::Row& row, std::int64_t from, std::int64_t to) const {
  const double left = std::max(f.axis.x_of(from), f.axis.left - 2), right = std::min(f.axis.x_of(to), f.axis.right + 2);
  return {left, row.rect.top(), std::max(0.0, right - left), row.rect.height()};
}

void PipelineChart::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  painted_.clear();
  if (timeline_->empty()) {
    draw_empty(painter, theme, rect(),
               tr("The report has no program: no plan was found, or it was written without one. Summary says why; "
                  "\"superstep estimate JOB.json -o FILE\" writes one for the plan of a job."));
    return;
  }
  Frame frame{painter, theme, layoutNow(), axisNow(), {}, {}};
  paintNames(frame);
  paintOverview(frame);
  painter.save();
  painter.setClipRect(frame.layout.lanes.adjusted(0, -24, 0, 4));
  paintHeads(frame);
  for (const PipelineLayout::Row& row : frame.layout.rows) paintLane(frame, row);
  copies_.clear();
  paintPath(frame);
  if (session_.timeState().copies) paintCopies(frame);
  if (frame.layout.rows.size() > 1 && session_.timeState().critical) paintCritical(frame);
  painter.setPen(QPen(theme.text, 1.6));
  for (const QRectF& box : frame.same) painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
  if (!frame.selected.isNull()) draw_selection(painter, frame.selected);
  paintFolds(frame);
  painter.restore();
  paintAxis(frame);
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
  if (hover_) {
    const PipelineLayout::Row* row = frame.layout.row_of(hover_->lane);
    draw_tip(painter, visiblePart().adjusted(4, 0, -4, -2), rectOf(frame, *row, hover_->slice.from, hover_->slice.to),
             tipText(*hover_).split('\n'), theme);
  }
}

void PipelineChart::paintNames(Frame& f) {
  const report::Index& index = timeline_->report->index();
  for (const PipelineLayout::Row& row : f.layout.rows) {
    const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
    const double width = PipelineLayout::kLeft - 34;
    if (row.stream) {
      f.painter.setFont(ui_font(9.5));
      f.painter.setPen(f.theme.faint);
      draw_text(f.painter, QRectF(12, row.rect.center().y() - 7, PipelineLayout::kLeft - 20, 14),
                QString::fromStdString(lane.name), Qt::AlignRight | Qt::AlignVCenter);
      continue;
    }
    const report::IpuClass& ipu = index.ipu_classes(lane.ipu_class);
    const double top = row.rect.top();
    f.painter.fillRect(QRectF(12, top, 3, row.rect.height()), ipu_color(f.theme, lane.ipu_class));
    const bool selected = session_.selection().ipu_class == lane.ipu_class;
    f.painter.setFont(ui_font(11.5, QFont::DemiBold));
    f.painter.setPen(selected ? f.theme.accent : f.theme.text);
    draw_text(f.painter, QRectF(21, top - 2, width + 4, 16), QString::fromStdString(ipu.name()));
    if (fit_of(ipu) == Fit::does_not_fit) {
      f.painter.setPen(f.theme.over);
      draw_text(f.painter, QRectF(21, top - 2, width - 4, 16), tr("✕ over"), Qt::AlignRight | Qt::AlignVCenter);
    }
    if (row.rect.height() < 22) continue;
    f.painter.setFont(ui_font(10));
    f.painter.setPen(f.theme.secondary);
    if (row.rect.height() >= 32)
      draw_text(f.painter, QRectF(21, top + 13, width + 4, 14), QString::fromStdString(ipu.contents()));
    if (ipu.tile_limit_bytes() <= 0) continue;
    // Memory of the fullest tile, with its limit.
    const QRectF track(21, top + (row.rect.height() >= 32 ? 31 : 17), width - 4, 4);
    const double share = static_cast<double>(ipu.tile_peak_bytes()) / static_cast<double>(ipu.tile_limit_bytes());
    f.painter.fillRect(track, f.theme.track);
    f.painter.fillRect(QRectF(track.topLeft(), QSizeF(track.width() * std::min(share, 1.0), 4)),
                       fit_color(f.theme, fit_of(ipu)));
    f.painter.fillRect(QRectF(track.right(), track.top() - 2, 1.5, 8), f.theme.limit);
  }
}

void PipelineChart::paintOverview(Frame& f) {
  f.painter.setFont(ui_font(10.5));
  f.painter.setPen(f.theme.secondary);
  draw_text(f.painter, QRectF(12, f.layout.overview.top() - 1, PipelineLayout::kLeft - 20, 16), tr("step"),
            Qt::AlignRight | Qt::AlignVCenter);
  overview_.paint(f.painter, timeline_, f.layout.overview, f.axis, f.theme);
}

// Numbers of cycles where there is room for them, names of the parts that are no cycles.
void PipelineChart::paintHeads(Frame& f) {
  const std::int64_t from = f.axis.time_of(f.axis.window.from), to = f.axis.time_of(f.axis.window.to);
  const bool in_cycles = session_.timeState().cycles;
  f.painter.setFont(ui_font(10.5));
  double free_from = f.layout.heads.left();
  for (const Section& s : timeline_->sections) {
    if (s.to <= from || s.from >= to) continue;
    const double left = std::max(f.axis.x_of(s.from), f.axis.left), right = std::min(f.axis.x_of(s.to), f.axis.right);
    if (s.cycle == 0) {
      f.painter.setPen(f.theme.faint);
      if (right - left > 6)
        f.painter.drawLine(QPointF(left, f.layout.heads.top() + 2), QPointF(left, f.layout.heads.bottom()));
      const QString name = QString::fromStdString(s.name);
      QString text =
          name + ", " + time_text(*timeline_, s.to - s.from, in_cycles, s.to - s.from) + ' ' + time_unit(in_cycles);
      if (text_width(f.painter.font(), text) > right - left - 4) text = name;
      if (text_width(f.painter.font(), text) > right - left - 4) {
        // A phase is known by its number, other parts by their first word.
        text = name.section(' ', name.startsWith("phase ") ? 1 : 0, name.startsWith("phase ") ? 1 : 0);
      }
      const double need = text_width(f.painter.font(), text);
      const double x = (left + right - need) / 2;
      if (need > right - left - 3 || x < free_from) continue;
      f.painter.setPen(f.theme.secondary);
      draw_text(f.painter, QRectF(x, f.layout.heads.top(), need + 2, 16), text);
      painted_.push_back(text);
      free_from = x + need + 4;
      continue;
    }
    const std::int64_t first = std::max<std::int64_t>(0, (from - s.from) / s.cycle);
    for (std::int64_t i = first; i < s.count && s.from + i * s.cycle < to; ++i) {
      const double x0 = f.axis.x_of(s.from + i * s.cycle), x1 = f.axis.x_of(s.from + (i + 1) * s.cycle);
      if (x1 - x0 < 1) {  // folded, or too many: on to the next that can be seen
        i = std::max(i, (f.axis.time_at(std::max(x0, f.axis.left) + 1) - s.from) / s.cycle - 1);
        continue;
      }
      const QString text = grouped(s.first + i);
      const double need = number_width(f.painter.font(), text), x = (x0 + x1 - need) / 2;
      if (x < free_from || x1 - x0 < 3 || x + need > f.axis.right) continue;
      const bool is_hovered = hover_ && hover_->slice.from >= s.from + i * s.cycle &&
                              hover_->slice.from < s.from + (i + 1) * s.cycle && hover_->slice.iteration >= 0;
      if (is_hovered)
        f.painter.fillRect(QRectF(x0, f.layout.heads.top(), x1 - x0, f.layout.lanes.bottom()), f.theme.accent_fill);
      f.painter.setPen(is_hovered ? f.theme.accent : f.theme.secondary);
      draw_number(f.painter, QRectF(x, f.layout.heads.top(), need, 16), text, Qt::AlignLeft | Qt::AlignVCenter);
      painted_.push_back(text);
      free_from = x + need + 6;
    }
  }
}

void PipelineChart::paintLane(Frame& f, const PipelineLayout::Row& row) {
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  if (row.stream) f.painter.fillRect(row.rect, f.theme.title_row);
  const auto least = static_cast<std::int64_t>(f.axis.per_pixel() * (row.stream ? 1 : kLeastBox));
  for (const TimeAxis::Piece& piece : f.axis.seen()) {
    if (piece.folded) continue;
    Slice wait;  // neighbours that wait for the same cause are one
    const auto flush = [&] {
      if (wait.to > wait.from) draw_fill(f.painter, rectOf(f, row, wait.from, wait.to), fillOf(wait.work));
      wait = {};
    };
    lane.visit(piece.from, piece.to, least, Lane::Depth::boxes, [&](Slice s) {
      s.from = std::max(s.from, piece.from);
      s.to = std::min(s.to, piece.to);
      if (s.node >= 0 && waits(s.work)) {
        if (wait.to != s.from || wait.work != s.work) flush();
        if (wait.to == wait.from) wait = s;
        wait.to = s.to;
        return;
      }
      flush();
      if (s.node < 0) {
        paintJoined(f, row, s.from, s.to);
      } else if (s.work != Work::idle) {
        paintBox(f, row, s);
      }
    });
    flush();
  }
}

void PipelineChart::paintBox(Frame& f, const PipelineLayout::Row& row, const Slice& s) {
  if (hidden_.contains(static_cast<int>(s.work))) return;
  const QRectF box = rectOf(f, row, s.from, s.to);
  paintParts(f, row, s, box);
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  if (session_.selection().ipu_class == lane.ipu_class && !row.stream && session_.selection().time >= s.from &&
      session_.selection().time < s.to) {
    f.selected = box;
  }
  if (s.micro_batch < 0) {
    // Names on what is no micro-batch, where they fit.
    const QString text = QString::fromLatin1(name_of(s.work).data());
    f.painter.setFont(ui_font(10.5));
    if (row.rect.height() < 14 || box.width() < text_width(f.painter.font(), text) + 10) return;
    const bool dark =
        s.work == Work::collective || s.work == Work::copy || s.work == Work::store || s.work == Work::host;
    f.painter.setPen(dark ? QColor(Qt::white) : kDarkText);
    draw_text(f.painter, box, text, Qt::AlignCenter);
    return;
  }
  if (hover_ && hover_->slice.micro_batch == s.micro_batch) f.same.push_back(box);
  if (row.stream || row.rect.height() < 12) return;
  f.painter.setFont(ui_font(10.5, QFont::DemiBold));
  const QString text = grouped(s.micro_batch);
  const WorkCycles sums = lane.sums(s.from, s.to);
  const bool recomputes = sums[Work::recompute] > 0 && box.width() < 60;
  const double share = recomputes ? static_cast<double>(sums[Work::recompute]) / static_cast<double>(sums.total()) : 0;
  const QRectF room = box.adjusted(box.width() * share, 0, 0, 0).intersected(f.layout.lanes);
  if (number_width(f.painter.font(), text) + 3 > room.width()) return;
  if (sums[Work::recompute] > 0 && !recomputes) {
    const double need = number_width(f.painter.font(), text) + 8;
    f.painter.fillRect(QRectF(room.center().x() - need / 2, room.center().y() - 8, need, 16), fillOf(s.work).color);
  }
  f.painter.setPen(s.work == Work::forward ? kDarkText : QColor(Qt::white));
  draw_number(f.painter, room, text, Qt::AlignHCenter | Qt::AlignVCenter);
  painted_.push_back(text);
}

// What a box is made of: as it happens when there is room, else one share after the other.
void PipelineChart::paintParts(Frame& f, const PipelineLayout::Row& row, const Slice& s, const QRectF& box) {
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  const LaneNode& node = lane.node(s.node);
  if (node.kind == LaneNode::Kind::leaf) return draw_fill(f.painter, box, fillOf(s.work));
  if (f.axis.x_of(s.to) - f.axis.x_of(s.from) > kLeastPart * static_cast<double>(node.children.size())) {
    Slice run;
    const auto flush = [&] {
      if (run.to > run.from) draw_fill(f.painter, rectOf(f, row, run.from, run.to), fillOf(run.work));
    };
    lane.visit(s.from, s.to, 1, Lane::Depth::leaves, [&](const Slice& part) {
      if (part.work != run.work || run.to != part.from) {
        flush();
        run = part;
      }
      run.to = part.to;
    });
    return flush();
  }
  paint_box(f.painter, lane, s, box, [this](Work work) { return fillOf(work); });
}

void PipelineChart::paintJoined(Frame& f, const PipelineLayout::Row& row, std::int64_t from, std::int64_t to) {
  paint_joined(f.painter, *timeline_, timeline_->lanes[static_cast<std::size_t>(row.lane)], f.axis, row.rect, from, to,
               [this](Work work) { return fillOf(work); });
}

void PipelineChart::paintFolds(Frame& f) {
  f.painter.save();
  f.painter.setRenderHint(QPainter::Antialiasing);
  for (const TimeAxis::Piece& piece : f.axis.seen()) {
    if (!piece.folded) continue;
    const double left = f.axis.x_at(piece.begin), right = f.axis.x_at(piece.end);
    const double top = f.layout.heads.bottom() - 4, bottom = f.layout.lanes.bottom() + 3;
    QPolygonF strip;
    constexpr double kTooth = 5;
    int i = 0;
    for (double y = top; y < bottom; y += kTooth) strip << QPointF(left + (i++ % 2 ? 4 : 0), y);
    const int edge = static_cast<int>(strip.size());
    for (double y = top + (i - 1) * kTooth; y >= top; y -= kTooth) strip << QPointF(right - (i++ % 2 ? 4 : 0), y);
    f.painter.setPen(Qt::NoPen);
    f.painter.setBrush(f.theme.title_row);
    f.painter.drawPolygon(strip);
    f.painter.setPen(f.theme.secondary);
    f.painter.drawPolyline(strip.constData(), edge);
    f.painter.drawPolyline(strip.constData() + edge, static_cast<int>(strip.size()) - edge);
    const auto section = std::find_if(timeline_->sections.begin(), timeline_->sections.end(),
                                      [&](const Section& s) { return piece.from >= s.from && piece.to <= s.to; });
    const bool in_cycles = session_.timeState().cycles;
    const QString text =
        tr("%1 equal cycles, %2 %3")
            .arg(grouped((piece.to - piece.from) / section->cycle),
                 time_text(*timeline_, piece.to - piece.from, in_cycles, piece.to - piece.from), time_unit(in_cycles));
    f.painter.setFont(ui_font(11));
    const double need = text_width(f.painter.font(), text);
    painted_.push_back(text);
    if (right - left < 16 || need > bottom - top) continue;
    f.painter.save();
    f.painter.translate((left + right) / 2, (top + bottom) / 2);
    f.painter.rotate(-90);
    f.painter.setPen(f.theme.text);
    f.painter.drawText(QRectF(-need / 2 - 1, -9, need + 2, 18), Qt::AlignCenter, text);
    f.painter.restore();
  }
  f.painter.restore();
}

void PipelineChart::paintAxis(Frame& f) {
  const bool in_cycles = session_.timeState().cycles;
  paint_time_axis(f.painter, *timeline_, f.axis, f.layout.axis, in_cycles, f.theme);
  f.painter.setPen(f.theme.secondary);
  draw_text(f.painter, QRectF(12, f.layout.axis.top() + 5, PipelineLayout::kLeft - 34, 14), time_unit(in_cycles),
            Qt::AlignRight | Qt::AlignVCenter);
}

}  // namespace superstep::gui
