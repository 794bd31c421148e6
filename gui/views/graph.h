// SPDX-License-Identifier: Apache-2.0
// What runs now, where, and what is loaded or stored meanwhile: the model graph at a moment of the step.
#pragma once

#include "gui/models/graph_tables.h"
#include "gui/models/table_model.h"
#include "gui/session/view.h"

class QScrollArea;

class QStackedWidget;

namespace superstep::gui {

class DataTable;
class GraphChart;
class Legend;
class Panel;
class PhaseSlider;
class Player;

class GraphView : public View {
  Q_OBJECT
 public:
  explicit GraphView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override {
    return {{"Units", &units_}, {"Between units", &edges_}, {"Phases", &phases_},
            {"Phase", &facts_}, {"Operations", &works_},    {"Ops of a call", &ops_}};
  }
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;

  std::int64_t cursor() const { return cursor_; }
  int phase() const { return moment_->phase; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  QWidget* makeGraph();
  QWidget* makeTime();
  QWidget* makeDock();
  void rebuild();
  void showSelection();
  void moveTo(std::int64_t cycle);
  void step(int by);          // phases
  void goToPhase(int phase);  // and select it
  void goToUnit(int unit);    // its next call
  void selectWork(int work);
  int longestPhase() const;   // -1: there is none
  int selectedPhase() const;  // -1: none of this report's
  void showOps();             // of the call that is chosen or runs
  void showPhase();           // tables of a phase, when another is at the cursor

  Session& session_;
  GraphShown shown_;
  std::shared_ptr<const GraphMoment> moment_ = std::make_shared<GraphMoment>();
  std::int64_t cursor_ = 0;
  int shownPhase_ = -2;
  bool following_ = false;  // the running row is being shown, not chosen
  TableModel units_, edges_, phases_, facts_, works_, ops_;
  GraphChart* chart_;
  QScrollArea* scroll_ = nullptr;
  Legend* legend_;
  PhaseSlider* slider_;
  Player* player_;
  Panel* graphPanel_;
  Panel* timePanel_;
  Panel* factsPanel_;
  Panel* worksPanel_;
  DataTable* worksTable_;
  DataTable* opsTable_;
  QStackedWidget* levels_;  // calls, ops of one
};

}  // namespace superstep::gui
