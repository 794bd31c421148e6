// SPDX-License-Identifier: Apache-2.0
// Controls that pipeline and trace share.
#pragma once

#include <QWidget>

#include "gui/session/session.h"

class QAbstractButton;

namespace superstep::gui {

class TimeChart;

// Buttons side by side of which one is pressed.
class SegmentedButtons : public QWidget {
  Q_OBJECT
 public:
  SegmentedButtons(const QStringList& texts, const QString& name, QWidget* parent = nullptr);
  void setCurrent(int button);

 signals:
  void chosen(int button);

 private:
  std::vector<QAbstractButton*> buttons_;
};

// Milliseconds or cycles, of the session.
class TimeUnitButtons : public QWidget {
  Q_OBJECT
 public:
  explicit TimeUnitButtons(Session& session, QWidget* parent = nullptr);
};

QWidget* make_show_everything(TimeChart* chart);
QWidget* make_key_hint();
QWidget* make_scrolling(TimeChart* chart);  // down, when there is no room for all lanes

}  // namespace superstep::gui
