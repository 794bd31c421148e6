// SPDX-License-Identifier: Apache-2.0
#include "gui/views/trace.h"

#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>
#include <utility>

#include "gui/models/trace_tables.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/elided_combo.h"
#include "gui/widgets/lane_paint.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/pipeline_chart.h"
#include "gui/widgets/proportion_bars.h"
#include "gui/widgets/time_controls.h"
#include "gui/widgets/trace_chart.h"
#include "model/quantity_text.h"

namespace superstep::gui {
namespace {

constexpr int kMostStepRows = 4000;  // of the table of steps; shorter ones are joined

std::vector<LegendEntry> legend_of(const Timeline& trace) {
  WorkCycles all;
  for (const Lane& lane : trace.lanes) all += lane.sums(0, trace.cycles);
  std::vector<LegendEntry> out;
  for (int i = 0; i < kWorks; ++i) {
    const Work work = static_cast<Work>(i);
    if (all[work] == 0 || work == Work::idle) continue;
    const QString name = QString::fromLatin1(name_of(work).data());
    out.push_back({plain_fill(work), waits(work) ? TraceView::tr("waiting: %1").arg(name) : name, i});
  }
  return out;
}

}  // namespace

TraceView::TraceView(Session& session, QWidget* parent) : View(parent), session_(session) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(10);
  chart_ = new TraceChart(session);
  layout->addLayout(makeControls());
  auto* row = new QHBoxLayout;
  row->setSpacing(12);
  auto* charts = new QVBoxLayout;
  charts->setSpacing(12);
  charts->addWidget(makePipeline(), 2);
  charts->addWidget(makeTrace(), 3);
  row->addLayout(charts, 1);
  row->addWidget(makeSummary());
  layout->addLayout(row, 1);
  connect(&session_, &Session::reportChanged, this, &TraceView::rebuild);
  connect(&session_, &Session::traceRead, this, &TraceView::rebuild);
  connect(&session_, &Session::timeStateChanged, this, &TraceView::refreshState);
  connect(&session_, &Session::selectionChanged, this, &TraceView::showSelection);
  setFocusProxy(chart_);
  rebuild();
}

QLayout* TraceView::makeControls() {
  modes_ = new SegmentedButtons({tr("Flame"), tr("Flat"), tr("BSP")}, "traceMode");
  connect(modes_, &SegmentedButtons::chosen, this, [this](int mode) {
    TimeState state = session_.timeState();
    state.mode = mode;
    session_.setTimeState(state);
  });
  ipu_ = new ElidedCombo;
  ipu_->setObjectName("traceIpu");
  ipu_->setAccessibleName(tr("IPU"));
  ipu_->setMinimumWidth(84);
  connect(ipu_, &QComboBox::activated, this, [this](int i) {
    Selection selection = session_.selection();
    selection.ipu_class = i;
    session_.select(selection);
  });
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(modes_);
  row->addSpacing(8);
  row->addWidget(new TimeUnitButtons(session_));
  row->addSpacing(8);
  auto* caption = new QLabel(tr("IPU"));
  caption->setFont(ui_font(11.5));
  row->addWidget(caption);
  row->addWidget(ipu_);
  row->addSpacing(8);
  withPipeline_ = new QCheckBox(tr("Pipeline above"));
  withPipeline_->setObjectName("withPipeline");
  connect(withPipeline_, &QCheckBox::toggled, this, [this](bool on) {
    TimeState state = session_.timeState();
    state.with_pipeline = on;
    session_.setTimeState(state);
  });
  row->addWidget(withPipeline_);
  row->addSpacing(8);
  row->addWidget(make_show_everything(chart_));
  row->addStretch(1);
  row->addWidget(make_key_hint());
  return row;
}

