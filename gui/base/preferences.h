// SPDX-License-Identifier: Apache-2.0
// What the window keeps over restarts. Knows no widget.
#pragma once

#include <QString>
#include <QStringList>

#include "gui/base/format.h"

namespace superstep::gui {

class Preferences {
 public:
  static constexpr int kMostRecent = 64;

  explicit Preferences(QString file = {}) : file_(std::move(file)) {}  // empty: nothing is kept

  // Reports that were opened, the last one first; only those that still exist.
  QStringList recent() const;
  void addRecent(const QString& path);
  void clearRecent();

  QString theme() const;  // "light", "dark", "contrast"
  void setTheme(const QString& theme);
  // Where docks stand, by names; as QMainWindow::saveState() says it.
  QStringList layouts() const;
  QByteArray layout(const QString& name) const;
  void setLayout(const QString& name, const QByteArray& state);
  void removeLayout(const QString& name);
  // What was open when the window was closed.
  struct LastSession {
    QStringList reports;  // only those that still exist
    QString view;         // id
    QByteArray docks;     // as QMainWindow::saveState() says it
  };
  LastSession lastSession() const;
  void setLastSession(const LastSession& session);
  QString colorMap() const;  // of heat maps; empty: none was chosen
  void setColorMap(const QString& name);
  Units units() const;
  void setUnits(Units units);

 private:
  QString file_;
};

}  // namespace superstep::gui
