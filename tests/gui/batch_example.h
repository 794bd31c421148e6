// SPDX-License-Identifier: Apache-2.0
// Files to queue, and a queue whose children are a script.
#pragma once

#include <QFile>
#include <QTest>
#include <fstream>

#include "gui/batch/queue.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {

struct BatchExample {
  TemporaryFolder folder;
  QString log = file("log");

  QString file(const QString& name) const { return QString::fromStdString(folder.path.string()) + '/' + name; }
  QString write(const QString& name, const std::string& text) const {
    std::ofstream(file(name).toStdString()) << text;
    return file(name);
  }
  QString job(const QString& name) const {
    return write(name + ".json", R"({"model": {"zoo": "bert-large"}, "machine": "ipu-pod16"})");
  }
  QString sweep(const QString& name) const {
    return write(name + ".json", R"({"base": "a.json", "grid": {"/plan/replicas": [2, 4, 3]}})");
  }
  // Children do what MODE of fake_plan.sh says; their reports are this one.
  void play(BatchQueue& queue, const char* mode, Example which = Example::tight) const {
    const auto report = write_example(which, folder.path);
    queue.setProgram("bash", {FAKE_PLAN, mode, QString::fromStdString(report.string()), log});
  }
  QStringList calls() const {
    QFile in(log);
    const QString text = in.open(QIODevice::ReadOnly) ? QString::fromUtf8(in.readAll()) : QString();
    return text.split('\n', Qt::SkipEmptyParts);
  }
};

// Whether all came to an end in time.
inline bool ran_out(BatchQueue& queue) {
  queue.run();
  return QTest::qWaitFor([&] { return !queue.isOn() && queue.running() == 0; }, 20000);
}

}  // namespace superstep::gui
