// SPDX-License-Identifier: Apache-2.0
#include "gui/models/tile_tables.h"

#include <algorithm>

#include "gui/models/meanings.h"
#include "gui/models/table_columns.h"

namespace superstep::gui {

TableContents tiles_table(const ReportPointer& report, std::shared_ptr<const HeatData> heat, std::vector<int> phases) {
  if (phases.empty()) phases = heat->phases_of(-1);
  struct Rows {
    std::vector<int> phases, begin;  // the first row of each phase, and the end
    std::size_t place(int row) const {
      return static_cast<std::size_t>(std::upper_bound(begin.begin(), begin.end(), row) - begin.begin()) - 1;
    }
  };
  auto rows = std::make_shared<Rows>();
  rows->begin = {0};
  for (const int phase : phases) {
    const auto runs = static_cast<int>(heat->phases[static_cast<std::size_t>(phase)].runs);
    if (runs == 0) continue;
    rows->phases.push_back(phase);
    rows->begin.push_back(rows->begin.back() + runs);
  }
  const auto phase = [=](int row) -> const HeatPhase& {
    return heat->phases[static_cast<std::size_t>(rows->phases[rows->place(row)])];
  };
  const auto run = [=](int row) -> const TileRun& {
    const std::size_t place = rows->place(row);
    const HeatPhase& its = heat->phases[static_cast<std::size_t>(rows->phases[place])];
    return heat->runs[its.first_run + static_cast<std::size_t>(row - rows->begin[place])];
  };
  TableContents out;
  out.rows = rows->begin.back();
  out.columns = {
      {{"IPU", means::kIpu},
       false,
       [=, keep = report](int row) { return text(keep->index().ipu_classes(phase(row).ipu_class).name()); }},
      {{"Phase", means::kPhaseName}, false, [=](int row) { return text(phase(row).name); }},
      count_column({"First tile", means::kFirstTile}, [=](int row) { return run(row).first; }),
      count_column({"Tiles", means::kTileCount}, [=](int row) { return run(row).count; }),
      count_column({"Live bytes", means::kTileLive}, [=](int row) { return run(row).memory_bytes; }),
      count_column({"Compute cycles", means::kTileCompute}, [=](int row) { return run(row).compute_cycles; }),
      count_column({"Exchange bytes", means::kTileExchange}, [=](int row) { return run(row).exchange_bytes; }),
      count_column({"Idle cycles", means::kTileIdle}, [=](int row) { return run(row).idle_cycles; }),
      count_column({"Active tiles", means::kActiveTiles},
                   [=](int row) { return active_tiles(*heat, rows->phases[rows->place(row)]); }),
  };
  if (heat->has_errors())
    out.columns.push_back(error_column({"Error, ± %", means::kPhaseError}, [=](int row) { return phase(row).error; }));
  out.source = [=](int row) { return rows->phases[rows->place(row)]; };
  return out;
}

TableContents phase_table(std::shared_ptr<const HeatData> heat, int phase, Units units) {
  const HeatPhase* p = &heat->phases[static_cast<std::size_t>(phase)];
  const auto run = [=](int row) -> const TileRun& { return heat->runs[p->first_run + static_cast<std::size_t>(row)]; };
  TableContents out;
  out.rows = static_cast<int>(p->runs);
  const TableColumn live = bytes_column({"Live, " + unit_name(units), means::kTileLive}, units,
                                        [=](int row) { return run(row).memory_bytes; });
  out.columns = {
      {{"Tiles", means::kFirstTile},
       true,
       [=](int row) {
         return grouped(run(row).first) + QStringLiteral("–") + grouped(run(row).first + run(row).count - 1);
       },
       [=](int row) { return exact(run(row).first); }},
      live,
      count_column({"Cycles", means::kTileCompute}, [=](int row) { return run(row).compute_cycles; }),
      count_column({"Bytes", means::kTileExchange}, [=](int row) { return run(row).exchange_bytes; }),
  };
  return out;
}

}  // namespace superstep::gui
