// SPDX-License-Identifier: Apache-2.0
// Which tile, in which phase, is full, slow or congested.
#pragma once

#include "gui/models/table_model.h"
#include "gui/view.h"

class QComboBox;
class QLabel;

namespace superstep::gui {

class DataTable;
class ChipGrid;
class HeatLegend;
struct HeatCell;
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
  QWidget* makeOverflow();
  void chooseTile(int phase, std::int64_t tile);
  void goToOverflow(int step);
  QModelIndex valueOf(const HeatCell& cell) const;

  Session& session_;
  HeatState shown_;        // but for the window
  TableModel tiles_;       // of the phases shown
  TableModel phaseTiles_;  // of the selected phase
  QComboBox* quantity_;
  QComboBox* ipu_;
  QComboBox* limits_;
  QComboBox* colors_;
  HeatMap* map_;
  HeatLegend* legend_;
  Panel* mapPanel_;
  Panel* phasePanel_;
  ChipGrid* chip_;
  QLabel* computing_;
  QWidget* overflowRow_;
  QLabel* overflow_;
};

}  // namespace superstep::gui
