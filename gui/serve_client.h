// SPDX-License-Identifier: Apache-2.0
// Asks `superstep serve`, a child process, one question at a time: requests and answers are lines of JSON. The latest
// request wins: those before it are cancelled and their answers dropped. Knows no widget.
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
  void setDebounce(int ms) { debounce_.setInterval(ms); }  // requests that follow sooner replace each other
  void setHangAfter(int ms) { hang_.setInterval(ms); }     // without a line from the child

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
  QTimer debounce_, hang_;
  QElapsedTimer elapsed_;
  QJsonObject request_;  // the last one
  int lastId_ = 0;
  int openId_ = 0;  // 0: none is at the child
  bool waiting_ = false;
};

}  // namespace superstep::gui
