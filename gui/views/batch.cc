// SPDX-License-Identifier: Apache-2.0
#include "gui/views/batch.h"

#include <QAction>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSpinBox>
#include <QSplitter>
#include <QToolButton>
#include <algorithm>

#include "gui/widgets/batch_details.h"
#include "gui/widgets/column_menu.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/panel.h"

namespace superstep::gui {

BatchView::BatchView(Session& session, QWidget* parent)
    : View(parent), session_(session), queue_(session.batch()), model_(queue_) {
  model_.setUnits(session_.units());
  makeActions();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  QWidget* tables = makeTables();
  layout->addWidget(makeControls());
  layout->addWidget(tables, 1);
  setFocusProxy(table_);
  follow();
  showState();
  if (shown_.rowCount() > 0) table_->selectRow(0);
  showSelected();
}

namespace {

QToolButton* button_of(QAction* action) {
  auto* button = new QToolButton;
  button->setDefaultAction(action);
  button->setAccessibleName(action->toolTip());
  button->setFocusPolicy(Qt::StrongFocus);
  return button;
}

}  // namespace

QWidget* BatchView::makeControls() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  const Actions& a = actions_;
  for (QAction* action : {a.add, a.run, a.cancel, a.cancel_all, a.rerun, a.remove, a.up, a.down, a.clear}) {
    layout->addWidget(button_of(action));
  }
  atOnce_ = new QSpinBox;
  atOnce_->setObjectName("batchAtOnce");
  atOnce_->setAccessibleName(tr("How many run at once; they share the cores"));
  atOnce_->setToolTip(atOnce_->accessibleName());
  atOnce_->setFixedHeight(26);  // as the buttons
  atOnce_->setRange(1, BatchQueue::mostAtOnce());
  atOnce_->setValue(queue_.atOnce());
  connect(atOnce_, &QSpinBox::valueChanged, &queue_, &BatchQueue::setAtOnce);
  layout->addStretch(1);
  layout->addWidget(new QLabel(tr("At once")));
  layout->addWidget(atOnce_);
  layout->addSpacing(6);
  layout->addWidget(makeFolderButton());
  return row;
}

QWidget* BatchView::makeFolderButton() {
  folder_ = new QToolButton;
  folder_->setObjectName("batchFolder");
  folder_->setPopupMode(QToolButton::InstantPopup);
  folder_->setFocusPolicy(Qt::StrongFocus);
  folder_->setStyleSheet("QToolButton::menu-indicator { image: none; }");
  auto* menu = new QMenu(folder_);
  menu->addAction(tr("Beside the jobs"), this, [this] { queue_.setFolder({}); });
  menu->addAction(tr("In a folder…"), this, &BatchView::chooseFolder);
  folder_->setMenu(menu);
  return folder_;
}

QWidget* BatchView::makeTables() {
  table_ = new DataTable(&shown_);
  table_->setObjectName("batchTable");
  table_->setAccessibleName(tr("Jobs and sweeps"));
  table_->setEmptyText(tr(
      "Nothing is queued. Drop jobs and sweeps (.json files, or a folder of them) on this window, use Add…, or start "
      "with “superstep view JOB.json ...”. Then press Run: each is planned by “superstep plan” and its report opens "
      "from here."));
  table_->setWideColumn(kBatchPlan, 190);
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  table_->setSortable(kBatchPlace, Qt::AscendingOrder);
  for (const int column : {kBatchProgress, kBatchOutput}) table_->setColumnHidden(column, true);
  table_->setContextMenuPolicy(Qt::ActionsContextMenu);
  const Actions& a = actions_;
  table_->addActions({a.open, a.compare, a.cancel, a.rerun, a.output, a.up, a.down, a.remove});
  connect(table_, &QAbstractItemView::activated, this, &BatchView::openReport);
  connect(table_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    showState();
    showSelected();
  });
  panel_ = new Panel(tr("Queue"));
  panel_->setContent(table_);
  panel_->setCorner(makeCorner());
  details_ = new BatchDetails;
  connect(details_, &BatchDetails::itemWanted, this, &BatchView::planItem);
  auto* details = new Panel(tr("Details"));
  details->setContent(details_);
  auto* split = new QSplitter(Qt::Vertical);
  split->setHandleWidth(12);
  split->setChildrenCollapsible(false);
  split->addWidget(panel_);
  split->addWidget(details);
  split->setStretchFactor(0, 6);
  split->setStretchFactor(1, 4);
  split->setSizes({600, 400});
  return split;
}

QWidget* BatchView::makeCorner() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  filter_ = filter_field("batchFilter", tr("Filter the queue by any of its texts"), tr("Filter"), this);
  filter_->setFixedWidth(170);
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) { set_filter(shown_, text); });
  count_rows(filter_, &shown_);
  row->setStyleSheet("QToolButton { min-height: 16px; padding: 0 7px; } QLineEdit { min-height: 18px; }");
  auto* exports = new QToolButton;
  addExports(exports);
  layout->addWidget(button_of(actions_.open));
  layout->addWidget(button_of(actions_.compare));
  layout->addWidget(filter_);
  layout->addWidget(column_button(table_));
  layout->addWidget(copy_button(table_));
  layout->addWidget(exports);
  return row;
}

