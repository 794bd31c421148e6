// SPDX-License-Identifier: Apache-2.0
#include "gui/views/memory.h"

#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLineEdit>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/views/summary.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/memory_columns.h"
#include "gui/widgets/panel.h"
#include "traces/verdict.h"

namespace superstep::gui {

MemoryView::MemoryView(Session& session, QWidget* parent) : View(parent), session_(session) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  layout->addWidget(makeUpper(), 54);
  layout->addWidget(makeVariables(), 46);
  connect(&session_, &Session::reportChanged, this, &MemoryView::rebuild);
  connect(&session_, &Session::unitsChanged, this, &MemoryView::rebuild);
  connect(&session_, &Session::selectionChanged, this, &MemoryView::showSelection);
  connect(&session_, &Session::filterChanged, this, [this] {
    filter_->setText(session_.filter());
    shownVariables_.setFilterFixedString(session_.filter());
  });
  rebuild();
}

QWidget* MemoryView::makeUpper() {
  columns_ = new MemoryColumns;
  legend_ = new Legend;
  auto* chart = new QWidget;
  auto* chart_layout = new QVBoxLayout(chart);
  chart_layout->setContentsMargins(0, 0, 0, 0);
  chart_layout->setSpacing(4);
  chart_layout->addWidget(columns_, 1);
  chart_layout->addWidget(legend_);
  columnsPanel_ = new Panel(tr("Memory of the fullest tile of each IPU, at its peak"));
  columnsPanel_->setContent(chart);
  columnsPanel_->setTable(new DataTable(&all_));
  connect(columns_, &MemoryColumns::clicked, this, [this](int ipu_class, const QString& category) {
    Selection selection = session_.selection();
    selection.ipu_class = ipu_class;
    selection.category = category;
    session_.select(selection);
  });
  peakPanel_ = new Panel(tr("At the peak"));
  peakPanel_->setContent(new DataTable(&peak_));
  auto* page = new QWidget;
  auto* layout = new QHBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(columnsPanel_, 66);
  layout->addWidget(peakPanel_, 34);
  peakPanel_->setMinimumWidth(350);
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
    peak_.setContents(shown < 0 ? TableContents{} : memory_table(report, shown, session_.units()));
    rebuildVariables();
  }
  columns_->setSelected(shown, session_.selection().category);
}

void MemoryView::rebuildVariables() {
  const ReportPointer report = session_.report();
  const report::Index& index = report->index();
  if (builtClass_ < 0) {
    variables_.setContents({});
    peakPanel_->setSubtitle({});
    variablesPanel_->setSubtitle({});
    return;
  }
  const QString name = QString::fromStdString(index.ipu_classes(builtClass_).name());
  const auto variables = session_.variables();
  variables_.setContents(variables_table(report, variables, builtClass_, session_.units()));
  if (!variablesTable_->isSortingEnabled()) variablesTable_->setSortable(3, Qt::DescendingOrder);
  variablesTable_->setWideColumn(variables_.columnCount() - 1);
  peakPanel_->setSubtitle(name + ", " + QString::fromStdString(index.ipu_classes(builtClass_).contents()));
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
