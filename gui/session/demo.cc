// SPDX-License-Identifier: Apache-2.0
#include "gui/session/demo.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <utility>

#include "gui/base/child_program.h"

// Of a static library, whose resources are there only when asked for; not in a namespace.
static void register_jobs() { Q_INIT_RESOURCE(demo); }

namespace superstep::gui {

const std::vector<Demo>& demos() {
  static const std::vector<Demo> kDemos = {
      {"bert",
       "BERT-Large on a POD16: p=4 r=4 beside p=8 r=2",
       {{"bert-large-p4", "estimate"}, {"bert-large-p8", "estimate"}},
       "compare"},
      {"gpt3",
       "GPT-3 175B on a POD256: t=8 p=8 r=4 beside t=8x8",
       {{"gpt3-t8-p8", "plan"}, {"gpt3-t8x8", "estimate"}},
       "compare"},
      {"search", "BERT-Large on a POD16, searched", {{"bert-large-searched", "plan"}}, "landscape"},
      {"phases", "ResNet-50 in 18 phases on one IPU", {{"resnet50-phases", "estimate"}}, "graph"},
      {"over", "BERT-Large in 4 stages that do not fit", {{"bert-large-p4-unsharded", "estimate"}}, "memory"}};
  return kDemos;
}

DemoMaker::DemoMaker(QString folder, QObject* parent) : QObject(parent), folder_(std::move(folder)) {
  register_jobs();
  setProgram(child_program(), {});
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      end(tr("%1 cannot be started: %2.").arg(process_.program(), process_.errorString()));
  });
  connect(&process_, &QProcess::finished, this, [this](int, QProcess::ExitStatus) {
    // A plan that does not fit is an exit code too, and a report all the same.
    if (QFileInfo::exists(reports_.back())) return makeNext();
    const QString said = QString::fromUtf8(process_.readAllStandardError()).trimmed();
    end(said.isEmpty() ? tr("%1 wrote no report.").arg(process_.program()) : said);
  });
}

DemoMaker::~DemoMaker() {
  process_.disconnect(this);
  process_.kill();
  process_.waitForFinished(1000);
}

void DemoMaker::setProgram(const QString& program, const QStringList& arguments) {
  program_ = program;
  arguments_ = arguments;
}

void DemoMaker::make(const Demo& demo) {
  if (demo_ != nullptr) return;
  demo_ = &demo;
  reports_.clear();
  makeNext();
}

void DemoMaker::makeNext() {
  const auto next = static_cast<std::size_t>(reports_.size());
  if (next == demo_->jobs.size()) return end({});
  const auto [resource, command] = demo_->jobs[next];
  const QString name = resource;
  const QString job = folder_ + '/' + name + ".json", report = folder_ + '/' + name + ".ssr";
  reports_ << report;
  QFile::remove(report);
  QFile::remove(job);
  if (!QDir().mkpath(folder_) || !QFile::copy(":/demo/" + name + ".json", job))
    return end(tr("%1 cannot be written.").arg(job));
  process_.start(program_, arguments_ + QStringList{command, job, "-o", report, "--quiet"});
}

void DemoMaker::end(const QString& message) {
  const Demo& demo = *std::exchange(demo_, nullptr);
  if (message.isEmpty())
    emit made(demo, reports_);
  else
    emit failed(tr("The demo could not be made: %1").arg(message));
}

}  // namespace superstep::gui
