// SPDX-License-Identifier: Apache-2.0
// A view answers one question about the open report. To add one: a class in views/, a row in views.cc,
// an icon.
#pragma once

#include <QAbstractItemModel>
#include <QWidget>
#include <span>
#include <string_view>
#include <vector>

#include "gui/session/session.h"

namespace superstep::gui {

// What a view shows, in numbers: the table twin of its charts, and what CSV writes.
struct NamedTable {
  QString name;
  const QAbstractItemModel* model = nullptr;
};

class View : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;
  virtual std::vector<NamedTable> tables() const = 0;
  // What can be shown in turn, by names for --page, the first one first; empty: there is only one page.
  virtual QStringList pages() const { return {}; }
  virtual int page() const { return 0; }
  virtual void showPage(int /*page*/) {}
  // What a chart of the view draws at a place (in its coordinates), as the cell of tables() that has its number; may
  // select it. Invalid: nothing, or text, which is found in the tables by itself.
  virtual QModelIndex valueAt(QWidget* /*chart*/, const QPointF& /*at*/) { return {}; }
  // What the status bar says at its left and right.
  virtual QString statusText() const { return {}; }
  virtual QString unitsText() const { return {}; }

 signals:
  void statusChanged();
  void viewWanted(const QString& id);  // go there, to what was just set in the session
};

struct ViewDef {
  const char* id;  // of --export, and of the icon
  const char* title;
  int shortcut;  // Qt::Key, 0: none
  const char* question;
  View* (*make)(Session& session, QWidget* parent);
  bool without_report = false;  // has something to show when none is open
};

std::span<const ViewDef> all_views();
const ViewDef* find_view(std::string_view id);  // null: no such view

}  // namespace superstep::gui
