// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/trace_chart.h"

#include <algorithm>
#include <cmath>

#include "gui/models/steps.h"
#include "gui/models/trace_tables.h"
#include "gui/paint/pipeline_layout.h"

namespace superstep::gui {
namespace {

constexpr double kTraceLeft = 92;
constexpr double kActive = 40;  // lane of active tiles
constexpr double kTraceRight = 12;
constexpr double kTraceTop = 34;  // below the overview
constexpr double kFlame = 20;
constexpr double kLane = 30;
constexpr double kLeastLane = 22;
constexpr double kStream = 12;
constexpr double kBand = 14;

QString layer_of(const QString& call) { return call.section('/', 0, 0).section(' ', 0, 0); }

QString block_of(const QString& call) { return call.contains('/') ? call.section('/', 1) : call; }

}  // namespace

TraceChart::TraceChart(Session& session, QWidget* parent) : TimeChart(session, parent) {
  setObjectName("traceChart");
  setProperty("drawsTip", true);
  setAccessibleName(tr("Execution trace: what each IPU does, step by step"));
  setAccessibleDescription(tr("W, S zoom; A, D pan; F shows everything; comma and full stop go from step to step"));
  connect(&session_, &Session::timeStateChanged, this, [this] {
    hover_.reset();  // its row may be another's now
    setMinimumHeight(minimumSizeHint().height());
    update();
    emit windowChanged();
  });
  connect(&session_, &Session::selectionChanged, this, qOverload<>(&QWidget::update));
  refresh();
}

void TraceChart::hide(const std::set<int>& works) {
  hidden_ = works;
  update();
}

void TraceChart::refresh() {
  timeline_ = session_.trace();
  hover_.reset();
  setMinimumHeight(minimumSizeHint().height());
  update();
}

double TraceChart::contentTop() const { return kTraceTop; }

double TraceChart::left() const { return session_.timeState().with_pipeline ? PipelineLayout::kLeft : kTraceLeft; }

int TraceChart::shownLane() const {
  const int lane = timeline_->lane_of(session_.selection().ipu_class);
  if (lane >= 0 || timeline_->empty()) return lane;
  // The first, unless it hardly works: there is little to see of that.
  const auto& ipus = timeline_->report->index().ipu_classes();
  const auto busiest =
      std::max_element(ipus.begin(), ipus.end(), [](const auto& a, const auto& b) { return a.busy_s() < b.busy_s(); });
  const int first = timeline_->lanes[0].ipu_class;
  if (busiest == ipus.end() || first < 0 || ipus[first].busy_s() * 2 >= busiest->busy_s()) return 0;
  return std::max(0, timeline_->lane_of(static_cast<int>(busiest - ipus.begin())));
}

QSize TraceChart::minimumSizeHint() const {
  double height = kTraceTop + 34;
  if (mode() == TraceMode::flame) height += 4 * kFlame + 8;
  for (const Lane& lane : timeline_->lanes) {
    height += !lane.name.empty() ? kStream : mode() == TraceMode::bsp ? 3 * kBand + 8 : kLeastLane;
  }
  height += kActive + 6;
  return {360, timeline_->empty() ? 120 : static_cast<int>(std::ceil(height))};
}

std::vector<TraceRow> TraceChart::rowsNow() const {
  using Kind = TraceRow::Kind;
  std::vector<TraceRow> rows;
  if (timeline_->empty()) return rows;
  const double plot = std::max(60.0, width() - left() - kTraceRight);
  double y = contentTop();
  const auto add = [&](Kind kind, int lane, double height, const QString& label) {
    rows.push_back({kind, lane, QRectF(left(), y, plot, height - 1), label});
    y += height;
  };
  if (mode() == TraceMode::flame) {
    const int lane = shownLane();
    const double flame = std::clamp(height() / 26.0, kFlame, 1.4 * kFlame);
    add(Kind::stage, lane, flame, tr("stage"));
    add(Kind::layer, lane, flame, tr("layer"));
    add(Kind::block, lane, flame, tr("block"));
    add(Kind::op, lane, flame, tr("op"));
    y += 8;
  }
  double streams = 0, ipus = 0;
  for (const Lane& lane : timeline_->lanes) (lane.name.empty() ? ipus : streams) += 1;
  const double room = (height() - y - 36 - kActive - streams * kStream) / std::max(1.0, ipus);
  for (std::size_t i = 0; i < timeline_->lanes.size(); ++i) {
    const Lane& lane = timeline_->lanes[i];
    const int number = static_cast<int>(i);
    const QString name = QString::fromStdString(timeline_->report->index().ipu_classes(lane.ipu_class).name());
    if (!lane.name.empty()) {
      add(Kind::lane, number, kStream, QString::fromStdString(lane.name));
      continue;
    }
    if (mode() == TraceMode::bsp) {
      const double band = std::clamp((room - 8) / 3, kBand, 1.8 * kBand);
      add(Kind::compute, number, band, name);
      add(Kind::exchange, number, band, {});
      add(Kind::wait, number, band, {});
      y += 8;
    } else {
      const double height = std::clamp(room - 4, kLeastLane - 3, 1.8 * kLane);
      add(mode() == TraceMode::flat ? Kind::block : Kind::lane, number, height, name);
      y += 3;
    }
  }
  y += 3;
  add(Kind::active, shownLane(), kActive, tr("active tiles"));
  return rows;
}

TimeAxis TraceChart::axisNow() const {
  return TimeAxis::of(timeline_->cycles, {}, window(), left(), std::max(left() + 60.0, width() - kTraceRight));
}

void TraceChart::setWindow(const TimeWindow& window) {
  TimeState state = session_.timeState();
  state.trace = window;
  session_.setTimeState(state);
}

void TraceChart::showAt(std::int64_t time) {
  if (timeline_->empty()) return;
  const Slice box = timeline_->lanes[static_cast<std::size_t>(shownLane())].at(time, Lane::Depth::boxes);
  if (box.to <= box.from) return;
  const auto margin = static_cast<double>(box.to - box.from) * 0.08;
  setWindow(TimeWindow{static_cast<double>(box.from) - margin, static_cast<double>(box.to) + margin}.resolved(
      static_cast<double>(timeline_->cycles)));
}

QString TraceChart::nameOf(const TraceRow& row, const Slice& s) const {
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  if (s.node < 0) return {};
  const LaneNode& node = lane.node(s.node);
  if (waits(s.work)) return tr("waits: %1").arg(name_of(s.work).data());
  const QString call = node.source ? QString::fromStdString(node.source->name()) : QString();
  switch (row.kind) {
    case TraceRow::Kind::stage:
      return s.micro_batch < 0 ? QString::fromLatin1(name_of(s.work).data())
                               : tr("%1 of micro-batch %2").arg(name_of(s.work).data(), grouped(s.micro_batch));
    case TraceRow::Kind::layer:
      return node.function < 0 ? call : layer_of(call);
    case TraceRow::Kind::block:
      return mode() == TraceMode::flat || node.function < 0 ? call : block_of(call);
    default:
      break;
  }
  return s.step < 0 ? call : step_name(*timeline_, lane, s);
}

// Slices of a row, neighbours of one name joined where the row shows names.
void TraceChart::visitRow(const TraceRow& row, std::int64_t from, std::int64_t to, std::int64_t least,
                          const std::function<void(const TraceSlice&)>& take) const {
  using Kind = TraceRow::Kind;
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  const bool names = row.kind == Kind::layer || row.kind == Kind::op;
  const Lane::Depth depth = row.kind == Kind::stage                              ? Lane::Depth::boxes
                            : row.kind == Kind::layer || row.kind == Kind::block ? Lane::Depth::leaves
                                                                                 : Lane::Depth::steps;
  TraceSlice pending;
  const auto flush = [&] {
    if (pending.slice.to > pending.slice.from) take(pending);
    pending = {};
  };
  lane.visit(from, to, least, depth, [&](const Slice& s) {
    const QString name = names || row.kind != Kind::lane ? nameOf(row, s) : QString();
    // Waiting for one cause is one, whatever does not run meanwhile.
    const bool both_wait = waits(s.work) && pending.slice.work == s.work;
    const bool both_named = names && pending.name == name && pending.slice.micro_batch == s.micro_batch &&
                            waits(pending.slice.work) == waits(s.work);
    const bool same = s.node >= 0 && pending.slice.node >= 0 && pending.slice.to == s.from && (both_wait || both_named);
    if (!same) {
      flush();
      pending = {0, s, name};
    }
    pending.slice.to = s.to;
    if (!names && !waits(s.work)) flush();
  });
  flush();
}

std::optional<TraceSlice> TraceChart::sliceAt(const QPointF& at) const {
  const std::vector<TraceRow> rows = rowsNow();
  const TimeAxis axis = axisNow();
  if (at.x() < axis.left || at.x() >= axis.right) return {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].rect.contains(at)) continue;
    const std::int64_t time = std::min(axis.time_at(at.x()), timeline_->cycles - 1);
    // Look as far as a merged slice reaches on the screen.
    const auto far = static_cast<std::int64_t>(axis.per_pixel() * (axis.right - axis.left));
    std::optional<TraceSlice> found;
    const bool merges = rows[i].kind == TraceRow::Kind::layer || rows[i].kind == TraceRow::Kind::op;
    const auto least = merges ? std::max<std::int64_t>(1, far / 4000) : 1;
    visitRow(rows[i], merges ? std::max<std::int64_t>(0, time - far) : time, merges ? time + far : time + 1, least,
             [&](const TraceSlice& s) {
               if (s.slice.from <= time && time < s.slice.to) found = s;
             });
    if (!found || found->slice.node < 0 || found->slice.work == Work::idle) return {};
    found->row = static_cast<int>(i);
    found->name = nameOf(rows[i], found->slice);
    return found;
  }
  return {};
}

