// SPDX-License-Identifier: Apache-2.0
#include "gui/views/memory.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/streaming_memory.h"
#include "gui/views/summary.h"
#include "gui/widgets/column_menu.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/elided_combo.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/liveness_chart.h"
#include "gui/widgets/memory_columns.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/phase_lanes.h"
#include "gui/widgets/streaming_chart.h"
#include "model/error.h"
#include "traces/verdict.h"

namespace superstep::gui {

MemoryView::MemoryView(Session& session, QWidget* parent) : View(parent), session_(session) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  QWidget* upper = makeUpper();
  layout->addWidget(makeControls());
  layout->addWidget(upper, 57);
  layout->addWidget(makeBelow(), 43);
  connect(&session_, &Session::reportChanged, this, &MemoryView::rebuild);
  connect(&session_, &Session::unitsChanged, this, &MemoryView::rebuild);
  connect(&session_, &Session::selectionChanged, this, &MemoryView::showSelection);
  connect(&session_, &Session::filterChanged, this, [this] {
    filter_->setText(session_.filter());
    shownVariables_.setFilterFixedString(session_.filter());
  });
  rebuild();
}

QWidget* MemoryView::makeControls() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  auto* segment = new QHBoxLayout;
  segment->setSpacing(0);
  auto* group = segment_ = new QButtonGroup(row);
  for (const auto& [text, name] : {std::pair{tr("Liveness"), "showLiveness"},
                                   {tr("Total per IPU"), "showTotals"},
                                   {tr("Streaming"), "showStreaming"}}) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setObjectName(name);
    button->setAccessibleName(text);
    button->setCheckable(true);
    button->setFocusPolicy(Qt::StrongFocus);
    group->addButton(button, static_cast<int>(group->buttons().size()));
    segment->addWidget(button);
  }
  group->button(0)->setChecked(true);
  connect(group, &QButtonGroup::idClicked, pages_, &QStackedWidget::setCurrentIndex);
  ipus_ = new ElidedCombo;
  ipus_->setObjectName("memoryIpu");
  ipus_->setAccessibleName(tr("IPU whose memory is shown"));
  ipus_->setMinimumWidth(120);
  connect(ipus_, &QComboBox::activated, this, [this](int ipu_class) {
    Selection selection = session_.selection();
    selection.ipu_class = ipu_class;
    selection.phase = -1;  // a phase is one of an IPU
    session_.select(selection);
  });
  alwaysLive_ = new QCheckBox(tr("Always live"));
  alwaysLive_->setObjectName("alwaysLive");
  alwaysLive_->setAccessibleName(tr("Include what is always live"));
  alwaysLive_->setChecked(true);
  connect(alwaysLive_, &QCheckBox::toggled, this, [this](bool on) {
    chart_->setAlwaysLiveShown(on);
    rebuildLiveness();
  });
  tile_ = new QLineEdit;
  tile_->setObjectName("memoryTile");
  tile_->setAccessibleName(tr("Tile whose memory is shown; empty for the fullest"));
  tile_->setPlaceholderText(tr("fullest"));
  tile_->setToolTip(tr("The number of a tile; empty for the fullest"));
  tile_->setClearButtonEnabled(true);
  tile_->setFixedWidth(92);
  tile_->setStyleSheet("QLineEdit { min-height: 18px; }");
  connect(tile_, &QLineEdit::textChanged, this, [this](const QString& text) {
    bool number = false;
    const qlonglong tile = text.toLongLong(&number);
    const bool known = number && tile >= 0 && session_.report() && tile < session_.report()->index().tiles_per_ipu();
    if (!known && !text.isEmpty()) return;
    Selection selection = session_.selection();
    selection.tile = known ? tile : -1;
    if (!(selection == session_.selection())) session_.select(selection);
  });
  showMax_ = new QCheckBox(tr("Show max"));
  showMax_->setObjectName("showMax");
  showMax_->setAccessibleName(tr("Show the fullest tile as a line above the chosen one"));
  showMax_->setChecked(true);
  connect(showMax_, &QCheckBox::toggled, this, &MemoryView::rebuildLiveness);
  connect(group, &QButtonGroup::idClicked, this, [this](int page) {
    for (QWidget* control : std::initializer_list<QWidget*>{alwaysLive_, tile_, showMax_})
      control->setEnabled(page == 0);
  });
  layout->addLayout(segment);
  layout->addSpacing(6);
  layout->addWidget(new QLabel(tr("IPU")));
  layout->addWidget(ipus_);
  layout->addSpacing(6);
  layout->addWidget(new QLabel(tr("Tile")));
  layout->addWidget(tile_);
  layout->addSpacing(6);
  layout->addWidget(alwaysLive_);
  layout->addWidget(showMax_);
  layout->addStretch(1);
  return row;
}

