// SPDX-License-Identifier: Apache-2.0
// The model graph at a moment of the step: what executes is lit, what is done and what waits in the phase is paler,
// what is loaded or stored has a dashed or dotted frame, everything else is grey. IPUs colour only the heads.
#pragma once

#include <QWidget>

#include "gui/models/graph_tables.h"
#include "gui/paint/graph_layout.h"
#include "gui/widgets/legend.h"

namespace superstep::gui {

class GraphChart : public QWidget {
  Q_OBJECT
 public:
  explicit GraphChart(QWidget* parent = nullptr);

  void setGraph(GraphShown shown);
  void setMoment(std::shared_ptr<const GraphMoment> moment);
  void setRoom(int height);  // that it may fill; it takes more when it needs it
  const GraphLayout& layoutNow() const { return layout_; }
  QString tipText(int unit) const;
  int unitUnder(QPointF point) const;  // of a fold the one that runs; -1: none
  int focusedUnit() const { return focused_; }
  std::vector<LegendEntry> legend() const;

 signals:
  void unitClicked(int unit);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  bool isEmpty() const { return !shown_.graph || shown_.graph->units.empty(); }
  QString emptyText() const;
  void place();
  int shownUnit(const GraphLayout::Fold& fold) const;  // the one that runs, else the first
  UnitState stateOf(int unit) const;
  QString frameText(int group) const;
  void paintFrames(QPainter& painter) const;
  void paintArrows(QPainter& painter) const;
  void paintBlock(QPainter& painter, const QRectF& rect, int unit, const QString& name, const QString& corner) const;
  void paintCell(QPainter& painter, int unit) const;
  void paintFold(QPainter& painter, const GraphLayout::Fold& fold) const;
  void paintTitles(QPainter& painter) const;

  GraphShown shown_;
  std::shared_ptr<const GraphMoment> moment_ = std::make_shared<GraphMoment>();
  GraphLayout layout_;
  int room_ = 200;
  int focused_ = -1;
};

}  // namespace superstep::gui
