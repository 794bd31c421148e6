// SPDX-License-Identifier: Apache-2.0
// What became of the jobs: a queue of jobs and sweeps that child processes plan, and their results. Needs no report.
#pragma once

#include "gui/models/batch_table.h"
#include "gui/session/view.h"

class QBoxLayout;
class QLineEdit;
class QSpinBox;
class QToolButton;

namespace superstep::gui {

class BatchDetails;
class DataTable;
class Panel;

class BatchView : public View {
  Q_OBJECT
 public:
  explicit BatchView(Session& session, QWidget* parent = nullptr);

  std::vector<NamedTable> tables() const override;
  QString statusText() const override;
  QString unitsText() const override;
  // Writes what the page knows, by the ending of `path`: csv, md, json, xml (JUnit). A failure is a message of the
  // session.
  void exportTo(const QString& path);

 private:
  QWidget* makeControls();
  QWidget* makeTables();
  QWidget* makeCorner();
  QWidget* makeFolderButton();
  void addExports(QToolButton* button);
  QAction* makeAction(const QString& text, const char* name, const QString& tip, const QKeySequence& key);
  void makeActions();
  void follow();                      // the queue
  void showState();                   // which actions make sense, and how far all is
  void showSelected();                // the panel below
  std::vector<int> selected() const;  // ids, in the order shown
  QStringList reports() const;        // of the selected rows
  void openReport();
  void planItem(int item);  // of the selected sweep; opened where that is done
  void compare();
  void chooseFiles();
  void chooseFolder();
  void chooseOutput();
  void chooseExport(const QString& ending);

  Session& session_;
  BatchQueue& queue_;
  BatchModel model_;
  SortedModel shown_{&model_};
  mutable std::vector<std::unique_ptr<TableModel>> sweeps_;  // what tables() points to
  DataTable* table_;
  BatchDetails* details_;
  Panel* panel_;
  QLineEdit* filter_;
  QSpinBox* atOnce_;
  QToolButton* folder_;
  struct Actions {
    QAction *add, *run, *cancel, *cancel_all, *rerun, *remove, *up, *down, *clear, *open, *compare, *output;
  } actions_{};
};

}  // namespace superstep::gui