QWidget* TraceView::makeTrace() {
  legend_ = new Legend;
  connect(legend_, &Legend::hiddenChanged, chart_, &TraceChart::hide);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  traceRoom_ = qobject_cast<QScrollArea*>(make_scrolling(chart_));
  traceRoom_->installEventFilter(this);
  layout->addWidget(traceRoom_, 1);
  layout->addWidget(legend_);
  panel_ = new Panel(tr("Execution trace"));
  panel_->setContent(page);
  auto* table = new DataTable(&steps_);
  table->setWideColumn(0);
  panel_->setTable(table);
  connect(panel_, &Panel::tableToggled, this, &TraceView::fillSteps);
  return panel_;
}

// On the time axis of the trace below it.
QWidget* TraceView::makePipeline() {
  pipeline_ = new PipelineChart(session_);
  pipeline_->followTrace();
  pipelinePanel_ = new Panel(tr("Pipeline"));
  pipelinePanel_->setSubtitle(tr("the same part of the step"));
  pipelineRoom_ = qobject_cast<QScrollArea*>(make_scrolling(pipeline_));
  pipelineRoom_->installEventFilter(this);
  pipelinePanel_->setContent(pipelineRoom_);
  pipelinePanel_->hide();
  return pipelinePanel_;
}

QWidget* TraceView::makeSummary() {
  bars_ = new ProportionBars;
  parts_ = new Legend;
  auto* table = new DataTable(&summary_);
  table->setObjectName("traceSummary");
  table->setEmptyText(tr("The report has no program."));
  table->setWideColumn(0, 158);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(bars_);
  layout->addWidget(parts_);
  layout->addWidget(table, 1);
  auto* panel = new Panel(tr("Cycle proportions"));
  panel->setSubtitle(tr("share of each IPU's step"));
  panel->setContent(page);
  panel->setFixedWidth(380);
  return panel;
}

void TraceView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const TimelinePointer trace = session_.trace();
  followed_ = -1;
  ipu_->clear();
  for (const auto& ipu : report->index().ipu_classes()) ipu_->addItem(QString::fromStdString(ipu.name()));
  summary_.setContents(proportions_table(trace, session_.heat()));
  bars_->setTrace(trace);
  legend_->setEntries(legend_of(*trace));
  std::vector<LegendEntry> parts;
  for (const Proportion& part : proportions()) {
    if (!trace->empty()) parts.push_back({plain_fill(part.work), QString(part.name)});
  }
  parts_->setEntries(std::move(parts));
  chart_->refresh();
  pipeline_->refresh();
  // At first one full cycle: the whole step shows no step.
  if (session_.timeState().trace.whole() && !trace->empty()) {
    TimeState state = session_.timeState();
    const auto [from, to] = trace->round_at(trace->typical_time());
    state.trace = {static_cast<double>(from), static_cast<double>(to)};
    session_.setTimeState(state);
  }
  refreshState();
  showSelection();
}

void TraceView::refreshState() {
  if (!session_.report()) return;
  const TimelinePointer trace = session_.trace();
  const TimeState& state = session_.timeState();
  modes_->setCurrent(state.mode);
  withPipeline_->setChecked(state.with_pipeline);
  pipelinePanel_->setVisible(state.with_pipeline);
  alignAxes();
  if (trace->empty()) {
    panel_->setSubtitle({});
    panel_->setNote({});
    steps_.setContents({});
    stepsAreOld_ = false;
    return;
  }
  const TimeWindow window = state.trace.resolved(static_cast<double>(trace->cycles));
  const auto from = static_cast<std::int64_t>(window.from), to = static_cast<std::int64_t>(window.to);
  const Lane& lane = trace->lanes[static_cast<std::size_t>(chart_->shownLane())];
  QString what = QString::fromStdString(session_.report()->index().ipu_classes(lane.ipu_class).name());
  if (const Section* s = trace->section_at(from + (to - from) / 2)) {
    what +=
        " · " + (s->cycle > 0 ? tr("cycle %1").arg(grouped(s->first + (from + (to - from) / 2 - s->from) / s->cycle))
                              : QString::fromStdString(s->name));
  }
  panel_->setSubtitle(what);
  panel_->setNote(tr("%1 to %2 %3 · %4 %3")
                      .arg(time_text(*trace, from, state.cycles, to - from),
                           time_text(*trace, to, state.cycles, to - from), time_unit(state.cycles),
                           time_text(*trace, to - from, state.cycles, to - from)));
  stepsAreOld_ = true;
  if (panel_->showsTable()) fillSteps();
  emit statusChanged();
}

