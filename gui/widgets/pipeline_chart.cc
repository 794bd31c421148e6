// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/pipeline_chart.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {
namespace {

// The first box that begins at or after `time` (direction 1) or the last that begins before it; waiting is passed over.
std::optional<Slice> next_box(const Lane& lane, std::int64_t time, int direction, std::int64_t cycles) {
  std::optional<Slice> found;
  // Look further and further: boxes are near each other except across long waits.
  for (std::int64_t reach = std::max<std::int64_t>(1, cycles / 4096); !found; reach *= 4) {
    const std::int64_t from = direction > 0 ? time : std::max<std::int64_t>(0, time - reach);
    const std::int64_t to = direction > 0 ? std::min(cycles, time + reach) : time;
    lane.visit(from, to, 1, Lane::Depth::boxes, [&](const Slice& s) {
      const bool counts = !waits(s.work) && s.work != Work::idle && s.work != Work::copy && s.work != Work::fixed &&
                          s.work != Work::host;
      if (direction > 0 && counts && s.from >= time && !found) found = s;
      if (direction < 0 && counts && s.from < time) found = s;
    });
    if (reach >= cycles) break;
  }
  return found;
}

}  // namespace

PipelineChart::PipelineChart(Session& session, QWidget* parent) : TimeChart(session, parent) {
  setObjectName("pipelineChart");
  setProperty("drawsTip", true);
  setAccessibleName(tr("Pipeline of one step: IPUs and time"));
  setAccessibleDescription(tr("W, S zoom; A, D pan; F shows everything; comma and full stop go from box to box"));
  connect(&session_, &Session::timeStateChanged, this, [this] {
    update();
    emit windowChanged();
  });
  connect(&session_, &Session::selectionChanged, this, qOverload<>(&QWidget::update));
  refresh();
}

void PipelineChart::refresh() {
  timeline_ = session_.timeline();
  hover_.reset();
  setMinimumHeight(minimumSizeHint().height());
  updateGeometry();
  update();
}

QSize PipelineChart::minimumSizeHint() const {
  return {400, timeline_->empty() ? 120 : static_cast<int>(std::ceil(PipelineLayout::least_height(*timeline_)))};
}

PipelineLayout PipelineChart::layoutNow() const { return PipelineLayout::of(*timeline_, width(), height()); }

TimeAxis PipelineChart::axisNow() const {
  const PipelineLayout layout = layoutNow();
  const auto folds = session_.timeState().fold && !followsTrace_ ? folds_of(*timeline_) : std::vector<TimeFold>{};
  return TimeAxis::of(timeline_->cycles, folds, window(), layout.lanes.left(), layout.lanes.right());
}

void PipelineChart::setWindow(const TimeWindow& window) {
  TimeState state = session_.timeState();
  (followsTrace_ ? state.trace : state.pipeline) = window;
  session_.setTimeState(state);
}

void PipelineChart::followTrace() {
  followsTrace_ = true;
  setObjectName("tracePipeline");
  setAccessibleName(tr("Pipeline of the part of the step that the trace shows"));
  update();
}

std::optional<LaneSlice> PipelineChart::sliceAt(const QPointF& at) const {
  if (timeline_->empty()) return {};
  const PipelineLayout layout = layoutNow();
  const PipelineLayout::Row* row = layout.row_at(at.y());
  if (!row || at.x() < layout.lanes.left() || at.x() >= layout.lanes.right()) return {};
  const TimeAxis axis = axisNow();
  for (const TimeAxis::Piece& piece : axis.seen()) {
    if (piece.folded && at.x() >= axis.x_at(piece.begin) && at.x() < axis.x_at(piece.end)) return {};
  }
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row->lane)];
  const Slice slice = lane.at(std::min(axis.time_at(at.x()), timeline_->cycles - 1), Lane::Depth::boxes);
  if (slice.node < 0 || slice.work == Work::idle) return {};
  return LaneSlice{row->lane, slice};
}

