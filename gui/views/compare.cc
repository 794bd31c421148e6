// SPDX-License-Identifier: Apache-2.0
#include "gui/views/compare.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QStackedWidget>
#include <QToolButton>
#include <algorithm>

#include "gui/base/theme.h"
#include "gui/widgets/column_menu.h"
#include "gui/widgets/compare_chart.h"
#include "gui/widgets/compare_headline.h"
#include "gui/widgets/compare_pipelines.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/difference_map.h"
#include "gui/widgets/elided_combo.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/time_controls.h"

namespace superstep::gui {
namespace {

QToolButton* tool_button(const QString& text, const char* name, const QString& accessible) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setObjectName(name);
  button->setAccessibleName(accessible);
  button->setToolTip(accessible);
  button->setFocusPolicy(Qt::StrongFocus);
  return button;
}

void hide_columns(DataTable* table, const std::vector<int>& columns) {
  for (int c = 0; c < table->model()->columnCount(); ++c) {
    table->setColumnHidden(c, std::find(columns.begin(), columns.end(), c) != columns.end());
  }
  table->fitColumns();
}

}  // namespace

CompareView::CompareView(Session& session, QWidget* parent)
    : View(parent), session_(session), compared_(std::make_shared<ComparedReports>()) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  headline_ = new CompareHeadline;
  QWidget* upper = makeUpper();
  layout->addWidget(makeControls());
  layout->addWidget(headline_);
  layout->addWidget(upper, 66);
  layout->addWidget(makeLower(), 34);
  connect(&session_, &Session::reportChanged, this, &CompareView::rebuild);
  connect(&session_, &Session::compareStateChanged, this, &CompareView::rebuild);
  connect(&session_, &Session::unitsChanged, this, &CompareView::rebuildTables);
  connect(&session_, &Session::selectionChanged, this, [this] { chart_->setSelectedTerm(session_.selection().term); });
  rebuild();
}

QWidget* CompareView::makeControls() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  sides_ = new QGridLayout;
  sides_->setHorizontalSpacing(8);
  sides_->setVerticalSpacing(4);
  add_ = tool_button(tr("+ Add"), "addPlan", tr("Add an open report to the comparison"));
  connect(add_, &QToolButton::clicked, this, &CompareView::addPlan);
  ms_ = tool_button(tr("ms"), "differenceMs", tr("Differences in milliseconds"));
  percent_ = tool_button(tr("%"), "differencePercent", tr("Differences in per cent of the source"));
  auto* group = new QButtonGroup(row);
  for (QToolButton* button : {ms_, percent_}) {
    button->setCheckable(true);
    group->addButton(button);
  }
  connect(percent_, &QToolButton::toggled, this, [this](bool on) {
    CompareState state = session_.compareState();
    state.percent = on;
    session_.setCompareState(state);
  });
  hideEqual_ = new QCheckBox(tr("Hide equal"));
  hideEqual_->setObjectName("hideEqual");
  hideEqual_->setAccessibleName(tr("Hide rows without a difference"));
  connect(hideEqual_, &QCheckBox::toggled, this, [this](bool on) {
    CompareState state = session_.compareState();
    state.hide_equal = on;
    session_.setCompareState(state);
  });
  swap_ = tool_button(tr("Swap sides"), "swapSides", tr("Make the first target the source"));
  connect(swap_, &QToolButton::clicked, this, &CompareView::swapSides);
  auto* shown = shownButtons_ = new SegmentedButtons({tr("Waterfalls"), tr("Pipelines")}, "compareShown");
  connect(shown, &SegmentedButtons::chosen, upper_, &QStackedWidget::setCurrentIndex);
  layout->addWidget(shown);
  layout->addSpacing(4);
  layout->addLayout(sides_, 1);
  layout->addWidget(add_);
  layout->addSpacing(6);
  layout->addWidget(new QLabel(tr("Diff")));
  auto* units = new QHBoxLayout;
  units->setSpacing(0);
  units->addWidget(ms_);
  units->addWidget(percent_);
  layout->addLayout(units);
  layout->addWidget(hideEqual_);
  layout->addWidget(swap_);
  return row;
}

