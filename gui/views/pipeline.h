// SPDX-License-Identifier: Apache-2.0
// Where time is lost between stages.
#pragma once

#include "gui/models/table_model.h"
#include "gui/session/view.h"

class QCheckBox;
class QComboBox;

namespace superstep::gui {

class DataTable;
class Legend;
class LostTimeBar;
class Panel;
class PipelineChart;

class PipelineView : public View {
  Q_OBJECT
 public:
  explicit PipelineView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override {
    return {{"Work", &work_},     {"Parts", &parts_}, {"Boxes", &boxes_},
            {"Copies", &copies_}, {"Path", &path_},   {"Critical path", &critical_}};
  }
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;

 private:
  QLayout* makeControls();
  QWidget* makePipeline();
  QWidget* makeTables();
  QWidget* makeRound();
  void rebuild();
  void refreshState();
  void showSelection();

  Session& session_;
  TableModel work_, parts_, boxes_, copies_, path_, critical_;
  PipelineChart* chart_;
  LostTimeBar* lost_;
  Legend* legend_;
  Panel* panel_;
  Panel* boxesPanel_;
  QCheckBox* fold_;
  QCheckBox* showCopies_;
  QCheckBox* showCritical_;
  QComboBox* shown_;  // which table of the round
};

}  // namespace superstep::gui
