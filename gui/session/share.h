// SPDX-License-Identifier: Apache-2.0
// A report with its marks, the view that is shown and the saved layouts in one file, NAME.superstep: a line that says
// what it is, a line of JSON, the report.
#pragma once

#include <QByteArray>
#include <QMap>
#include <QString>

namespace superstep::gui {

struct Shared {
  QString name;  // of the report's file
  QByteArray report, marks;
  QString view;      // id
  QByteArray docks;  // as QMainWindow::saveState() says it
  QMap<QString, QByteArray> layouts;
};

bool is_share(const QString& path);  // by its ending
// All throw Error.
void write_share(const QString& path, const Shared& shared);
Shared read_share(const QString& path);
// Writes report and marks into `folder` and returns the report's path. Files that have other contents stay as they are;
// the report gets another name then.
QString unpack_share(const Shared& shared, const QString& folder);

}  // namespace superstep::gui
