// SPDX-License-Identifier: Apache-2.0
#include "gui/session/serve_client.h"

#include <QJsonDocument>

#include "gui/base/child_program.h"

namespace superstep::gui {
namespace {

constexpr qint64 kLongestAnswer = 64 << 20;
constexpr int kMostShown = 300;       // characters of what a child said
constexpr int kServePatience = 2000;  // ms, for a child to end

QString shortened(const QByteArray& text) {
  const QString trimmed = QString::fromUtf8(text).trimmed();
  return trimmed.size() <= kMostShown ? trimmed : trimmed.left(kMostShown) + QString::fromUtf8("…");
}

}  // namespace

ServeClient::ServeClient(QObject* parent) : QObject(parent) {
  setProgram(child_program(), {"serve"});
  join_.setSingleShot(true);
  hang_.setSingleShot(true);
  setHangAfter(60000);
  connect(&join_, &QTimer::timeout, this, &ServeClient::send);
  connect(&hang_, &QTimer::timeout, this,
          [this] { fail(tr("No answer and no progress for %1 s.").arg(hang_.interval() / 1000.0)); });
}

ServeClient::~ServeClient() { endChild(); }

void ServeClient::setProgram(const QString& program, const QStringList& arguments) {
  endChild();
  program_ = program;
  arguments_ = arguments;
}

void ServeClient::ask(QJsonObject request) {
  request_ = std::move(request);
  cancelOpen();
  setWaiting(true);
  next_ = busyId_ != 0;
  if (next_) {
    hang_.start();
  } else {
    join_.start(0);
  }
}

void ServeClient::forget() {
  join_.stop();
  next_ = false;
  cancelOpen();
  setWaiting(false);
}

void ServeClient::restart() {
  endChild();
  if (request_.isEmpty()) return;
  setWaiting(true);
  send();
}

void ServeClient::send() {
  if (!isRunning() && !start()) return;
  join_.stop();
  next_ = false;
  openId_ = busyId_ = ++lastId_;
  request_["id"] = openId_;
  request_["progress"] = true;
  elapsed_.start();
  hang_.start();
  write(request_);
}

bool ServeClient::start() {
  endChild();
  child_ = new QProcess(this);
  connect(child_, &QProcess::readyReadStandardOutput, this, &ServeClient::read);
  connect(child_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    read();  // what it still said
    if (child_) ended(status == QProcess::CrashExit ? tr("crashed") : tr("ended with exit code %1").arg(code));
  });
  child_->start(program_, arguments_);
  if (child_->waitForStarted(kServePatience)) return true;
  fail(tr("%1 cannot be started: %2.").arg(program_, child_->errorString()));
  return false;
}

void ServeClient::write(const QJsonObject& request) {
  child_->write(QJsonDocument(request).toJson(QJsonDocument::Compact) + '\n');
}

void ServeClient::cancelOpen() {
  hang_.stop();
  if (openId_ != 0 && isRunning()) write({{"id", openId_}, {"command", "cancel"}});
  openId_ = 0;
}

void ServeClient::read() {
  while (child_ && child_->canReadLine()) take(child_->readLine());
  if (child_ && child_->bytesAvailable() > kLongestAnswer) fail(tr("It wrote a line without an end."));
}

void ServeClient::take(const QByteArray& line) {
  if (line.trimmed().isEmpty()) return;
  const QJsonDocument document = QJsonDocument::fromJson(line);
  if (!document.isObject()) return fail(tr("It wrote what is no answer: %1").arg(shortened(line)));
  const QJsonObject answer = document.object();
  const int id = answer["id"].toInt();
  if (id == 0 || id != busyId_ || answer["command"].toString() == "cancel") return;
  const bool goes_on = answer.contains("progress");
  if (!goes_on) busyId_ = 0;
  if (id != openId_) {  // it was cancelled
    if (goes_on && next_) hang_.start();
    if (!goes_on && next_) send();
    return;
  }
  if (goes_on) {
    hang_.start();
    emit progressed(answer["progress"].toDouble(), answer["what"].toString());
    return;
  }
  hang_.stop();
  openId_ = 0;
  const double ms = static_cast<double>(elapsed_.nsecsElapsed()) / 1e6;
  setWaiting(false);
  if (answer.contains("error")) {
    emit refused(answer["error"].toString(), ms);
  } else {
    emit answered(answer, ms);
  }
}

void ServeClient::ended(const QString& how) {
  const QString said = shortened(child_->readAllStandardError());
  fail(tr("The child process %1%2").arg(how, said.isEmpty() ? QString(".") : ": " + said));
}

void ServeClient::fail(const QString& message) {
  endChild();
  join_.stop();
  setWaiting(false);
  emit failed(message);
}

void ServeClient::endChild() {
  hang_.stop();
  openId_ = busyId_ = 0;
  next_ = false;
  if (!child_) return;
  QProcess* child = child_;
  child_ = nullptr;
  child->disconnect(this);
  if (child->state() != QProcess::NotRunning) {
    child->kill();  // it holds nothing that could be lost
    child->waitForFinished(kServePatience);
  }
  child->deleteLater();
}

void ServeClient::setWaiting(bool waiting) {
  if (waiting_ == waiting) return;
  waiting_ = waiting;
  emit waitingChanged(waiting);
}

}  // namespace superstep::gui
