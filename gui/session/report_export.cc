// SPDX-License-Identifier: Apache-2.0
#include "gui/session/report_export.h"

#include <QFile>

#include "gui/base/child_program.h"

namespace superstep::gui {

ReportExport::ReportExport(QObject* parent) : QObject(parent) {
  setProgram(child_program());
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      emit failed(tr("%1 cannot be started: %2.").arg(process_.program(), process_.errorString()));
  });
  connect(&process_, &QProcess::finished, this, &ReportExport::end);
}

ReportExport::~ReportExport() {
  process_.disconnect(this);
  if (!running()) return;
  process_.kill();
  process_.waitForFinished(1000);
  QFile::remove(path_ + ".part");
}

void ReportExport::setProgram(const QString& program, const QStringList& arguments) {
  program_ = program;
  arguments_ = arguments;
}

void ReportExport::write(const QString& report, const QString& format, const QString& path) {
  if (running()) return;
  path_ = path;
  cancelled_ = false;
  process_.start(program_, arguments_ + QStringList{"export", report, "--to", format, "-o", path, "--quiet"});
  if (process_.state() != QProcess::NotRunning) emit started(path);
}

void ReportExport::cancel() {
  cancelled_ = running();
  process_.kill();
}

void ReportExport::end() {
  if (process_.exitStatus() == QProcess::NormalExit && process_.exitCode() == 0) {
    emit written(path_);
    return;
  }
  QFile::remove(path_ + ".part");
  if (cancelled_) {
    emit failed({});
    return;
  }
  const QString said = QString::fromUtf8(process_.readAllStandardError()).trimmed();
  emit failed(said.isEmpty() ? tr("%1 ended before %2 was written.").arg(process_.program(), path_) : said);
}

}  // namespace superstep::gui
