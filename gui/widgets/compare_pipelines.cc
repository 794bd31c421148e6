// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/compare_pipelines.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/models/meanings.h"
#include "gui/models/pipeline_tables.h"
#include "gui/paint/draw.h"
#include "gui/widgets/lane_paint.h"
#include "model/error.h"

namespace superstep::gui {
namespace {

constexpr double kPipelinesLeft = 84, kPipelinesRight = 14, kPipelinesTop = 4;
constexpr double kLeastPipelinesBox = 3;  // pixels

}  // namespace

ComparePipelines::ComparePipelines(Session& session, QWidget* parent) : TimeChart(session, parent) {
  setObjectName("comparePipelines");
  setProperty("drawsTip", true);
  setAccessibleName(tr("Pipelines of the compared reports on one time scale"));
  setAccessibleDescription(tr("W, S zoom; A, D pan; F shows everything; they move together"));
}

void ComparePipelines::setComparison(const ComparedPointer& compared) {
  compared_ = compared;
  timelines_.clear();
  hover_.reset();
  window_ = {};
  double longest = 0;
  for (const ReportPointer& report : compared->reports) {
    Timeline timeline;
    try {
      timeline = make_timeline(report);
    } catch (const Error&) {  // the pipeline view says what is wrong with it
      timeline.report = report;
    }
    longest = std::max(longest, timeline.seconds(timeline.cycles));
    timelines_.push_back(std::move(timeline));
  }
  nanoseconds_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(longest * 1e9)));
  showStart();
  setMinimumHeight(minimumSizeHint().height());
  updateGeometry();
  update();
}

// Whole steps show no cycle: at first what fits a dozen of the longest ones.
void ComparePipelines::showStart() {
  constexpr double kCycles = 14;
  double cycle = 0;
  for (const Timeline& t : timelines_) {
    for (const Section& s : t.sections) cycle = std::max(cycle, t.seconds(s.cycle));
  }
  const double end = cycle * kCycles * 1e9;
  if (end > 0 && end < static_cast<double>(nanoseconds_)) window_ = {0, end};
}

bool ComparePipelines::isEmpty() const {
  return std::all_of(timelines_.begin(), timelines_.end(), [](const Timeline& t) { return t.empty(); });
}

std::vector<int> ComparePipelines::ipuLanes(int side) const {
  std::vector<int> out;
  const auto& lanes = timelines_[static_cast<std::size_t>(side)].lanes;
  for (int i = 0; i < std::ssize(lanes); ++i) {
    if (lanes[static_cast<std::size_t>(i)].name.empty()) out.push_back(i);
  }
  return out;
}

std::vector<int> ComparePipelines::laneCounts() const {
  std::vector<int> out;
  for (int side = 0; side < std::ssize(timelines_); ++side) out.push_back(static_cast<int>(ipuLanes(side).size()));
  return out;
}

QSize ComparePipelines::minimumSizeHint() const {
  return {400, isEmpty() ? 90 : static_cast<int>(std::ceil(SharedRows::least_height(laneCounts()) + kPipelinesTop))};
}

SharedTime ComparePipelines::timeNow() const {
  return {nanoseconds_, window_, kPipelinesLeft, std::max(kPipelinesLeft + 20, width() - kPipelinesRight)};
}

SharedRows ComparePipelines::rowsNow() const {
  return SharedRows::of(QRectF(kPipelinesLeft, kPipelinesTop,
                               std::max(20.0, width() - kPipelinesLeft - kPipelinesRight), height() - kPipelinesTop),
                        laneCounts());
}

void ComparePipelines::setWindow(const TimeWindow& seen) {
  window_ = seen;
  hover_.reset();
  update();
  emit windowChanged();
}

void ComparePipelines::hide(const std::set<int>& works) {
  hidden_ = works;
  update();
}

