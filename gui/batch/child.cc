// SPDX-License-Identifier: Apache-2.0
#include "gui/batch/child.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>

namespace superstep::gui {
namespace {

constexpr qsizetype kMostOutput = 256 << 20;  // a sweep of 100 000 items has some 100 MB
constexpr qsizetype kLongestChildLine = 1 << 20;
constexpr qsizetype kMostErrorText = 16 << 10;
constexpr int kChildPatience = 2000;  // ms, for a child to end

BatchProgress progress_of(const QJsonObject& line) {
  BatchProgress out;
  out.share = std::clamp(line["progress"].toDouble(), 0.0, 1.0);
  out.what = line["what"].toString();
  out.done = line["done"].toInt(-1);
  out.jobs = line["jobs"].toInt(-1);
  out.without_plan = line["without_plan"].toInt(-1);
  out.seconds_left = line["seconds_left"].toDouble(-1);
  return out;
}

}  // namespace

BatchChild::BatchChild(QObject* parent) : QObject(parent) {
  process_.setStandardInputFile(QProcess::nullDevice());
  connect(&process_, &QProcess::readyReadStandardError, this, [this] { readErrors(false); });
  connect(&process_, &QProcess::readyReadStandardOutput, this, &BatchChild::readOutput);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      end(false, tr("cannot be started (%1: %2)").arg(process_.program(), process_.errorString()));
  });
  connect(&process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    readErrors(true);
    readOutput();
    end_.exit_code = code;
    status == QProcess::CrashExit ? end(false, tr("crashed with signal %1").arg(code)) : end(true, {});
  });
}

// It holds nothing that could be lost: reports are renamed when they are whole, sweeps go on.
void BatchChild::kill() {
  process_.disconnect(this);
  if (process_.state() == QProcess::NotRunning) return;
  process_.kill();
  process_.waitForFinished(kChildPatience);
}

void BatchChild::start(const QString& program, const QStringList& arguments) { process_.start(program, arguments); }

void BatchChild::readErrors(bool all) {
  errors_ += process_.readAllStandardError();
  for (qsizetype end = errors_.indexOf('\n'); end >= 0; end = errors_.indexOf('\n')) {
    take(errors_.left(end));
    errors_.remove(0, end + 1);
  }
  if (!all && errors_.size() <= kLongestChildLine) return;
  take(errors_);
  errors_.clear();
}

void BatchChild::take(const QByteArray& line) {
  const QJsonObject object = QJsonDocument::fromJson(line).object();
  if (object["progress"].isDouble()) {
    emit progressed(progress_of(object));
  } else if (object["row"].isObject()) {
    emit itemEnded(object["row"].toObject());
  } else {
    keep(object.contains("note") ? object["note"].toString().toUtf8() : line);
  }
}

void BatchChild::keep(const QByteArray& text) {
  QString line = QString::fromUtf8(text).trimmed();
  if (line.startsWith("superstep: ")) line.remove(0, qstrlen("superstep: "));
  if (line.isEmpty() || end_.said.size() > kMostErrorText) return;
  end_.said += (end_.said.isEmpty() ? "" : "\n") + line.left(kMostErrorText);
}

void BatchChild::readOutput() {
  end_.output += process_.readAllStandardOutput();
  if (end_.output.size() <= kMostOutput) return;
  process_.kill();
  end(false, tr("wrote more than %1 MiB and was ended").arg(kMostOutput >> 20));
}

void BatchChild::end(bool by_itself, const QString& how) {
  if (hasEnded_) return;
  hasEnded_ = true;
  end_.by_itself = by_itself;
  end_.how = how;
  emit ended(end_);
}

}  // namespace superstep::gui
