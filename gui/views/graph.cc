// SPDX-License-Identifier: Apache-2.0
#include "gui/views/graph.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QScrollArea>
#include <QShortcut>
#include <QStackedWidget>
#include <QToolButton>
#include <algorithm>

#include "gui/base/theme.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/graph_chart.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/phase_slider.h"
#include "gui/widgets/player.h"
#include "model/error.h"

namespace superstep::gui {

GraphView::GraphView(Session& session, QWidget* parent) : View(parent), session_(session) {
  auto* left = new QVBoxLayout;
  left->setSpacing(12);
  left->addWidget(makeGraph(), 64);
  left->addWidget(makeTime(), 36);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  layout->addLayout(left, 72);
  layout->addWidget(makeDock(), 28);
  for (const auto& [key, by] : {std::pair{Qt::Key_BracketLeft, -1}, {Qt::Key_BracketRight, 1}}) {
    auto* shortcut = new QShortcut(QKeySequence(key), this);
    connect(shortcut, &QShortcut::activated, this, [this, by = by] { step(by); });
  }
  auto* space = new QShortcut(QKeySequence(Qt::Key_Space), this);
  connect(space, &QShortcut::activated, this, [this] { player_->setPlaying(!player_->isPlaying()); });
  connect(&session_, &Session::reportChanged, this, &GraphView::rebuild);
  connect(&session_, &Session::selectionChanged, this, &GraphView::showSelection);
  rebuild();
}

QWidget* GraphView::makeGraph() {
  chart_ = new GraphChart;
  legend_ = new Legend;
  scroll_ = new QScrollArea;
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setWidget(chart_);
  scroll_->viewport()->setAutoFillBackground(false);
  chart_->setAutoFillBackground(false);
  scroll_->viewport()->installEventFilter(this);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 4, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(scroll_, 1);
  layout->addWidget(legend_);
  graphPanel_ = new Panel(tr("Model graph"));
  graphPanel_->setContent(page);
  auto* twin = new DataTable(&units_);
  twin->setWideColumn(0, 150);
  graphPanel_->setTable(twin);
  connect(chart_, &GraphChart::unitClicked, this, &GraphView::goToUnit);
  return graphPanel_;
}

QWidget* GraphView::makeTime() {
  slider_ = new PhaseSlider;
  player_ = new Player;
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 8, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(player_);
  layout->addWidget(slider_, 1);
  timePanel_ = new Panel(tr("Phases over time"));
  timePanel_->setContent(page);
  auto* twin = new DataTable(&phases_);
  twin->setWideColumn(1, 150);
  timePanel_->setTable(twin);
  connect(slider_, &PhaseSlider::cursorMoved, this, &GraphView::moveTo);
  connect(slider_, &PhaseSlider::phaseStepped, this, &GraphView::step);
  connect(player_, &Player::stepped, this, &GraphView::step);
  connect(player_, &Player::elapsed, this, [this](double seconds) { moveTo(player_->advanced(cursor_, seconds)); });
  return timePanel_;
}

QWidget* GraphView::makeDock() {
  auto* facts_table = new DataTable(&facts_);
  facts_table->setWideColumn(1, 120);
  facts_table->horizontalHeader()->hide();
  facts_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  facts_table->setEmptyText(tr("Nothing runs."));
  factsPanel_ = new Panel(tr("Phase"));
  factsPanel_->setContent(facts_table);
  worksTable_ = new DataTable(&works_);
  worksTable_->setObjectName("phaseOperations");
  worksTable_->setAccessibleName(tr("Operations of the phase, in order"));
  worksTable_->setWideColumn(0, 130);
  worksTable_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  worksTable_->setEmptyText(tr("Nothing runs."));
  connect(worksTable_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) {
            if (current.isValid() && !following_) selectWork(current.row());
            showOps();
          });
  opsTable_ = new DataTable(&ops_);
  opsTable_->setObjectName("callOps");
  opsTable_->setAccessibleName(tr("Ops of the call, in order"));
  opsTable_->setWideColumn(0, 110);
  opsTable_->setEmptyText(tr("No call runs here, or the report does not list its supersteps."));
  levels_ = new QStackedWidget;
  levels_->addWidget(worksTable_);
  levels_->addWidget(opsTable_);
  auto* open = new QToolButton;
  open->setText(tr("Ops"));
  open->setFont(ui_font(11));
  open->setStyleSheet("QToolButton { min-height: 16px; padding: 0 7px; }");
  open->setObjectName("openCall");
  open->setAccessibleName(tr("Show the ops inside the call"));
  open->setToolTip(tr("The ops inside the call that is chosen or runs; so does a double click on it"));
  open->setCheckable(true);
  open->setFocusPolicy(Qt::StrongFocus);
  connect(open, &QToolButton::toggled, this, [this](bool on) {
    levels_->setCurrentIndex(on ? 1 : 0);
    showOps();
  });
  connect(worksTable_, &QAbstractItemView::activated, open, [open] { open->setChecked(true); });
  auto* key = new QShortcut(QKeySequence(Qt::Key_O), this);  // Space plays
  connect(key, &QShortcut::activated, open, &QToolButton::toggle);
  worksPanel_ = new Panel(tr("Operations"));
  worksPanel_->setContent(levels_);
  worksPanel_->setCorner(open);
  auto* dock = new QWidget;
  auto* layout = new QVBoxLayout(dock);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(factsPanel_, 46);
  layout->addWidget(worksPanel_, 54);
  dock->setMinimumWidth(330);
  return dock;
}

