// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/walk/reports.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include "tests/traces/example_report.h"

namespace superstep::gui {

std::vector<std::string> walk_names() {
  return {"bert", "gpt3", "resnet", "over", "infeasible", "searched", "empty", "two"};
}

QStringList walk_reports(const std::string& name) {
  const QString folder = QStringLiteral(WALK_REPORTS "/");
  if (name == "two") return walk_reports("bert") + walk_reports("over");
  if (name == "empty") {
    static const TemporaryFolder place;
    return {QString::fromStdString(write_example(Example::empty, place.path).string())};
  }
  return {folder + QString::fromStdString(name) + ".ssr"};
}

std::string walk_json(const QString& report) {
  const QFileInfo info(report);
  QFile file(info.path() + '/' + info.completeBaseName() + ".json");
  return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

std::unique_ptr<View> shown(const ViewDef& def, Session& session) {
  std::unique_ptr<View> view(def.make(session, nullptr));
  view->setAttribute(Qt::WA_DontShowOnScreen);
  view->resize(1116, 632);
  view->show();
  QCoreApplication::processEvents();
  return view;
}

void keep_picture(QWidget& widget, const QString& name) {
  const QString folder = QString(WALK_PICTURES "/%1x%2-%3")
                             .arg(widget.width())
                             .arg(widget.height())
                             .arg(qRound(widget.devicePixelRatioF() * 100));
  QDir().mkpath(folder);
  widget.grab().save(folder + '/' + name + ".png", "PNG", 90);  // quick to write
}

}  // namespace superstep::gui
