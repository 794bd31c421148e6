// SPDX-License-Identifier: Apache-2.0
// Marks on what is selected, and layouts of the docks.
#include <QDockWidget>
#include <QFileDialog>
#include <QInputDialog>
#include <QLineEdit>
#include <QMenu>
#include <QSaveFile>

#include "gui/main_window.h"
#include "gui/session/export.h"
#include "gui/session/view.h"
#include "gui/widgets/marks_panel.h"
#include "model/error.h"

namespace superstep::gui {

void MainWindow::makeMarks(QMenu* menu) {
  marksPanel_ = new MarksPanel(marksTable_);
  marksDock_ = makeDock(marksPanel_, tr("Marks"), "marksDock");
  QAction* mark = makeAction(tr("&Mark what is selected…"), "mark", QKeySequence(Qt::Key_M));
  QAction* list = marksDock_->toggleViewAction();
  list->setObjectName("showMarks");
  QAction* write = makeAction(tr("E&xport marks…"), "exportMarks", {});
  connect(mark, &QAction::triggered, this, &MainWindow::startMark);
  connect(write, &QAction::triggered, this, &MainWindow::exportMarks);
  connect(marksPanel_, &MarksPanel::added, this, &MainWindow::addMark);
  connect(marksPanel_, &MarksPanel::wanted, this, &MainWindow::goToMark);
  connect(marksPanel_, &MarksPanel::removed, this, [this](int at) {
    marks_.erase(marks_.begin() + at);
    saveMarks();
  });
  const auto follow = [this] { marksPanel_->setPlace(place_text(mark_of_selection(session_))); };
  connect(&session_, &Session::selectionChanged, this, follow);
  connect(&session_, &Session::reportChanged, this, follow);
  menu->addActions({mark, list, write});
  needReport_.push_back(mark);
}

void MainWindow::loadMarks() {
  marks_.clear();
  try {
    if (session_.report()) marks_ = load_marks(session_.paths()[session_.current()]);
  } catch (const Error& error) {
    setMessage(QString::fromUtf8(error.what()));
  }
  marksTable_.setContents(marks_table(std::make_shared<const std::vector<Mark>>(marks_)));
}

void MainWindow::saveMarks() {
  marksTable_.setContents(marks_table(std::make_shared<const std::vector<Mark>>(marks_)));
  try {
    save_marks(session_.paths()[session_.current()], marks_);
  } catch (const Error& error) {
    setMessage(QString::fromUtf8(error.what()));
  }
}

void MainWindow::startMark() {
  marksDock_->show();
  marksDock_->raise();
  marksPanel_->field()->setFocus();
}

void MainWindow::addMark(const QString& note) {
  Mark mark = mark_of_selection(session_);
  if (mark.isEmpty()) return;
  mark.view = all_views()[static_cast<std::size_t>(current_)].id;
  mark.note = note;
  marks_.push_back(std::move(mark));
  saveMarks();
  if (View* view = shownView()) view->setFocus();
}

void MainWindow::goToMark(int at) {
  const Mark mark = marks_[static_cast<std::size_t>(at)];
  if (const ViewDef* view = find_view(mark.view.toStdString())) showView(static_cast<int>(view - all_views().data()));
  session_.select(selection_of(session_, mark));
}

void MainWindow::exportMarks() {
  QString path = QFileDialog::getSaveFileName(this, tr("Export marks"), "marks.csv", tr("CSV (*.csv)"));
  if (path.isEmpty()) return;
  const QByteArray bytes = tables_csv({{"Marks", &marksTable_}}).toUtf8();
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit())
    setMessage(tr("%1: cannot be written: %2").arg(path, file.errorString()));
}

void MainWindow::makeLayouts(QMenu* menu) {
  layoutsMenu_ = menu->addMenu(tr("&Layouts"));
  layoutsMenu_->setObjectName("layoutsMenu");
  firstLayout_ = saveState();
  showLayouts();
}

// Restore by name, then what is done with them.
void MainWindow::showLayouts() {
  layoutsMenu_->clear();
  const QStringList names = preferences_.layouts();
  for (const QString& name : names) {
    QAction* restore = layoutsMenu_->addAction(QString(name).replace('&', "&&"));
    restore->setObjectName("layout_" + name);
    connect(restore, &QAction::triggered, this, [this, name] { restoreState(preferences_.layout(name)); });
  }
  layoutsMenu_->addSeparator();
  QAction* save = layoutsMenu_->addAction(tr("&Save as…"));
  save->setObjectName("saveLayout");
  connect(save, &QAction::triggered, this, [this] {
    auto* ask = new QInputDialog(this);
    ask->setObjectName("layoutName");
    ask->setAttribute(Qt::WA_DeleteOnClose);
    ask->setWindowTitle(tr("Save layout"));
    ask->setLabelText(tr("Name"));
    connect(ask, &QInputDialog::textValueSelected, this, &MainWindow::saveLayout);
    ask->open();
  });
  QMenu* remove = layoutsMenu_->addMenu(tr("&Delete"));
  remove->setEnabled(!names.isEmpty());
  for (const QString& name : names) {
    QAction* action = remove->addAction(QString(name).replace('&', "&&"));
    action->setObjectName("deleteLayout_" + name);
    // Later: the menu that was clicked is made anew.
    const auto forget = [this, name] {
      preferences_.removeLayout(name);
      showLayouts();
    };
    connect(action, &QAction::triggered, this, forget, Qt::QueuedConnection);
  }
  QAction* reset = layoutsMenu_->addAction(tr("&Reset"));
  reset->setObjectName("resetLayout");
  connect(reset, &QAction::triggered, this, [this] { restoreState(firstLayout_); });
}

void MainWindow::saveLayout(const QString& name) {
  if (name.trimmed().isEmpty()) return;
  preferences_.setLayout(name.trimmed(), saveState());
  showLayouts();
}

}  // namespace superstep::gui
