// SPDX-License-Identifier: Apache-2.0
// Which of the reports is faster, by how much, and how sure that is.
#pragma once

#include <QFrame>

#include "gui/models/compare_tables.h"

class QLabel;

namespace superstep::gui {

class CompareHeadline : public QFrame {
  Q_OBJECT
 public:
  explicit CompareHeadline(QWidget* parent = nullptr);
  void setComparison(const ComparedReports& compared);
  QString text() const;       // the sentence of the command line
  QString detail() const;     // the band, and the largest differences
  QString certainty() const;  // "P(slower) = 1.00"; empty: not known

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void recolor();

  int better_ = 0;    // the target is: 1 surely faster, -1 surely slower, 0 neither
  bool tie_ = false;  // the difference is not sure
  QLabel* sentence_;
  QLabel* detail_;
  QLabel* certainty_;
  QLabel* verdict_;  // "a tie"
};

}  // namespace superstep::gui
