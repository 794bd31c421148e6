// SPDX-License-Identifier: Apache-2.0
#include "gui/base/preferences.h"

#include <QFileInfo>
#include <QSettings>

namespace superstep::gui {
namespace {

QVariant value(const QString& file, const char* key) {
  return file.isEmpty() ? QVariant() : QSettings(file, QSettings::IniFormat).value(key);
}

void set(const QString& file, const char* key, const QVariant& value) {
  if (!file.isEmpty()) QSettings(file, QSettings::IniFormat).setValue(key, value);
}

}  // namespace

QStringList Preferences::recent() const {
  QStringList paths = value(file_, "recent").toStringList();
  paths.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
  return paths;
}

void Preferences::addRecent(const QString& path) {
  const QString full = QFileInfo(path).absoluteFilePath();
  QStringList paths = value(file_, "recent").toStringList();
  paths.removeAll(full);
  paths.prepend(full);
  set(file_, "recent", paths.mid(0, kMostRecent));
}

void Preferences::clearRecent() { set(file_, "recent", QStringList()); }

Preferences::LastSession Preferences::lastSession() const {
  QStringList paths = value(file_, "session/reports").toStringList();
  paths.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
  return {paths, value(file_, "session/view").toString(), value(file_, "session/docks").toByteArray()};
}

void Preferences::setLastSession(const LastSession& session) {
  set(file_, "session/reports", session.reports);
  set(file_, "session/view", session.view);
  set(file_, "session/docks", session.docks);
}

// Those of earlier versions say whether it is dark.
QString Preferences::theme() const {
  const QString known = value(file_, "theme").toString();
  if (known == "light" || known == "dark" || known == "contrast") return known;
  return value(file_, "dark").toBool() ? "dark" : "light";
}
void Preferences::setTheme(const QString& theme) { set(file_, "theme", theme); }
namespace {

// Names may have any letter, keys of settings may not.
QString layout_key(const QString& name) { return "layouts/" + QString::fromLatin1(name.toUtf8().toHex()); }

}  // namespace

QStringList Preferences::layouts() const {
  if (file_.isEmpty()) return {};
  QSettings settings(file_, QSettings::IniFormat);
  settings.beginGroup("layouts");
  QStringList out;
  for (const QString& key : settings.childKeys()) out << QString::fromUtf8(QByteArray::fromHex(key.toLatin1()));
  out.sort(Qt::CaseInsensitive);
  return out;
}

QByteArray Preferences::layout(const QString& name) const {
  return file_.isEmpty() ? QByteArray() : QSettings(file_, QSettings::IniFormat).value(layout_key(name)).toByteArray();
}
void Preferences::setLayout(const QString& name, const QByteArray& state) {
  set(file_, qPrintable(layout_key(name)), state);
}
void Preferences::removeLayout(const QString& name) {
  if (!file_.isEmpty()) QSettings(file_, QSettings::IniFormat).remove(layout_key(name));
}
QString Preferences::colorMap() const { return value(file_, "colorMap").toString(); }
void Preferences::setColorMap(const QString& name) { set(file_, "colorMap", name); }
Units Preferences::units() const { return value(file_, "bytes").toBool() ? Units::bytes : Units::kib; }
void Preferences::setUnits(Units units) { set(file_, "bytes", units == Units::bytes); }

}  // namespace superstep::gui