QWidget* CompareView::makeUpper() {
  upper_ = new QStackedWidget;
  upper_->addWidget(makeWaterfalls());
  upper_->addWidget(makePipelines());
  return upper_;
}

QWidget* CompareView::makePipelines() {
  together_ = new ComparePipelines(session_);
  togetherLegend_ = new Legend;
  connect(togetherLegend_, &Legend::hiddenChanged, together_, &ComparePipelines::hide);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(make_scrolling(together_), 1);
  layout->addWidget(togetherLegend_);
  togetherPanel_ = new Panel(tr("Pipelines of one step"));
  togetherPanel_->setContent(page);
  togetherPanel_->setTable(new DataTable(&pipelines_));
  return togetherPanel_;
}

QWidget* CompareView::makeWaterfalls() {
  chart_ = new CompareChart(terms_);
  waterfallPanel_ = new Panel(tr("From peak to prediction"));
  waterfallPanel_->setScrollingContent(chart_, true);
  termsTable_ = new DataTable(&terms_);
  waterfallPanel_->setTable(termsTable_);
  connect(chart_, &CompareChart::termClicked, this, [this](const QString& term) {
    Selection selection = session_.selection();
    selection.term = selection.term == term ? QString() : term;
    session_.select(selection);
  });
  return waterfallPanel_;
}

QWidget* CompareView::makePhasesTable() {
  phasesTable_ = new DataTable(&shownPhases_);
  phasesTable_->setObjectName("phasesTable");
  phasesTable_->setAccessibleName(tr("Layers and phases"));
  phasesTable_->setWideColumn(0, 118);
  phasesTable_->setEmptyText(tr("Nothing to compare."));
  auto* filter = filter_field("phaseFilter", tr("Filter layers and phases by name"), tr("Filter by name"), this);
  connect(filter, &QLineEdit::textChanged, this, [this](const QString& text) { set_filter(shownPhases_, text); });
  count_rows(filter, &shownPhases_);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(filter);
  layout->addWidget(phasesTable_, 1);
  return page;
}

QWidget* CompareView::makeLower() {
  map_ = new DifferenceMap;
  phasesPanel_ = new Panel(tr("Layers and phases"));
  phasesPanel_->setContent(map_);
  phasesPanel_->setTable(makePhasesTable());
  connect(map_, &DifferenceMap::phaseClicked, this, [this](const QString& name) {
    Selection selection = session_.selection();
    selection.op = name;
    session_.select(selection);
  });
  memoryTable_ = new DataTable(&memory_);
  memoryTable_->setWideColumn(0, 100);
  memoryTable_->setEmptyText(tr("Nothing to compare."));
  memoryPanel_ = new Panel(tr("Memory"));
  memoryPanel_->setContent(memoryTable_);
  auto* figures = new Panel(tr("Key figures"));
  auto* table = new DataTable(&figures_);
  table->setWideColumn(0, 120);
  table->setEmptyText(tr("Nothing to compare."));
  figures->setContent(table);
  auto* page = new QWidget;
  auto* layout = new QHBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(phasesPanel_, 34);
  layout->addWidget(memoryPanel_, 34);
  layout->addWidget(figures, 32);
  for (QWidget* panel :
       {static_cast<QWidget*>(phasesPanel_), static_cast<QWidget*>(memoryPanel_), static_cast<QWidget*>(figures)})
    panel->setMinimumHeight(120);
  return page;
}

void CompareView::rebuild() {
  if (!session_.report()) return;
  std::vector<ReportPointer> reports;
  std::vector<std::shared_ptr<const HeatData>> heat;
  for (const int report : session_.compareState().reports) {
    reports.push_back(session_.reportAt(report));
    heat.push_back(session_.heatAt(report));
  }
  compared_ = compare_reports(std::move(reports), heat);
  headline_->setComparison(*compared_);
  map_->setComparison(compared_);
  together_->setComparison(compared_);
  pipelines_.setContents(together_->table());
  togetherLegend_->setEntries(together_->legend());
  togetherPanel_->setSubtitle(tr("one time scale, from the start; they zoom and scroll together · F whole steps"));
  rebuildSides();
  rebuildTables();
  chart_->setSelectedTerm(session_.selection().term);
  emit statusChanged();
}

