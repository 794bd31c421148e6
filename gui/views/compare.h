// SPDX-License-Identifier: Apache-2.0
// Which plan, why, and is the difference real: open reports side by side, matched by name.
#pragma once

#include "gui/models/compare_tables.h"
#include "gui/session/view.h"

class QCheckBox;
class QGridLayout;
class QStackedWidget;
class QToolButton;

namespace superstep::gui {

class CompareChart;
class CompareHeadline;
class ComparePipelines;
class Legend;
class DataTable;
class DifferenceMap;
class Panel;
class SegmentedButtons;

class CompareView : public View {
  Q_OBJECT
 public:
  explicit CompareView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override;
  QStringList pages() const override;
  int page() const override;
  void showPage(int page) override;
  QModelIndex valueAt(QWidget* chart, const QPointF& at) override;
  QString statusText() const override;
  QString unitsText() const override;
  const ComparedReports& compared() const { return *compared_; }

 private:
  QWidget* makeControls();
  QWidget* makeUpper();
  QWidget* makeWaterfalls();
  QWidget* makePipelines();
  QWidget* makeLower();
  QWidget* makePhasesTable();
  void rebuild();        // the comparison and all that shows it
  void rebuildTables();  // units and hidden rows
  void rebuildSides();   // the combo boxes
  void chooseSide(int side, int report);
  void addPlan();
  void swapSides();

  Session& session_;
  ComparedPointer compared_;
  TableModel terms_, figures_, fits_, memory_, phases_, pipelines_;
  SortedModel shownPhases_{&phases_};
  CompareHeadline* headline_;
  CompareChart* chart_;
  ComparePipelines* together_;
  Legend* togetherLegend_;
  Panel* togetherPanel_;
  QStackedWidget* upper_;
  SegmentedButtons* shownButtons_;  // of its pages
  DataTable* termsTable_;
  DataTable* phasesTable_;
  DifferenceMap* map_;
  DataTable* memoryTable_;
  Panel* waterfallPanel_;
  Panel* phasesPanel_;
  Panel* memoryPanel_;
  QGridLayout* sides_;
  QToolButton* add_;
  QToolButton* swap_;
  QToolButton* ms_;
  QToolButton* percent_;
  QCheckBox* hideEqual_;
};

}  // namespace superstep::gui
