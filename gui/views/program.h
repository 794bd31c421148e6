// SPDX-License-Identifier: Apache-2.0
// What runs in which order, how often, and for how many cycles.
#pragma once

#include "gui/models/program_model.h"
#include "gui/session/view.h"

class QLabel;
class QLineEdit;

namespace superstep::gui {

class DataTable;
class Panel;
class ProgramTree;

class ProgramView : public View {
  Q_OBJECT
 public:
  explicit ProgramView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override { return {{"Program", &all_}, {"Selected", &facts_}}; }
  QString statusText() const override;
  QString unitsText() const override { return tr("cycles"); }

 private:
  QWidget* makeControls();
  void rebuild();
  void openFirstLevels();
  void showItem(const QModelIndex& index);
  void showSelection();
  void search(bool forward);

  Session& session_;
  ProgramModel program_;
  TableModel all_, facts_;
  ProgramTree* tree_;
  Panel* panel_;
  Panel* factsPanel_;
  QLineEdit* search_;
  QLabel* found_;
  bool following_ = false;  // the selection is being shown, not made
};

}  // namespace superstep::gui
