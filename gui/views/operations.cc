// SPDX-License-Identifier: Apache-2.0
#include "gui/views/operations.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QToolButton>
#include <algorithm>

#include "gui/models/steps.h"
#include "gui/widgets/column_menu.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/elided_combo.h"
#include "gui/widgets/panel.h"

namespace superstep::gui {
namespace {

// Columns that are there but not shown at first.
constexpr int kIn = 1;
constexpr int kSync = 11;

}  // namespace

OperationsView::OperationsView(Session& session, QWidget* parent) : View(parent), session_(session) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  QWidget* tables = makeTables();
  layout->addWidget(makeControls());
  layout->addWidget(tables, 1);
  connect(&session_, &Session::reportChanged, this, &OperationsView::rebuild);
  connect(&session_, &Session::unitsChanged, this, &OperationsView::rebuildTable);
  connect(&session_, &Session::selectionChanged, this, &OperationsView::showSelection);
  connect(&session_, &Session::filterChanged, this, [this] {
    if (filter_->text() != session_.filter()) filter_->setText(session_.filter());
    set_filter(shown_, session_.filter());
  });
  rebuild();
}

QWidget* OperationsView::makeControls() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  groups_ = new QButtonGroup(row);
  auto* segment = new QHBoxLayout;
  segment->setSpacing(0);
  struct Choice {
    const char *text, *name, *tip;
    OperationGroup group;
  };
  for (const Choice& c : {Choice{"Operations", "byOperation", "One row per operation; equal layers share theirs",
                                 OperationGroup::operation},
                          Choice{"Layers and phases", "byLayer", "One row per layer and phase", OperationGroup::layer},
                          Choice{"Kinds", "byKind", "One row per kind of operation", OperationGroup::kind}}) {
    auto* button = new QToolButton;
    button->setText(tr(c.text));
    button->setObjectName(c.name);
    button->setAccessibleName(tr(c.tip));
    button->setToolTip(tr(c.tip));
    button->setCheckable(true);
    button->setChecked(c.group == group_);
    button->setFocusPolicy(Qt::StrongFocus);
    groups_->addButton(button, static_cast<int>(c.group));
    segment->addWidget(button);
  }
  connect(groups_, &QButtonGroup::idClicked, this, [this](int id) {
    group_ = static_cast<OperationGroup>(id);
    rebuildTable();
  });
  ipus_ = new ElidedCombo;
  ipus_->setObjectName("operationsIpu");
  ipus_->setAccessibleName(tr("IPU whose operations are shown"));
  ipus_->setMinimumWidth(120);
  connect(ipus_, &QComboBox::activated, this, [this](int ipu_class) {
    Selection selection = session_.selection();
    selection.ipu_class = ipu_class;
    session_.select(selection);
  });
  filter_ = filter_field("operationsFilter", tr("Filter operations by any of their texts"), tr("Filter"), this);
  filter_->setMaximumWidth(260);
  count_rows(filter_, &shown_);
  connect(filter_, &QLineEdit::textEdited, &session_, &Session::setFilter);
  layout->addLayout(segment);
  layout->addSpacing(6);
  layout->addWidget(new QLabel(tr("IPU")));
  layout->addWidget(ipus_);
  layout->addStretch(1);
  layout->addWidget(filter_, 1);
  layout->addWidget(column_button(view_));
  layout->addWidget(copy_button(view_));
  return row;
}

QWidget* OperationsView::makeTables() {
  view_ = new DataTable(&shown_);
  view_->setObjectName("operationsTable");
  view_->setAccessibleName(tr("Operations"));
  view_->setEmptyText(
      tr("The report lists no operations. A report of a plan does: “superstep plan JOB.json -o F.ssr”."));
  view_->setWideColumn(0, 250);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& current) {
    if (current.isValid() && !following_) selectRow(current.data(kSourceRole).toInt());
  });
  panel_ = new Panel(tr("Operations"));
  panel_->setContent(view_);
  stepsView_ = new DataTable(&steps_);
  stepsView_->setObjectName("operationSteps");
  stepsView_->setAccessibleName(tr("Supersteps of the selected operation"));
  stepsView_->setEmptyText(tr("Select an operation to see its supersteps."));
  stepsView_->setWideColumn(0, 180);
  stepsPanel_ = new Panel(tr("Supersteps"));
  stepsPanel_->setContent(stepsView_);
  auto* split = new QSplitter(Qt::Vertical);
  split->setHandleWidth(12);
  split->setChildrenCollapsible(false);
  split->addWidget(panel_);
  split->addWidget(stepsPanel_);
  split->setStretchFactor(0, 7);
  split->setStretchFactor(1, 3);
  split->setSizes({700, 250});
  return split;
}

