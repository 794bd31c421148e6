// SPDX-License-Identifier: Apache-2.0
// Phases one after another, as wide as they take, over lanes that are filled as high as the lane is busy.
#pragma once

#include <QRectF>
#include <cstdint>
#include <vector>

namespace superstep::gui {

struct PhaseLayout {
  QRectF plot;
  std::vector<std::int64_t> cycles;
  int lanes = 1;

  std::int64_t total() const;
  QRectF cell(int lane, int phase) const;                       // the whole
  QRectF busy(int lane, int phase, std::int64_t cycles) const;  // from its base; at most the whole
  int phase_at(double x) const;                                 // -1: none
};

}  // namespace superstep::gui
