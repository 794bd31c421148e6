// SPDX-License-Identifier: Apache-2.0
// What the window has for all views alike: explanations of numbers, commands by name.
#include <QApplication>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QFileInfo>
#include <QHelpEvent>
#include <QMenu>
#include <QMenuBar>
#include <QMouseEvent>
#include <QPointer>
#include <QStackedWidget>
#include <QTableView>
#include <QTimer>
#include <QToolTip>
#include <QVBoxLayout>

#include "gui/main_window.h"
#include "gui/models/key_numbers.h"
#include "gui/session/explain.h"
#include "gui/session/view.h"
#include "gui/views/whatif.h"
#include "gui/widgets/chips.h"
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
  makeFind(menu);
  menu->addSeparator();
  makeMarks(menu);
  makeWhatIf(menu);
  menu->addSeparator();
  makeLayouts(menu);
  qApp->installEventFilter(this);
}

// One what-if: a view, or beside another view in its dock.
void MainWindow::makeWhatIf(QMenu* menu) {
  auto* room = new QWidget;
  auto* layout = new QVBoxLayout(room);
  layout->setContentsMargins(0, 0, 0, 0);
  whatIfDock_ = makeDock(room, tr("What-if"), "whatifDock");
  QAction* beside = whatIfDock_->toggleViewAction();
  beside->setText(tr("&What-if beside the view"));
  beside->setObjectName("showWhatIf");
  beside->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_0));
  addAction(beside);
  connect(beside, &QAction::toggled, this, &MainWindow::placeWhatIf);
  menu->addAction(beside);
}

// Docks are hidden while the window is taken apart.
MainWindow::~MainWindow() { whatIfDock_->toggleViewAction()->disconnect(this); }

void MainWindow::placeWhatIf(bool docked) {
  const auto row = static_cast<int>(find_view("whatif") - all_views().data());
  auto* view = static_cast<WhatIfView*>(viewOf(row));
  view->setDocked(docked);
  if (!docked) {
    pages_->addWidget(view);
    return;
  }
  pages_->removeWidget(view);
  whatIfDock_->widget()->layout()->addWidget(view);
  view->show();
  if (current_ == row) showView(besideWhatIf_);
}

View* MainWindow::viewAround(const QWidget* widget) const {
  for (; widget; widget = widget->parentWidget()) {
    if (auto* view = qobject_cast<View*>(const_cast<QWidget*>(widget))) return view->isVisible() ? view : nullptr;
  }
  return nullptr;
}

void MainWindow::showOpenReports() {
  reportsMenu_->clear();
  const QStringList paths = session_.paths();
  reportsMenu_->setEnabled(!paths.isEmpty());
  for (int i = 0; i < paths.size(); ++i) {
    QAction* action = reportsMenu_->addAction(QFileInfo(paths[i]).fileName().replace('&', "&&"));
    action->setToolTip(paths[i]);
    connect(action, &QAction::triggered, this, [this, i] { session_.setCurrent(i); });
  }
}

View* MainWindow::shownView() const { return canShow() ? views_[static_cast<std::size_t>(current_)] : nullptr; }

// The cell with the focus, else what the mouse is at.
void MainWindow::explainHere() {
  View* shown = shownView();
  auto* table = qobject_cast<QAbstractItemView*>(QApplication::focusWidget());
  if (viewAround(table) && table->currentIndex().isValid() && !table->viewport()->underMouse()) {
    const QPoint corner = table->visualRect(table->currentIndex()).bottomLeft();
    showExplanation({{table->currentIndex()}, {}}, table->viewport()->mapToGlobal(corner));
    return;
  }
  QWidget* pointed = QApplication::widgetAt(QCursor::pos());
  if (auto* chips = qobject_cast<Chips*>(pointed))
    return showExplanation({{}, chips->explainedAt(chips->mapFromGlobal(QCursor::pos()))}, QCursor::pos());
  View* under = viewAround(pointed);
  View* view = under ? under : shown;
  if (view) explainIn(*view, view->mapFromGlobal(QCursor::pos()));
}

void MainWindow::explainAt(const QPoint& at) {
  if (View* view = shownView()) explainIn(*view, at);
}

void MainWindow::explainIn(View& view, const QPoint& at) { showExplanation(placeAt(view, at), view.mapToGlobal(at)); }