// Both have a scroll bar or none has, so that times stand below one another.
void TraceView::alignAxes() {
  bool scrolls = false;
  for (const QScrollArea* room : {pipelineRoom_, traceRoom_})
    scrolls = scrolls || (!room->isHidden() && room->widget()->minimumHeight() > room->height());
  for (QScrollArea* room : {pipelineRoom_, traceRoom_})
    room->setVerticalScrollBarPolicy(scrolls ? Qt::ScrollBarAlwaysOn : Qt::ScrollBarAlwaysOff);
}

bool TraceView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize || event->type() == QEvent::Show) alignAxes();
  return View::eventFilter(watched, event);
}

void TraceView::fillSteps() const {
  if (!std::exchange(stepsAreOld_, false)) return;
  const TimelinePointer trace = session_.trace();
  const TimeWindow window = session_.timeState().trace.resolved(static_cast<double>(trace->cycles));
  steps_.setContents(trace_table(trace, chart_->shownLane(), static_cast<std::int64_t>(window.from),
                                 static_cast<std::int64_t>(window.to), kMostStepRows));
}

void TraceView::showSelection() {
  if (!session_.report() || session_.trace()->empty()) return;
  const Selection& selection = session_.selection();
  ipu_->setCurrentIndex(session_.trace()->lanes[static_cast<std::size_t>(chart_->shownLane())].ipu_class);
  const TimeWindow window = session_.timeState().trace;
  const auto time = static_cast<double>(selection.time);
  const bool seen = window.whole() || (time >= window.from && time < window.to);
  if (selection.time >= 0 && selection.time != followed_ && !seen) chart_->showAt(selection.time);
  followed_ = selection.time;
  refreshState();
}

QString TraceView::statusText() const {
  const ReportPointer report = session_.report();
  if (!report) return {};
  const TimelinePointer trace = session_.trace();
  if (trace->empty()) return tr("No program");
  QString text = tr("All times are estimated");
  if (trace->clock_hz > 0) text += " · " + tr("clock %1").arg(for_viewer(to_text(Hertz(trace->clock_hz))));
  return text + " · " + tr("one step = %1").arg(both_texts(*trace, trace->cycles));
}

QString TraceView::unitsText() const { return tr("units %1").arg(time_unit(session_.timeState().cycles)); }

QModelIndex TraceView::valueAt(QWidget* chart, const QPointF& at) {
  const auto hit = chart == chart_ ? chart_->sliceAt(at) : std::nullopt;
  if (!hit) return {};
  const int lane = chart_->rowsNow()[static_cast<std::size_t>(hit->row)].lane;
  Selection selection = session_.selection();
  selection.ipu_class = session_.trace()->lanes[static_cast<std::size_t>(lane)].ipu_class;
  if (lane != chart_->shownLane()) session_.select(selection);  // its steps fill the table
  fillSteps();
  constexpr int kFrom = 3, kUs = 4, kCycles = 5;  // columns
  // Of a box that has several steps, the one that is pointed at.
  const double at_ms = session_.trace()->seconds(chart_->axisNow().time_at(at.x())) * 1e3;
  for (int row = 0; row < steps_.rowCount(); ++row) {
    const double from = steps_.index(row, kFrom).data(kExactRole).toDouble();
    const double to = from + steps_.index(row, kUs).data(kExactRole).toDouble() / 1e3;
    if (from <= at_ms && at_ms < to) return steps_.index(row, kCycles);
  }
  return {};
}

QStringList TraceView::pages() const { return {"flame", "flat", "bsp"}; }
int TraceView::page() const { return session_.timeState().mode; }
void TraceView::showPage(int page) {
  TimeState state = session_.timeState();
  state.mode = page;
  session_.setTimeState(state);
}

}  // namespace superstep::gui