QString TraceChart::tipText(const TraceSlice& at) const {
  const TraceRow row = rowsNow()[static_cast<std::size_t>(at.row)];
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(row.lane)];
  const Slice& s = at.slice;
  const std::int64_t cycles = s.to - s.from;
  QString title = at.name;
  if (s.micro_batch >= 0 && row.kind != TraceRow::Kind::stage) {
    title += tr(" · micro-batch %1").arg(grouped(s.micro_batch));
  }
  QStringList lines{title};
  lines << QString::fromStdString(timeline_->report->index().ipu_classes(lane.ipu_class).name()) + '\t';
  const LaneNode& node = lane.node(s.node);
  if (s.step >= 0 && node.source) lines.back() += QString::fromStdString(node.source->name());
  lines << tr("Time\t") + both_texts(*timeline_, cycles);
  lines << tr("From\t") + both_texts(*timeline_, s.from);
  const WorkCycles sums = lane.sums(s.from, s.to);
  for (int i = 0; i < kWorks; ++i) {
    const Work work = static_cast<Work>(i);
    if (sums[work] == 0 || waits(work)) continue;
    lines << QString::fromLatin1(name_of(work).data()) + '\t' + both_texts(*timeline_, sums[work]) + "   " +
                 share_percent(static_cast<double>(sums[work]), static_cast<double>(cycles)) + " %";
  }
  if (row.kind == TraceRow::Kind::active) {
    lines << tr("Tiles that take part\t") + grouped(activeTiles(s.from, s.to));
  } else if (s.step >= 0 && !lane.steps->tiles.empty())
    lines << tr("Active tiles\t") + tiles_text(lane.steps->tiles[static_cast<std::size_t>(s.step)]);
  if (s.step >= 0)
    lines << tr("Counts to\t") + QString::fromStdString(lane.steps->term[static_cast<std::size_t>(s.step)]);
  lines << (waits(s.work) ? tr("Waiting, charged to its cause.\t")
            : s.step >= 0 ? tr("A superstep: compute, exchange and sync of its slowest tile.\t")
                          : tr("What the supersteps in it take together.\t"));
  lines << tr("E for more\t");
  return lines.join('\n');
}