namespace {

QWidget* with_legend(QWidget* chart, Legend* legend) {
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 8, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(chart, 1);
  layout->addWidget(legend);
  return page;
}

}  // namespace

QWidget* MemoryView::makeColumns() {
  columns_ = new MemoryColumns;
  legend_ = new Legend;
  columnsPanel_ = new Panel(tr("Memory of the fullest tile of each IPU, at its peak"));
  columnsPanel_->setContent(with_legend(columns_, legend_));
  columnsPanel_->setTable(new DataTable(&all_));
  connect(columns_, &MemoryColumns::clicked, this, [this](int ipu_class, const QString& category) {
    Selection selection = session_.selection();
    selection.ipu_class = ipu_class;
    selection.category = category;
    session_.select(selection);
  });
  return columnsPanel_;
}

QWidget* MemoryView::makeLiveness() {
  chart_ = new LivenessChart;
  chartLegend_ = new Legend;
  chartPanel_ = new Panel(tr("Live memory over program steps"));
  chartPanel_->setContent(with_legend(chart_, chartLegend_));
  auto* table = new DataTable(&steps_);
  table->setWideColumn(2, 160);
  chartPanel_->setTable(table);
  connect(chart_, &LivenessChart::cursorMoved, this, &MemoryView::showPoint);
  connect(chart_, &LivenessChart::cursorChosen, this, &MemoryView::choosePoint);
  return chartPanel_;
}

QWidget* MemoryView::makeStreaming() {
  lanes_ = new PhaseLanes;
  lanesPanel_ = new Panel(tr("Streaming Memory over the phases of a step"));
  streams_ = new StreamingChart;
  auto* page = new QWidget;
  auto* page_layout = new QVBoxLayout(page);
  page_layout->setContentsMargins(0, 0, 0, 4);
  page_layout->setSpacing(0);
  page_layout->addWidget(lanes_, 38);
  page_layout->addWidget(streams_, 62);
  lanesPanel_->setContent(page);
  auto* table = new DataTable(&stretches_);
  table->setWideColumn(0, 160);
  lanesPanel_->setTable(table);
  return lanesPanel_;
}

QWidget* MemoryView::makeUpper() {
  pages_ = new QStackedWidget;
  pages_->addWidget(makeLiveness());
  pages_->addWidget(makeColumns());
  pages_->addWidget(makeStreaming());
  peakPanel_ = new Panel(tr("At the peak"));
  peakPanel_->setContent(new DataTable(&peak_));
  peakPanel_->setMinimumWidth(350);
  auto* page = new QWidget;
  auto* layout = new QHBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(pages_, 62);
  layout->addWidget(peakPanel_, 38);
  return page;
}

QWidget* MemoryView::makeBelow() {
  auto* held = new DataTable(&held_);
  held->setWideColumn(6);
  held->setEmptyText(tr("Nothing lies in Streaming Memory for this IPU, or the report does not say what."));
  heldPanel_ = new Panel(tr("Held in Streaming Memory"));
  heldPanel_->setContent(held);
  below_ = new QStackedWidget;
  below_->addWidget(makeVariables());
  below_->addWidget(heldPanel_);
  connect(pages_, &QStackedWidget::currentChanged, below_, [this](int page) { below_->setCurrentIndex(page == 2); });
  return below_;
}

QWidget* MemoryView::makeVariables() {
  variablesTable_ = new DataTable(&shownVariables_);
  filter_ = filter_field("variableFilter", tr("Filter variables by name or category"), tr("Filter by name or category"),
                         this);
  filter_->setFixedWidth(240);
  connect(filter_, &QLineEdit::textEdited, &session_, &Session::setFilter);
  filter_->setStyleSheet("QLineEdit { min-height: 18px; }");
  variablesPanel_ = new Panel(tr("Variables"));
  variablesPanel_->setContent(variablesTable_);
  which_ = new QComboBox;
  which_->setObjectName("whichVariables");
  which_->setAccessibleName(tr("Which variables are listed"));
  which_->addItems({tr("Live at the step"), tr("Not always live, at the step"), tr("All steps")});
  connect(which_, &QComboBox::activated, this, &MemoryView::showLifetimes);
  auto* corner = new QWidget;
  auto* corner_layout = new QHBoxLayout(corner);
  corner_layout->setContentsMargins(0, 0, 0, 0);
  corner_layout->setSpacing(8);
  corner_layout->addWidget(which_);
  corner_layout->addWidget(filter_);
  variablesPanel_->setCorner(corner);
  connect(variablesTable_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &MemoryView::markSelected);
  return variablesPanel_;
}

