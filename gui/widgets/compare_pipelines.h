// SPDX-License-Identifier: Apache-2.0
// The pipelines of all compared reports below one another on one time scale. They scroll and zoom together.
#pragma once

#include <optional>
#include <set>

#include "gui/models/compare_tables.h"
#include "gui/models/timeline.h"
#include "gui/paint/shared_time.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/time_chart.h"

namespace superstep::gui {

class ComparePipelines : public TimeChart {
  Q_OBJECT
 public:
  explicit ComparePipelines(Session& session, QWidget* parent = nullptr);

  void setComparison(const ComparedPointer& compared);
  const std::vector<Timeline>& timelines() const { return timelines_; }
  SharedTime timeNow() const;
  SharedRows rowsNow() const;
  TimeAxis axisNow() const override { return timeNow().axis(); }
  // A row per report and IPU: computing, moving and waiting, whole step; exact in cycles.
  TableContents table() const;
  std::vector<LegendEntry> legend() const;  // what is done anywhere
  void hide(const std::set<int>& works);    // of the legend: they are left out
  QSize minimumSizeHint() const override;
  QSize sizeHint() const override { return minimumSizeHint(); }

  struct Place {
    int side = -1, lane = -1;  // lane: of the timeline
    Slice slice;
  };
  std::optional<Place> placeAt(const QPointF& at) const;
  QString tipText(const Place& place) const;

 protected:
  TimeWindow window() const override { return window_; }
  void setWindow(const TimeWindow& window) override;
  void pressed(const QPointF& at) override;
  void pointed(const QPointF& at) override;
  void step(int direction) override;
  void part(int direction) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  bool isEmpty() const;
  void showStart();
  std::vector<int> laneCounts() const;
  std::vector<int> ipuLanes(int side) const;  // without what streams beside them
  void paintLane(QPainter& painter, int side, int lane, const QRectF& row, const TimeAxis& axis) const;
  void paintHead(QPainter& painter, int side, const QRectF& head) const;

  ComparedPointer compared_;
  std::vector<Timeline> timelines_;
  std::int64_t nanoseconds_ = 1;
  TimeWindow window_;
  std::set<int> hidden_;
  std::optional<Place> hover_;
};

}  // namespace superstep::gui
