// SPDX-License-Identifier: Apache-2.0
// Which tile, in which phase, is full, slow or congested.
#pragma once

#include "gui/models/table_model.h"
#include "gui/view.h"

class QComboBox;
class QLabel;

namespace superstep::gui {

class DataTable;
class HeatLegend;
class HeatMap;
class Panel;

class HeatmapView : public View {
  Q_OBJECT
 public:
  explicit HeatmapView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override { return {{"Tiles", &tiles_}}; }
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;

 private:
  void rebuild();
  void followState();
  void refreshState();
  void showSelection();
  QLayout* makeControls();
  QWidget* makePhasePanel();

  Session& session_;
  HeatState shown_;        // but for the window
  TableModel tiles_;       // of the phases shown
  TableModel phaseTiles_;  // of the selected phase
  QComboBox* quantity_;
  QComboBox* ipu_;
  HeatMap* map_;
  HeatLegend* legend_;
  Panel* mapPanel_;
  Panel* phasePanel_;
  QLabel* overflow_;
};

// The colours with their values, the colour of cells over the limit, and that of unused tiles.
class HeatLegend : public QWidget {
  Q_OBJECT
 public:
  HeatLegend(Session& session, const HeatMap& map, QWidget* parent = nullptr);
  void setMarker(std::int64_t value);  // marked on the scale; kNoValue: nothing

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Session& session_;
  const HeatMap& map_;
  std::int64_t marker_ = kNoValue;
};

}  // namespace superstep::gui
