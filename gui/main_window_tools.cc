// SPDX-License-Identifier: Apache-2.0
// What the window has for all views alike: explanations of numbers.
#include <QApplication>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QMenu>
#include <QMenuBar>
#include <QTableView>

#include "gui/explain.h"
#include "gui/main_window.h"
#include "gui/view.h"
#include "gui/widgets/explain_panel.h"

namespace superstep::gui {

QDockWidget* MainWindow::makeDock(QWidget* widget, const QString& title, const char* name) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(name);
  dock->setWidget(widget);
  addDockWidget(Qt::RightDockWidgetArea, dock);
  dock->hide();
  return dock;
}

void MainWindow::makeToolsMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Tools"));
  explainPanel_ = new ExplainPanel;
  explainDock_ = makeDock(explainPanel_, tr("Explanation"), "explainDock");
  explainDock_->setFloating(true);  // beside the number until it is docked
  explain_ = makeAction(tr("&Explain this number"), "explain", QKeySequence(Qt::Key_E));
  connect(explain_, &QAction::triggered, this, &MainWindow::explainHere);
  menu->addAction(explain_);
  needReport_.push_back(explain_);
  qApp->installEventFilter(this);
}

View* MainWindow::shownView() const { return canShow() ? views_[static_cast<std::size_t>(current_)] : nullptr; }

// The cell with the focus, else what the mouse is at.
void MainWindow::explainHere() {
  View* view = shownView();
  if (!view) return;
  auto* table = qobject_cast<QAbstractItemView*>(QApplication::focusWidget());
  if (table && view->isAncestorOf(table) && table->currentIndex().isValid() && !table->viewport()->underMouse()) {
    showExplanation({table->currentIndex()},
                    table->viewport()->mapToGlobal(table->visualRect(table->currentIndex()).bottomLeft()));
    return;
  }
  explainAt(view->mapFromGlobal(QCursor::pos()));
}

void MainWindow::explainAt(const QPoint& at) {
  if (View* view = shownView()) showExplanation(cells_at(*view, at), view->mapToGlobal(at));
}

void MainWindow::showExplanation(std::vector<QPersistentModelIndex> cells, const QPoint& beside) {
  explainPanel_->setCells(std::move(cells));
  if (!explainDock_->isVisible() && explainDock_->isFloating()) {
    explainDock_->resize(explainPanel_->sizeHint());
    const QRect room = geometry();
    explainDock_->move(std::clamp(beside.x() + 14, room.left(), std::max(room.left(), room.right() - 380)),
                       std::clamp(beside.y() + 14, room.top(), std::max(room.top(), room.bottom() - 340)));
  }
  explainDock_->show();
  explainDock_->raise();
}

// A view's own menus stay as they are; all else of it has the menu of its numbers.
bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
  View* view = event->type() == QEvent::ContextMenu ? shownView() : nullptr;
  auto* widget = view ? qobject_cast<QWidget*>(watched) : nullptr;
  if (!widget || !view->isAncestorOf(widget)) return QMainWindow::eventFilter(watched, event);
  for (QWidget* w = widget; w != view; w = w->parentWidget()) {
    if (w->contextMenuPolicy() != Qt::DefaultContextMenu) return QMainWindow::eventFilter(watched, event);
  }
  const auto* asked = static_cast<QContextMenuEvent*>(event);
  const QPoint at = view->mapFromGlobal(asked->globalPos());
  auto* menu = new QMenu(this);
  menu->setObjectName("numberMenu");
  menu->setAttribute(Qt::WA_DeleteOnClose);
  connect(menu->addAction(explain_->text()), &QAction::triggered, this, [this, at] { explainAt(at); });
  menu->popup(asked->globalPos());
  return true;
}

}  // namespace superstep::gui
