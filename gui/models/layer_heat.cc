// SPDX-License-Identifier: Apache-2.0
#include "gui/models/layer_heat.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "gui/models/meanings.h"
#include "gui/models/table_columns.h"

namespace superstep::gui {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Cell {
  int row, column;
  const std::vector<int>* phases;
};

std::vector<Cell> cells_of(const LayerHeat& layers) {
  std::vector<Cell> out;
  for (int column = 0; column < static_cast<int>(layers.grid.columns.size()); ++column) {
    for (int row = 0; row < static_cast<int>(layers.grid.rows.size()); ++row) {
      if (const auto* phases = layers.at(row, column)) out.push_back({row, column, phases});
    }
  }
  return out;
}

}  // namespace

const std::vector<int>* LayerHeat::at(int row, int column) const {
  if (row < 0 || column < 0 || row >= grid.rows.size() || column >= grid.columns.size()) return nullptr;
  const int place = grid.phases[gui::at(row)][gui::at(column)];
  return place < 0 ? nullptr : &phases[gui::at(place)];
}

std::int64_t LayerHeat::value(const std::vector<int>& of, HeatQuantity quantity) const {
  return heat->largest(largest_phase(of, quantity), quantity);
}

int LayerHeat::largest_phase(const std::vector<int>& of, HeatQuantity quantity) const {
  return *std::max_element(of.begin(), of.end(),
                           [&](int a, int b) { return heat->largest(a, quantity) < heat->largest(b, quantity); });
}

std::int64_t LayerHeat::cycles(const std::vector<int>& of) const {
  std::int64_t sum = 0;
  for (const int phase : of) sum += heat->phases[gui::at(phase)].cycles * heat->phases[gui::at(phase)].repeats;
  return sum;
}

std::int64_t LayerHeat::column_cycles(int column) const {
  std::int64_t sum = 0;
  for (int row = 0; row < static_cast<int>(grid.rows.size()); ++row) {
    if (const auto* of = at(row, column)) sum += cycles(*of);
  }
  return sum;
}

LayerHeat layer_heat(std::shared_ptr<const HeatData> heat, const std::vector<int>& phases) {
  LayerHeat out;
  out.heat = std::move(heat);
  std::map<std::string, std::size_t> known;
  std::vector<std::string> names;
  for (const int phase : phases) {
    const std::string& name = out.heat->phases[at(phase)].name;
    const auto [place, is_new] = known.emplace(name, names.size());
    if (is_new) names.push_back(name), out.phases.emplace_back();
    out.phases[place->second].push_back(phase);
  }
  out.grid = phase_grid(names);
  return out;
}

int layers_table_row(const LayerHeat& layers, int row, int column) {
  const auto cells = cells_of(layers);
  const auto found =
      std::find_if(cells.begin(), cells.end(), [&](const Cell& c) { return c.row == row && c.column == column; });
  return found == cells.end() ? -1 : static_cast<int>(found - cells.begin());
}

TableContents layers_table(const ReportPointer& report, std::shared_ptr<const LayerHeat> layers) {
  auto cells = std::make_shared<const std::vector<Cell>>(cells_of(*layers));
  const auto cell = [=](int row) -> const Cell& { return (*cells)[at(row)]; };
  const auto words = [](const ColumnTitle& title, std::function<QString(int)> text) {
    return TableColumn{title, false, std::move(text)};
  };
  const auto number = [](const ColumnTitle& title, std::function<std::int64_t(int)> value) {
    return TableColumn{title, true, [value](int row) { return grouped(value(row)); },
                       [value](int row) { return QVariant::fromValue<qlonglong>(value(row)); }};
  };
  const auto largest = [=](HeatQuantity quantity) {
    return [=](int row) { return layers->value(*cell(row).phases, quantity); };
  };
  TableContents out;
  out.rows = static_cast<int>(cells->size());
  out.columns = {
      words({"Layer", means::kLayer}, [=](int row) { return layers->grid.columns[cell(row).column]; }),
      words({"Phase", means::kPhaseName}, [=](int row) { return layers->grid.rows[cell(row).row]; }),
      words({"IPU", means::kIpu},
            [=](int row) {
              QStringList names;
              for (const int phase : *cell(row).phases) {
                const int ipu = layers->heat->phases[at(phase)].ipu_class;
                const QString name = QString::fromStdString(report->index().ipu_classes(ipu).name());
                if (!names.contains(name)) names << name;
              }
              return names.join(", ");
            }),
      number({"Cycles in a step", means::kPhaseStepCycles}, [=](int row) { return layers->cycles(*cell(row).phases); }),
      number({"Live bytes", means::kLayerLive}, largest(HeatQuantity::memory)),
      number({"Compute cycles", means::kLayerCompute}, largest(HeatQuantity::compute)),
      number({"Exchange bytes", means::kLayerExchange}, largest(HeatQuantity::exchange)),
      number({"Idle cycles", means::kLayerIdle}, largest(HeatQuantity::idle)),
  };
  if (layers->heat->has_errors()) {
    const auto error = [=](int row) {
      double most = -1;
      for (const int phase : *cell(row).phases) most = std::max(most, layers->heat->phases[at(phase)].error);
      return most;
    };
    out.columns.push_back(error_column({"Error, ± %", means::kPhaseError}, error));
  }
  out.source = [=](int row) { return layers->largest_phase(*cell(row).phases, HeatQuantity::memory); };
  return out;
}

}  // namespace superstep::gui
