// SPDX-License-Identifier: Apache-2.0
// What the window keeps over restarts. Knows no widget.
#pragma once

#include <QString>
#include <QStringList>

#include "gui/format.h"

namespace superstep::gui {

class Preferences {
 public:
  static constexpr int kMostRecent = 8;

  explicit Preferences(QString file = {}) : file_(std::move(file)) {}  // empty: nothing is kept

  // Reports that were opened, the last one first; only those that still exist.
  QStringList recent() const;
  void addRecent(const QString& path);
  void clearRecent();

  bool dark() const;
  void setDark(bool dark);
  Units units() const;
  void setUnits(Units units);

 private:
  QString file_;
};

}  // namespace superstep::gui