std::int64_t TraceChart::activeTiles(std::int64_t from, std::int64_t to) const {
  constexpr int kLooks = 3;  // into steps too short to tell apart
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(shownLane())];
  if (!lane.steps || lane.steps->tiles.empty()) return 0;
  std::int64_t most = 0;
  const auto look = [&](std::int64_t step) {
    if (step < 0) return;
    const auto tiles = lane.steps->tiles[static_cast<std::size_t>(step)];
    most = std::max(most, tiles > 0 ? tiles : timeline_->report->index().tiles_per_ipu());
  };
  const std::int64_t stride = std::max<std::int64_t>(1, (to - from) / kLooks);
  for (std::int64_t time = from; time < to; time += stride) look(lane.at(time, Lane::Depth::steps).step);
  return most;
}

void TraceChart::pressed(const QPointF& at) {
  const auto hit = sliceAt(at);
  if (!hit) return;
  Selection selection = session_.selection();
  selection.ipu_class =
      timeline_->lanes[static_cast<std::size_t>(rowsNow()[static_cast<std::size_t>(hit->row)].lane)].ipu_class;
  selection.micro_batch = hit->slice.micro_batch;
  selection.time = hit->slice.from;
  selection.op = hit->slice.step >= 0 ? hit->name : QString();
  session_.select(selection);
}

