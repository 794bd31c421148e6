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

#include "gui/views/summary.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/elided_combo.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/liveness_chart.h"
#include "gui/widgets/memory_columns.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/phase_lanes.h"
#include "traces/verdict.h"

namespace superstep::gui {

MemoryView::MemoryView(Session& session, QWidget* parent) : View(parent), session_(session) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  QWidget* upper = makeUpper();
  layout->addWidget(makeControls());
  layout->addWidget(upper, 57);
  layout->addWidget(makeVariables(), 43);
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
  auto* group = new QButtonGroup(row);
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
  connect(group, &QButtonGroup::idClicked, this, [this](int page) { alwaysLive_->setVisible(page == 0); });
  layout->addLayout(segment);
  layout->addSpacing(6);
  layout->addWidget(new QLabel(tr("IPU")));
  layout->addWidget(ipus_);
  layout->addSpacing(6);
  layout->addWidget(alwaysLive_);
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
  lanesPanel_->setContent(lanes_);
  auto* table = new DataTable(&phases_);
  table->setWideColumn(1, 160);
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

QWidget* MemoryView::makeVariables() {
  variablesTable_ = new DataTable(&shownVariables_);
  filter_ = new QLineEdit;
  filter_->setObjectName("variableFilter");
  filter_->setAccessibleName(tr("Filter variables by name or category"));
  filter_->setPlaceholderText(tr("Filter by name or category"));
  filter_->setClearButtonEnabled(true);
  filter_->setFixedWidth(240);
  connect(filter_, &QLineEdit::textEdited, &session_, &Session::setFilter);
  filter_->setStyleSheet("QLineEdit { min-height: 18px; }");
  variablesPanel_ = new Panel(tr("Variables"));
  variablesPanel_->setContent(variablesTable_);
  variablesPanel_->setCorner(filter_);
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
  const PhaseRows phases = phases_of_report(report);
  phases_.setContents(streaming_table(report, phases));
  lanes_->setPhases(report, phases);
  lanesPanel_->setSubtitle(phases->empty() ? QString() : tr("ms; how busy a phase is with it, collectives computing"));
  builtClass_ = -2;
  showSelection();
  emit statusChanged();
}

void MemoryView::showSelection() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const int shown = shownClass();
  if (shown != builtClass_) {
    builtClass_ = shown;
    ipus_->setCurrentIndex(shown);
    rebuildVariables();
    rebuildLiveness();
  }
  columns_->setSelected(shown, session_.selection().category);
  const int point = selectedPoint();
  chart_->setCursor(point);
  showPoint(point);
}

void MemoryView::rebuildLiveness() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const Units units = session_.units();
  liveness_ =
      std::make_shared<const Liveness>(liveness_of(report->index(), *session_.steps(), *session_.heat(), builtClass_));
  chart_->setData({report, liveness_, session_.steps(), session_.heat()}, units);
  steps_.setContents(liveness_table(report, liveness_, session_.steps(), session_.heat(), units));
  std::vector<LegendEntry> entries;
  if (builtClass_ >= 0 && alwaysLive_->isChecked()) {
    const MemoryStack stack = memory_stack(report->index().ipu_classes(builtClass_));
    for (const auto* category : stack.categories) {
      if (category->always_live() && category->bytes_per_tile() > 0)
        entries.push_back({fill_of_memory(category->name()), QString::fromStdString(category->name())});
    }
  }
  const bool phased = std::any_of(liveness_->points.begin(), liveness_->points.end(),
                                  [&](const auto& p) { return p.resident_bytes < liveness_->always_live; });
  if (phased && alwaysLive_->isChecked()) entries.push_back({total_fill(), tr("resident in a phase that holds less")});
  entries.push_back({fill_of_memory("activations"), tr("kept by earlier calls")});
  entries.push_back({fill_of_memory("temporaries"), tr("live in the superstep")});
  chartLegend_->setEntries(liveness_->points.empty() ? std::vector<LegendEntry>{} : entries);
  chartPanel_->setSubtitle(builtClass_ < 0
                               ? QString()
                               : tr("fullest tile of %1, %2, %3 steps")
                                     .arg(QString::fromStdString(report->index().ipu_classes(builtClass_).name()),
                                          unit_name(units), grouped(liveness_->points.size())));
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
  const bool peak = point < 0 || point == liveness_->peak;
  peak_.setContents(peak ? memory_table(report, builtClass_, session_.units())
                         : liveness_point_table(report, liveness_, point, session_.units()));
  peakPanel_->setTitle(peak ? tr("At the peak") : tr("At step %1").arg(grouped(point)));
  const auto& ipu = report->index().ipu_classes(builtClass_);
  peakPanel_->setSubtitle(QString::fromStdString(ipu.name() + ", " + ipu.contents()));
}

void MemoryView::rebuildVariables() {
  const ReportPointer report = session_.report();
  const report::Index& index = report->index();
  if (builtClass_ < 0) {
    variables_.setContents({});
    variablesPanel_->setSubtitle({});
    return;
  }
  const QString name = QString::fromStdString(index.ipu_classes(builtClass_).name());
  const auto variables = session_.variables();
  variables_.setContents(variables_table(report, variables, builtClass_, session_.units()));
  if (!variablesTable_->isSortingEnabled()) variablesTable_->setSortable(3, Qt::DescendingOrder);
  variablesTable_->setWideColumn(variables_.columnCount() - 1);
  variablesPanel_->setSubtitle(tr("%1 on %2, sorted by size").arg(grouped(variables_.rowCount()), name));
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

}  // namespace superstep::gui
