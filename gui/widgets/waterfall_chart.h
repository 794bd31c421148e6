// SPDX-License-Identifier: Apache-2.0
// From ideal to predicted step time, one bar per term. Texts come from the waterfall table, so that
// picture and table say the same.
#pragma once

#include <QWidget>
#include <optional>

#include "gui/models/table_model.h"
#include "gui/paint/waterfall_layout.h"
#include "traces/compare_detail.h"

namespace superstep::gui {

class WaterfallChart : public QWidget {
  Q_OBJECT
 public:
  // `model` holds waterfall_table() contents and outlives the chart.
  explicit WaterfallChart(const TableModel& model, QWidget* parent = nullptr);

  // Of the sum, in seconds, drawn as a whisker; none: not known.
  void setBand(std::optional<Band> band);
  void setSelectedTerm(const QString& term);
  QSize minimumSizeHint() const override;
  QSize sizeHint() const override;
  WaterfallLayout layoutNow() const;

 signals:
  void termClicked(const QString& term);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QString cell(int row, int column) const;
  bool hasErrors() const;
  QString errorText(int row) const;  // "± 4.2"; empty: exact, or not known
  void paintBand(QPainter& painter, const WaterfallLayout& layout) const;
  QString bandText() const;

  const TableModel& model_;
  std::optional<Band> band_;
  QString selectedTerm_;
};

}  // namespace superstep::gui
