// SPDX-License-Identifier: Apache-2.0
// The report in other programs' formats.
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>

#include "gui/main_window.h"
#include "gui/session/view.h"
#include "traces/export/formats.h"

namespace superstep::gui {

void MainWindow::makeExportAs(QMenu* menu) {
  QMenu* formats = menu->addMenu(tr("Export report &as"));
  formats->setObjectName("exportAs");
  needReport_.push_back(formats->menuAction());
  for (const exports::Format& format : exports::formats()) {
    QAction* action =
        makeAction(tr("Export as %1…").arg(format.name), qPrintable(QString("exportAs_") + format.name), {});
    action->setToolTip(format.what);
    connect(action, &QAction::triggered, this, [this, &format] {
      const QString report = session_.paths()[session_.current()];
      const QString ending = QString('.') + format.ending;
      const QString path = QFileDialog::getSaveFileName(this, tr("Export the report: %1").arg(format.what),
                                                        QFileInfo(report).completeBaseName() + ending);
      if (!path.isEmpty()) exportAs(format.name, QFileInfo(path).suffix().isEmpty() ? path + ending : path);
    });
    formats->addAction(action);
    needReport_.push_back(action);
  }
  formats->setToolTipsVisible(true);
  formats->addSeparator();
  QAction* cancel = makeAction(tr("&Cancel export"), "cancelExport", {});
  cancel->setEnabled(false);
  connect(cancel, &QAction::triggered, &reportExport_, &ReportExport::cancel);
  formats->addAction(cancel);
  connect(&reportExport_, &ReportExport::started, this, [this, cancel](const QString& path) {
    cancel->setEnabled(true);
    statusLeft_->setText(tr("Writing %1…").arg(path));
  });
  connect(&reportExport_, &ReportExport::written, this, [this, cancel](const QString& path) {
    cancel->setEnabled(false);
    statusLeft_->setText(tr("Wrote %1").arg(path));
  });
  connect(&reportExport_, &ReportExport::failed, this, [this, cancel](const QString& message) {
    cancel->setEnabled(false);
    statusLeft_->setText(message.isEmpty() ? tr("Export cancelled") : tr("Nothing was exported"));
    setMessage(message);
  });
}

void MainWindow::exportAs(const QString& format, const QString& path) {
  if (session_.report()) reportExport_.write(session_.paths()[session_.current()], format, path);
}

}  // namespace superstep::gui
