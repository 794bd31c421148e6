// SPDX-License-Identifier: Apache-2.0
#include "gui/session/share.h"

#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

#include "gui/session/marks.h"
#include "model/error.h"

namespace superstep::gui {
namespace {

constexpr auto kMagic = "superstep shared 1\n";
constexpr qint64 kMostJson = 64 << 20;

QByteArray contents(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) throw Error(path.toStdString(), file.errorString().toStdString());
  return file.readAll();
}

void write(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit())
    throw Error(path.toStdString(), "cannot be written: " + file.errorString().toStdString());
}

QString coded(const QByteArray& bytes) { return QString::fromLatin1(bytes.toBase64()); }
QByteArray decoded(const QJsonValue& text) { return QByteArray::fromBase64(text.toString().toLatin1()); }

}  // namespace

bool is_share(const QString& path) { return path.endsWith(".superstep", Qt::CaseInsensitive); }

void write_share(const QString& path, const Shared& shared) {
  QJsonObject layouts;
  for (auto layout = shared.layouts.begin(); layout != shared.layouts.end(); ++layout)
    layouts[layout.key()] = coded(layout.value());
  const QJsonObject head{{"report", shared.name},
                         {"report_bytes", static_cast<qint64>(shared.report.size())},
                         {"marks", QString::fromUtf8(shared.marks)},
                         {"view", shared.view},
                         {"docks", coded(shared.docks)},
                         {"layouts", layouts}};
  write(path, kMagic + QJsonDocument(head).toJson(QJsonDocument::Compact) + '\n' + shared.report);
}

Shared read_share(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) throw Error(path.toStdString(), file.errorString().toStdString());
  const QByteArray magic = file.readLine(64);
  if (magic != kMagic) {
    const bool newer = magic.startsWith("superstep shared ");
    throw Error(path.toStdString(), newer ? "written by a newer version, " + magic.trimmed().toStdString()
                                          : std::string("found no shared report, expected \"superstep shared 1\""));
  }
  const QJsonObject head = QJsonDocument::fromJson(file.readLine(kMostJson)).object();
  Shared out;
  out.name = QFileInfo(head["report"].toString()).fileName();  // without any folder
  out.report = file.readAll();
  if (out.name.isEmpty() || out.report.size() != head["report_bytes"].toInteger())
    throw Error(path.toStdString(), "damaged: it does not have all of its report");
  out.marks = head["marks"].toString().toUtf8();
  out.view = head["view"].toString();
  out.docks = decoded(head["docks"]);
  const QJsonObject layouts = head["layouts"].toObject();
  for (auto layout = layouts.begin(); layout != layouts.end(); ++layout)
    out.layouts[layout.key()] = decoded(layout.value());
  return out;
}

QString unpack_share(const Shared& shared, const QString& folder) {
  const QFileInfo name(shared.name);
  QString path = folder + '/' + shared.name;
  for (int i = 2; QFileInfo::exists(path) && contents(path) != shared.report; ++i)
    path = QString("%1/%2-%3.%4").arg(folder, name.completeBaseName()).arg(i).arg(name.suffix());
  if (!QFileInfo::exists(path)) write(path, shared.report);
  if (!shared.marks.isEmpty() && !QFileInfo::exists(marks_file(path))) write(marks_file(path), shared.marks);
  return path;
}

}  // namespace superstep::gui
