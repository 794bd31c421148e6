// SPDX-License-Identifier: Apache-2.0
// A report in another program's format, written by `superstep export` as a child process.
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>

namespace superstep::gui {

class ReportExport : public QObject {
  Q_OBJECT
 public:
  explicit ReportExport(QObject* parent = nullptr);
  ~ReportExport() override;

  // `superstep` and what comes before its own arguments; by default the one beside this program.
  void setProgram(const QString& program, const QStringList& arguments = {});
  // Nothing while one is being written.
  void write(const QString& report, const QString& format, const QString& path);
  void cancel();  // what was written is gone, and an older file of that name still there
  bool running() const { return process_.state() != QProcess::NotRunning; }

 signals:
  void started(const QString& path);
  void written(const QString& path);
  void failed(const QString& message);  // empty: cancelled

 private:
  void end();

  QString program_, path_;
  QStringList arguments_;
  QProcess process_;
  bool cancelled_ = false;
};

}  // namespace superstep::gui
