// SPDX-License-Identifier: Apache-2.0
// What else is possible, and how close: the plans the report knows, over two quantities.
#pragma once

#include "gui/models/landscape.h"
#include "gui/view.h"

class QCheckBox;
class QComboBox;
class QToolButton;

namespace superstep::gui {

class DataTable;
class Legend;
class Panel;
class ScatterChart;

class LandscapeView : public View {
  Q_OBJECT
 public:
  explicit LandscapeView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override { return {{"Plans", &table_}, {"Changes", &changes_}}; }
  QString statusText() const override;
  QString unitsText() const override;

 private:
  QWidget* makeControls();
  QWidget* makeLower();
  void rebuild();
  void applyAxes();
  void select(int plan);
  void copyPins();

  Session& session_;
  std::shared_ptr<const std::vector<LandscapePlan>> plans_ = std::make_shared<std::vector<LandscapePlan>>();
  TableModel table_, changes_;
  SortedModel sorted_{&table_};
  ScatterChart* chart_;
  Legend* legend_;
  Panel* panel_;
  DataTable* tableView_;
  DataTable* changesView_;
  QComboBox* x_;
  QComboBox* y_;
  QComboBox* color_;
  QToolButton* pins_;
  bool following_ = false;  // the selected row is being shown, not chosen
};

}  // namespace superstep::gui