void CompareView::rebuildTables() {
  const CompareState& state = session_.compareState();
  const Units units = session_.units();
  terms_.setContents(terms_comparison(compared_, state.hide_equal));
  figures_.setContents(figures_comparison(compared_));
  fits_.setContents(fits_comparison(compared_, units));
  memory_.setContents(memory_comparison(compared_, units, state.hide_equal));
  phases_.setContents(phases_comparison(compared_, state.hide_equal));
  chart_->setComparison(compared_, state.percent);
  ms_->setChecked(!state.percent);
  percent_->setChecked(state.percent);
  hideEqual_->setChecked(state.hide_equal);
  std::vector<int> cycles;  // shown as milliseconds; exact in the CSV
  for (int c = compared_->size() * 2; c < phases_.columnCount(); ++c) cycles.push_back(c);
  hide_columns(phasesTable_, cycles);
  hide_columns(memoryTable_, {1});
  const auto matched = std::count_if(compared_->phases.begin(), compared_->phases.end(),
                                     [](const ComparedCycles& row) { return row.matched(); });
  phasesPanel_->setSubtitle(
      compared_->empty()
          ? QString()
          : tr("%1 − Source · %2 of %3 match").arg(compared_->side(1)).arg(matched).arg(compared_->phases.size()));
  const auto& terms = compared_->comparison.waterfall;
  const auto both = std::count_if(terms.begin(), terms.end(), [](const ComparedTerm& row) {
    return std::all_of(row.seconds.begin(), row.seconds.end(), [](const auto& s) { return s.has_value(); });
  });
  waterfallPanel_->setSubtitle(
      compared_->empty() ? QString() : tr("ms per step, one scale · %1 of %2 terms match").arg(both).arg(terms.size()));
  const QString band = compared_->size() == 2 ? compared_->bandText(1) : QString();
  waterfallPanel_->setNote(band.isEmpty() ? band : tr("step time: %1").arg(band));
  memoryPanel_->setSubtitle(tr("%1 per tile").arg(unit_name(units)));
}

void CompareView::rebuildSides() {
  while (QLayoutItem* item = sides_->takeAt(0)) {
    if (item->widget()) item->widget()->deleteLater();
    delete item;
  }
  const QStringList paths = session_.paths();
  const auto& chosen = session_.compareState().reports;
  constexpr int kInARow = 4;
  for (std::size_t side = 0; side < chosen.size(); ++side) {
    auto* label = new QLabel(side == 0 ? tr("Source") : chosen.size() == 2 ? tr("Target") : QString::number(side + 1));
    auto* combo = new ElidedCombo;
    combo->setObjectName(QString("side%1").arg(side));
    combo->setAccessibleName(side == 0 ? tr("Source report") : tr("Target report %1").arg(side));
    combo->setMinimumWidth(90);
    combo->setMaximumWidth(300);
    combo->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    for (const QString& path : paths) combo->addItem(QFileInfo(path).fileName());
    if (side > 0 && chosen.size() > 2) combo->addItem(tr("(leave out)"));
    combo->setCurrentIndex(chosen[side]);
    combo->setToolTip(paths[chosen[side]]);
    connect(
        combo, &QComboBox::activated, this, [this, side](int at) { chooseSide(static_cast<int>(side), at); },
        Qt::QueuedConnection);  // the box is replaced by what it asks for
    const int row = static_cast<int>(side) / kInARow, column = static_cast<int>(side) % kInARow * 2;
    sides_->addWidget(label, row, column);
    sides_->addWidget(combo, row, column + 1);
    sides_->setColumnStretch(column + 1, 100);
    label->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
  }
  sides_->setColumnStretch(kInARow * 2, 1);  // what is left
  add_->setEnabled(chosen.size() < kMostCompared && static_cast<std::size_t>(paths.size()) > chosen.size());
  swap_->setEnabled(chosen.size() > 1);
}

