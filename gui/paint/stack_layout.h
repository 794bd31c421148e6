// SPDX-License-Identifier: Apache-2.0
// Stacked bars of memory by category, lying (one row per IPU class) or standing (one column each).
#pragma once

#include <QRectF>
#include <cstdint>
#include <vector>

#include "gui/paint/axis.h"
#include "traces/report.pb.h"

namespace superstep::gui {

struct StackSegment {
  int category = 0;               // index into the class's categories, in stack order
  std::int64_t from = 0, to = 0;  // bytes
};

// Segments from the base on: always-live first, then in the order given; negative sizes count as 0.
struct StackInput {
  std::vector<std::int64_t> bytes;
  std::vector<bool> always_live;
};
std::vector<StackSegment> stacked(const StackInput& input);
std::int64_t always_live_top(const StackInput& input);

// The memory of an IPU class in stack order. Points into the report.
struct MemoryStack {
  std::vector<const report::MemoryCategory*> categories;
  std::vector<StackSegment> segments;
  std::int64_t always_live = 0;
  std::int64_t top = 0;
};
MemoryStack memory_stack(const report::IpuClass& ipu_class);

// Columns side by side over an axis of bytes.
struct ColumnLayout {
  QRectF plot;        // the area of the bars, without axis and names
  LinearScale scale;  // bytes on y: begin is the base line
  int columns = 0;

  // The axis reaches `full` bytes at the top.
  static ColumnLayout of(QRectF plot, int columns, double full);
  QRectF slot(int column) const;  // its share of the width, the full height
  QRectF bar(int column) const;   // of at most 132 pixels, the full height
  QRectF segment(int column, const StackSegment& segment) const;
  int column_at(double x) const;  // -1: none
};

}  // namespace superstep::gui