void TraceChart::pointed(const QPointF& at) {
  const auto before = hover_;
  hover_ = sliceAt(at);
  const bool same = before.has_value() == hover_.has_value() &&
                    (!hover_ || (before->row == hover_->row && before->slice.from == hover_->slice.from));
  if (!same) update();
}

void TraceChart::step(int direction) {
  if (timeline_->empty()) return;
  const Lane& lane = timeline_->lanes[static_cast<std::size_t>(shownLane())];
  const std::int64_t selected = session_.selection().time;
  const std::int64_t now = selected >= 0 ? selected : axisNow().time_of(axisNow().window.from);
  const Slice here = lane.at(now, Lane::Depth::steps);
  const Slice next = direction > 0 ? lane.at(selected < 0 ? now : here.to, Lane::Depth::steps)
                                   : lane.at(here.from - 1, Lane::Depth::steps);
  if (next.node < 0) return;
  Selection selection = session_.selection();
  selection.ipu_class = lane.ipu_class;
  selection.micro_batch = next.micro_batch;
  selection.time = next.from;
  TraceRow row;
  row.lane = shownLane();
  selection.op = nameOf(row, next);
  session_.select(selection);
  reveal(next.from, next.to);
}

// The next cycle or, where there are none, the next part of the step.
void TraceChart::part(int direction) {
  if (timeline_->empty()) return;
  const TimeAxis axis = axisNow();
  const std::int64_t middle = axis.time_of((axis.window.from + axis.window.to) / 2);
  const auto cycle_at = [&](std::int64_t time) -> std::pair<std::int64_t, std::int64_t> {
    const Section* s = timeline_->section_at(time);
    if (!s) return {-1, -1};
    if (s->cycle == 0) return {s->from, s->to};
    const std::int64_t from = s->from + (time - s->from) / s->cycle * s->cycle;
    return {from, from + s->cycle};
  };
  const auto here = cycle_at(std::min(middle, timeline_->cycles - 1));
  const auto next = cycle_at(direction > 0 ? here.second : here.first - 1);
  if (next.first < 0) return;
  setWindow(TimeWindow{static_cast<double>(next.first), static_cast<double>(next.second)});
}

}  // namespace superstep::gui
