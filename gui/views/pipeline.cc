// SPDX-License-Identifier: Apache-2.0
#include "gui/views/pipeline.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/models/meanings.h"
#include "gui/models/micro_batch_path.h"
#include "gui/models/pipeline_tables.h"
#include "gui/paint/pipeline_layout.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/lost_time_bar.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/pipeline_chart.h"
#include "gui/widgets/time_controls.h"
#include "model/quantity_text.h"

namespace superstep::gui {
namespace {

std::vector<LegendEntry> legend_of(const TableModel& work) {
  std::vector<LegendEntry> out;
  for (int row = 0; row < work.rowCount(); ++row) {
    const int source = work.index(row, 0).data(kSourceRole).toInt();
    if (source < 0 || source == static_cast<int>(Work::idle)) continue;
    const Work its = static_cast<Work>(source);
    const QString name = QString::fromLatin1(name_of(its).data());
    out.push_back({fill_of_kind(std::string(kind_text(its))),
                   waits(its) ? PipelineView::tr("waiting: %1").arg(name) : name, source});
  }
  return out;
}

// Of the round that `time` is in.
TableContents critical_table(const TimelinePointer& timeline, std::int64_t time) {
  const auto [from, to] = timeline->round_at(time);
  auto rows = std::make_shared<std::vector<CriticalRun>>();
  if (ipu_lanes(*timeline) > 1 && to > from) *rows = critical_path(*timeline, from, to, 1);
  std::erase_if(*rows, [](const CriticalRun& run) { return run.lane < 0; });
  const auto at = [rows](int row) -> const CriticalRun& { return (*rows)[static_cast<std::size_t>(row)]; };
  const auto ms = [timeline](const ColumnTitle& title, std::function<std::int64_t(int)> cycles) {
    return TableColumn{title, true, [=](int row) { return fixed_decimals(timeline->seconds(cycles(row)) * 1e3, 3); },
                       [=](int row) { return timeline->seconds(cycles(row)) * 1e3; }};
  };
  const auto count = [](const ColumnTitle& title, std::function<std::int64_t(int)> value) {
    return TableColumn{title, true, [=](int row) { return grouped(value(row)); },
                       [=](int row) { return QVariant::fromValue<qint64>(value(row)); }};
  };
  const auto begin = [at](int row) { return at(row).from; };
  const auto takes = [at](int row) { return at(row).to - at(row).from; };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {
      {{"IPU", means::kCriticalLane},
       false,
       [=](int row) { return lane_name(*timeline, timeline->lanes[static_cast<std::size_t>(at(row).lane)]); }},
      ms({"From, ms", means::kFromMs}, begin),
      ms({"ms", means::kTakesMs}, takes),
      count({"From, cycles", means::kFromCycles}, begin),
      count({"Cycles", means::kTakesCycles}, takes)};
  return out;
}

}  // namespace

PipelineView::PipelineView(Session& session, QWidget* parent) : View(parent), session_(session) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(10);
  chart_ = new PipelineChart(session);
  layout->addLayout(makeControls());
  layout->addWidget(makePipeline(), 68);
  layout->addWidget(makeTables(), 32);
  connect(&session_, &Session::reportChanged, this, &PipelineView::rebuild);
  connect(&session_, &Session::timeStateChanged, this, &PipelineView::refreshState);
  connect(&session_, &Session::selectionChanged, this, &PipelineView::showSelection);
  connect(lost_, &LostTimeBar::chosen, chart_, &PipelineChart::highlight);
  setFocusProxy(chart_);
  rebuild();
}

