// SPDX-License-Identifier: Apache-2.0
// What fills the fullest tile of each IPU, by category, by variable, and over the program steps.
#pragma once

#include "gui/models/lifetimes.h"
#include "gui/models/placement.h"
#include "gui/models/streaming.h"
#include "gui/models/table_model.h"
#include "gui/models/tile_list.h"
#include "gui/session/view.h"

class QButtonGroup;
class QCheckBox;
class QComboBox;
class QLineEdit;
class QStackedWidget;
class QToolButton;

namespace superstep::gui {

class DataTable;
class Legend;
class LivenessChart;
class MemoryColumns;
class Panel;
class PhaseLanes;
class StreamingChart;

class MemoryView : public View {
  Q_OBJECT
 public:
  explicit MemoryView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override {
    return {{"Memory", &all_},
            {"Variables", &variables_},
            {"Liveness", &steps_},
            {"Streaming", &phases_},
            {"Streaming Memory", &stretches_},
            {"Held in Streaming Memory", &held_},
            {"Tiles side by side", &listedTiles_}};
  }
  QStringList pages() const override;
  int page() const override;
  void showPage(int page) override;
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;

 private:
  void rebuild();
  void rebuildVariables();
  void rebuildLiveness();
  void rebuildLegend();
  void enableOptions();  // of the page that is shown
  bool gapsKnown() const;
  QString gapsText() const;
  void showGaps();  // what is placed at addresses, where that is asked for
  void rebuildStreaming();
  void showLifetimes();  // those that stand at the cursor, or all
  void markSelected();
  void showSelection();
  void showPoint(int point);    // what is live there; -1: at the peak
  void choosePoint(int point);  // makes it the selection
  int selectedPoint() const;    // -1: none
  int shownClass() const;       // the selected one, else the fullest
  std::int64_t shownTile() const;
  void chooseTiles(const QString& text);
  bool showsList() const { return listed_.size() > 1; }
  QWidget* makeControls();
  QWidget* makeColumns();
  QWidget* makeLiveness();
  QWidget* makeStreaming();
  QWidget* makeUpper();
  QWidget* makeVariables();
  QWidget* makeBelow();

  Session& session_;
  std::shared_ptr<const Liveness> liveness_ = std::make_shared<Liveness>();
  std::shared_ptr<const Lifetimes> lifetimes_ = std::make_shared<Lifetimes>();
  std::shared_ptr<const Placement> placement_;  // null: not asked for, or not known
  TableModel all_, peak_, variables_, steps_, phases_, stretches_, held_, listedTiles_;
  SortedModel shownVariables_{&variables_};
  MemoryColumns* columns_;
  Legend* legend_;
  LivenessChart* chart_;
  Legend* chartLegend_;
  PhaseLanes* lanes_;
  StreamingChart* streams_;
  Panel* columnsPanel_;
  Panel* chartPanel_;
  Panel* lanesPanel_;
  QStackedWidget *pages_, *below_, *peakTables_;
  QButtonGroup* segment_;  // of the pages
  QComboBox* ipus_;
  QCheckBox* alwaysLive_;
  QCheckBox* showMax_;
  QCheckBox* gaps_;
  QLineEdit* tile_;
  QComboBox* which_;  // variables
  Panel *peakPanel_, *heldPanel_;
  Panel* variablesPanel_;
  DataTable* variablesTable_;
  QLineEdit* filter_;
  TileLiveness listed_;  // of the tiles in the field, where it has several
  int builtClass_ = -1;
  std::int64_t builtTile_ = -1;
};

}  // namespace superstep::gui
