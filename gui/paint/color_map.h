// SPDX-License-Identifier: Apache-2.0
// The colour maps of heat maps, in one list. All are even in lightness; the second one is made to look the same to
// colour-blind readers.
#pragma once

#include <QColor>
#include <QString>
#include <span>

namespace superstep::gui {

struct ColorMap {
  const char* name;
  std::span<const QRgb> stops;    // evenly spaced
  QColor at(double share) const;  // 0 to 1
};

std::span<const ColorMap> color_maps();          // the usual one first
const ColorMap& color_map(const QString& name);  // the usual one for a name that is not known

}  // namespace superstep::gui