std::optional<ComparePipelines::Place> ComparePipelines::placeAt(const QPointF& at) const {
  if (isEmpty() || at.x() < kPipelinesLeft) return std::nullopt;
  const SharedRows rows = rowsNow();
  for (int side = 0; side < std::ssize(timelines_); ++side) {
    const Timeline& timeline = timelines_[static_cast<std::size_t>(side)];
    const auto lanes = ipuLanes(side);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const QRectF& row = rows.lanes[static_cast<std::size_t>(side)][i];
      if (at.y() < row.top() || at.y() >= row.bottom() + 2) continue;
      const TimeAxis axis = timeNow().axis_of(timeline.clock_hz);
      const std::int64_t time = axis.time_at(at.x());
      if (time >= timeline.cycles) return std::nullopt;
      const Slice slice = timeline.lanes[static_cast<std::size_t>(lanes[i])].at(time, Lane::Depth::boxes);
      if (slice.node < 0 || axis.x_of(slice.to) - axis.x_of(slice.from) < kLeastPipelinesBox) return std::nullopt;
      return Place{side, lanes[i], slice};
    }
  }
  return std::nullopt;
}

QString ComparePipelines::tipText(const Place& place) const {
  const Timeline& timeline = timelines_[static_cast<std::size_t>(place.side)];
  const Lane& lane = timeline.lanes[static_cast<std::size_t>(place.lane)];
  const std::string& ipu = timeline.report->index().ipu_classes(lane.ipu_class).name();
  QString tip = compared_->side(place.side) + " · " + QString::fromStdString(ipu);
  tip += "\n" + tr("work") + "\t" + QString::fromLatin1(name_of(place.slice.work).data());
  if (place.slice.micro_batch >= 0) tip += "\n" + tr("micro-batch") + "\t" + grouped(place.slice.micro_batch);
  tip += "\n" + tr("from") + "\t" + both_texts(timeline, place.slice.from);
  return tip + "\n" + tr("takes") + "\t" + both_texts(timeline, place.slice.to - place.slice.from);
}

void ComparePipelines::pressed(const QPointF& at) { pointed(at); }

void ComparePipelines::pointed(const QPointF& at) {
  hover_ = placeAt(at);
  update();
}

// The box after or before the one that is pointed at.
void ComparePipelines::step(int direction) {
  if (isEmpty()) return;
  if (!hover_) {
    const int side = timelines_[0].empty() ? static_cast<int>(timelines_.size()) - 1 : 0;
    hover_ = Place{side, ipuLanes(side).front(), {}};
    hover_->slice.to = 0;
  }
  const Timeline& timeline = timelines_[static_cast<std::size_t>(hover_->side)];
  const std::int64_t time = direction > 0 ? hover_->slice.to : hover_->slice.from - 1;
  if (time < 0 || time >= timeline.cycles) return;
  Place place = *hover_;
  place.slice = timeline.lanes[static_cast<std::size_t>(place.lane)].at(time, Lane::Depth::boxes);
  const auto nanoseconds = [&](std::int64_t n) { return static_cast<std::int64_t>(timeline.seconds(n) * 1e9); };
  reveal(nanoseconds(place.slice.from), nanoseconds(place.slice.to));
  hover_ = place;
  update();
}

// The same in the next report.
void ComparePipelines::part(int direction) {
  if (isEmpty()) return;
  const int sides = static_cast<int>(timelines_.size());
  int side = hover_ ? hover_->side : -direction;
  do side = (side + direction + sides) % sides;
  while (timelines_[static_cast<std::size_t>(side)].empty());
  hover_ = Place{side, ipuLanes(side).front(), {}};
  step(1);
}

void ComparePipelines::paintHead(QPainter& painter, int side, const QRectF& head) const {
  const Theme& theme = theme_of(this);
  const Timeline& timeline = timelines_[static_cast<std::size_t>(side)];
  painter.setPen(theme.grid);
  painter.drawLine(QPointF(12, head.top() + 0.5), QPointF(head.right(), head.top() + 0.5));
  const QFont strong = ui_font(11.5, QFont::DemiBold);
  const QString name = compared_->side(side);
  painter.setFont(strong);
  painter.setPen(theme.text);
  draw_text(painter, QRectF(12, head.top() + 2, head.right() - 130, head.height() - 2), name);
  const double after = 12 + text_width(strong, name) + 10;
  painter.setFont(ui_font(11));
  painter.setPen(theme.secondary);
  const QString label = QString::fromStdString(timeline.report->index().plan().label());
  if (label != name)
    draw_text(painter, QRectF(after, head.top() + 2, head.right() - 130 - after, head.height() - 2), label);
  draw_number(painter, QRectF(head.right() - 120, head.top() + 2, 120, head.height() - 2),
              timeline.empty() ? tr("no program")
                               : time_text(timeline, timeline.cycles, false, timeline.cycles) + ' ' + time_unit(false));
}

