// SPDX-License-Identifier: Apache-2.0
// Computing, loading and storing over the phases of a step: each lane is filled as high as its phase is busy with it.
#pragma once

#include <QWidget>

#include "gui/models/streaming.h"
#include "gui/paint/phase_layout.h"

namespace superstep::gui {

class PhaseLanes : public QWidget {
  Q_OBJECT
 public:
  explicit PhaseLanes(QWidget* parent = nullptr);
  void setPhases(ReportPointer report, PhaseRows rows);
  PhaseLayout layoutNow() const;
  QString tipText(int phase) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  bool isEmpty() const { return !rows_ || rows_->empty(); }
  ReportPointer report_;
  PhaseRows rows_;
};

}  // namespace superstep::gui