QLayout* PipelineView::makeControls() {
  fold_ = new QCheckBox(tr("Fold equal cycles"));
  fold_->setObjectName("fold");
  connect(fold_, &QCheckBox::clicked, this, [this](bool on) {
    TimeState state = session_.timeState();
    state.fold = on;
    state.pipeline = {};
    session_.setTimeState(state);
  });
  const auto drawn = [this](const QString& text, const char* name, bool TimeState::*what) {
    auto* box = new QCheckBox(text);
    box->setObjectName(name);
    connect(box, &QCheckBox::clicked, this, [this, what](bool on) {
      TimeState state = session_.timeState();
      state.*what = on;
      session_.setTimeState(state);
    });
    return box;
  };
  showCopies_ = drawn(tr("Copies"), "copies", &TimeState::copies);
  showCopies_->setToolTip(
      tr("Arrows from the IPU that sends to the one that receives; those of all micro-batches when "
         "zoomed in"));
  showCritical_ = drawn(tr("Critical path"), "critical", &TimeState::critical);
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(new TimeUnitButtons(session_));
  row->addSpacing(8);
  row->addWidget(fold_);
  row->addWidget(showCopies_);
  row->addWidget(showCritical_);
  row->addSpacing(8);
  row->addWidget(make_show_everything(chart_));
  row->addStretch(1);
  row->addWidget(make_key_hint());
  return row;
}

QWidget* PipelineView::makePipeline() {
  lost_ = new LostTimeBar;
  legend_ = new Legend;
  connect(legend_, &Legend::hiddenChanged, chart_, &PipelineChart::hide);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(make_scrolling(chart_), 1);
  layout->addWidget(lost_);
  layout->addWidget(legend_);
  panel_ = new Panel(tr("Pipeline of one step"));
  panel_->setContent(page);
  panel_->setTable(new DataTable(&work_));
  return panel_;
}

QWidget* PipelineView::makeTables() {
  auto* parts = new Panel(tr("Parts of the step"));
  auto* parts_table = new DataTable(&parts_);
  parts_table->setEmptyText(tr("The report has no program."));
  parts->setContent(parts_table);
  boxesPanel_ = new Panel(tr("One cycle"));
  boxesPanel_->setContent(makeRound());
  boxesPanel_->setCorner(shown_);
  auto* page = new QWidget;
  auto* row = new QHBoxLayout(page);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(12);
  row->addWidget(parts, 1);
  row->addWidget(boxesPanel_, 1);
  return page;
}

QWidget* PipelineView::makeRound() {
  shown_ = new QComboBox;
  shown_->setObjectName("roundTable");
  shown_->setAccessibleName(tr("What is listed of the cycle"));
  auto* stack = new QStackedWidget;
  const auto add = [&](const QString& name, TableModel* model, const QString& empty) {
    auto* table = new DataTable(model);
    table->setAccessibleName(name);
    table->setEmptyText(empty);
    stack->addWidget(table);
    shown_->addItem(name);
  };
  add(tr("Boxes"), &boxes_, tr("The report has no program."));
  add(tr("Copies"), &copies_, tr("Nothing is copied between IPUs here."));
  add(tr("Micro-batch"), &path_, tr("Click a box: the way of its micro-batch stands here."));
  add(tr("Critical path"), &critical_, tr("The report has no program."));
  connect(shown_, &QComboBox::currentIndexChanged, stack, &QStackedWidget::setCurrentIndex);
  return stack;
}

void PipelineView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const TimelinePointer timeline = session_.timeline();
  work_.setContents(work_table(timeline));
  parts_.setContents(sections_table(timeline));
  chart_->refresh();
  lost_->setTimeline(timeline);
  auto entries = legend_of(work_);
  if (ipu_lanes(*timeline) > 1) entries.push_back({{theme_of(this).text}, tr("line: the IPU that others wait for")});
  legend_->setEntries(std::move(entries));
  refreshState();
  showSelection();
}

void PipelineView::refreshState() {
  if (!session_.report()) return;
  const TimelinePointer timeline = session_.timeline();
  const TimeState& state = session_.timeState();
  fold_->setChecked(state.fold);
  fold_->setEnabled(!folds_of(*timeline).empty());
  showCopies_->setChecked(state.copies);
  showCritical_->setChecked(state.critical);
  for (QCheckBox* box : {showCopies_, showCritical_}) box->setEnabled(ipu_lanes(*timeline) > 1);
  panel_->setTitle(timeline->phased ? tr("Phases of one step") : tr("Pipeline of one step"));
  panel_->setSubtitle(bubble_text(*timeline, state.cycles));
  panel_->setNote(timeline->empty() ? QString()
                                    : time_text(*timeline, timeline->cycles, state.cycles, timeline->cycles) + ' ' +
                                          time_unit(state.cycles));
  emit statusChanged();
}