void ComparePipelines::paintLane(QPainter& painter, int side, int lane_number, const QRectF& row,
                                 const TimeAxis& axis) const {
  const Timeline& timeline = timelines_[static_cast<std::size_t>(side)];
  const Lane& lane = timeline.lanes[static_cast<std::size_t>(lane_number)];
  const auto least = static_cast<std::int64_t>(axis.per_pixel() * kLeastPipelinesBox);
  const std::int64_t from = axis.time_at(axis.left), to = std::min(timeline.cycles, axis.time_at(axis.right) + 1);
  painter.setFont(ui_font(10));
  const auto fill_of = [&](Work work) {
    return hidden_.contains(static_cast<int>(work)) ? Fill{QColor(Qt::transparent)} : plain_fill(work);
  };
  lane.visit(from, to, least, Lane::Depth::boxes, [&](Slice s) {
    s.from = std::max(s.from, from), s.to = std::min(s.to, to);
    if (s.to <= s.from) return;
    if (s.node < 0) return paint_joined(painter, timeline, lane, axis, row, s.from, s.to, fill_of);
    if (s.work == Work::idle) return;
    const double left = axis.x_of(s.from), right = axis.x_of(s.to);
    const QRectF box(left, row.top(), right - left, row.height());
    if (hidden_.contains(static_cast<int>(s.work))) return;
    paint_box(painter, lane, s, box, fill_of);
    const Fill fill = fill_of(s.work);
    if (s.micro_batch < 0 || waits(s.work) || row.height() < 12) return;
    const QString number = QString::number(s.micro_batch);
    if (number_width(painter.font(), number) + 4 > box.width()) return;
    painter.setPen(fill.color.lightnessF() < 0.62 && fill.hatch == Hatch::none ? QColor(Qt::white)
                                                                               : QColor(0x1B, 0x21, 0x27));
    draw_number(painter, box, number, Qt::AlignHCenter | Qt::AlignVCenter);
  });
}

void ComparePipelines::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  if (isEmpty()) {
    draw_empty(painter, theme, rect(), tr("No report here has a program. Reports of plans have them."));
    return;
  }
  const SharedRows rows = rowsNow();
  const SharedTime time = timeNow();
  for (int side = 0; side < std::ssize(timelines_); ++side) {
    const Timeline& timeline = timelines_[static_cast<std::size_t>(side)];
    paintHead(painter, side, rows.heads[static_cast<std::size_t>(side)]);
    const TimeAxis axis = time.axis_of(timeline.clock_hz);
    const auto lanes = ipuLanes(side);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const QRectF row = rows.lanes[static_cast<std::size_t>(side)][i];
      const int ipu = timeline.lanes[static_cast<std::size_t>(lanes[i])].ipu_class;
      painter.setFont(ui_font(10));
      painter.setPen(theme.secondary);
      painter.fillRect(QRectF(12, row.top(), 3, row.height()), ipu_color(theme, ipu));
      draw_text(painter, QRectF(20, row.center().y() - 7, kPipelinesLeft - 26, 14),
                QString::fromStdString(timeline.report->index().ipu_classes(ipu).name()));
      painter.save();
      painter.setClipRect(QRectF(kPipelinesLeft, row.top(), axis.right - kPipelinesLeft, row.height()));
      painter.fillRect(row, theme.track);
      paintLane(painter, side, lanes[i], row, axis);
      painter.restore();
      if (hover_ && hover_->side == side && hover_->lane == lanes[i]) {
        const double left = std::max(axis.left, axis.x_of(hover_->slice.from));
        draw_selection(painter,
                       QRectF(left, row.top(), std::min(axis.right, axis.x_of(hover_->slice.to)) - left, row.height()));
      }
    }
  }
  const auto longest = std::find_if(timelines_.begin(), timelines_.end(), [](const Timeline& t) { return !t.empty(); });
  paint_time_axis(painter, *longest, time.axis_of(longest->clock_hz), rows.axis, false, theme);
  if (hover_) {
    const TimeAxis axis = time.axis_of(timelines_[static_cast<std::size_t>(hover_->side)].clock_hz);
    const auto lanes = ipuLanes(hover_->side);
    const auto at = std::find(lanes.begin(), lanes.end(), hover_->lane) - lanes.begin();
    const QRectF& row = rows.lanes[static_cast<std::size_t>(hover_->side)][static_cast<std::size_t>(at)];
    const double left = std::clamp(axis.x_of(hover_->slice.from), axis.left, axis.right);
    const double right = std::clamp(axis.x_of(hover_->slice.to), left, axis.right);
    draw_tip(painter, visiblePart().adjusted(4, 0, -4, -2), QRectF(left, row.top(), right - left, row.height()),
             tipText(*hover_).split('\n'), theme);
  }
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

