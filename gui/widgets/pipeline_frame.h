// SPDX-License-Identifier: Apache-2.0
// What one painting of the pipeline hands from part to part.
#pragma once

#include "gui/widgets/pipeline_chart.h"

namespace superstep::gui {

struct PipelineChart::Frame {
  QPainter& painter;
  const Theme& theme;
  PipelineLayout layout;
  TimeAxis axis;
  std::vector<QRectF> same;  // boxes of the micro-batch under the cursor
  QRectF selected;
};

}  // namespace superstep::gui
