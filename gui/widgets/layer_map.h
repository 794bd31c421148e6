// SPDX-License-Identifier: Apache-2.0
// Layers x phases: a layer across, its phases down, the largest value of their tiles in the colours and on the scale of
// the heat map of tiles.
#pragma once

#include <QWidget>
#include <optional>

#include "gui/models/layer_heat.h"
#include "gui/paint/grid_layout.h"
#include "gui/session/session.h"

namespace superstep::gui {

class HeatMap;

struct LayerCell {
  int row = 0, column = 0;
  friend bool operator==(const LayerCell&, const LayerCell&) = default;
};

class LayerMap : public QWidget {
  Q_OBJECT
 public:
  LayerMap(Session& session, const HeatMap& map, QWidget* parent = nullptr);

  void setLayers(std::shared_ptr<const LayerHeat> layers);
  const LayerHeat& layers() const { return *layers_; }
  GridLayout layoutNow() const;
  std::optional<LayerCell> cellAt(const QPointF& position) const;  // that has a phase
  QString tipText(const LayerCell& cell) const;                    // lines "label<TAB>value"
  QSize minimumSizeHint() const override { return {360, 200}; }

 signals:
  void hovered(qint64 value);  // kNoValue: none

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void select(const LayerCell& cell);
  std::optional<LayerCell> selected() const;
  void paintNames(QPainter& painter, const GridLayout& layout) const;

  Session& session_;
  const HeatMap& map_;
  std::shared_ptr<const LayerHeat> layers_ = std::make_shared<LayerHeat>();
  std::optional<LayerCell> hover_;
};

}  // namespace superstep::gui
