// SPDX-License-Identifier: Apache-2.0
#include "gui/models/steps.h"

#include <algorithm>
#include <array>

#include "gui/models/meanings.h"
#include "gui/models/table_columns.h"
#include "traces/damaged.h"

namespace superstep::gui {

Steps load_steps(const ReportFile& report, const StepTrace* known) {
  Steps s;
  if (!report.has_column("step.name")) return s;
  if (known && known->rows() == 0) known = nullptr;  // it could not be read
  s.name = known ? known->name : read_texts(report, "step.name");
  s.kind = known ? known->kind : read_texts(report, "step.kind");
  s.term = known ? known->term : read_texts(report, "step.term");
  if (known) {
    s.cycles = known->start.values();
    s.compute_cycles = known->compute.values();
    if (known->collective.empty()) s.exchange_cycles = known->exchange.values();
  }
  const std::array<std::pair<const char*, PackedIntegers*>, 7> integers{{{"step.function", &s.function},
                                                                         {"step.cycles", &s.cycles},
                                                                         {"step.compute_cycles", &s.compute_cycles},
                                                                         {"step.exchange_cycles", &s.exchange_cycles},
                                                                         {"step.sync_cycles", &s.sync_cycles},
                                                                         {"step.bytes", &s.bytes},
                                                                         {"step.live_bytes", &s.live_bytes}}};
  for (const auto& [name, column] : integers) {
    if (column->empty()) *column = read_integers(report, name);
    check_rows(report, "step.*", s.name.size(), *column, s.kind, s.term);
  }
  if (report.has_column("step.temporary_bytes")) {
    s.temporary_bytes = read_integers(report, "step.temporary_bytes");
    s.keeping_bytes = read_integers(report, "step.keeping_bytes");
    s.tiles = known ? known->tiles : read_integers(report, "step.tiles");
    check_rows(report, "step.*", s.name.size(), s.temporary_bytes, s.keeping_bytes, s.tiles);
  }
  return s;
}

std::pair<std::int64_t, std::int64_t> steps_of(const report::Function& function, const Steps& steps) {
  const auto rows = static_cast<std::int64_t>(steps.name.size());
  const std::int64_t first = std::clamp<std::int64_t>(function.first_step(), 0, rows);
  return {first, std::clamp<std::int64_t>(first + function.steps(), first, rows)};
}

QString tiles_text(std::int64_t tiles) { return tiles == 0 ? QStringLiteral("all") : grouped(tiles); }

namespace {

TableColumn tiles_column(std::shared_ptr<const Steps> steps) {
  const auto tiles = [steps](int row) { return steps->tiles[static_cast<std::size_t>(row)]; };
  return {{"Active tiles", means::kStepTiles},
          true,
          [tiles](int row) { return tiles_text(tiles(row)); },
          [tiles](int row) { return QVariant::fromValue(static_cast<qlonglong>(tiles(row))); }};
}

}  // namespace

TableContents steps_table(const ReportPointer& report, std::shared_ptr<const Steps> steps) {
  const auto integer = [steps](const ColumnTitle& title, const PackedIntegers& column) {
    return count_column(title, [steps, values = &column](int row) { return (*values)[static_cast<std::size_t>(row)]; });
  };
  const auto function = [=](int row) {
    const std::int64_t f = steps->function[static_cast<std::size_t>(row)];
    const auto& index = report->index();
    return f >= 0 && f < index.functions_size() ? text(index.functions(static_cast<int>(f)).name()) : QString();
  };
  TableContents out;
  out.rows = static_cast<int>(steps->name.size());
  out.columns = {
      {{"Step", means::kStepName}, false, [=](int row) { return text(steps->name[static_cast<std::size_t>(row)]); }},
      {{"Kind", means::kStepKind},
       false,
       [=](int row) { return text(steps->kind[static_cast<std::size_t>(row)]); },
       {},
       {},
       [=](int row) { return text(steps->kind[static_cast<std::size_t>(row)]); }},
      {{"Counts to", means::kCountsTo},
       false,
       [=](int row) { return text(steps->term[static_cast<std::size_t>(row)]); }},
      {{"Function", means::kFunction}, false, function},
      integer({"Cycles", means::kStepCycles}, steps->cycles),
      integer({"Compute cycles", means::kStepCompute}, steps->compute_cycles),
      integer({"Exchange cycles", means::kStepExchange}, steps->exchange_cycles),
      integer({"Sync cycles", means::kStepSync}, steps->sync_cycles),
      integer({"Bytes moved", means::kStepBytes}, steps->bytes),
      integer({"Live bytes per tile", means::kStepLive}, steps->live_bytes),
  };
  if (!steps->tiles.empty()) out.columns.push_back(tiles_column(steps));
  return out;
}

}  // namespace superstep::gui
