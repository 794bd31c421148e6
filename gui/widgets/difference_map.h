// SPDX-License-Identifier: Apache-2.0
// Where a target is faster and where slower than the source: layers across, their phases down, blue better and orange
// worse, one scale.
#pragma once

#include <QWidget>

#include "gui/models/compare_tables.h"
#include "gui/paint/grid_layout.h"

namespace superstep::gui {

class DifferenceMap : public QWidget {
  Q_OBJECT
 public:
  explicit DifferenceMap(QWidget* parent = nullptr);

  // The first target; what only one of the two has is drawn as such.
  void setComparison(ComparedPointer compared);
  const PhaseGrid& grid() const { return grid_; }
  GridLayout layoutNow() const;
  QString tipText(int row, int column) const;

 signals:
  void phaseClicked(const QString& name);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  std::optional<double> difference(int phase) const;  // ms
  ComparedPointer compared_;
  PhaseGrid grid_;
  double most_ = 0;  // of the differences, in ms
};

}  // namespace superstep::gui
