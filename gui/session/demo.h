// SPDX-License-Identifier: Apache-2.0
// Demo reports: jobs that the viewer brings along, whose reports the command line makes when they are first asked for.
// Knows no widget.
#pragma once

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <vector>

namespace superstep::gui {

struct Demo {
  struct Job {
    const char* name;     // of the resource, and of its report
    const char* command;  // estimate, or plan: then there is a landscape too
  };
  const char* id;
  const char* title;
  std::vector<Job> jobs;
  const char* view;  // that shows what it is about
};
const std::vector<Demo>& demos();

// One demo at a time.
class DemoMaker : public QObject {
  Q_OBJECT
 public:
  // Jobs and reports go to `folder`.
  explicit DemoMaker(QString folder, QObject* parent = nullptr);
  ~DemoMaker() override;

  // `superstep` and what comes before its own arguments; by default the one beside this program.
  void setProgram(const QString& program, const QStringList& arguments);
  // Reports that are there already are made again: the program may have changed. Nothing while one is being made.
  void make(const Demo& demo);
  const Demo* making() const { return demo_; }

 signals:
  void made(const Demo& demo, const QStringList& reports);
  void failed(const QString& message);

 private:
  void makeNext();
  void end(const QString& message);

  QString folder_, program_;
  QStringList arguments_;
  const Demo* demo_ = nullptr;
  QStringList reports_;  // made, and the one that is being made
  QProcess process_;
};

}  // namespace superstep::gui
