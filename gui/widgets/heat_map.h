// SPDX-License-Identifier: Apache-2.0
// Tiles x phases. Wheel zooms at the cursor, dragging pans, a click selects tile and phase in the
// session. Values are the largest under a pixel, never a mean.
#pragma once

#include <QImage>
#include <QWidget>
#include <optional>

#include "gui/paint/heat_layout.h"
#include "gui/session/session.h"

class QThread;

namespace superstep::gui {

struct HeatCell {
  int column = 0;  // of the phases shown
  std::int64_t tile = 0;
  friend bool operator==(const HeatCell&, const HeatCell&) = default;
};

class HeatMap : public QWidget {
  Q_OBJECT
 public:
  explicit HeatMap(Session& session, QWidget* parent = nullptr);
  ~HeatMap() override;

  HeatLayout layoutNow() const;
  HeatScale scaleNow() const;
  std::optional<HeatCell> cellAt(const QPointF& position) const;
  const std::vector<int>& phases() const { return phases_; }
  // "largest of 3 tiles per pixel"; empty when every cell has its pixels.
  QString sharingText() const;
  const HeatData& data() const { return *data_; }
  QString valueText(std::int64_t value) const;
  QString tipText(const HeatCell& cell) const;  // lines "label<TAB>value"
  // Many phases are painted from a pyramid that is made on a thread of its own; whether it is there.
  bool hasPyramid() const { return pyramid_ != nullptr; }
  QSize minimumSizeHint() const override { return {360, 280}; }

 public slots:
  void refresh();  // the report or the state has changed
  void showEverything();

 signals:
  void layoutChanged();
  void hovered(int phase, qint64 tile);  // row of heat.phase; -1: none

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  HeatWindow window() const;
  std::int64_t limit() const;
  void setWindow(const HeatWindow& window);
  void paintMap(QPainter& painter, const HeatLayout& layout);
  void paintTotals(QPainter& painter, const HeatLayout& layout) const;
  void paintMaxima(QPainter& painter, const HeatLayout& layout) const;
  void paintNames(QPainter& painter, const HeatLayout& layout);
  void paintCross(QPainter& painter, const HeatLayout& layout) const;
  void paintTip(QPainter& painter, const HeatLayout& layout) const;

  double widthOfName(const QFont& font, std::ptrdiff_t name);
  void buildPyramid();
  std::int64_t largestShown() const;  // of all phases of phases_

  Session& session_;
  std::shared_ptr<const HeatData> data_;
  std::vector<int> phases_;
  std::vector<PhaseSpan> groups_, names_;  // of phases_
  std::vector<double> nameWidths_;         // of names_ as painted; below 0: not yet measured
  int shownClass_ = -2;
  HeatQuantity shownQuantity_ = HeatQuantity::memory;
  std::shared_ptr<const HeatPyramid> pyramid_;  // null: few phases, or not yet made
  QThread* builder_ = nullptr;                  // of the pyramid; null: none is being made
  mutable std::int64_t least_ = 0, most_ = -1;  // of the quantity in the whole report; -1: not yet looked for
  ColumnEdges edges_;                           // null: columns are alike
  HeatImage values_;
  QImage image_;              // values_ in colours
  bool imageIsStale_ = true;  // to be made again
  std::optional<HeatCell> hover_;
  QPointF pressedAt_;
  HeatWindow pressedWindow_;
  bool panning_ = false;
};

}  // namespace superstep::gui