bool GraphView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) chart_->setRoom(scroll_->viewport()->height());
  return View::eventFilter(watched, event);
}

void GraphView::hideEvent(QHideEvent* event) {
  player_->setPlaying(false);
  View::hideEvent(event);
}

void GraphView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  shown_.report = report;
  shown_.graph = session_.graph();
  shown_.phases = std::make_shared<const Phases>(graph_phases(report->index().program(), *shown_.graph));
  shown_.rates.clear();
  try {
    shown_.rates = phase_rates(*report, *shown_.phases, *session_.steps(), *session_.heat());
  } catch (const Error& error) {
    emit session_.failed(QString::fromUtf8(error.what()));
  }
  edges_.setContents(graph_edges_table(shown_));
  phases_.setContents(graph_phases_table(shown_));
  chart_->setGraph(shown_);
  slider_->setPhases(shown_);
  player_->setLength(shown_.phases->total(), report->index().clock_hz());
  legend_->setEntries(chart_->legend());
  const bool calls = shown_.phases->calls;
  const auto entries = static_cast<std::int64_t>(shown_.phases->list.size());
  timePanel_->setTitle(calls ? tr("Calls over time") : tr("Phases over time"));
  timePanel_->setSubtitle(entries == 0 ? QString()
                          : calls      ? tr("one micro-batch through %1 calls, then the update").arg(grouped(entries))
                                       : tr("%1 of an optimizer step").arg(grouped(entries)));
  shownPhase_ = -2;
  cursor_ = 0;
  const int selected = selectedPhase();
  const int at = selected >= 0 ? selected : longestPhase();
  moveTo(at < 0 ? 0 : shown_.phases->list[static_cast<std::size_t>(at)].begin);
  emit statusChanged();
}

// What is shown at first: a picture of what takes the time.
int GraphView::longestPhase() const {
  const auto& list = shown_.phases->list;
  int longest = -1;
  for (int i = 0; i < static_cast<int>(list.size()); ++i) {
    const GraphPhase& phase = list[static_cast<std::size_t>(i)];
    if (shown_.phases->calls && phase.pass == "update") continue;
    if (longest < 0 || phase.row.cycles > list[static_cast<std::size_t>(longest)].row.cycles) longest = i;
  }
  return longest;
}

void GraphView::moveTo(std::int64_t cycle) {
  cursor_ = cycle;
  slider_->setCursor(cycle);
  moment_ = std::make_shared<const GraphMoment>(moment_at(*shown_.graph, *shown_.phases, cycle));
  chart_->setMoment(moment_);
  facts_.setContents(graph_facts_table(shown_, *moment_, cursor_));
  units_.setContents(graph_units_table(shown_, moment_));
  showPhase();
  following_ = true;
  if (!moment_->running.empty()) {
    const QModelIndex row = works_.index(moment_->running.front(), 0);
    worksTable_->setCurrentIndex(row);
    worksTable_->scrollTo(row);
  } else {
    worksTable_->clearSelection();
  }
  following_ = false;
  showOps();
  timePanel_->setNote(moment_->phase < 0 ? QString() : tr("at %1 ms").arg(fixed_decimals(shown_.ms(cursor_), 2)));
}

void GraphView::showPhase() {
  if (moment_->phase == shownPhase_) return;
  shownPhase_ = moment_->phase;
  following_ = true;
  works_.setContents(graph_works_table(shown_, shownPhase_));
  for (const int column : {2, 4}) worksTable_->setColumnHidden(column, true);  // names need the room; CSV has all
  worksTable_->fitColumns();
  following_ = false;
  if (shownPhase_ < 0) {
    for (Panel* panel : {graphPanel_, factsPanel_, worksPanel_}) panel->setSubtitle({});
    factsPanel_->setTitle(tr("Phase"));
    return;
  }
  const GraphPhase& phase = shown_.phases->list[static_cast<std::size_t>(shownPhase_)];
  const QString name = QString::fromStdString(phase.row.name);
  graphPanel_->setSubtitle(shown_.phases->calls ? tr("%1, on stage %2").arg(name).arg(phase.number) : name);
  factsPanel_->setTitle(shown_.phases->calls ? tr("Call") : tr("Phase"));
  factsPanel_->setSubtitle(shown_.phases->calls ? name : QString::fromStdString(phase.row.contents));
  if (!shown_.phases->calls) factsPanel_->setTitle(name.left(1).toUpper() + name.mid(1));
}

