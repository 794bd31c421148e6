// SPDX-License-Identifier: Apache-2.0
#include "gui/views/program.h"

#include <QGuiApplication>
#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include "gui/widgets/column_menu.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/program_view.h"

namespace superstep::gui {

ProgramView::ProgramView(Session& session, QWidget* parent) : View(parent), session_(session) {
  tree_ = new ProgramTree(&program_);
  tree_->setObjectName("programTree");
  tree_->setAccessibleName(tr("Program tree"));
  panel_ = new Panel(tr("Program"));
  panel_->setContent(tree_);
  auto* all = new DataTable(&all_);
  all->setWideColumn(1, 200);
  all->setEmptyText(tr("The report has no program: a report of a plan does."));
  panel_->setTable(all);
  factsPanel_ = new Panel(tr("Selected"));
  auto* facts = new DataTable(&facts_);
  facts->setEmptyText(tr("Select a line of the program."));
  facts->setWideColumn(1, 120);
  factsPanel_->setContent(facts);
  factsPanel_->setMinimumWidth(330);
  auto* row = new QHBoxLayout;
  row->setSpacing(12);
  row->addWidget(panel_, 70);
  row->addWidget(factsPanel_, 30);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  layout->addWidget(makeControls());
  layout->addLayout(row, 1);
  connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this, &ProgramView::showItem);
  connect(&session_, &Session::reportChanged, this, &ProgramView::rebuild);
  connect(&session_, &Session::selectionChanged, this, &ProgramView::showSelection);
  rebuild();
}

QWidget* ProgramView::makeControls() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  search_ = filter_field("programSearch", tr("Search the program; Enter for the next, Shift+Enter for the previous"),
                         tr("Search"), this);
  search_->setFixedWidth(260);
  connect(search_, &QLineEdit::returnPressed, this,
          [this] { search(!QGuiApplication::keyboardModifiers().testFlag(Qt::ShiftModifier)); });
  layout->addWidget(search_);
  const auto button = [&](const QString& text, const char* name, const QString& tip, auto&& act) {
    auto* b = new QToolButton;
    b->setText(text);
    b->setObjectName(name);
    b->setAccessibleName(tip);
    b->setToolTip(tip);
    b->setFocusPolicy(Qt::StrongFocus);
    connect(b, &QToolButton::clicked, this, act);
    layout->addWidget(b);
  };
  button(tr("Previous"), "searchPrevious", tr("Previous match, Shift+Enter"), [this] { search(false); });
  button(tr("Next"), "searchNext", tr("Next match, Enter"), [this] { search(true); });
  found_ = new QLabel;
  found_->setObjectName("searchFound");
  layout->addWidget(found_);
  layout->addStretch(1);
  button(tr("Collapse"), "collapse", tr("Show the upper levels only"), [this] {
    tree_->collapseAll();
    openFirstLevels();
  });
  return row;
}

void ProgramView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  following_ = true;
  program_.setReport(report, session_.steps());
  all_.setContents(program_table(report));
  following_ = false;
  openFirstLevels();
  const report::Index& index = report->index();
  panel_->setSubtitle(index.has_program() ? tr("%1 lines, equal calls share %2 functions")
                                                .arg(grouped(all_.rowCount()), grouped(index.functions_size()))
                                          : tr("The report has no program."));
  found_->clear();
  facts_.setContents(program_.facts(program_.index(0, 0)));
  factsPanel_->setSubtitle(facts_.rowCount() > 0 ? tr("the whole step") : QString());
  showSelection();
  emit statusChanged();
}

void ProgramView::openFirstLevels() {
  QModelIndex at = program_.index(0, 0);
  // Down to the first level with something to choose from.
  for (int depth = 0; at.isValid() && depth < 6; ++depth) {
    if (program_.canFetchMore(at)) program_.fetchMore(at);
    tree_->expand(at);
    QModelIndex widest;
    for (int row = 0; row < program_.rowCount(at); ++row) {
      const QModelIndex child = program_.index(row, 0, at);
      if (!widest.isValid() || program_.item(child)->total() > program_.item(widest)->total()) widest = child;
    }
    if (program_.rowCount(at) > 6) break;
    at = widest;
  }
}

void ProgramView::showItem(const QModelIndex& index) {
  if (following_) return;
  facts_.setContents(program_.facts(index));
  const ProgramItem* item = program_.item(index);
  factsPanel_->setSubtitle(item ? program_.kind(*item) : QString());
  if (!item) return;
  Selection selection = session_.selection();
  selection.op = program_.name(*item);
  session_.select(selection);
}

// What is selected elsewhere, if it is not what the tree is at.
void ProgramView::showSelection() {
  const QString op = session_.selection().op;
  const ProgramItem* item = program_.item(tree_->currentIndex());
  if (op.isEmpty() || (item && program_.name(*item) == op)) return;
  const QModelIndex first = program_.find(op, {}, true);
  if (!first.isValid() || program_.name(*program_.item(first)) != op) return;
  tree_->show(first);
}

void ProgramView::search(bool forward) {
  const QString text = search_->text();
  const QModelIndex at = program_.find(text, tree_->currentIndex(), forward);
  found_->setText(at.isValid() || text.isEmpty() ? QString() : tr("“%1” is not in the program").arg(text));
  if (at.isValid()) tree_->show(at);
}

QString ProgramView::statusText() const {
  return tr(
      "Repeats are not unrolled: cycles of one iteration, and of all in a step · calls hold the supersteps of "
      "their function");
}

}  // namespace superstep::gui
