// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/color_map.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace superstep::gui {
namespace {

constexpr std::array<QRgb, 9> kViridis{0xFF440154, 0xFF472C7A, 0xFF3B518B, 0xFF2C718E, 0xFF21908D,
                                       0xFF27AD81, 0xFF5CC863, 0xFFAADC32, 0xFFFDE725};
constexpr std::array<QRgb, 10> kCividis{0xFF00204D, 0xFF00336F, 0xFF39486B, 0xFF575C6D, 0xFF707173,
                                        0xFF8A8779, 0xFFA69D75, 0xFFC4B56C, 0xFFE4CF5B, 0xFFFFEA46};
constexpr std::array<ColorMap, 2> kMaps{{{"viridis", kViridis}, {"cividis", kCividis}}};

}  // namespace

QColor ColorMap::at(double share) const {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto lower = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  const double part = place - static_cast<double>(lower);
  const auto mix = [&](int (*channel)(QRgb)) {
    const int a = channel(stops[lower]), b = channel(stops[lower + 1]);
    return static_cast<int>(std::lround(a + part * (b - a)));
  };
  return {mix(qRed), mix(qGreen), mix(qBlue)};
}

std::span<const ColorMap> color_maps() { return kMaps; }

const ColorMap& color_map(const QString& name) {
  const auto known = std::find_if(kMaps.begin(), kMaps.end(), [&](const ColorMap& map) { return name == map.name; });
  return known == kMaps.end() ? kMaps.front() : *known;
}

}  // namespace superstep::gui
