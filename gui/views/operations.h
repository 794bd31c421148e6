// SPDX-License-Identifier: Apache-2.0
// Which operations take the time of an IPU, and how far each is from peak.
#pragma once

#include "gui/models/operations.h"
#include "gui/session/view.h"

class QButtonGroup;
class QComboBox;
class QLineEdit;

namespace superstep::gui {

class DataTable;
class Panel;

class OperationsView : public View {
  Q_OBJECT
 public:
  explicit OperationsView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override { return {{"Operations", &table_}, {"Supersteps", &steps_}}; }
  QString statusText() const override;
  QString unitsText() const override;

 private:
  QWidget* makeControls();
  QWidget* makeTables();
  void rebuild();        // also what belongs to the report: the list of IPUs
  void rebuildTable();   // the group, the IPU, the units
  void showSelection();  // the row, and its supersteps
  void selectRow(int row);
  int shownClass() const;

  Session& session_;
  OperationGroup group_ = OperationGroup::operation;
  std::shared_ptr<const std::vector<OperationRow>> rows_ = std::make_shared<std::vector<OperationRow>>();
  TableModel table_, steps_;
  SortedModel shown_{&table_};
  DataTable* view_;
  DataTable* stepsView_;
  Panel* panel_;
  Panel* stepsPanel_;
  QComboBox* ipus_;
  QLineEdit* filter_;
  QButtonGroup* groups_;
  bool following_ = false;  // the selection is being shown, not made
};

}  // namespace superstep::gui
