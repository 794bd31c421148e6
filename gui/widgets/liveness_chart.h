// SPDX-License-Identifier: Apache-2.0
// Live memory over program steps: what always lives below a dashed line, stacked by category, what comes and goes
// above it, the limit, the peak, and a cursor. Where steps share a pixel, the highest is drawn.
#pragma once

#include <QWidget>

#include "gui/models/liveness.h"
#include "gui/paint/liveness_layout.h"

namespace superstep::gui {

class LivenessChart : public QWidget {
  Q_OBJECT
 public:
  explicit LivenessChart(QWidget* parent = nullptr);

  struct Data {
    ReportPointer report;
    std::shared_ptr<const Liveness> liveness;
    std::shared_ptr<const Steps> steps;
    std::shared_ptr<const HeatData> heat;
  };
  void setData(Data data, Units units);
  void setCursor(int point);  // -1: none
  // Lifetimes drawn over the curve.
  struct Mark {
    int first = 0, last = 0;  // points
    std::string category;
  };
  void setMarks(std::vector<Mark> marks);
  // Drawn as a line above the totals, and hatched between where it is `hatched`; empty: none.
  void setLine(std::vector<std::int64_t> totals, bool hatched);
  void setAlwaysLiveShown(bool shown);  // without it only what comes and goes, to what the always-live leaves
  int cursor() const { return cursor_; }
  LivenessLayout layoutNow() const;
  QString tipText(int point) const;
  QString peakText() const;    // "Peak 598.9 KiB at step 1 441"
  QString peakDetail() const;  // phase, superstep, bytes to spare

 signals:
  void cursorMoved(int point);   // while dragging
  void cursorChosen(int point);  // by a click, the end of a drag, or a key

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  bool isEmpty() const { return !data_.liveness || data_.liveness->points.empty(); }
  std::int64_t base() const;  // of the axis: what is not shown
  double y(const LivenessLayout& layout, std::int64_t bytes) const;
  void paintAreas(QPainter& painter, const LivenessLayout& layout) const;
  void paintResident(QPainter& painter, const LivenessLayout& layout, double left, double right) const;
  void paintStands(QPainter& painter, const LivenessLayout& layout) const;
  void paintOutline(QPainter& painter, const LivenessLayout& layout, const std::vector<std::int64_t>& totals) const;
  void paintMarks(QPainter& painter, const LivenessLayout& layout) const;
  void paintAxis(QPainter& painter, const LivenessLayout& layout) const;
  void paintHeads(QPainter& painter, const LivenessLayout& layout) const;
  void paintLines(QPainter& painter, const LivenessLayout& layout) const;
  void paintPeak(QPainter& painter, const LivenessLayout& layout) const;
  QString stepName(int point) const;
  void moveTo(int point);

  Data data_;
  Units units_ = Units::kib;
  std::vector<std::int64_t> totals_, line_;
  bool hatched_ = false;
  std::vector<Mark> marks_;
  int cursor_ = -1;
  bool alwaysShown_ = true;
};

}  // namespace superstep::gui
