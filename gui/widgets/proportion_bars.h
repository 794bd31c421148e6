// SPDX-License-Identifier: Apache-2.0
// Cycle proportions: one bar per IPU, as long as the step.
#pragma once

#include <QWidget>

#include "gui/models/trace_tables.h"

namespace superstep::gui {

class ProportionBars : public QWidget {
  Q_OBJECT
 public:
  explicit ProportionBars(QWidget* parent = nullptr);
  void setTrace(const TimelinePointer& trace);
  int bars() const { return static_cast<int>(sums_.size()); }
  QRectF segment(int bar, std::size_t part) const;  // empty: there is none

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  TimelinePointer trace_;
  std::vector<WorkCycles> sums_;
  std::vector<QString> names_;
};

}  // namespace superstep::gui
