// SPDX-License-Identifier: Apache-2.0
// What of the pipeline goes across lanes: the way of the selected micro-batch, copies between stages, the critical
// path.
#include <QPainter>
#include <cmath>

#include "gui/paint/draw.h"
#include "gui/widgets/pipeline_chart.h"
#include "gui/widgets/pipeline_frame.h"

namespace superstep::gui {
namespace {

constexpr double kToldApart = 70;  // pixels of a round, from which on all its copies are drawn
constexpr double kArrowHead = 5;   // of an arrow

}  // namespace

// Its boxes stand out, on all IPUs; the copies between them are drawn however small they are.
void PipelineChart::paintPath(Frame& f) {
  const Selection& selection = session_.selection();
  if (selection.micro_batch < 0 || selection.time < 0) return;
  const std::vector<PathBox> path = path_of(*timeline_, selection.micro_batch, selection.time);
  for (const PathBox& box : path) {
    const QRectF rect = rectOf(f, *f.layout.row_of(box.lane), box.slice.from, box.slice.to);
    if (rect.width() <= 0 || f.axis.is_folded(box.slice.from)) continue;
    f.painter.setBrush(Qt::NoBrush);
    f.painter.setPen(QPen(f.theme.panel, 1));
    f.painter.drawRect(rect.adjusted(1.5, 1.5, -1.5, -1.5));
    f.painter.setPen(QPen(f.theme.text, 1.6));
    f.painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  if (!session_.timeState().copies) return;
  for (const CopyArrow& copy : copies_along(*timeline_, path)) paintCopy(f, copy, true);
}

// Only where the copies of a round can be told apart.
void PipelineChart::paintCopies(Frame& f) {
  for (const TimeAxis::Piece& piece : f.axis.seen()) {
    if (piece.folded) continue;
    for (const Section& s : timeline_->sections) {
      const std::int64_t from = std::max(s.from, piece.from), to = std::min(s.to, piece.to);
      if (to <= from || s.beat <= 0 || f.axis.x_of(from + s.beat) - f.axis.x_of(from) < kToldApart) continue;
      for (const CopyArrow& copy : copies_in(*timeline_, from, to, s.beat)) {
        if (copy.micro_batch != session_.selection().micro_batch || session_.selection().time < 0)
          paintCopy(f, copy, false);
      }
    }
  }
}

// From the lane that sends to the one that receives: forward where the copy begins, back where it ends.
void PipelineChart::paintCopy(Frame& f, const CopyArrow& copy, bool lit) {
  if (hidden_.contains(static_cast<int>(Work::copy)) || f.axis.is_folded(copy.from)) return;
  const QRectF from = f.layout.row_of(copy.from_lane)->rect, to = f.layout.row_of(copy.to_lane)->rect;
  const bool down = to.top() > from.top();
  const double middle = (f.axis.x_of(copy.from) + f.axis.x_of(copy.to)) / 2;
  const double half = std::max(2.5, (f.axis.x_of(copy.to) - f.axis.x_of(copy.from)) / 4);
  const double x = copy.work == Work::forward ? middle - half : middle + half;
  if (x < f.axis.left || x > f.axis.right) return;
  const QPointF tail(x, from.center().y()), head(x, down ? to.center().y() - 2 : to.center().y() + 2);
  f.painter.save();
  f.painter.setRenderHint(QPainter::Antialiasing);
  const QColor color = fill_of_kind(std::string(kind_text(Work::copy))).color;
  // A pale edge, so that it can be seen on boxes of any colour.
  for (const auto& [line, width] : {std::pair{f.theme.panel, lit ? 4.2 : 2.6}, {color, lit ? 2.2 : 1.1}}) {
    f.painter.setPen(QPen(line, width));
    f.painter.setBrush(line);
    f.painter.drawLine(tail, head);
    const double back = down ? -kArrowHead : kArrowHead;
    f.painter.drawPolygon(QPolygonF{head, head + QPointF(-kArrowHead / 2, back), head + QPointF(kArrowHead / 2, back)});
  }
  f.painter.restore();
  copies_.push_back(copy);
}

// A dark line below the IPU that sets the time, from left to right; only where few enough rounds are seen to look into
// each: an IPU may wait for another for less than a pixel.
void PipelineChart::paintCritical(Frame& f) {
  constexpr std::int64_t kMostRounds = 4000;  // of all lanes
  f.painter.setPen(QPen(f.theme.text, 1.8));
  std::int64_t rounds = 0;
  for (const TimeAxis::Piece& piece : f.axis.seen()) {
    for (const Section& s : timeline_->sections) {
      const std::int64_t shown = std::min(s.to, piece.to) - std::max(s.from, piece.from);
      if (shown > 0 && s.beat > 0 && !piece.folded) rounds += shown / s.beat + 1;
    }
  }
  if (rounds * static_cast<std::int64_t>(timeline_->lanes.size()) > kMostRounds) return;
  for (const TimeAxis::Piece& piece : f.axis.seen()) {
    if (piece.folded) continue;
    double before = -1;
    for (const CriticalRun& run : critical_path(*timeline_, piece.from, piece.to, 1)) {
      if (run.lane < 0) {
        before = -1;
        continue;
      }
      const double y = f.layout.row_of(run.lane)->rect.bottom() + 1.5, x = f.axis.x_of(run.from);
      if (before >= 0) f.painter.drawLine(QPointF(x, before), QPointF(x, y));
      f.painter.drawLine(QPointF(x, y), QPointF(f.axis.x_of(run.to), y));
      before = y;
    }
  }
}

}  // namespace superstep::gui
