// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "gui/session/session.h"

namespace superstep::gui {

class HeatMap;

// The colours with their values, the colour of cells over the limit, and that of unused tiles.
class HeatLegend : public QWidget {
  Q_OBJECT
 public:
  HeatLegend(Session& session, const HeatMap& map, QWidget* parent = nullptr);
  void setMarker(std::int64_t value);  // marked on the scale; kNoValue: nothing

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Session& session_;
  const HeatMap& map_;
  std::int64_t marker_ = kNoValue;
};

}  // namespace superstep::gui
