// SPDX-License-Identifier: Apache-2.0
// What fills the fullest tile of each IPU, by category, by variable, and over the program steps.
#pragma once

#include "gui/models/liveness.h"
#include "gui/models/streaming.h"
#include "gui/models/table_model.h"
#include "gui/view.h"

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

class MemoryView : public View {
  Q_OBJECT
 public:
  explicit MemoryView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override {
    return {{"Memory", &all_}, {"Variables", &variables_}, {"Liveness", &steps_}, {"Streaming", &phases_}};
  }
  QString statusText() const override;
  QString unitsText() const override;

 private:
  void rebuild();
  void rebuildVariables();
  void rebuildLiveness();
  void showSelection();
  void showPoint(int point);    // what is live there; -1: at the peak
  void choosePoint(int point);  // makes it the selection
  int selectedPoint() const;    // -1: none
  int shownClass() const;       // the selected one, else the fullest
  QWidget* makeControls();
  QWidget* makeColumns();
  QWidget* makeLiveness();
  QWidget* makeStreaming();
  QWidget* makeUpper();
  QWidget* makeVariables();

  Session& session_;
  std::shared_ptr<const Liveness> liveness_ = std::make_shared<Liveness>();
  TableModel all_, peak_, variables_, steps_, phases_;
  SortedModel shownVariables_{&variables_};
  MemoryColumns* columns_;
  Legend* legend_;
  LivenessChart* chart_;
  Legend* chartLegend_;
  PhaseLanes* lanes_;
  Panel* columnsPanel_;
  Panel* chartPanel_;
  Panel* lanesPanel_;
  QStackedWidget* pages_;
  QComboBox* ipus_;
  QCheckBox* alwaysLive_;
  Panel* peakPanel_;
  Panel* variablesPanel_;
  DataTable* variablesTable_;
  QLineEdit* filter_;
  int builtClass_ = -1;
};

}  // namespace superstep::gui