int MemoryView::shownClass() const {
  const ReportPointer report = session_.report();
  const auto& classes = report->index().ipu_classes();
  const int selected = session_.selection().ipu_class;
  if (selected >= 0 && selected < classes.size()) return selected;
  const auto fullest = std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.tile_peak_bytes() < b.tile_peak_bytes();
  });
  return fullest == classes.end() ? -1 : static_cast<int>(fullest - classes.begin());
}

void MemoryView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const Units units = session_.units();
  all_.setContents(memory_table(report, -1, units));
  columns_->setReport(report, units);
  columnsPanel_->setSubtitle(tr("%1 per tile").arg(unit_name(units)));
  legend_->setEntries(memory_legend(report->index()));
  ipus_->clear();
  for (const auto& ipu : report->index().ipu_classes()) ipus_->addItem(QString::fromStdString(ipu.name()));
  ipus_->setEnabled(ipus_->count() > 0);
  builtClass_ = -2;
  showSelection();
  emit statusChanged();
}

void MemoryView::showSelection() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const int shown = shownClass();
  if (shown != builtClass_ || shownTile() != builtTile_) {
    builtClass_ = shown;
    builtTile_ = shownTile();
    ipus_->setCurrentIndex(shown);
    if (!tile_->hasFocus()) tile_->setText(builtTile_ < 0 ? QString() : QString::number(builtTile_));
    rebuildLiveness();
    rebuildVariables();
    rebuildStreaming();
  }
  columns_->setSelected(shown, session_.selection().category);
  const int point = selectedPoint();
  chart_->setCursor(point);
  showPoint(point);
}

void MemoryView::rebuildStreaming() {
  const ReportPointer report = session_.report();
  const PhaseRows phases = phases_of_report(report);
  phases_.setContents(streaming_table(report, phases));
  lanes_->setPhases(report, phases);
  auto memory = std::make_shared<const StreamingMemory>();
  try {
    memory = std::make_shared<const StreamingMemory>(load_streaming_memory(*report, builtClass_));
  } catch (const Error& error) {
    emit session_.failed(QString::fromUtf8(error.what()));
  }
  stretches_.setContents(memory->stretches.empty() ? streaming_table(report, phases) : streaming_memory_table(memory));
  held_.setContents(held_table(memory));
  lanes_->setVisible(!phases->empty() || memory->stretches.empty());
  streams_->setVisible(!memory->stretches.empty() || !phases->empty());
  streams_->setMemory(memory);
  const QString ipu =
      builtClass_ < 0 ? QString() : QString::fromStdString(report->index().ipu_classes(builtClass_).name());
  lanesPanel_->setSubtitle(ipu.isEmpty() ? QString() : tr("ms; below for %1").arg(ipu));
  heldPanel_->setSubtitle(ipu.isEmpty() ? QString()
                                        : tr("%1 · at most %2 bytes of %3")
                                              .arg(ipu, grouped(memory->most_held()),
                                                   grouped(report->index().ipu_classes(builtClass_).ddr_bytes())));
}

void MemoryView::rebuildLiveness() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const Units units = session_.units();
  const report::Index& index = report->index();
  const auto heat = session_.heat();
  const auto of_tile = [&](std::int64_t tile) {
    return std::make_shared<const Liveness>(
        liveness_of(index, *session_.steps(), *heat, builtClass_, session_.variables().get(), tile));
  };
  const auto fullest = of_tile(-1);
  liveness_ = builtTile_ < 0 ? fullest : of_tile(builtTile_);
  chart_->setData({report, liveness_, session_.steps(), session_.heat()}, units);
  std::vector<std::int64_t> maximum;
  for (const LivenessPoint& p : fullest->points) maximum.push_back(p.total());
  chart_->setMaximum(showMax_->isChecked() && builtTile_ >= 0 ? maximum : std::vector<std::int64_t>{});
  showMax_->setEnabled(builtTile_ >= 0);
  steps_.setContents(liveness_table(report, liveness_, session_.steps(), session_.heat(), units));
  rebuildLegend();
  const QString tile = builtTile_ < 0 ? tr("fullest tile") : tr("tile %1").arg(grouped(builtTile_));
  chartPanel_->setSubtitle(builtClass_ < 0
                               ? QString()
                               : tr("%1 of %2, %3, %4 steps")
                                     .arg(tile, QString::fromStdString(index.ipu_classes(builtClass_).name()),
                                          unit_name(units), grouped(liveness_->points.size())));
}

