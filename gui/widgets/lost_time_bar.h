// SPDX-License-Identifier: Apache-2.0
// The time in which IPUs do no forward, backward or update, charged to its causes: one bar, largest first, each with
// its share of all time. A click on a cause shows only that one in the pipeline.
#pragma once

#include <QWidget>
#include <optional>

#include "gui/models/pipeline_tables.h"

namespace superstep::gui {

class LostTimeBar : public QWidget {
  Q_OBJECT
 public:
  explicit LostTimeBar(QWidget* parent = nullptr);
  void setTimeline(const TimelinePointer& timeline);
  QString textOf(const LostTime& lost) const;  // "imbalance, IPU 0  6.6 %"
  QRectF segment(std::size_t i) const;
  int causeAt(const QPointF& at) const;  // -1: none
  const std::vector<LostTime>& causes() const { return causes_; }

 signals:
  void chosen(std::optional<Work> work);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void choose(int cause);

  TimelinePointer timeline_;
  std::vector<LostTime> causes_;
  int hover_ = -1;
  int chosen_ = -1;
};

}  // namespace superstep::gui
