// SPDX-License-Identifier: Apache-2.0
// What happens inside the calls: a flame of the selected IPU (stage, layer, block, op) above lanes of supersteps, one
// row of calls per IPU, or bands of compute, exchange, sync and waiting.
#pragma once

#include <optional>
#include <set>

#include "gui/base/theme.h"
#include "gui/widgets/lane_paint.h"
#include "gui/widgets/time_chart.h"

namespace superstep::gui {

enum class TraceMode { flame, flat, bsp };

struct TraceRow {
  enum class Kind { stage, layer, block, op, lane, compute, exchange, wait, active } kind = Kind::lane;
  int lane = 0;
  QRectF rect;
  QString label;  // of the first row of an IPU
};

struct TraceSlice {
  int row = -1;
  Slice slice;
  QString name;
};

class TraceChart : public TimeChart {
  Q_OBJECT
 public:
  explicit TraceChart(Session& session, QWidget* parent = nullptr);

  TraceMode mode() const { return static_cast<TraceMode>(session_.timeState().mode); }
  std::vector<TraceRow> rowsNow() const;
  TimeAxis axisNow() const override;
  std::optional<TraceSlice> sliceAt(const QPointF& at) const;
  QString tipText(const TraceSlice& at) const;  // lines "label<TAB>value"
  int shownLane() const;                        // of the flame
  // Tiles that the steps of the shown IPU in [from, to) use at most: 0 where none computes or moves data between tiles.
  std::int64_t activeTiles(std::int64_t from, std::int64_t to) const;
  std::int64_t slicesPainted() const { return slicesPainted_; }
  QSize minimumSizeHint() const override;
  QSize sizeHint() const override { return minimumSizeHint(); }
  void hide(const std::set<int>& works);  // of the legend: they are left out
  void showAt(std::int64_t time);         // the box there, with a margin

 public slots:
  void refresh();

 protected:
  TimeWindow window() const override { return session_.timeState().trace; }
  void setWindow(const TimeWindow& window) override;
  void pressed(const QPointF& at) override;
  void pointed(const QPointF& at) override;
  void step(int direction) override;
  void part(int direction) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Frame;
  void visitRow(const TraceRow& row, std::int64_t from, std::int64_t to, std::int64_t least,
                const std::function<void(const TraceSlice&)>& take) const;
  void paintRow(Frame& frame, const TraceRow& row);
  void paintFlame(Frame& frame, const TraceRow& row, const TraceSlice& slice, const QRectF& box);
  void paintStep(Frame& frame, const TraceRow& row, const TraceSlice& slice, const QRectF& box);
  QString nameOf(const TraceRow& row, const Slice& slice) const;
  double contentTop() const;
  double left() const;  // of the plot: under the pipeline's, where it is shown
  void paintActive(Frame& frame, const TraceRow& row);

  TimelinePointer timeline_;
  Overview overview_;
  std::optional<TraceSlice> hover_;
  std::set<int> hidden_;
  std::int64_t slicesPainted_ = 0;
};

}  // namespace superstep::gui
