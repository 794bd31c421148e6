// SPDX-License-Identifier: Apache-2.0
// The queue of the batch page as a table: a row per job or sweep, in the order in which they run; and the items of a
// sweep.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "gui/base/format.h"
#include "gui/batch/queue.h"
#include "gui/models/table_model.h"

namespace superstep::gui {

// Columns that others know.
inline constexpr int kBatchPlace = 0;
inline constexpr int kBatchJob = 1;
inline constexpr int kBatchState = 2;
inline constexpr int kBatchProgress = 3;  // a bar
inline constexpr int kBatchFit = 5;
inline constexpr int kBatchPlan = 6;  // or why there is none, or what is done just now
inline constexpr int kBatchThroughput = 7;
inline constexpr int kBatchOutput = 13;

// kSourceRole is the id. Follows the queue row by row, so that what is selected stays.
class BatchModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  explicit BatchModel(BatchQueue& queue, QObject* parent = nullptr);

  void setUnits(Units units);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    BatchItem item;
    int place;  // as it is shown; follows a move of rows
  };
  void renumber();

  BatchQueue& queue_;
  std::vector<Row> rows_;  // as of the last signal
  Units units_ = Units::kib;
};

inline constexpr int kSweepThroughput = 4;  // column
TableContents sweep_table(std::shared_ptr<const std::vector<BatchResult>> rows, Units units);

}  // namespace superstep::gui
