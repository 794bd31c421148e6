// SPDX-License-Identifier: Apache-2.0
// At the left of the window: the views, and beneath them what is selected.
#pragma once

#include <QListWidget>
#include <QWidget>

#include "gui/session/session.h"

namespace superstep::gui {

class ViewList : public QListWidget {
  Q_OBJECT
 public:
  explicit ViewList(QWidget* parent = nullptr);
};

// The one linked selection; a click on an entry clears it.
class SelectionCard : public QWidget {
  Q_OBJECT
 public:
  explicit SelectionCard(Session& session, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {156, 150}; }

  struct Entry {
    QString name, value;
    Selection without;  // the selection when this is cleared
  };
  std::vector<Entry> entries() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  Session& session_;
};

}  // namespace superstep::gui
