// SPDX-License-Identifier: Apache-2.0
// How many tiles are how full at their peak, with the limit as a line.
#pragma once

#include <QWidget>

#include "gui/models/tile_fill.h"
#include "gui/paint/histogram_layout.h"

namespace superstep::gui {

class FillHistogram : public QWidget {
  Q_OBJECT
 public:
  explicit FillHistogram(QWidget* parent = nullptr);

  void setFill(std::shared_ptr<const TileFill> fill, Units units);
  void setSelected(int ipu_class, std::int64_t tile);  // -1: none
  HistogramLayout layoutNow() const;
  QRectF bar(int bin) const;
  int binAt(const QPointF& at) const;  // of one with tiles; -1: none
  QSize minimumSizeHint() const override { return {220, 86}; }
  QSize sizeHint() const override { return {320, 112}; }

 signals:
  void binClicked(int bin);
  void binOpened(int bin);  // by a double click or Enter

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  bool isEmpty() const { return !fill_ || fill_->bins.empty(); }
  void paintAxes(QPainter& painter, const HistogramLayout& layout) const;

  std::shared_ptr<const TileFill> fill_;
  Units units_ = Units::kib;
  int selected_ = -1;  // bin
};

}  // namespace superstep::gui
