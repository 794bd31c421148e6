// SPDX-License-Identifier: Apache-2.0
// What changes the step time, cause by cause, to the total. Texts come from the table of terms.
#pragma once

#include <QWidget>

#include "gui/models/whatif.h"
#include "gui/paint/difference_layout.h"

namespace superstep::gui {

class DifferenceBars : public QWidget {
  Q_OBJECT
 public:
  // `model` holds whatif_terms() contents and outlives the chart.
  explicit DifferenceBars(const TableModel& model, QWidget* parent = nullptr);
  DifferenceLayout layoutNow() const;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString cell(int row, int column) const { return model_.index(row, column).data().toString(); }
  const TableModel& model_;
};

}  // namespace superstep::gui
