// SPDX-License-Identifier: Apache-2.0
// The tiles of one IPU in one phase as a grid, in the colours of the heat map beside it.
#pragma once

#include <QWidget>

#include "gui/paint/chip_layout.h"
#include "gui/widgets/heat_map.h"

namespace superstep::gui {

class ChipGrid : public QWidget {
  Q_OBJECT
 public:
  ChipGrid(Session& session, const HeatMap& map, QWidget* parent = nullptr);

  void setPhase(int phase);  // row of heat.phase; -1: none
  int phase() const { return phase_; }
  ChipLayout layoutNow() const;
  std::int64_t tileAt(const QPointF& at) const { return layoutNow().tile_at(at); }
  QSize minimumSizeHint() const override { return {200, 160}; }

 signals:
  void tileChosen(qint64 tile);  // by a click or the arrow keys

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  Session& session_;
  const HeatMap& map_;
  int phase_ = -1;
};

}  // namespace superstep::gui
