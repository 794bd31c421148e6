// SPDX-License-Identifier: Apache-2.0
// IPUs x time over the whole step: boxes of micro-batches with their numbers, waiting hatched by its cause, loads and
// stores beside the IPU they serve. Hovering shows one micro-batch on all IPUs, a click selects it.
#pragma once

#include <optional>
#include <set>

#include "gui/base/theme.h"
#include "gui/models/micro_batch_path.h"
#include "gui/paint/pipeline_layout.h"
#include "gui/widgets/lane_paint.h"
#include "gui/widgets/time_chart.h"

namespace superstep::gui {

struct LaneSlice {
  int lane = -1;
  Slice slice;
};

class PipelineChart : public TimeChart {
  Q_OBJECT
 public:
  explicit PipelineChart(Session& session, QWidget* parent = nullptr);
  void followTrace();  // shows what the trace shows, nothing folded

  PipelineLayout layoutNow() const;
  TimeAxis axisNow() const override;
  std::optional<LaneSlice> sliceAt(const QPointF& at) const;  // none: no lane, or boxes too small to tell apart
  QString tipText(const LaneSlice& at) const;                 // lines "label<TAB>value"
  // Arrows when last painted, those of the selected micro-batch included.
  const std::vector<CopyArrow>& paintedCopies() const { return copies_; }
  const std::vector<QString>& paintedTexts() const { return painted_; }  // micro-batches and cycles, when last painted
  QSize minimumSizeHint() const override;
  QSize sizeHint() const override { return minimumSizeHint(); }

 public slots:
  void refresh();                            // the report has changed
  void hide(const std::set<int>& works);     // of the legend: they are left out
  void highlight(std::optional<Work> work);  // a cause of waiting: the others fade

 protected:
  TimeWindow window() const override {
    return followsTrace_ ? session_.timeState().trace : session_.timeState().pipeline;
  }
  void setWindow(const TimeWindow& window) override;
  void pressed(const QPointF& at) override;
  void pointed(const QPointF& at) override;
  void step(int direction) override;
  void part(int direction) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Frame;  // of one painting
  void paintOverview(Frame& frame);
  void paintHeads(Frame& frame);
  void paintNames(Frame& frame);
  void paintLane(Frame& frame, const PipelineLayout::Row& row);
  void paintBox(Frame& frame, const PipelineLayout::Row& row, const Slice& slice);
  void paintParts(Frame& frame, const PipelineLayout::Row& row, const Slice& slice, const QRectF& box);
  void paintJoined(Frame& frame, const PipelineLayout::Row& row, std::int64_t from, std::int64_t to);
  void paintFolds(Frame& frame);
  void paintAxis(Frame& frame);
  void paintCritical(Frame& frame);
  void paintPath(Frame& frame);
  void paintCopies(Frame& frame);
  void paintCopy(Frame& frame, const CopyArrow& copy, bool lit);
  QRectF rectOf(const Frame& frame, const PipelineLayout::Row& row, std::int64_t from, std::int64_t to) const;
  Fill fillOf(Work work) const;
  int selectedLane() const;

  TimelinePointer timeline_;
  Overview overview_;
  std::optional<LaneSlice> hover_;
  std::optional<Work> highlighted_;
  std::set<int> hidden_;
  bool followsTrace_ = false;
  std::vector<QString> painted_;
  std::vector<CopyArrow> copies_;
};

}  // namespace superstep::gui
