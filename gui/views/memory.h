// SPDX-License-Identifier: Apache-2.0
// What fills the fullest tile of each IPU, by category and by variable.
#pragma once

#include "gui/models/table_model.h"
#include "gui/view.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace superstep::gui {

class DataTable;
class Legend;
class MemoryColumns;
class Panel;

class MemoryView : public View {
  Q_OBJECT
 public:
  explicit MemoryView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override { return {{"Memory", &all_}, {"Variables", &variables_}}; }
  QString statusText() const override;
  QString unitsText() const override;

 private:
  void rebuild();
  void rebuildVariables();
  void showSelection();
  int shownClass() const;  // the selected one, else the fullest
  QWidget* makeUpper();
  QWidget* makeVariables();

  Session& session_;
  TableModel all_, peak_, variables_;
  SortedModel shownVariables_{&variables_};
  MemoryColumns* columns_;
  Legend* legend_;
  Panel* columnsPanel_;
  Panel* peakPanel_;
  Panel* variablesPanel_;
  DataTable* variablesTable_;
  QLineEdit* filter_;
  int builtClass_ = -1;
};

}  // namespace superstep::gui
