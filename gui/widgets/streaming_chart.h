// SPDX-License-Identifier: Apache-2.0
// Streaming Memory of an IPU over a step: bytes held by category, bandwidth used against its roof, and which stretch
// loads ahead for which.
#pragma once

#include <QWidget>

#include "gui/models/streaming_memory.h"
#include "gui/paint/streaming_layout.h"

namespace superstep::gui {

class StreamingChart : public QWidget {
  Q_OBJECT
 public:
  explicit StreamingChart(QWidget* parent = nullptr);
  void setMemory(std::shared_ptr<const StreamingMemory> memory);
  StreamingLayout layoutNow() const;
  QString tipText(int stretch) const;
  int stretchAt(double x) const;  // -1: none

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  bool isEmpty() const { return !memory_ || memory_->stretches.empty(); }
  void paintHeld(QPainter& painter, const StreamingLayout& layout) const;
  void paintRate(QPainter& painter, const StreamingLayout& layout) const;
  void paintAhead(QPainter& painter, const StreamingLayout& layout) const;
  void paintAxes(QPainter& painter, const StreamingLayout& layout) const;

  std::shared_ptr<const StreamingMemory> memory_;
};

}  // namespace superstep::gui
