// SPDX-License-Identifier: Apache-2.0
// The heat map by layers: of each layer and phase of a layer the largest value of its tiles, as "layer3/attention
// forward" stands in the column L3 and the row "attention forward".
#pragma once

#include <memory>

#include "gui/models/compare_tables.h"
#include "gui/models/heat_data.h"

namespace superstep::gui {

struct LayerHeat {
  std::shared_ptr<const HeatData> heat;
  PhaseGrid grid;                        // its numbers are places in `phases`
  std::vector<std::vector<int>> phases;  // of one name, rows of heat.phase

  const std::vector<int>* at(int row, int column) const;  // null: no layer has it
  std::int64_t value(const std::vector<int>& of, HeatQuantity quantity) const;
  int largest_phase(const std::vector<int>& of, HeatQuantity quantity) const;
  std::int64_t cycles(const std::vector<int>& of) const;  // of a step, all runs
  std::int64_t column_cycles(int column) const;
};
LayerHeat layer_heat(std::shared_ptr<const HeatData> heat, const std::vector<int>& phases);

// A row per cell, as wide as the map: layer, phase, IPU, its cycles in a step, largest of each quantity.
inline constexpr int kLayerQuantity = 4;  // column of the first quantity
TableContents layers_table(const ReportPointer& report, std::shared_ptr<const LayerHeat> layers);
int layers_table_row(const LayerHeat& layers, int row, int column);  // -1: none

}  // namespace superstep::gui
