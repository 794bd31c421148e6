// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/stack_layout.h"

#include <algorithm>
#include <cmath>

#include "gui/base/theme.h"

namespace superstep::gui {

std::vector<StackSegment> stacked(const StackInput& input) {
  std::vector<StackSegment> out;
  std::int64_t at = 0;
  for (const bool always : {true, false}) {
    for (std::size_t i = 0; i < input.bytes.size(); ++i) {
      if (input.always_live[i] != always) continue;
      const std::int64_t size = std::max<std::int64_t>(0, input.bytes[i]);
      out.push_back({static_cast<int>(i), at, at + size});
      at += size;
    }
  }
  return out;
}

std::int64_t always_live_top(const StackInput& input) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < input.bytes.size(); ++i) {
    if (input.always_live[i]) sum += std::max<std::int64_t>(0, input.bytes[i]);
  }
  return sum;
}

MemoryStack memory_stack(const report::IpuClass& ipu_class) {
  MemoryStack out;
  for (const auto& m : ipu_class.memory()) out.categories.push_back(&m);
  std::stable_sort(out.categories.begin(), out.categories.end(),
                   [](const auto* a, const auto* b) { return memory_order(a->name()) < memory_order(b->name()); });
  StackInput input;
  for (const auto* m : out.categories) {
    input.bytes.push_back(m->bytes_per_tile());
    input.always_live.push_back(m->always_live());
  }
  out.segments = stacked(input);
  out.always_live = always_live_top(input);
  out.top = out.segments.empty() ? 0 : out.segments.back().to;
  return out;
}

ColumnLayout ColumnLayout::of(QRectF plot, int columns, double full) {
  return {plot, {full, plot.bottom(), plot.top()}, columns};
}

QRectF ColumnLayout::slot(int column) const {
  const double width = plot.width() / std::max(1, columns);
  return {plot.left() + column * width, plot.top(), width, plot.height()};
}

QRectF ColumnLayout::bar(int column) const {
  const QRectF whole = slot(column);
  const double width = std::floor(std::min(132.0, whole.width() * 0.62));
  return {std::floor(whole.center().x() - width / 2), whole.top(), width, whole.height()};
}

QRectF ColumnLayout::segment(int column, const StackSegment& segment) const {
  const QRectF whole = bar(column);
  const double top = scale.at(static_cast<double>(segment.to));
  return {whole.left(), top, whole.width(), scale.at(static_cast<double>(segment.from)) - top};
}

int ColumnLayout::column_at(double x) const {
  if (columns <= 0 || x < plot.left() || x >= plot.right()) return -1;
  return std::min(columns - 1, static_cast<int>((x - plot.left()) / plot.width() * columns));
}

}  // namespace superstep::gui
