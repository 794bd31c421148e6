// SPDX-License-Identifier: Apache-2.0
// One file with a report and what was noted on it.
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>

#include "gui/main_window.h"
#include "gui/session/share.h"
#include "gui/session/view.h"
#include "gui/widgets/chips.h"
#include "model/error.h"

namespace superstep::gui {

void MainWindow::makeShare(QMenu* menu) {
  QAction* share = makeAction(tr("&Share as one file…"), "share", {});
  connect(share, &QAction::triggered, this, [this] {
    const QString report = session_.paths()[session_.current()];
    const QString path = QFileDialog::getSaveFileName(this, tr("Share with marks, view and layouts"),
                                                      QFileInfo(report).completeBaseName() + ".superstep",
                                                      tr("Shared reports (*.superstep)"));
    if (!path.isEmpty()) shareTo(path.endsWith(".superstep") ? path : path + ".superstep");
  });
  menu->addAction(share);
  needReport_.push_back(share);
}

bool MainWindow::shareTo(const QString& path) {
  if (!session_.report()) return false;
  const QString report = session_.paths()[session_.current()];
  Shared shared{
      QFileInfo(report).fileName(), {}, {}, all_views()[static_cast<std::size_t>(current_)].id, saveState(), {}};
  for (const QString& name : preferences_.layouts()) shared.layouts[name] = preferences_.layout(name);
  try {
    QFile file(report), marks(marks_file(report));
    if (!file.open(QIODevice::ReadOnly)) throw Error(report.toStdString(), file.errorString().toStdString());
    shared.report = file.readAll();
    if (marks.open(QIODevice::ReadOnly)) shared.marks = marks.readAll();
    write_share(path, shared);
  } catch (const Error& error) {
    setMessage(QString::fromUtf8(error.what()));
    return false;
  }
  statusLeft_->setText(tr("Wrote %1").arg(path));
  return true;
}

// Its report and marks are unpacked beside it. Layouts of names that are known stay as they are.
QString MainWindow::openShared(const QString& path) {
  try {
    const Shared shared = read_share(path);
    const QString report = unpack_share(shared, QFileInfo(path).absolutePath());
    if (!session_.open(report)) return {};
    for (auto layout = shared.layouts.begin(); layout != shared.layouts.end(); ++layout) {
      if (!preferences_.layouts().contains(layout.key())) preferences_.setLayout(layout.key(), layout.value());
    }
    showLayouts();
    restoreState(shared.docks);
    if (const ViewDef* view = find_view(shared.view.toStdString()))
      showView(static_cast<int>(view - all_views().data()));
  } catch (const Error& error) {
    return QString::fromUtf8(error.what());
  }
  return {};
}

}  // namespace superstep::gui