void CompareView::chooseSide(int side, int report) {
  CompareState state = session_.compareState();
  auto& chosen = state.reports;
  const auto at = static_cast<std::size_t>(side);
  if (at >= chosen.size()) return;
  if (report >= session_.paths().size()) {
    chosen.erase(chosen.begin() + side);
  } else {
    // A report that stands elsewhere changes places with this one.
    const auto other = std::find(chosen.begin(), chosen.end(), report);
    if (other != chosen.end()) std::swap(*other, chosen[at]);
    chosen[at] = report;
  }
  session_.setCompareState(state);
}

void CompareView::addPlan() {
  CompareState state = session_.compareState();
  const QStringList paths = session_.paths();
  QMenu menu;
  for (int i = 0; i < paths.size(); ++i) {
    if (std::find(state.reports.begin(), state.reports.end(), i) != state.reports.end()) continue;
    menu.addAction(QFileInfo(paths[i]).fileName())->setData(i);
  }
  const auto actions = menu.actions();
  if (actions.isEmpty()) return;
  const QAction* chosen =
      actions.size() == 1 ? actions.first() : menu.exec(add_->mapToGlobal(QPoint(0, add_->height())));
  if (!chosen) return;
  state.reports.push_back(chosen->data().toInt());
  session_.setCompareState(state);
}

void CompareView::swapSides() {
  CompareState state = session_.compareState();
  if (state.reports.size() < 2) return;
  std::swap(state.reports[0], state.reports[1]);
  session_.setCompareState(state);
}

std::vector<NamedTable> CompareView::tables() const {
  return {{"Waterfalls", &terms_}, {"Key figures", &figures_},      {"Fits", &fits_},
          {"Memory", &memory_},    {"Layers and phases", &phases_}, {"Pipelines", &pipelines_}};
}

QString CompareView::statusText() const {
  return compared_->empty() ? tr("Nothing to compare yet")
                            : tr("All numbers are estimated · one scale for all sides · matched by name");
}

QString CompareView::unitsText() const { return tr("units %1, ms").arg(unit_name(session_.units())); }

QModelIndex CompareView::valueAt(QWidget* chart, const QPointF& at) {
  const TermColumns columns{compared_->size()};
  if (chart == chart_ && compared_->size() > 1)
    return terms_.index(chart_->layoutNow().row_at(at.y()), columns.difference(1));
  if (chart == together_) {
    const auto place = together_->placeAt(at);
    if (!place) return {};
    const Timeline& timeline = together_->timelines()[static_cast<std::size_t>(place->side)];
    const Lane& lane = timeline.lanes[static_cast<std::size_t>(place->lane)];
    const QString ipu = QString::fromStdString(timeline.report->index().ipu_classes(lane.ipu_class).name());
    constexpr int kWorkColumn = 2, kWaitColumn = 3;
    for (int row = 0; row < pipelines_.rowCount(); ++row) {
      const bool same = pipelines_.index(row, 0).data().toString() == compared_->side(place->side) &&
                        pipelines_.index(row, 1).data().toString() == ipu;
      if (same) return pipelines_.index(row, waits(place->slice.work) ? kWaitColumn : kWorkColumn);
    }
  }
  if (chart != map_ || compared_->empty()) return {};
  const GridLayout layout = map_->layoutNow();
  const int row = layout.row_at(at.y()), column = layout.column_at(at.x());
  if (row < 0 || column < 0) return {};
  const int phase = map_->grid().phases[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  for (int r = 0; phase >= 0 && r < phases_.rowCount(); ++r) {
    if (phases_.index(r, 0).data(kSourceRole).toInt() == phase) return phases_.index(r, 1 + compared_->size());
  }
  return {};
}

QStringList CompareView::pages() const { return {"waterfalls", "pipelines"}; }
int CompareView::page() const { return upper_->currentIndex(); }
void CompareView::showPage(int page) {
  shownButtons_->setCurrent(page);
  upper_->setCurrentIndex(page);
}

}  // namespace superstep::gui
