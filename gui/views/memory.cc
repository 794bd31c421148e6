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

#include "gui/widgets/column_menu.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/elided_combo.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/liveness_chart.h"
#include "gui/widgets/memory_columns.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/phase_lanes.h"
#include "gui/widgets/streaming_chart.h"

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
    set_filter(shownVariables_, session_.filter());
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
  ipus_->setMinimumWidth(104);
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
  tile_->setAccessibleName(tr("Tiles whose memory is shown; empty for the fullest"));
  tile_->setPlaceholderText(tr("fullest"));
  tile_->setToolTip(
      tr("The number of a tile, or several as in 0-15,40: side by side at the right. Empty for the fullest"));
  tile_->setClearButtonEnabled(true);
  tile_->setFixedWidth(108);
  tile_->setStyleSheet("QLineEdit { min-height: 18px; }");
  connect(tile_, &QLineEdit::textChanged, this, &MemoryView::chooseTiles);
  showMax_ = new QCheckBox(tr("Show max"));
  showMax_->setObjectName("showMax");
  showMax_->setAccessibleName(tr("Show the fullest tile as a line above the chosen one"));
  showMax_->setChecked(true);
  connect(showMax_, &QCheckBox::toggled, this, &MemoryView::rebuildLiveness);
  gaps_ = new QCheckBox(tr("Include gaps"));
  gaps_->setObjectName("includeGaps");
  gaps_->setAccessibleName(
      tr("Place the variables of the fullest tile at addresses, and include the gaps between them"));
  gaps_->setToolTip(tr(
      "What always stands first, then largest first, each at the lowest addresses that are free as long as it stands. "
      "A compiler may place variables elsewhere"));
  connect(gaps_, &QCheckBox::toggled, this, &MemoryView::showGaps);
  connect(group, &QButtonGroup::idClicked, this, &MemoryView::enableOptions);
  layout->addLayout(segment);
  layout->addSpacing(6);
  layout->addWidget(new QLabel(tr("IPU")));
  layout->addWidget(ipus_);
  layout->addSpacing(6);
  auto* tiles = new QLabel(tr("Tiles"));
  tiles->setMinimumWidth(tiles->sizeHint().width() + 2);
  layout->addWidget(tiles);
  layout->addWidget(tile_);
  layout->addSpacing(6);
  layout->addWidget(alwaysLive_);
  layout->addWidget(showMax_);
  layout->addWidget(gaps_);
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
  peakTables_ = new QStackedWidget;
  peakTables_->addWidget(new DataTable(&peak_));
  auto* listed = new DataTable(&listedTiles_);
  listed->setObjectName("listedTiles");
  listed->setWideColumn(0, 124);
  peakTables_->addWidget(listed);
  peakPanel_->setContent(peakTables_);
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
  count_rows(filter_, &shownVariables_);
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

}  // namespace superstep::gui
