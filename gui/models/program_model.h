// SPDX-License-Identifier: Apache-2.0
// The program of a report as a tree: repeats are not unrolled, a call has the supersteps of its function below it.
// Items are made when they are asked for.
#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <vector>

#include "gui/models/report_tables.h"
#include "gui/models/timeline.h"

namespace superstep::gui {

// Of a node of the program or, below a call, of a superstep.
struct ProgramItem {
  const report::ProgramNode* node = nullptr;
  std::int64_t step = -1;   // row of the step columns, where node is null
  std::int64_t times = 1;   // how often it is entered in a step: the iterations of what is around it
  std::int64_t cycles = 0;  // of one iteration
  std::int64_t count = 1;   // iterations
  ProgramItem* parent = nullptr;
  int row = 0;
  bool fetched = false;
  std::vector<std::unique_ptr<ProgramItem>> children;

  std::int64_t total() const { return times * count * cycles; }
};

inline constexpr int kProgramColumns = 6;  // name, kind, iterations, cycles of one, cycles in total, % of step

class ProgramModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  explicit ProgramModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  void setReport(ReportPointer report, std::shared_ptr<const Steps> steps);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& = {}) const override { return kProgramColumns; }
  bool hasChildren(const QModelIndex& parent = {}) const override;
  bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  const ProgramItem* item(const QModelIndex& index) const;
  QString name(const ProgramItem& item) const;
  QString kind(const ProgramItem& item) const;  // of the node, or of the superstep
  // What is known of an item: name and value.
  TableContents facts(const QModelIndex& index) const;

  // The next item (from the top after the last, the other way round for `forward` false) whose name contains the
  // text, whatever the case; invalid: none does. Makes the items on its way, no others.
  QModelIndex find(const QString& text, const QModelIndex& from, bool forward);

 private:
  ProgramItem* itemAt(const QModelIndex& index) const;
  bool hasParts(const ProgramItem& item) const;
  QModelIndex after(const QModelIndex& at);  // in order of reading; invalid after the last
  QModelIndex before(const QModelIndex& at);
  QModelIndex lastBelow(QModelIndex at);

  ReportPointer report_;
  std::shared_ptr<const Steps> steps_;
  std::unique_ptr<ProgramItem> root_;  // its only child is the program
};

// All nodes in order of reading, without the supersteps below calls: depth, name, kind, iterations, cycles of one,
// times in a step, cycles in total, IPU.
TableContents program_table(const ReportPointer& report);

}  // namespace superstep::gui