void BatchView::addExports(QToolButton* button) {
  button->setObjectName("batchExport");
  button->setText(tr("Export"));
  button->setAccessibleName(tr("Write the results to a file"));
  button->setToolTip(button->accessibleName());
  button->setPopupMode(QToolButton::InstantPopup);
  button->setFocusPolicy(Qt::StrongFocus);
  button->setStyleSheet("QToolButton::menu-indicator { image: none; }");
  auto* menu = new QMenu(button);
  struct Format {
    const char *text, *ending;
  };
  for (const Format& f :
       {Format{"CSV…", "csv"}, Format{"Markdown…", "md"}, Format{"JSON…", "json"}, Format{"JUnit XML…", "xml"}}) {
    menu->addAction(tr(f.text), this, [this, ending = QString(f.ending)] { chooseExport(ending); });
  }
  button->setMenu(menu);
}

void BatchView::follow() {
  connect(&queue_, &BatchQueue::stateChanged, this, &BatchView::showState);
  connect(&queue_, &BatchQueue::changed, this, [this](int place) {
    const std::vector<int> ids = selected();
    if (ids.size() == 1 && ids[0] == queue_.items()[static_cast<std::size_t>(place)].id) showSelected();
  });
  connect(&queue_, &BatchQueue::added, this, [this](int place) {
    table_->fitColumns();
    if (place == 0) table_->selectRow(0);
  });
  connect(&session_, &Session::unitsChanged, this, [this] {
    model_.setUnits(session_.units());
    table_->fitColumns();
    showSelected();
    emit statusChanged();
  });
}

void BatchView::showState() {
  const std::vector<int> ids = selected();
  const auto any = [&](auto&& holds) {
    return std::any_of(ids.begin(), ids.end(), [&](int id) { return holds(*queue_.find(id)); });
  };
  const int waiting = queue_.count(BatchState::waiting);
  const Actions& a = actions_;
  a.run->setText(queue_.isOn() ? tr("Pause") : tr("Run"));
  a.run->setEnabled(queue_.isOn() || waiting > 0);
  a.cancel->setEnabled(any([](const BatchItem& i) { return i.state == BatchState::running; }));
  a.cancel_all->setEnabled(queue_.running() > 0);
  a.rerun->setEnabled(any([](const BatchItem& i) { return i.ended(); }));
  a.remove->setEnabled(!ids.empty());
  a.up->setEnabled(!ids.empty() && queue_.items().size() > 1);
  a.down->setEnabled(a.up->isEnabled());
  a.clear->setEnabled(queue_.running() + waiting < static_cast<int>(queue_.items().size()));
  a.output->setEnabled(ids.size() == 1 && !any([](const BatchItem& i) { return i.state == BatchState::running; }));
  a.open->setEnabled(!reports().isEmpty());
  a.compare->setEnabled(reports().size() > 1);
  folder_->setText(queue_.folder().isEmpty() ? tr("Reports: beside the jobs")
                                             : tr("Reports: %1").arg(QFileInfo(queue_.folder()).fileName()));
  folder_->setAccessibleName(
      tr("Where reports are written: %1").arg(queue_.folder().isEmpty() ? tr("beside the jobs") : queue_.folder()));
  folder_->setToolTip(folder_->accessibleName());
  panel_->setSubtitle(queue_.items().empty() ? QString() : statusText());
  table_->fitColumns();
  emit statusChanged();
}

void BatchView::showSelected() {
  const std::vector<int> ids = selected();
  const BatchItem* item = ids.size() == 1 ? queue_.find(ids[0]) : nullptr;
  details_->show(item, item ? queue_.commandText(*item) : QString(), session_.units());
}

std::vector<int> BatchView::selected() const {
  QModelIndexList rows = table_->selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end());
  std::vector<int> ids;
  for (const QModelIndex& row : rows) {
    const int id = row.data(kSourceRole).toInt();
    if (queue_.find(id)) ids.push_back(id);
  }
  return ids;
}

QStringList BatchView::reports() const {
  QStringList out;
  for (const int id : selected()) {
    const BatchItem& item = *queue_.find(id);
    if (item.kind == BatchKind::job && item.state == BatchState::done) out << item.output;
  }
  return out;
}

// The queue, and the items of each sweep in it.
std::vector<NamedTable> BatchView::tables() const {
  std::vector<NamedTable> out{{"Queue", &model_}};
  sweeps_.clear();
  for (const BatchItem& item : queue_.items()) {
    if (!item.rows) continue;
    sweeps_.push_back(std::make_unique<TableModel>());
    sweeps_.back()->setContents(sweep_table(item.rows, session_.units()));
    out.push_back({item.name(), sweeps_.back().get()});
  }
  return out;
}

QString BatchView::statusText() const {
  QStringList parts;
  const auto add = [&](BatchState state, const QString& word) {
    const int n = queue_.count(state);
    if (n > 0) parts << QString("%1 %2").arg(n).arg(word);
  };
  add(BatchState::running, tr("running"));
  add(BatchState::waiting, queue_.isOn() ? tr("waiting") : tr("waiting for Run"));
  add(BatchState::done, tr("done"));
  add(BatchState::failed, tr("failed"));
  add(BatchState::cancelled, tr("cancelled"));
  return parts.isEmpty() ? tr("Nothing is queued") : parts.join(" · ");
}

QString BatchView::unitsText() const {
  return tr("units %1, ms · all numbers are estimated").arg(unit_name(session_.units()));
}

}  // namespace superstep::gui