int OperationsView::shownClass() const {
  const int selected = session_.selection().ipu_class;
  const auto& index = session_.report()->index();
  return selected >= 0 && selected < index.ipu_classes_size() ? selected : busiest_class(index);
}

void OperationsView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  ipus_->clear();
  for (const auto& ipu : report->index().ipu_classes()) ipus_->addItem(QString::fromStdString(ipu.name()));
  ipus_->setEnabled(ipus_->count() > 0);
  filter_->setText(session_.filter());
  set_filter(shown_, session_.filter());
  rebuildTable();
}

void OperationsView::rebuildTable() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const report::Index& index = report->index();
  const int shown = shownClass();
  ipus_->setCurrentIndex(shown);
  following_ = true;
  auto rows = std::make_shared<std::vector<OperationRow>>();
  if (shown >= 0) *rows = operation_rows(index, *session_.steps(), *session_.heat(), shown, group_);
  rows_ = rows;
  const bool first = table_.columnCount() == 0;
  table_.setContents(operations_table(report, rows_, session_.units()));
  if (first) {
    view_->setSortable(kOperationShare, Qt::DescendingOrder);
    for (const int column : {kIn, kSync}) view_->setColumnHidden(column, true);
  }
  view_->fitColumns();
  following_ = false;
  std::int64_t cycles = 0;
  for (const OperationRow& row : *rows_) cycles += row.cycles;
  QString subtitle;
  if (shown >= 0 && index.clock_hz() > 0) {
    const double step = index.plan().step_time_s();
    subtitle = tr("%1%2 · %3 rows take %4 of %5 ms, the rest is waiting and steps outside functions")
                   .arg(QString::fromStdString(index.ipu_classes(shown).name()),
                        shown == busiest_class(index) ? tr(", the busiest") : QString(), grouped(table_.rowCount()),
                        milliseconds(static_cast<double>(cycles) / index.clock_hz(), step), milliseconds(step, step));
  }
  panel_->setSubtitle(subtitle);
  showSelection();
  emit statusChanged();
}

void OperationsView::selectRow(int row) {
  const OperationRow& operation = (*rows_)[static_cast<std::size_t>(row)];
  Selection selection = session_.selection();
  selection.op = QString::fromStdString(operation.name);
  session_.select(selection);
}

void OperationsView::showSelection() {
  const ReportPointer report = session_.report();
  if (!report) return;
  if (shownClass() != ipus_->currentIndex() && ipus_->count() > 0) {
    rebuildTable();
    return;
  }
  const std::string op = session_.selection().op.toStdString();
  int source = -1;
  for (std::size_t i = 0; i < rows_->size() && !op.empty() && source < 0; ++i) {
    if ((*rows_)[i].name == op) source = static_cast<int>(i);
  }
  // Nothing selected: the longest says most.
  const auto longest =
      std::max_element(rows_->begin(), rows_->end(), [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  const OperationRow* row = source >= 0               ? &(*rows_)[static_cast<std::size_t>(source)]
                            : longest == rows_->end() ? nullptr
                                                      : &*longest;
  const bool of_function = row && row->function >= 0;
  steps_.setContents(of_function ? operation_steps_table(report, session_.steps(), row->function,
                                                         group_ == OperationGroup::layer ? std::string() : row->name)
                                 : TableContents{});
  stepsPanel_->setSubtitle(of_function ? QString::fromStdString(row->name) +
                                             (source < 0 ? tr(", the longest") : QString()) + tr(", of one call")
                                       : QString());
  following_ = true;
  const QModelIndex at = source < 0 ? QModelIndex() : shown_.mapFromSource(table_.index(source, 0));
  if (at.isValid() && view_->currentIndex().row() != at.row()) {
    view_->setCurrentIndex(at);
    view_->scrollTo(at);
  }
  if (!at.isValid()) view_->clearSelection();
  following_ = false;
}

QString OperationsView::statusText() const {
  return tr("Cycles and bytes are of a step, on one IPU · of peak: useful time of a product over the time it takes");
}

QString OperationsView::unitsText() const { return tr("units %1, ms, cycles").arg(unit_name(session_.units())); }

}  // namespace superstep::gui