// What is drawn, in the order of the stack.
void MemoryView::rebuildLegend() {
  const ReportPointer report = session_.report();
  std::vector<LegendEntry> entries;
  const bool told = !liveness_->stands.empty(), split = !session_.steps()->temporary_bytes.empty();
  for (std::size_t c = 0; told && alwaysLive_->isChecked() && c < liveness_->categories.size(); ++c) {
    const std::string& name = liveness_->categories[c];
    if (name != "activations") entries.push_back({fill_of_memory(name), QString::fromStdString(name)});
  }
  if (!told && liveness_->tile >= 0) entries.push_back({total_fill(), tr("resident")});
  if (!told && liveness_->tile < 0 && builtClass_ >= 0 && alwaysLive_->isChecked()) {
    const MemoryStack stack = memory_stack(report->index().ipu_classes(builtClass_));
    for (const auto* category : stack.categories) {
      if (category->always_live() && category->bytes_per_tile() > 0)
        entries.push_back({fill_of_memory(category->name()), QString::fromStdString(category->name())});
    }
  }
  const bool phased = std::any_of(liveness_->points.begin(), liveness_->points.end(),
                                  [&](const auto& p) { return p.resident_bytes < liveness_->always_live; });
  if (phased && !told && liveness_->tile < 0 && alwaysLive_->isChecked())
    entries.push_back({total_fill(), tr("resident in a phase that holds less")});
  entries.push_back(
      {fill_of_memory("activations"), split ? tr("results and what is kept") : tr("kept by earlier calls")});
  entries.push_back({fill_of_memory("temporaries"), split ? tr("temporaries") : tr("live in the superstep")});
  chartLegend_->setEntries(liveness_->points.empty() ? std::vector<LegendEntry>{} : entries);
}

std::int64_t MemoryView::shownTile() const {
  const std::int64_t tile = session_.selection().tile;
  return tile >= 0 && tile < session_.report()->index().tiles_per_ipu() ? tile : -1;
}

int MemoryView::selectedPoint() const {
  const Selection& selection = session_.selection();
  const auto& points = liveness_->points;
  const std::string op = selection.op.toStdString();
  const auto of_phase = [&](const LivenessPoint& p) { return p.phase == selection.phase; };
  // Where the cursor is, if that is what is selected; else the first that is; else the first of the phase.
  const auto matches = [&](const LivenessPoint& p) {
    return of_phase(p) && p.step >= 0 && session_.steps()->name[static_cast<std::size_t>(p.step)] == op;
  };
  const auto at = static_cast<std::size_t>(chart_->cursor());
  if (chart_->cursor() >= 0 && at < points.size() && matches(points[at])) return chart_->cursor();
  auto found = std::find_if(points.begin(), points.end(), matches);
  if (found == points.end()) found = std::find_if(points.begin(), points.end(), of_phase);
  return found == points.end() ? -1 : static_cast<int>(found - points.begin());
}

void MemoryView::choosePoint(int point) {
  const LivenessPoint& p = liveness_->points[static_cast<std::size_t>(point)];
  Selection selection = session_.selection();
  selection.ipu_class = builtClass_;
  selection.phase = p.phase;
  if (p.step >= 0) selection.op = QString::fromStdString(session_.steps()->name[static_cast<std::size_t>(p.step)]);
  if (selection == session_.selection()) return showPoint(point);
  session_.select(selection);
}

void MemoryView::showPoint(int point) {
  const ReportPointer report = session_.report();
  if (builtClass_ < 0) {
    peak_.setContents({});
    peakPanel_->setSubtitle({});
    return;
  }
  const bool peak = builtTile_ < 0 && (point < 0 || point == liveness_->peak);
  if (point < 0) point = liveness_->peak;
  peak_.setContents(peak ? memory_table(report, builtClass_, session_.units())
                         : liveness_point_table(report, liveness_, point, session_.units()));
  peakPanel_->setTitle(peak ? tr("At the peak") : tr("At step %1").arg(grouped(point)));
  const auto& ipu = report->index().ipu_classes(builtClass_);
  peakPanel_->setSubtitle(QString::fromStdString(ipu.name() + ", " + ipu.contents()));
  if (which_->currentIndex() < 2) showLifetimes();
}