std::vector<LegendEntry> ComparePipelines::legend() const {
  WorkCycles all;
  for (int side = 0; side < std::ssize(timelines_); ++side) {
    const Timeline& timeline = timelines_[static_cast<std::size_t>(side)];
    for (const int lane : ipuLanes(side))
      all += timeline.lanes[static_cast<std::size_t>(lane)].sums(0, timeline.cycles);
  }
  std::vector<LegendEntry> out;
  for (int i = 0; i < kWorks; ++i) {
    const Work work = static_cast<Work>(i);
    if (all[work] == 0 || work == Work::idle) continue;
    const QString name = QString::fromLatin1(name_of(work).data());
    out.push_back({plain_fill(work), waits(work) ? tr("waiting: %1").arg(name) : name, i});
  }
  return out;
}

TableContents ComparePipelines::table() const {
  struct Row {
    QString side, ipu;
    double ms_per_cycle;
    std::int64_t step;
    WorkCycles sums;
  };
  auto rows = std::make_shared<std::vector<Row>>();
  for (int side = 0; side < std::ssize(timelines_); ++side) {
    const Timeline& timeline = timelines_[static_cast<std::size_t>(side)];
    for (const int lane : ipuLanes(side)) {
      const Lane& of = timeline.lanes[static_cast<std::size_t>(lane)];
      rows->push_back({compared_->side(side),
                       QString::fromStdString(timeline.report->index().ipu_classes(of.ipu_class).name()),
                       timeline.seconds(1) * 1e3, timeline.cycles, of.sums(0, timeline.cycles)});
    }
  }
  const auto at = [rows](int row) -> const Row& { return (*rows)[static_cast<std::size_t>(row)]; };
  const auto ms = [at](const ColumnTitle& title, auto cycles) {
    const auto value = [=](int row) { return static_cast<double>(cycles(at(row))) * at(row).ms_per_cycle; };
    return TableColumn{title + ", ms", true, [=](int row) { return fixed_decimals(value(row), 2); }, value};
  };
  const auto count = [at](const ColumnTitle& title, auto cycles) {
    return TableColumn{title + ", cycles", true, [=](int row) { return grouped(cycles(at(row))); },
                       [=](int row) { return QVariant::fromValue(static_cast<qlonglong>(cycles(at(row)))); }};
  };
  const auto works = [](const Row& r) { return r.sums.total() - r.sums.waiting() - r.sums[Work::idle]; };
  const auto waits_for = [](const Row& r) { return r.sums.waiting(); };
  const auto step = [](const Row& r) { return r.step; };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {{{"Report", means::kReport}, false, [=](int row) { return at(row).side; }},
                 {{"IPU", means::kIpu}, false, [=](int row) { return at(row).ipu; }},
                 ms({"Works", means::kWorksMs}, works),
                 ms({"Waits", means::kWaitsMs}, waits_for),
                 ms({"Step", means::kStepMs}, step),
                 count({"Works", means::kWorksCycles}, works),
                 count({"Waits", means::kWaitsCycles}, waits_for),
                 count({"Step", means::kTakesCycles}, step)};
  return out;
}

}  // namespace superstep::gui
