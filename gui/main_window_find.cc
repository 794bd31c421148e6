// SPDX-License-Identifier: Apache-2.0
// Search over all views, and commands by name.
#include <QKeyEvent>
#include <QMenu>
#include <QMenuBar>
#include <QStatusBar>

#include "gui/main_window.h"
#include "gui/session/view.h"
#include "gui/widgets/chips.h"
#include "gui/widgets/command_palette.h"

namespace superstep::gui {

void MainWindow::makeFind(QMenu* menu) {
  QAction* find = makeAction(tr("&Find in all views…"), "find", QKeySequence::Find);
  connect(find, &QAction::triggered, this, &MainWindow::showFind);
  QAction* next = makeAction(tr("Find &next"), "findNext", QKeySequence(Qt::Key_F3));
  connect(next, &QAction::triggered, this, [this] { findNext(1); });
  QAction* previous = makeAction(tr("Find &previous"), "findPrevious", QKeySequence(Qt::SHIFT | Qt::Key_F3));
  connect(previous, &QAction::triggered, this, [this] { findNext(-1); });
  QAction* palette = makeAction(tr("&Commands…"), "palette", QKeySequence(Qt::CTRL | Qt::Key_K));
  palette->setShortcuts({QKeySequence(Qt::CTRL | Qt::Key_K), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_P)});
  connect(palette, &QAction::triggered, this, &MainWindow::showPalette);
  for (QAction* action : {find, next, previous}) needReport_.push_back(action);
  menu->addActions({find, next, previous, palette});
}

void MainWindow::showPalette() {
  auto* palette = new CommandPalette(commands_of(*menuBar(), actions()), this);
  palette->setAttribute(Qt::WA_DeleteOnClose);
  palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, 60)));
  palette->open();
}

void MainWindow::showFind() {
  if (!session_.report()) return;
  auto* palette = new CommandPalette({}, this);
  palette->setAttribute(Qt::WA_DeleteOnClose);
  palette->setWindowTitle(tr("Find in all views"));
  palette->setSearch(
      [this](const QString& text) {
        found_ = find_everywhere(session_, text);
        std::vector<PaletteHit> hits;
        for (std::size_t i = 0; i < found_.size(); ++i) {
          const ViewDef* view = find_view(found_[i].view.toStdString());
          hits.push_back(
              {found_[i].name, found_[i].kind + QString::fromUtf8(" · ") + view->title, [this, i] { goToFound(i); }});
        }
        return hits;
      },
      tr("Layer, phase, operation, variable, tile, term, plan or message"));
  palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, 60)));
  palette->open();
}

void MainWindow::goToFound(std::size_t place) {
  if (place >= found_.size()) return;
  foundAt_ = place;
  const Found& found = found_[place];
  go_to(session_, found);
  showView(static_cast<int>(find_view(found.view.toStdString()) - all_views().data()));
  statusLeft_->setText(tr("%1 of %2 found: %3 %4").arg(place + 1).arg(found_.size()).arg(found.kind, found.name));
}

void MainWindow::findNext(int step) {
  if (found_.empty()) return showFind();
  const std::size_t count = found_.size();
  goToFound((foundAt_ + count + static_cast<std::size_t>(step + static_cast<int>(count))) % count);
}

// Views whose tables have a field of their own take "/" to it.
void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Slash) return showFind();
  QMainWindow::keyPressEvent(event);
}

}  // namespace superstep::gui
