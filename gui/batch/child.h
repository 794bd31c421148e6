// SPDX-License-Identifier: Apache-2.0
// One run of the command line as a child process: progress comes as lines of JSON on standard error, whatever else it
// says there is kept for the message, results come on standard output. Knows no widget.
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>

#include "gui/batch/item.h"

namespace superstep::gui {

class BatchChild : public QObject {
  Q_OBJECT
 public:
  explicit BatchChild(QObject* parent = nullptr);
  ~BatchChild() override { kill(); }

  void start(const QString& program, const QStringList& arguments);
  void kill();  // nothing is said of it any more

 signals:
  void progressed(const BatchProgress& progress);
  void itemEnded(const QJsonObject& row);  // of a sweep that goes on
  void ended(const BatchEnd& end);         // once

 private:
  void readErrors(bool all);
  void readOutput();
  void take(const QByteArray& line);
  void keep(const QByteArray& text);
  void end(bool by_itself, const QString& how);

  QProcess process_;
  QByteArray errors_;  // a line that has not ended
  BatchEnd end_;
  bool hasEnded_ = false;
};

}  // namespace superstep::gui