ExplainedPlace MainWindow::placeAt(View& view, const QPoint& at) {
  keyNumbers_.setContents(session_.report() ? key_numbers_table(session_.report()) : TableContents{});
  waterfall_.setContents(session_.report() ? waterfall_table(session_.report()) : TableContents{});
  return explained_at(view, at, {{"Key numbers", &keyNumbers_}, {"Waterfall", &waterfall_}});
}

void MainWindow::showExplanation(ExplainedPlace place, const QPoint& beside) {
  explainPanel_->setPlace(std::move(place));
  if (!explainDock_->isVisible() && explainDock_->isFloating()) {
    explainDock_->resize(explainPanel_->sizeHint());
    const QRect room = geometry();
    explainDock_->move(std::clamp(beside.x() + 14, room.left(), std::max(room.left(), room.right() - 380)),
                       std::clamp(beside.y() + 14, room.top(), std::max(room.top(), room.bottom() - 340)));
  }
  explainDock_->show();
  explainDock_->raise();
}

// While it is open, the explanation follows what is clicked and the cell that is gone to.
void MainWindow::followExplanation(QWidget* widget, const QEvent& event) {
  View* view = explainDock_->isVisible() ? viewAround(widget) : nullptr;
  if (!view || view == widget) return;
  if (event.type() == QEvent::MouseButtonRelease) {
    const auto& click = static_cast<const QMouseEvent&>(event);
    if (click.button() == Qt::LeftButton) explainIn(*view, view->mapFromGlobal(click.globalPosition().toPoint()));
    return;
  }
  auto* table = qobject_cast<QAbstractItemView*>(widget);
  if (!table || !table->currentIndex().isValid()) return;
  explainPanel_->setPlace({{table->currentIndex()}, {}});
}

// After the widget has shown a tip of its own, which gets what it has not said. Charts that draw what is pointed at as
// the mouse moves are left alone.
void MainWindow::showTip(QWidget& widget, const QPoint& at) {
  View* view = viewAround(&widget);
  if (!view || !widget.isVisible()) return;
  for (QWidget* w = view->childAt(view->mapFromGlobal(at)); w && w != view; w = w->parentWidget()) {
    if (w->property("drawsTip").toBool()) return;
  }
  const QString own = QToolTip::isVisible() ? QToolTip::text() : QString();
  QStringList lines = own.split('\n', Qt::SkipEmptyParts);
  for (const QString& line : short_explanation(placeAt(*view, view->mapFromGlobal(at))).split('\n')) {
    if (!line.isEmpty() && !own.contains(line)) lines << line;
  }
  if (const QString text = lines.join('\n'); text != own && !text.isEmpty()) QToolTip::showText(at, text, &widget);
}

// A view's own menus stay as they are; all else of it has the menu of its numbers.
bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
  const bool follows = event->type() == QEvent::MouseButtonRelease || event->type() == QEvent::KeyRelease;
  if (follows && watched->isWidgetType()) followExplanation(static_cast<QWidget*>(watched), *event);
  if (event->type() == QEvent::ToolTip && watched->isWidgetType()) {
    const QPoint at = static_cast<QHelpEvent*>(event)->globalPos();
    const QPointer<QWidget> pointed = static_cast<QWidget*>(watched);
    QTimer::singleShot(0, this, [this, pointed, at] {
      if (pointed) showTip(*pointed, at);
    });
  }
  auto* widget = event->type() == QEvent::ContextMenu ? qobject_cast<QWidget*>(watched) : nullptr;
  View* view = viewAround(widget);
  if (!view || view == widget) return QMainWindow::eventFilter(watched, event);
  for (QWidget* w = widget; w != view; w = w->parentWidget()) {
    if (w->contextMenuPolicy() != Qt::DefaultContextMenu) return QMainWindow::eventFilter(watched, event);
  }
  const auto* asked = static_cast<QContextMenuEvent*>(event);
  const QPoint at = view->mapFromGlobal(asked->globalPos());
  auto* menu = new QMenu(this);
  menu->setObjectName("numberMenu");
  menu->setAttribute(Qt::WA_DeleteOnClose);
  connect(menu->addAction(explain_->text()), &QAction::triggered, this, [this, view, at] { explainIn(*view, at); });
  menu->popup(asked->globalPos());
  return true;
}

}  // namespace superstep::gui
