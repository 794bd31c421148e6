// SPDX-License-Identifier: Apache-2.0
#include "gui/batch/files.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>

#include "model/error.h"

namespace superstep::gui {
namespace {

constexpr qint64 kLargest = 16 << 20;  // bytes; a job has some thousand
constexpr int kMostKeys = 6;

const char* const kExpected = R"(expected a job, with "model" and "machine", or a sweep, with "base" and "grid")";

std::string keys_text(const QJsonObject& object) {
  if (object.isEmpty()) return "an object without keys";
  QStringList keys = object.keys();
  const bool more = keys.size() > kMostKeys;
  if (more) keys.resize(kMostKeys);
  for (QString& key : keys) key = '"' + key.left(40) + '"';
  return "an object with " + keys.join(", ").toStdString() + (more ? ", ..." : "");
}

}  // namespace

BatchKind kind_of_file(const QString& path) {
  const std::string where = path.toStdString();
  QFile file(path);
  if (QFileInfo(path).isDir()) throw Error(where, std::string("found a folder, ") + kExpected);
  if (!file.open(QIODevice::ReadOnly)) throw Error(where, "cannot be read: " + file.errorString().toStdString());
  if (file.size() > kLargest) {
    throw Error(where, "found a file of " + std::to_string(file.size()) + " bytes, " + kExpected);
  }
  QJsonParseError error{};
  const QJsonDocument document = QJsonDocument::fromJson(file.readAll(), &error);
  if (error.error != QJsonParseError::NoError) {
    throw Error(where, "is no JSON, " + error.errorString().toStdString() + " at byte " + std::to_string(error.offset) +
                           "; " + kExpected);
  }
  if (!document.isObject()) throw Error(where, std::string("found a list, ") + kExpected);
  const QJsonObject object = document.object();
  if (object.contains("base") && object.contains("grid")) return BatchKind::sweep;
  if (object.contains("model") && object.contains("machine")) return BatchKind::job;
  throw Error(where, "found " + keys_text(object) + ", " + kExpected);
}

bool can_be_queued(const QString& path) {
  return path.endsWith(".json", Qt::CaseInsensitive) || QFileInfo(path).isDir();
}

QStringList json_files(const QStringList& paths) {
  QStringList out;
  for (const QString& path : paths) {
    if (!QFileInfo(path).isDir()) {
      out << path;
      continue;
    }
    const QDir folder(path);
    for (const QString& name : folder.entryList({"*.json"}, QDir::Files, QDir::Name)) out << folder.filePath(name);
  }
  return out;
}

QString free_output(const BatchItem& item, const QString& folder, const QStringList& taken) {
  const QDir at(folder.isEmpty() ? QFileInfo(item.path).absolutePath() : folder);
  const QString ending = item.kind == BatchKind::job ? ".ssr" : ".sqlite";
  for (int n = 1;; ++n) {
    const QString number = n == 1 ? QString() : '-' + QString::number(n);
    const QString out = at.absoluteFilePath(item.name() + number + ending);
    if (!QFileInfo::exists(out) && !taken.contains(out)) return out;
  }
}

}  // namespace superstep::gui
