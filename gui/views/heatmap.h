// SPDX-License-Identifier: Apache-2.0
// Which tile or layer, in which phase, is full, slow, congested or unsure.
#pragma once

#include "gui/models/table_model.h"
#include "gui/session/view.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace superstep::gui {

class DataTable;
class ChipGrid;
class HeatLegend;
struct HeatCell;
class HeatMap;
class LayerMap;
class Panel;

class HeatmapView : public View {
  Q_OBJECT
 public:
  explicit HeatmapView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override;
  QStringList pages() const override { return {"tiles", "layers"}; }
  int page() const override;
  void showPage(int page) override;
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;

 private:
  void rebuild();
  void showLayers();
  void change(bool HeatState::*what, bool to);
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
  TableModel layers_;      // by layers, once they are shown
  TableModel phaseTiles_;  // of the selected phase
  std::shared_ptr<const HeatData> layersOf_;
  int layersClass_ = -2;
  QComboBox* quantity_;
  QComboBox* ipu_;
  QComboBox* limits_;
  QComboBox* colors_;
  QComboBox* rows_;
  QComboBox* width_;
  QStackedWidget* maps_;  // of tiles, of layers
  QStackedWidget* twins_;
  HeatMap* map_;
  LayerMap* layerMap_;
  HeatLegend* legend_;
  Panel* mapPanel_;
  Panel* phasePanel_;
  ChipGrid* chip_;
  QLabel* computing_;
  QWidget* overflowRow_;
  QLabel* overflow_;
};

}  // namespace superstep::gui