void GraphView::showOps() {
  if (!shown_.phases) return;
  // While another report or phase takes the place of this one, rows may be those of before.
  const auto& list = shown_.phases->list;
  const int row = worksTable_->currentIndex().row();
  const bool current = moment_->phase >= 0 && moment_->phase == shownPhase_ && shownPhase_ < std::ssize(list);
  const auto* works = current ? &list[static_cast<std::size_t>(shownPhase_)].works : nullptr;
  const PhaseWork* work =
      works && row >= 0 && row < std::ssize(*works) ? &(*works)[static_cast<std::size_t>(row)] : nullptr;
  ops_.setContents(work ? graph_ops_table(shown_, *session_.steps(), work->function) : TableContents{});
  if (ops_.columnCount() > 1) opsTable_->setColumnHidden(1, true);  // names need the room; CSV has all
  opsTable_->fitColumns();
  if (moment_->phase < 0) return;
  const bool ops = levels_->currentIndex() == 1;
  worksPanel_->setSubtitle(!ops   ? tr("%1 in order").arg(grouped(works_.rowCount()))
                           : work ? tr("%1 of %2").arg(grouped(ops_.rowCount())).arg(QString::fromStdString(work->name))
                                  : QString());
}

void GraphView::step(int by) {
  const int phases = static_cast<int>(shown_.phases ? shown_.phases->list.size() : 0);
  if (phases > 0) goToPhase(std::clamp(std::max(0, moment_->phase) + by, 0, phases - 1));
}

void GraphView::goToPhase(int phase) {
  const GraphPhase& to = shown_.phases->list[static_cast<std::size_t>(phase)];
  moveTo(to.begin);
  Selection selection = session_.selection();
  selection.op = QString::fromStdString(to.row.name);
  if (shown_.phases->calls) return selectWork(0);
  session_.select(selection);
}

void GraphView::goToUnit(int unit) {
  const int phase = next_phase_of(*shown_.phases, unit, moment_->phase);
  if (phase < 0) return;
  const GraphPhase& to = shown_.phases->list[static_cast<std::size_t>(phase)];
  const auto work = std::find_if(to.works.begin(), to.works.end(), [&](const PhaseWork& w) { return w.unit == unit; });
  moveTo(to.begin + work->loop_begin + work->offset);  // when it begins
  selectWork(static_cast<int>(work - to.works.begin()));
}

// Every view shows the call: its row of the heat map and its name.
void GraphView::selectWork(int work) {
  if (moment_->phase < 0) return;
  const GraphPhase& phase = shown_.phases->list[static_cast<std::size_t>(moment_->phase)];
  const PhaseWork& chosen = phase.works[static_cast<std::size_t>(work)];
  Selection selection = session_.selection();
  selection.op = QString::fromStdString(chosen.name);
  selection.phase = -1;
  if (chosen.ipu_class >= 0) selection.ipu_class = chosen.ipu_class;
  const auto heat = session_.heat();
  for (std::size_t i = 0; i < heat->phases.size() && chosen.unit >= 0; ++i) {
    if (heat->phases[i].name == chosen.name && heat->phases[i].ipu_class == chosen.ipu_class) {
      selection.phase = static_cast<int>(i);
    }
  }
  session_.select(selection);
}

int GraphView::selectedPhase() const {
  const std::string op = session_.selection().op.toStdString();
  if (op.empty() || !shown_.phases) return -1;
  const auto& list = shown_.phases->list;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].row.name == op) return static_cast<int>(i);
  }
  const auto runs = [&](const PhaseWork& work) { return work.unit >= 0 && work.name == op; };
  const auto holds = [&](const GraphPhase& phase) { return std::any_of(phase.works.begin(), phase.works.end(), runs); };
  const int now = moment_->phase;  // before another that runs it too
  if (now >= 0 && now < static_cast<int>(list.size()) && holds(list[static_cast<std::size_t>(now)])) return now;
  const auto at = std::find_if(list.begin(), list.end(), holds);
  return at == list.end() ? -1 : static_cast<int>(at - list.begin());
}

void GraphView::showSelection() {
  const int selected = selectedPhase();
  if (selected < 0 || selected == moment_->phase) return;
  moveTo(shown_.phases->list[static_cast<std::size_t>(selected)].begin);
}

QString GraphView::statusText() const {
  if (!shown_.phases || shown_.phases->list.empty()) return {};
  return shown_.phases->calls
             ? tr("All times are estimated · a plan without phases: the calls in the order of one micro-batch")
             : tr("All times are estimated · weights are loaded for each phase while the one before computes");
}

QString GraphView::unitsText() const { return tr("units MB, ms"); }

QModelIndex GraphView::valueAt(QWidget* chart, const QPointF& at) {
  constexpr int kWeights = 8, kTakes = 4;  // columns
  if (chart == chart_) return units_.index(chart_->unitUnder(at), kWeights);
  return chart == slider_ && shown_.phases ? phases_.index(shown_.phases->at(slider_->cycleAt(at.x())), kTakes)
                                           : QModelIndex();
}

}  // namespace superstep::gui
