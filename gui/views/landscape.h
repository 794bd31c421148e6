// SPDX-License-Identifier: Apache-2.0
// What else is possible, and how close: the plans the report knows, over two quantities.
#pragma once

#include "gui/models/searched.h"
#include "gui/session/view.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QStackedWidget;
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

  std::vector<NamedTable> tables() const override {
    return {{"Plans", &table_}, {"Changes", &changes_}, {"Searched", &cellTable_}};
  }
  QStringList pages() const override;
  int page() const override;
  void showPage(int page) override;
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;

 private:
  QWidget* makeControls();
  QWidget* makeLower();
  QWidget* makeCells();
  void readSearched();
  void rebuild();
  void applyAxes();
  void select(int plan);
  void copyPins();
  void tryPlan();

  Session& session_;
  std::shared_ptr<const std::vector<LandscapePlan>> plans_ = std::make_shared<std::vector<LandscapePlan>>();
  std::shared_ptr<const SearchedCells> cells_ = std::make_shared<SearchedCells>();
  QString sampling_;  // how many of the plans that were found are drawn
  TableModel table_, changes_, cellTable_;
  SortedModel sorted_{&table_}, sortedCells_{&cellTable_};
  ScatterChart* chart_;
  Legend* legend_;
  Panel* panel_;
  DataTable* tableView_;
  DataTable* changesView_;
  DataTable* cellsView_;
  QStackedWidget* lists_;  // plans, searched
  QComboBox* list_;
  QLabel* account_;
  QComboBox* x_;
  QComboBox* y_;
  QComboBox* color_;
  QToolButton* pins_;
  QToolButton* try_;
  bool following_ = false;  // the selected row is being shown, not chosen
};

}  // namespace superstep::gui