void MemoryView::rebuildVariables() {
  const ReportPointer report = session_.report();
  const report::Index& index = report->index();
  if (builtClass_ < 0) {
    variables_.setContents({});
    variablesPanel_->setSubtitle({});
    return;
  }
  const auto variables = session_.variables();
  auto lifetimes = std::make_shared<Lifetimes>();
  if (variables->have_lifetimes()) {
    const auto heat = session_.heat();
    const Liveness fullest = liveness_of(index, *session_.steps(), *heat, builtClass_);
    *lifetimes = lifetimes_of(index, fullest, *session_.steps(), *heat, *variables, *session_.results());
  }
  lifetimes_ = std::move(lifetimes);
  which_->setVisible(!lifetimes_->rows.empty());
  if (!lifetimes_->rows.empty()) return showLifetimes();
  const QString name = QString::fromStdString(index.ipu_classes(builtClass_).name());
  variables_.setContents(variables_table(report, variables, builtClass_, session_.units()));
  if (!variablesTable_->isSortingEnabled()) variablesTable_->setSortable(3, Qt::DescendingOrder);
  variablesTable_->setWideColumn(variables_.columnCount() - 1);
  variablesPanel_->setSubtitle(tr("%1 on %2, sorted by size").arg(grouped(variables_.rowCount()), name));
}

void MemoryView::showLifetimes() {
  if (lifetimes_->rows.empty()) return;
  const int point = chart_->cursor() >= 0 ? chart_->cursor() : liveness_->peak;
  const int which = which_->currentIndex();
  variables_.setContents(lifetimes_table(lifetimes_, which == 2 ? -1 : point, which == 1, point, session_.units()));
  if (!variablesTable_->isSortingEnabled()) variablesTable_->setSortable(2, Qt::DescendingOrder);
  variablesTable_->setWideColumn(variables_.columnCount() - 1);
  variablesPanel_->setTitle(which == 2   ? tr("Variables")
                            : which == 1 ? tr("Not always live at step %1").arg(grouped(point))
                            : chart_->cursor() < 0 || point == liveness_->peak
                                ? tr("Variables live at the peak")
                                : tr("Variables live at step %1").arg(grouped(point)));
  variablesPanel_->setSubtitle(
      tr("%1 of %2 · fullest tile of %3 · select rows to draw their lifetimes")
          .arg(grouped(variables_.rowCount()), grouped(lifetimes_->rows.size()),
               QString::fromStdString(session_.report()->index().ipu_classes(builtClass_).name())));
}

void MemoryView::markSelected() {
  std::vector<LivenessChart::Mark> marks;
  for (const QModelIndex& row : variablesTable_->selectionModel()->selectedRows()) {
    const int at = row.data(kSourceRole).toInt();
    if (at < 0 || at >= std::ssize(lifetimes_->rows)) continue;
    const Lifetime& of = lifetimes_->rows[static_cast<std::size_t>(at)];
    marks.push_back({of.first, of.last, of.category});
  }
  chart_->setMarks(std::move(marks));
}

QString MemoryView::statusText() const {
  const ReportPointer report = session_.report();
  if (!report || report->index().ipu_classes_size() == 0) return {};
  const auto& ipu = report->index().ipu_classes(std::max(0, shownClass()));
  return tr("All sizes are estimated · limit %1 per tile, of which %2 can hold code")
      .arg(tile_bytes_text(ipu.tile_limit_bytes(), session_.units()),
           tile_bytes_text(ipu.executable_limit_bytes(), session_.units()));
}

QString MemoryView::unitsText() const { return tr("units %1").arg(unit_name(session_.units())); }

QModelIndex MemoryView::valueAt(QWidget* chart, const QPointF& at) {
  constexpr int kTotal = 6, kMean = 6, kTakes = 2, kBytes = 2;  // columns
  if (chart == chart_) return steps_.index(chart_->layoutNow().point_at(at.x()), kTotal);
  if (chart == streams_) return stretches_.index(streams_->stretchAt(at.x()), kMean);
  if (chart == lanes_) return phases_.index(lanes_->layoutNow().phase_at(at.x()), kTakes);
  const int ipu = chart == columns_ ? columns_->layoutNow().column_at(at.x()) : -1;
  if (ipu < 0) return {};
  const QString category = columns_->categoryAt(at);
  const QString name = QString::fromStdString(session_.report()->index().ipu_classes(ipu).name());
  for (int row = all_.rowCount() - 1; row >= 0; --row) {  // the last of an IPU is its fullest tile
    const bool same = category.isEmpty() || all_.index(row, 1).data(kMemoryRole).toString() == category;
    if (same && all_.index(row, 0).data().toString() == name) return all_.index(row, kBytes);
  }
  return {};
}

QStringList MemoryView::pages() const { return {"liveness", "totals", "streaming"}; }
int MemoryView::page() const { return pages_->currentIndex(); }
void MemoryView::showPage(int page) { segment_->button(page)->click(); }

}  // namespace superstep::gui