QString PipelineChart::tipText(const LaneSlice& at) const {
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(at.lane)];
  const Slice& s = at.slice;
  const LaneNode& node = lane.node(s.node);
  const std::int64_t cycles = s.to - s.from;
  QString title = QString::fromStdString(timeline_->report->index().ipu_classes(lane.ipu_class).name());
  title += " · " + (waits(s.work) ? tr("waits: %1").arg(name_of(s.work).data()) : QString(name_of(s.work).data()));
  if (s.micro_batch >= 0) title += tr(" of micro-batch %1").arg(grouped(s.micro_batch));
  QStringList lines{title};
  if (node.kind == LaneNode::Kind::leaf && node.source) lines << QString::fromStdString(node.source->name()) + '\t';
  lines << tr("Takes\t") + both_texts(*timeline_, cycles);
  lines << tr("From\t") + both_texts(*timeline_, s.from);
  const WorkCycles sums = lane.sums(s.from, s.to);
  if (node.kind == LaneNode::Kind::box && !waits(s.work)) {
    for (int i = 0; i < kWorks; ++i) {
      const Work work = static_cast<Work>(i);
      if (sums[work] == 0 || sums[work] == cycles) continue;
      lines << tr("of which %1\t").arg(name_of(work).data()) + both_texts(*timeline_, sums[work]) + "   " +
                   share_percent(static_cast<double>(sums[work]), static_cast<double>(cycles)) + " %";
    }
  }
  if (s.iteration >= 0) lines << tr("Cycle\t") + grouped(s.iteration);
  lines << (waits(s.work) ? tr("Waiting, charged to its cause.\t") : tr("What the IPU does without a break.\t"));
  lines << tr("E for more\t");
  return lines.join('\n');
}

void PipelineChart::pressed(const QPointF& at) {
  const TimeAxis axis = axisNow();
  for (const TimeAxis::Piece& piece : axis.seen()) {  // a click on a fold opens all
    if (!piece.folded || at.x() < axis.x_at(piece.begin) || at.x() >= axis.x_at(piece.end)) continue;
    TimeState state = session_.timeState();
    state.fold = false;
    state.pipeline = {};
    session_.setTimeState(state);
    return;
  }
  const auto hit = sliceAt(at);
  if (!hit) return;
  Selection selection = session_.selection();
  selection.ipu_class = timeline_->lanes[static_cast<std::size_t>(hit->lane)].ipu_class;
  selection.micro_batch = hit->slice.micro_batch;
  selection.time = hit->slice.from;
  session_.select(selection);
}

void PipelineChart::pointed(const QPointF& at) {
  const auto before = hover_;
  hover_ = sliceAt(at);
  const bool same = before.has_value() == hover_.has_value() &&
                    (!hover_ || (before->lane == hover_->lane && before->slice.from == hover_->slice.from));
  if (!same) update();
}

int PipelineChart::selectedLane() const {
  const int lane = timeline_->lane_of(session_.selection().ipu_class);
  return lane >= 0 ? lane : 0;
}

void PipelineChart::step(int direction) {
  if (timeline_->empty()) return;
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(selectedLane())];
  const std::int64_t now = session_.selection().time;
  const auto box = next_box(lane, now < 0 ? 0 : direction > 0 ? now + 1 : now, direction, timeline_->cycles);
  if (!box) return;
  Selection selection = session_.selection();
  selection.ipu_class = lane.ipu_class;
  selection.micro_batch = box->micro_batch;
  selection.time = box->from;
  session_.select(selection);
  reveal(box->from, box->to);
}

void PipelineChart::part(int direction) {
  const auto& all = timeline_->sections;
  if (all.empty()) return;
  const TimeAxis axis = axisNow();
  const std::int64_t middle = axis.time_of((axis.window.from + axis.window.to) / 2);
  auto at = std::find_if(all.begin(), all.end(), [&](const Section& s) { return middle < s.to; });
  if (at == all.end()) --at;
  if (!window().whole()) {
    if (direction > 0 && at + 1 == all.end()) return;
    if (direction < 0 && at == all.begin()) return;
    at += direction;
  } else {
    at = direction > 0 ? all.begin() : all.end() - 1;
  }
  setWindow(TimeWindow{axis.position_of(at->from), axis.position_of(at->to)}.resolved(axis.length()));
}

void PipelineChart::hide(const std::set<int>& works) {
  hidden_ = works;
  update();
}

void PipelineChart::highlight(std::optional<Work> work) {
  highlighted_ = work;
  update();
}

}  // namespace superstep::gui
