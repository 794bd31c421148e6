// SPDX-License-Identifier: Apache-2.0
// Asks `superstep serve`, a child process, one question at a time: requests and answers are lines of JSON. A request is
// sent at once, or when the child is done with the one before. The latest wins: those before it are cancelled, or never
// sent, and their answers dropped. Knows no widget.
#pragma once

#include <QElapsedTimer>
#include <QJsonObject>
#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTimer>

namespace superstep::gui {

class ServeClient : public QObject {
  Q_OBJECT
 public:
  explicit ServeClient(QObject* parent = nullptr);
  ~ServeClient() override;

  // By default `superstep serve` beside the viewer.
  void setProgram(const QString& program, const QStringList& arguments);
  void setHangAfter(int ms) { hang_.setInterval(ms); }  // without a line from the child

  void ask(QJsonObject request);  // its id is ours
  void forget();                  // the open request: cancelled
  void restart();                 // a new child, the last request again
  bool isWaiting() const { return waiting_; }
  bool isRunning() const { return child_ && child_->state() != QProcess::NotRunning; }

 signals:
  void waitingChanged(bool waiting);
  void progressed(double share, const QString& what);
  void answered(const QJsonObject& answer, double ms);
  void refused(const QString& message, double ms);  // the child cannot answer this one, but others
  void failed(const QString& message);              // the child crashed, hangs or talks nonsense, and was ended

 private:
  void send();
  bool start();
  void write(const QJsonObject& request);
  void cancelOpen();
  void read();
  void take(const QByteArray& line);
  void ended(const QString& how);
  void fail(const QString& message);
  void endChild();
  void setWaiting(bool waiting);

  QString program_;
  QStringList arguments_;
  QProcess* child_ = nullptr;
  QTimer join_, hang_;  // join_: requests made in one turn of the event loop are one
  QElapsedTimer elapsed_;
  QJsonObject request_;  // the last one
  int lastId_ = 0;
  int openId_ = 0;     // 0: none is at the child
  int busyId_ = 0;     // what the child works at, cancelled or not; 0: nothing
  bool next_ = false;  // request_ is to be sent when it is done with that
  bool waiting_ = false;
};

}  // namespace superstep::gui
