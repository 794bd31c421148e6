// SPDX-License-Identifier: Apache-2.0
// Plans as dots: two quantities, a colour, the limit of tile memory with what lies beyond hatched, the Pareto line.
// Left and Right move the selected dot along x.
#pragma once

#include <QWidget>

#include "gui/models/landscape.h"
#include "gui/paint/scatter_layout.h"

namespace superstep::gui {

class ScatterChart : public QWidget {
  Q_OBJECT
 public:
  explicit ScatterChart(QWidget* parent = nullptr);

  using Plans = std::shared_ptr<const std::vector<LandscapePlan>>;
  void setPlans(ReportPointer report, Plans plans);
  struct Axes {
    int x = kTileAxis, y = kThroughputAxis, color = 0;  // of landscape_axes() and landscape_colors()
  };
  void setAxes(Axes axes);
  void setParetoLine(bool shown);
  void setSelected(int plan);  // -1: none
  const Axes& axes() const { return axes_; }
  const ColorClasses& colorClasses() const { return classes_; }
  int selected() const { return selected_; }
  ScatterLayout layoutNow() const;
  int planAt(const QPointF& at) const;  // near it; -1: none
  QString tipText(int plan) const;

  static QColor valueColor(int value);  // of the n-th value of the colour's field

 signals:
  void planClicked(int plan);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  bool isEmpty() const { return !plans_ || plans_->empty(); }
  double value(int plan, int axis) const;
  double limit() const;  // of tile memory, KiB; 0: not known
  void paintAxes(QPainter& painter, const ScatterLayout& layout) const;
  void paintLimit(QPainter& painter, const ScatterLayout& layout) const;
  void paintPareto(QPainter& painter, const ScatterLayout& layout) const;
  void paintFound(QPainter& painter, const ScatterLayout& layout) const;
  void paintDot(QPainter& painter, const ScatterLayout& layout, int plan) const;
  void paintLabels(QPainter& painter, const ScatterLayout& layout) const;

  ReportPointer report_;
  Plans plans_;
  Axes axes_;
  ColorClasses classes_;
  bool paretoLine_ = true;
  int selected_ = -1;
};

}  // namespace superstep::gui