void PipelineView::showSelection() {
  if (!session_.report()) return;
  const TimelinePointer timeline = session_.timeline();
  std::int64_t time = session_.selection().time;
  if (time < 0) time = timeline->typical_time();
  boxes_.setContents(boxes_table(timeline, time));
  copies_.setContents(copies_table(timeline, time));
  path_.setContents(path_table(timeline, session_.selection().micro_batch, time));
  critical_.setContents(critical_table(timeline, time));
  const Section* s = timeline->section_at(time);
  boxesPanel_->setTitle(s && s->cycle > 0 ? tr("Cycle %1").arg(grouped(s->first + (time - s->from) / s->cycle))
                                          : tr("One round"));
  boxesPanel_->setSubtitle(s ? QString::fromStdString(s->name) : QString());
  emit statusChanged();
}

QString PipelineView::statusText() const {
  const ReportPointer report = session_.report();
  if (!report) return {};
  const TimelinePointer timeline = session_.timeline();
  if (timeline->empty()) return tr("No program");
  QString text = tr("All times are estimated");
  if (timeline->clock_hz > 0) text += " · " + tr("clock %1").arg(for_viewer(to_text(Hertz(timeline->clock_hz))));
  const std::string& overflow = report->index().plan().first_overflow();
  if (!overflow.empty()) text += " · " + tr("does not fit: %1").arg(for_viewer(overflow));
  for (const Section& s : timeline->sections) {
    if (s.cycle == 0 || timeline->phased) continue;
    return text + " · " + tr("1 pipeline cycle = %1").arg(both_texts(*timeline, s.cycle));
  }
  return text;
}

QString PipelineView::unitsText() const { return tr("units %1").arg(time_unit(session_.timeState().cycles)); }

QModelIndex PipelineView::valueAt(QWidget* chart, const QPointF& at) {
  if (chart == lost_) {
    const int cause = lost_->causeAt(at);
    for (int row = 0; cause >= 0 && row < work_.rowCount(); ++row) {
      const Work work = lost_->causes()[static_cast<std::size_t>(cause)].work;
      if (work_.index(row, 0).data(kSourceRole).toInt() == static_cast<int>(work)) return work_.index(row, 1);
    }
    return {};
  }
  const auto hit = chart == chart_ ? chart_->sliceAt(at) : std::nullopt;
  const TimelinePointer timeline = session_.timeline();
  if (!hit) {  // a fold, or the head of a part
    const Section* part = chart == chart_ ? timeline->section_at(chart_->axisNow().time_at(at.x())) : nullptr;
    return part ? parts_.index(static_cast<int>(part - timeline->sections.data()), 2) : QModelIndex();
  }
  Selection selection = session_.selection();
  selection.ipu_class = timeline->lanes[static_cast<std::size_t>(hit->lane)].ipu_class;
  selection.micro_batch = hit->slice.micro_batch;
  selection.time = hit->slice.from;
  if (!(selection == session_.selection())) session_.select(selection);  // its round fills the table of boxes
  constexpr int kFrom = 3, kMs = 4;                                      // columns
  const QString lane = lane_name(*timeline, timeline->lanes[static_cast<std::size_t>(hit->lane)]);
  for (int row = 0; row < boxes_.rowCount(); ++row) {
    const bool same = boxes_.index(row, 0).data().toString() == lane &&
                      boxes_.index(row, kFrom).data(kExactRole).toDouble() == timeline->seconds(hit->slice.from) * 1e3;
    if (same) return boxes_.index(row, kMs);
  }
  return {};
}

}  // namespace superstep::gui
